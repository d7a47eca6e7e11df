/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: libmowgli-2 pull request #8 ("Fixed a bug where one timer taking a little too long can prevent
 *     any future timers from triggering"): eventloop_timeout takes a next timer that isn't in the future
 *     for no timer at all, and says -1. Once save_database takes 150 ms instead of 2, during which the next
 *     ping becomes due, so eventloop_run sleeps in epoll_wait without a limit. Only the answer to a ping
 *     could wake it, and no ping is ever sent again.
 *   culprit: eventloop_timeout|eventloop_run|save_database
 *   victim: uplink
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */

/* Services of a chat network: a loop of timers and of one connection, the uplink to the network. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct timer {
	const char *name;
	void (*run)(void);
	int64_t deadline;
	int every;
};

static void ping_uplink(void);
static void expire_nicks(void);
static void save_database(void);

static struct timer timers[] = {
	{"ping uplink", ping_uplink, 0, 60},
	{"expire nicks", expire_nicks, 0, 120},
	{"save database", save_database, 0, 300},
};
#define TIMERS (sizeof timers / sizeof *timers)

static bool overdue; /* whether a timer that is overdue counts */
static int uplink[2];
static int poller;
static unsigned pings, pongs, expired, saves;

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- timers ---- */

static void ping_uplink(void)
{
	if (write(uplink[0], "P", 1) == 1)
		pings++;
}

static void expire_nicks(void)
{
	expired += 3;
}

/* The third time, many channels were registered since the last one. */
static void save_database(void)
{
	saves++;
	usleep(saves == 3 ? 150000 : 2000);
	printf("saved: %u pings, %u answers, %u expired\n", pings, pongs, expired);
	fflush(stdout);
}

static void run_timers(int64_t now)
{
	size_t i;

	for (i = 0; i < TIMERS; i++) {
		if (timers[i].deadline > now)
			continue;
		timers[i].deadline += timers[i].every;
		timers[i].run();
	}
}

/* How long the loop may sleep until the next timer; -1: for ever. */
static int eventloop_timeout(void)
{
	int64_t now = now_ms(), next = timers[0].deadline;
	size_t i;

	for (i = 1; i < TIMERS; i++) {
		if (timers[i].deadline < next)
			next = timers[i].deadline;
	}
	if (next > now)
		return (int)(next - now);
	return overdue ? 0 : -1;
}

static void read_uplink(void)
{
	char answers[64];
	ssize_t size = read(uplink[0], answers, sizeof answers);

	if (size > 0)
		pongs += (unsigned)size;
}

static void eventloop_run(void)
{
	struct epoll_event event;

	for (;;) {
		run_timers(now_ms());
		if (epoll_wait(poller, &event, 1, eventloop_timeout()) == 1)
			read_uplink();
	}
}

/* ---- others ---- */

/* The server of the network to which the services are linked: answers pings. */
static void *uplink_main(void *data)
{
	char byte;

	(void)data;
	pthread_setname_np(pthread_self(), "uplink");
	while (read(uplink[1], &byte, 1) == 1) {
		usleep(3000);
		if (write(uplink[1], &byte, 1) < 0)
			break;
	}
	return NULL;
}

/* Sends mails about registrations. */
static void *mailer_main(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "mailer");
	for (;;)
		usleep(40000);
	return NULL;
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t thread;
	int64_t now;

	if (argc < 2)
		return 2;
	overdue = !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, uplink))
		return 1;
	poller = epoll_create1(0);
	epoll_ctl(poller, EPOLL_CTL_ADD, uplink[0], &event);
	pthread_create(&thread, NULL, uplink_main, NULL);
	pthread_create(&thread, NULL, mailer_main, NULL);
	now = now_ms();
	timers[0].deadline = now + 60;
	timers[1].deadline = now + 90;
	timers[2].deadline = now + 310;
	eventloop_run();
	return 0;
}
