/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: The server watches its sockets edge-triggered, but player_readable reads only once, up to 512 bytes. The
 *     rest of a longer message stays in the socket, no new edge comes, and epoll_wait in serve_players never
 *     reports it again. So anna, who wrote that message, waits for her answer for ever.
 *   culprit: player_readable|serve_players|server\b
 *   victim: anna
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The lobby of a game: players send lines, and get one line for each. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define PLAYERS 2

struct player {
	int fd;
	size_t used;
	char line[4096];
	unsigned lines;
};

struct client {
	int fd;
	pthread_t thread;
	const char *name;
};

static struct player players[PLAYERS];
static struct client clients[PLAYERS];
static bool until_empty;

/* Answers the lines that are complete. */
static void player_lines(struct player *player)
{
	char answer[64];
	char *end;
	int n;

	while ((end = memchr(player->line, '\n', player->used))) {
		size_t size = (size_t)(end - player->line) + 1;

		n = snprintf(answer, sizeof(answer), "ok %u\n", ++player->lines);
		if (write(player->fd, answer, (size_t)n) != n)
			abort();
		memmove(player->line, end + 1, player->used - size);
		player->used -= size;
	}
}

/* Returns false when the player has left. */
static bool player_readable(struct player *player)
{
	char chunk[512];
	ssize_t n;

	do {
		n = read(player->fd, chunk, sizeof(chunk));
		if (n == 0)
			return false;
		if (n < 0) {
			if (errno == EAGAIN)
				break;
			return false;
		}
		if (player->used + (size_t)n > sizeof(player->line))
			return false;
		memcpy(player->line + player->used, chunk, (size_t)n);
		player->used += (size_t)n;
		player_lines(player);
	} while (until_empty);
	return true;
}

static void *serve_players(void *data)
{
	struct epoll_event events[8];
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	int left = PLAYERS;

	pthread_setname_np(pthread_self(), "server");
	for (int i = 0; i < PLAYERS; i++) {
		struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = &players[i]};

		fcntl(players[i].fd, F_SETFL, O_NONBLOCK);
		epoll_ctl(epoll, EPOLL_CTL_ADD, players[i].fd, &event);
	}
	while (left) {
		int n = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < n; i++) {
			struct player *player = events[i].data.ptr;

			if (!player_readable(player)) {
				epoll_ctl(epoll, EPOLL_CTL_DEL, player->fd, NULL);
				close(player->fd);
				left--;
			}
		}
	}
	close(epoll);
	return data;
}

/* Sends one line of that size, and reads the answer. */
static void say(struct client *client, size_t size)
{
	char line[4096];
	char answer[64];

	memset(line, 'x', size);
	line[size - 1] = '\n';
	if (write(client->fd, line, size) != (ssize_t)size)
		abort();
	if (read(client->fd, answer, sizeof(answer)) <= 0)
		abort();
}

/* Anna chats, and then pastes a long list of her cards. */
static void *play_anna(void *data)
{
	struct client *client = data;

	pthread_setname_np(pthread_self(), client->name);
	for (int i = 0; i < 12; i++) {
		say(client, 20 + (size_t)i * 30);
		usleep(15000);
	}
	say(client, 2600);
	say(client, 30);
	close(client->fd);
	return NULL;
}

/* Bert only tells that he is still there. */
static void *play_bert(void *data)
{
	struct client *client = data;

	pthread_setname_np(pthread_self(), client->name);
	for (int i = 0; i < (until_empty ? 12 : 600); i++) {
		say(client, 12);
		usleep(50000);
	}
	close(client->fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server;

	until_empty = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < PLAYERS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 1;
		players[i].fd = ends[0];
		clients[i].fd = ends[1];
		clients[i].name = i ? "bert" : "anna";
	}
	pthread_create(&server, NULL, serve_players, NULL);
	pthread_create(&clients[0].thread, NULL, play_anna, &clients[0]);
	pthread_create(&clients[1].thread, NULL, play_bert, &clients[1]);
	pthread_join(clients[0].thread, NULL);
	printf("anna has left\n");
	pthread_join(clients[1].thread, NULL);
	pthread_join(server, NULL);
	printf("%u and %u lines\n", players[0].lines, players[1].lines);
	return 0;
}
