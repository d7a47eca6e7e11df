/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the origin ends its output while the relay still has bytes for the client. The relay notes that the
 *     end has come, but flush_some doesn't shut the client's side down once the rest is written. So the client,
 *     which reads until the end, waits for ever.
 *   culprit: flush_some|pass_end|on_origin|run_relay|\brelay\b
 *   victim: \bclient\b|read_page|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* A relay between clients and origins: an epoll loop in a thread of its own. */
enum {
	PAGE = 96 * 1024,
	ROUTES = 3
};

struct route {
	int origin, client; /* the relay's ends */
	char buffer[PAGE + 4096];
	size_t filled, sent;
	bool end_came, end_passed;
};

static struct route routes[ROUTES];
static int client_end[ROUTES], origin_end[ROUTES];
static size_t page_size[ROUTES] = {500, 2000, PAGE};
static int epoll;
static bool thorough;

static void pause_ms(long ms)
{
	struct timespec time = {0, ms * 1000000};

	nanosleep(&time, NULL);
}

static void watch(int descriptor, uint32_t events, uint64_t key)
{
	struct epoll_event event = {.events = events, .data.u64 = key};

	if (epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event) && errno == ENOENT)
		epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

static void pass_end(struct route *route)
{
	if (route->end_passed)
		return;
	route->end_passed = true;
	shutdown(route->client, SHUT_WR);
}

/* Writes as much as the client takes. Returns whether nothing is left. */
static bool flush_some(struct route *route)
{
	uint64_t key = (uint64_t)(route - routes) * 2 + 1;

	while (route->sent < route->filled) {
		ssize_t size = write(route->client, route->buffer + route->sent,
			route->filled - route->sent);

		if (size <= 0) {
			watch(route->client, EPOLLOUT, key);
			return false;
		}
		route->sent += (size_t)size;
	}
	watch(route->client, 0, key);
	if (thorough && route->end_came)
		pass_end(route);
	return true;
}

static void on_origin(struct route *route)
{
	ssize_t size = read(route->origin, route->buffer + route->filled,
		sizeof route->buffer - route->filled);

	if (size > 0) {
		route->filled += (size_t)size;
		flush_some(route);
		return;
	}
	if (size < 0)
		return;
	route->end_came = true;
	epoll_ctl(epoll, EPOLL_CTL_DEL, route->origin, NULL);
	if (flush_some(route))
		pass_end(route);
}

static void *run_relay(void *unused)
{
	struct epoll_event events[8];
	int ended = 0;

	while (ended < ROUTES) {
		int count = epoll_wait(epoll, events, 8, -1);

		for (int i = 0; i < count; i++) {
			struct route *route = &routes[events[i].data.u64 / 2];

			if (events[i].data.u64 % 2 == 0)
				on_origin(route);
			else
				flush_some(route);
		}
		ended = 0;
		for (int i = 0; i < ROUTES; i++)
			ended += routes[i].end_passed;
	}
	return unused;
}

static void *run_origin(void *data)
{
	int number = *(int *)data;
	static const char block[1000] = "page";
	size_t left = page_size[number];

	while (left > 0) {
		ssize_t size = write(origin_end[number], block, left < 1000 ? left : 1000);

		if (size <= 0)
			break;
		left -= (size_t)size;
	}
	shutdown(origin_end[number], SHUT_WR);
	return NULL;
}

/* Reads until the end: the page has no length in its head. */
static size_t read_page(int number)
{
	char text[3000];
	size_t total = 0;
	ssize_t size;

	/* It does something else first. */
	pause_ms(100);
	while ((size = read(client_end[number], text, sizeof text)) > 0)
		total += (size_t)size;
	return total;
}

static void *run_client(void *data)
{
	int number = *(int *)data;
	size_t size = read_page(number);

	printf("page %d: %zu bytes\n", number, size);
	return NULL;
}

static void open_route(int number)
{
	int pair[2], small = 4096;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	routes[number].origin = pair[0];
	origin_end[number] = pair[1];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		exit(1);
	routes[number].client = pair[0];
	client_end[number] = pair[1];
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	fcntl(routes[number].origin, F_SETFL, O_NONBLOCK);
	fcntl(routes[number].client, F_SETFL, O_NONBLOCK);
	watch(routes[number].origin, EPOLLIN, (uint64_t)number * 2);
}

int main(int argc, char **argv)
{
	pthread_t relay, client[ROUTES], origin[ROUTES];
	int numbers[ROUTES];

	thorough = argc < 2 || strcmp(argv[1], "broken") != 0;
	epoll = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < ROUTES; i++)
		open_route(i);
	pthread_create(&relay, NULL, run_relay, NULL);
	pthread_setname_np(relay, "relay");
	for (int i = 0; i < ROUTES; i++) {
		numbers[i] = i;
		pthread_create(&client[i], NULL, run_client, &numbers[i]);
		pthread_setname_np(client[i], "client");
		pthread_create(&origin[i], NULL, run_origin, &numbers[i]);
		pthread_setname_np(origin[i], "origin");
	}
	for (int i = 0; i < ROUTES; i++) {
		pthread_join(client[i], NULL);
		pthread_join(origin[i], NULL);
	}
	pthread_join(relay, NULL);
	return 0;
}
