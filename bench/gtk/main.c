/* SPDX-License-Identifier: ISC */
/* flood FILE RATE: records about RATE events a second until it is killed, like a server with a
 * thousand requests at once. measure.py follows it. FILE.said has two numbers of 8 bytes, which are
 * always up to date: how many events were recorded, and the time of the last one (ns since 1970). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define REQUESTS 1000
#define EVENTS_BEFORE 4 /* create and label of the thread and of the server */
#define EVENTS_BEGIN 5  /* of a request, with its label */
#define EVENTS_END 3
#define EVENTS (EVENTS_BEGIN + EVENTS_END)
#define SLICE_NS 1000000

/* Answers the oldest request and makes a new one. Returns the number of events. */
static unsigned replace_request(thrum_task *request, thrum_task server, unsigned number)
{
	bool is_answered = *request != 0;

	if (is_answered) {
		thrum_task_switch(*request);
		thrum_task_resolve(*request);
		thrum_task_read(server, *request);
	}
	*request = thrum_task_createf(THRUM_KIND_REQUEST, "GET /item/%u", number % 100);
	thrum_task_switch(*request);
	thrum_task_wait(server, *request);
	thrum_task_switch(server);
	return EVENTS_BEGIN + (is_answered ? EVENTS_END : 0);
}

struct said {
	volatile uint64_t events;
	volatile int64_t time;
};

/* Maps FILE.said, which stays when this program is killed; NULL: that failed. */
static struct said *map_said(const char *file)
{
	char name[4096];
	void *said;
	int fd;

	if (snprintf(name, sizeof name, "%s.said", file) >= (int)sizeof name)
		return NULL;
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(struct said)) < 0)
		return NULL;
	said = mmap(NULL, sizeof(struct said), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return said == MAP_FAILED ? NULL : said;
}

static void note_events(struct said *said, unsigned events)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	said->events += events;
	said->time = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
	struct said *said;
	static thrum_task requests[REQUESTS];
	double rate = argc == 3 ? strtod(argv[2], NULL) : 0;
	struct timespec next;

	if (rate <= 0) {
		fprintf(stderr, "usage: flood FILE EVENTS-A-SECOND\n");
		return 64;
	}
	said = map_said(argv[1]);
	if (!said)
		return 2;
	if (thrum_start(&(struct thrum_config){.file = argv[1], .size = 64 << 20}) < 0)
		return 2;
	thrum_task server = thrum_task_create(THRUM_KIND_TASK, "server");
	double wanted = 0;

	note_events(said, EVENTS_BEFORE);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned number = 0;;) {
		for (wanted += rate * SLICE_NS / 1e9; wanted > EVENTS; wanted -= EVENTS, number++)
			note_events(said,
				replace_request(&requests[number % REQUESTS], server, number));
		next.tv_nsec += SLICE_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
