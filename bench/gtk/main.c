/* SPDX-License-Identifier: ISC */
/* flood FILE RATE: records about RATE events a second, as a server with a thousand requests at once
 * might, until it is killed. measure.py follows it. FILE.said holds two numbers of 8 bytes: the
 * events recorded so far, and the time of the last one (ns since 1970). */
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
#define EVENTS_BEGIN 5  /* of a request, with the events of its label */
#define EVENTS_END 3
#define EVENTS (EVENTS_BEGIN + EVENTS_END)
#define SLICE_NS 1000000

/* Answers the oldest request and begins a new one. Returns the number of events. */
static unsigned turn(thrum_task *request, thrum_task server, unsigned number)
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

/* Maps FILE.said, which remains when this program is killed. Returns NULL if that fails. */
static struct said *say_in(const char *file)
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

static void say(struct said *said, unsigned events)
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
	said = say_in(argv[1]);
	if (!said)
		return 2;
	if (thrum_start(&(struct thrum_config){.file = argv[1], .size = 64 << 20}) < 0)
		return 2;
	thrum_task server = thrum_task_create(THRUM_KIND_TASK, "server");
	double wanted = 0;

	say(said, EVENTS_BEFORE);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned number = 0;;) {
		for (wanted += rate * SLICE_NS / 1e9; wanted > EVENTS; wanted -= EVENTS, number++)
			say(said, turn(&requests[number % REQUESTS], server, number));
		next.tv_nsec += SLICE_NS;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
