/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: While the link to the centre is full, throttle_station stops reading from a station and remembers it in `throttled`.
 *     If a second station is stopped meanwhile, the first one is forgotten: on_centre_drained enables only the last one, and the
 *     dock of the other never gets an answer again.
 *   culprit: throttle_station|on_centre_drained|bufferevent_disable
 *   victim: thread dock
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */

/* Bike sharing: the docks report returned bikes to a concentrator, which passes them on to the centre. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DOCKS 3
#define REPORT 4096
#define FULL (64 * 1024)

struct station {
	const char *name;
	struct bufferevent *link;
	int dock_end;
	unsigned long reports;
	bool is_throttled;
};

static struct station stations[DOCKS] = {{.name = "dock north"}, {.name = "dock harbour"},
	{.name = "dock park"}};
static struct bufferevent *centre;
static struct station *throttled;
static bool resume_all;

static void throttle_station(struct station *station)
{
	bufferevent_disable(station->link, EV_READ);
	station->is_throttled = true;
	throttled = station;
}

static void pass_on(struct station *station)
{
	struct evbuffer *input = bufferevent_get_input(station->link);
	char report[REPORT];

	while (evbuffer_get_length(input) >= REPORT) {
		evbuffer_remove(input, report, REPORT);
		bufferevent_write(centre, report, REPORT);
		bufferevent_write(station->link, "k", 1);
		station->reports++;
	}
}

static void on_report(struct bufferevent *link, void *data)
{
	struct station *station = data;

	(void)link;
	pass_on(station);
	if (evbuffer_get_length(bufferevent_get_output(centre)) > FULL)
		throttle_station(station);
}

static void resume_station(struct station *station)
{
	station->is_throttled = false;
	bufferevent_enable(station->link, EV_READ);
}

static void on_centre_drained(struct bufferevent *link, void *data)
{
	(void)link;
	(void)data;
	for (int i = 0; resume_all && i < DOCKS; i++)
		if (stations[i].is_throttled)
			resume_station(&stations[i]);
	if (throttled)
		resume_station(throttled);
	throttled = NULL;
}

static void on_statistics(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	for (int i = 0; i < DOCKS; i++)
		printf("%s: %lu  ", stations[i].name, stations[i].reports);
	printf("\n");
	fflush(stdout);
}

/* Sends a report, and waits until it is confirmed. In the evening all bikes come back at once. */
static void *dock_main(void *data)
{
	struct station *station = data;
	static char report[REPORT];
	char confirmed;

	pthread_setname_np(pthread_self(), station->name);
	for (unsigned i = 0;; i++) {
		int burst = i % 10 == 9 ? 30 : 1;

		for (int k = 0; k < burst; k++)
			if (write(station->dock_end, report, REPORT) != REPORT)
				return NULL;
		for (int k = 0; k < burst; k++)
			if (read(station->dock_end, &confirmed, 1) != 1)
				return NULL;
		usleep(30000);
	}
}

/* The centre reads over a slow line. */
static void *centre_main(void *data)
{
	int fd = *(int *)data;
	char block[8192];

	pthread_setname_np(pthread_self(), "centre");
	while (read(fd, block, sizeof(block)) > 0)
		usleep(3000);
	return NULL;
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct timeval pause = {0, 250000};
	struct event *statistics = event_new(base, -1, EV_PERSIST, on_statistics, NULL);
	static int line[2];
	int small = 16384;
	pthread_t thread;

	resume_all = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, line))
		return 1;
	setsockopt(line[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	evutil_make_socket_nonblocking(line[0]);
	centre = bufferevent_socket_new(base, line[0], 0);
	bufferevent_setcb(centre, NULL, on_centre_drained, NULL, NULL);
	bufferevent_enable(centre, EV_WRITE);
	pthread_create(&thread, NULL, centre_main, &line[1]);
	for (int i = 0; i < DOCKS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		evutil_make_socket_nonblocking(ends[0]);
		stations[i].dock_end = ends[1];
		stations[i].link = bufferevent_socket_new(base, ends[0], 0);
		bufferevent_setcb(stations[i].link, on_report, NULL, NULL, &stations[i]);
		bufferevent_enable(stations[i].link, EV_READ | EV_WRITE);
		pthread_create(&thread, NULL, dock_main, &stations[i]);
	}
	event_add(statistics, &pause);
	return event_base_dispatch(base);
}
