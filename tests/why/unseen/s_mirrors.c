/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   ask: why --slow="GET /pool"
 *   truth: One of the downloads has to resolve its host anew; its query to the name server ns1 is lost and times out after 320 ms before ns2 is asked. The usual lookup takes 6 ms.
 *   culprit: ns1
 *   victim: GET /pool|lookup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A package mirror client: a small loop with timers, one lookup before each download. */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct event {
	double at;
	void (*fire)(void *data);
	void *data;
};

struct download {
	int number;
	bool ns1_dead;
	thrum_task get, lookup, query, transfer, timer;
};

static struct event events[64];
static int event_count, done;
static bool slow;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void in(double ms, void (*fire)(void *), void *data)
{
	events[event_count++] = (struct event){now() + ms, fire, data};
}

static void transferred(void *data)
{
	struct download *d = data;

	THRUM_RUN (d->get) {
		thrum_task_resolve(d->transfer);
		thrum_task_read(d->get, d->transfer);
		thrum_task_resolve(d->get);
		done++;
	}
}

static void looked_up(struct download *d)
{
	thrum_task_resolve(d->lookup);
	THRUM_RUN (d->get) {
		thrum_task_read(d->get, d->lookup);
		d->transfer = thrum_task_create(THRUM_KIND_REQUEST, "body");
		thrum_task_wait(d->get, d->transfer);
		in(9 + d->number % 4, transferred, d);
	}
}

static void answered(void *data)
{
	struct download *d = data;

	THRUM_RUN (d->lookup) {
		thrum_task_resolve(d->query);
		thrum_task_read(d->lookup, d->query);
		looked_up(d);
	}
}

static void ns1_timeout(void *data)
{
	struct download *d = data;

	THRUM_RUN (d->lookup) {
		thrum_task_resolve(d->timer);
		thrum_task_fail(d->query, "timed out");
		d->query = thrum_task_create(THRUM_KIND_REQUEST, "query ns2");
		thrum_task_wait(d->lookup, d->query);
		in(6, answered, d);
	}
}

static void begin(void *data)
{
	struct download *d = data;

	d->get = thrum_task_create(THRUM_KIND_REQUEST, "GET /pool");
	thrum_task_should_resolve(d->get);
	THRUM_RUN (d->get) {
		d->lookup = thrum_task_create(THRUM_KIND_TASK, "lookup");
		thrum_task_wait(d->get, d->lookup);
		THRUM_RUN (d->lookup) {
			d->query = thrum_task_create(THRUM_KIND_REQUEST, "query ns1");
			thrum_task_wait(d->lookup, d->query);
			if (d->ns1_dead) {
				d->timer = thrum_task_create(THRUM_KIND_TIMER, "resolver timeout");
				thrum_task_due(d->timer, 320000000);
				in(320, ns1_timeout, d);
			} else
				in(5 + d->number % 3, answered, d);
		}
	}
}

int main(int argc, char **argv)
{
	struct download *downloads = calloc(16, sizeof(*downloads));

	slow = argc > 1 && !strcmp(argv[1], "slow");
	for (int i = 0; i < 16; i++) {
		downloads[i].number = i;
		downloads[i].ns1_dead = slow && i == 10;
		in(i * 14, begin, &downloads[i]);
	}
	while (event_count) {
		int first = 0;

		for (int i = 1; i < event_count; i++)
			if (events[i].at < events[first].at)
				first = i;
		double wait = events[first].at - now();

		if (wait > 0) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			poll(NULL, 0, (int)wait + 1);
			thrum_resume();
			continue;
		}
		struct event event = events[first];

		events[first] = events[--event_count];
		event.fire(event.data);
	}
	printf("%d downloads\n", done);
	return 0;
}
