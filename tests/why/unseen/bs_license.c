/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: grant_next looks only at the head of the queue. The head is a station that has given up and closed its
 *     connection while it stood there; drop_station doesn't take it out of the queue, so the free seat is never
 *     given to those behind it.
 *   culprit: drop_station|grant_next|impatient
 *   victim: station\b|checkout
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A license server with one seat. Stations say C (checkout), are told G (granted), and say R (return). */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define STATIONS 4
#define SEATS 1
#define REPORT STATIONS

struct station {
	int server_end, client_end;
	bool connected, seated;
};

static bool broken;
static struct station stations[STATIONS];
static int queue[64];
static int queue_length;
static int free_seats = SEATS;
static atomic_int sessions;

static void queue_remove(int index)
{
	queue_length--;
	memmove(&queue[index], &queue[index + 1],
		(size_t)(queue_length - index) * sizeof(queue[0]));
}

static void grant_next(void)
{
	while (free_seats > 0 && queue_length > 0) {
		struct station *station = &stations[queue[0]];

		if (!station->connected)
			return;
		if (write(station->server_end, "G", 1) != 1)
			return;
		queue_remove(0);
		station->seated = true;
		free_seats--;
	}
}

static void drop_station(int number)
{
	struct station *station = &stations[number];

	if (station->seated) {
		station->seated = false;
		free_seats++;
	}
	if (!broken)
		for (int i = queue_length - 1; i >= 0; i--)
			if (queue[i] == number)
				queue_remove(i);
	station->connected = false;
	close(station->server_end);
	grant_next();
}

static void on_message(int number)
{
	struct station *station = &stations[number];
	char message;

	if (read(station->server_end, &message, 1) != 1) {
		drop_station(number);
		return;
	}
	if (message == 'C') {
		queue[queue_length++] = number;
	} else if (message == 'R' && station->seated) {
		station->seated = false;
		free_seats++;
	}
	grant_next();
}

static void *license_server(void *data)
{
	struct itimerspec each = {{0, 100000000}, {0, 100000000}};
	int poller = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = REPORT};

	(void)data;
	pthread_setname_np(pthread_self(), "license server");
	timerfd_settime(timer, 0, &each, NULL);
	epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
	for (unsigned i = 0; i < STATIONS; i++) {
		event.data.u32 = i;
		epoll_ctl(poller, EPOLL_CTL_ADD, stations[i].server_end, &event);
	}
	for (;;) {
		unsigned long ticks;

		if (epoll_wait(poller, &event, 1, -1) != 1)
			continue;
		if (event.data.u32 != REPORT) {
			on_message((int)event.data.u32);
		} else if (read(timer, &ticks, sizeof(ticks)) == sizeof(ticks)) {
			printf("sessions %d, free %d, queue %d\n", atomic_load(&sessions),
				free_seats, queue_length);
			fflush(stdout);
		}
	}
	return NULL;
}

static void checkout(struct station *station)
{
	char answer;

	if (write(station->client_end, "C", 1) != 1 || read(station->client_end, &answer, 1) != 1)
		return;
	atomic_fetch_add(&sessions, 1);
}

static void *station_run(void *data)
{
	struct station *station = data;

	pthread_setname_np(pthread_self(), "station");
	for (;;) {
		checkout(station);
		usleep(20000);
		if (write(station->client_end, "R", 1) != 1)
			break;
		usleep(5000);
	}
	return NULL;
}

/* Its user presses the button three times, and then closes the window. */
static void *impatient_run(void *data)
{
	struct station *station = data;

	pthread_setname_np(pthread_self(), "impatient");
	usleep(300000);
	for (int i = 0; i < 3; i++)
		if (write(station->client_end, "C", 1) != 1)
			return NULL;
	close(station->client_end);
	for (;;)
		usleep(100000);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[STATIONS], server;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < STATIONS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		stations[i] = (struct station){.server_end = ends[0],
			.client_end = ends[1],
			.connected = true};
	}
	pthread_create(&server, NULL, license_server, NULL);
	for (int i = 0; i < STATIONS; i++)
		pthread_create(&threads[i], NULL, i == 3 ? impatient_run : station_run,
			&stations[i]);
	pthread_join(server, NULL);
	return 0;
}
