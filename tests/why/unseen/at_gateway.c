/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: the cache of checked tokens is keyed by the whole request, which has a number, not by the token;
 *     so check_token finds nothing, and asks the authority each time (ask_authority blocks the poll loop)
 *   culprit: ask_authority|check_token
 *   victim: client|gateway|serve_request|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gateway in front of a service: checks the token of each request, and answers. One thread, with poll. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 4
#define REQUESTS 15
#define CACHE 256
#define TICK_MS 40

struct request {
	char token[24];
	uint32_t number;
	uint32_t item;
};

struct reply {
	uint32_t number;
	int32_t status;
};

struct client {
	pthread_t thread;
	int index;
	int theirs, ours;
	bool gone;
};

static struct client clients[CLIENTS];
static int authority[2];
static uint64_t cache[CACHE];
static unsigned cached;
static size_t key_size = sizeof(struct request);
static unsigned asked, served, ticks;

static void nap_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&t, NULL);
}

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

/* Checks tokens for everybody. It takes its time. */
static void *run_authority(void *data)
{
	char token[24];

	(void)data;
	pthread_setname_np(pthread_self(), "authority");
	while (read(authority[1], token, sizeof(token)) == sizeof(token)) {
		int32_t verdict = strncmp(token, "token-", 6) ? 403 : 200;

		nap_ms(7);
		if (write(authority[1], &verdict, sizeof(verdict)) != sizeof(verdict))
			break;
	}
	return NULL;
}

static uint64_t hash(const void *data, size_t size)
{
	const unsigned char *bytes = data;
	uint64_t h = 14695981039346656037u;

	while (size--)
		h = (h ^ *bytes++) * 1099511628211u;
	return h;
}

static int32_t ask_authority(const char *token)
{
	int32_t verdict;

	asked++;
	if (write(authority[0], token, 24) != 24 ||
		read(authority[0], &verdict, sizeof(verdict)) != sizeof(verdict))
		return 502;
	return verdict;
}

static int32_t check_token(const struct request *request)
{
	uint64_t key = hash(request, key_size);
	int32_t verdict;

	for (unsigned i = 0; i < cached && i < CACHE; i++)
		if (cache[i] == key)
			return 200;
	verdict = ask_authority(request->token);
	if (verdict == 200)
		cache[cached++ % CACHE] = key;
	return verdict;
}

static void serve_request(struct client *client)
{
	struct request request;
	struct reply reply;

	if (read(client->ours, &request, sizeof(request)) != sizeof(request)) {
		close(client->ours);
		client->gone = true;
		return;
	}
	reply.number = request.number;
	reply.status = check_token(&request);
	if (reply.status == 200 && request.item % 10 == 9)
		reply.status = 404;
	served++;
	if (write(client->ours, &reply, sizeof(reply)) != sizeof(reply))
		client->gone = true;
}

static void *gateway(void *data)
{
	long long tick = now_ms() + TICK_MS;

	(void)data;
	pthread_setname_np(pthread_self(), "gateway");
	for (;;) {
		struct pollfd fds[CLIENTS];
		struct client *of[CLIENTS];
		int count = 0, timeout = (int)(tick - now_ms());

		for (int i = 0; i < CLIENTS; i++)
			if (!clients[i].gone) {
				of[count] = &clients[i];
				fds[count++] = (struct pollfd){.fd = clients[i].ours,
					.events = POLLIN};
			}
		if (!count)
			return NULL;
		if (poll(fds, count, timeout < 0 ? 0 : timeout) < 0 && errno != EINTR)
			abort();
		if (now_ms() >= tick) {
			ticks++;
			tick = now_ms() + TICK_MS;
		}
		for (int i = 0; i < count; i++)
			if (fds[i].revents)
				serve_request(of[i]);
	}
}

static void *client(void *data)
{
	struct client *self = data;
	struct request request;
	struct reply reply;
	char name[16];

	snprintf(name, sizeof(name), "client-%d", self->index);
	pthread_setname_np(pthread_self(), name);
	memset(&request, 0, sizeof(request));
	snprintf(request.token, sizeof(request.token), "token-%d", self->index);
	for (uint32_t i = 0; i < REQUESTS; i++) {
		request.number = i;
		request.item = i * 7 + self->index;
		if (write(self->theirs, &request, sizeof(request)) != sizeof(request) ||
			read(self->theirs, &reply, sizeof(reply)) != sizeof(reply))
			abort();
		nap_ms(2);
	}
	close(self->theirs);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loop, checker;

	if (argc > 1 && !strcmp(argv[1], "healthy"))
		key_size = sizeof(((struct request *)NULL)->token);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, authority) < 0)
		return 1;
	for (int i = 0; i < CLIENTS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
			return 1;
		clients[i] = (struct client){.index = i + 1, .theirs = ends[0], .ours = ends[1]};
	}
	pthread_create(&checker, NULL, run_authority, NULL);
	pthread_create(&loop, NULL, gateway, NULL);
	for (int i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i].thread, NULL, client, &clients[i]);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i].thread, NULL);
	pthread_join(loop, NULL);
	close(authority[0]);
	pthread_join(checker, NULL);
	printf("%u served, authority asked %u times, %u ticks\n", served, asked, ticks);
	return served != CLIENTS * REQUESTS;
}
