/* SPDX-License-Identifier: ISC */
/*
 * After fuzzball-muck/fuzzball, pull request #9.
 *
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: process_input takes at most MAX_INPUT bytes in a turn, but ssl_read has taken a whole record from the
 *     socket. The rest of the player's paste lies in the buffer of the SSL layer. shovechars asks only
 *     select, which sees an empty socket, so the rest is never processed, and bennie waits for his replies for ever.
 *   culprit: process_input|ssl_read|shovechars
 *   victim: bennie
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A text game's server: one loop over all players, whose lines are encrypted. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_INPUT 1024
#define RECORD 16384
#define PLAYERS 2

/* The layer that decrypts: it reads records, and gives out as much as it is asked for. */
struct ssl {
	int socket;
	size_t begin;
	size_t end;
	char record[RECORD];
};

struct descriptor_data {
	struct ssl ssl;
	bool connected;
	size_t raw_input_at;
	char raw_input[256];
	unsigned commands;
};

static struct descriptor_data descriptors[PLAYERS];
static bool check_pending;
static volatile bool bennie_gone;

static size_t ssl_pending(const struct ssl *ssl)
{
	return ssl->end - ssl->begin;
}

static ssize_t ssl_read(struct ssl *ssl, char *to, size_t size)
{
	if (ssl->begin == ssl->end) {
		ssize_t got = read(ssl->socket, ssl->record, sizeof(ssl->record));

		if (got <= 0)
			return got;
		for (ssize_t i = 0; i < got; i++)
			ssl->record[i] ^= 0x20;
		ssl->begin = 0;
		ssl->end = (size_t)got;
	}
	if (size > ssl_pending(ssl))
		size = ssl_pending(ssl);
	memcpy(to, ssl->record + ssl->begin, size);
	ssl->begin += size;
	return (ssize_t)size;
}

static void do_command(struct descriptor_data *d, const char *line)
{
	char reply[300];
	int size = snprintf(reply, sizeof(reply), "You say, \"%.200s\"\n", line);

	d->commands++;
	if (write(d->ssl.socket, reply, (size_t)size) != size)
		d->connected = false;
}

static void process_input(struct descriptor_data *d)
{
	char buffer[MAX_INPUT];
	ssize_t got = ssl_read(&d->ssl, buffer, sizeof(buffer));

	if (got <= 0) {
		d->connected = false;
		close(d->ssl.socket);
		return;
	}
	for (ssize_t i = 0; i < got; i++) {
		if (buffer[i] != '\n') {
			if (d->raw_input_at < sizeof(d->raw_input) - 1)
				d->raw_input[d->raw_input_at++] = buffer[i];
			continue;
		}
		d->raw_input[d->raw_input_at] = 0;
		d->raw_input_at = 0;
		do_command(d, d->raw_input);
	}
}

/* The loop of the server. */
static void shovechars(void)
{
	for (;;) {
		struct timeval none = {0, 0};
		bool pending = false;
		fd_set input;
		int highest = -1;

		FD_ZERO(&input);
		for (int i = 0; i < PLAYERS; i++) {
			if (!descriptors[i].connected)
				continue;
			FD_SET(descriptors[i].ssl.socket, &input);
			if (descriptors[i].ssl.socket > highest)
				highest = descriptors[i].ssl.socket;
			if (check_pending && ssl_pending(&descriptors[i].ssl))
				pending = true;
		}
		if (highest < 0)
			return;
		if (select(highest + 1, &input, NULL, NULL, pending ? &none : NULL) < 0)
			abort();
		for (int i = 0; i < PLAYERS; i++)
			if (descriptors[i].connected &&
				(FD_ISSET(descriptors[i].ssl.socket, &input) ||
					(check_pending && ssl_pending(&descriptors[i].ssl))))
				process_input(&descriptors[i]);
	}
}

/* A player's program: sends `count` lines at once and waits for as many replies. */
static void say(int socket, const char *line, int count)
{
	size_t length = strlen(line);
	char *paste = malloc(length * (size_t)count);
	char replies[4096];

	for (size_t i = 0; i < length * (size_t)count; i++)
		paste[i] = line[i % length] ^ 0x20;
	if (write(socket, paste, length * (size_t)count) < 0)
		abort();
	free(paste);
	while (count > 0) {
		ssize_t got = read(socket, replies, sizeof(replies));

		if (got <= 0)
			return;
		for (ssize_t i = 0; i < got; i++)
			count -= replies[i] == '\n';
	}
}

static void *bennie(void *data)
{
	int socket = *(int *)data;

	for (int i = 0; i < 12; i++) {
		say(socket, "looks around in the square\n", 1 + i % 3);
		usleep(8000);
	}
	say(socket, "@set me=_description:A tall man with a notebook\n", 80);
	for (int i = 0; i < 5; i++)
		say(socket, "waves\n", 1);
	bennie_gone = true;
	close(socket);
	return NULL;
}

static void *wizard(void *data)
{
	int socket = *(int *)data;

	while (!bennie_gone) {
		say(socket, "who\n", 1);
		usleep(20000);
	}
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t players[PLAYERS];
	int ends[PLAYERS];

	if (argc < 2)
		return 2;
	check_pending = !strcmp(argv[1], "healthy");
	for (int i = 0; i < PLAYERS; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 2;
		ends[i] = pair[0];
		descriptors[i].ssl.socket = pair[1];
		descriptors[i].connected = true;
	}
	pthread_create(&players[0], NULL, bennie, &ends[0]);
	pthread_create(&players[1], NULL, wizard, &ends[1]);
	shovechars();
	for (int i = 0; i < PLAYERS; i++) {
		pthread_join(players[i], NULL);
		printf("player %d: %u commands\n", i, descriptors[i].commands);
	}
	return 0;
}
