/* SPDX-License-Identifier: ISC */
/*
 * case: slow
 *   args: slow
 *   run:
 *   ask: why --slow="player input"
 *   truth: One of the inputs took about 140 ms instead of some ms: it was ready, but the coroutine "autosave" compressed the whole world in one step without giving the thread back. The path finder, which works long but yields, isn't to blame.
 *   culprit: autosave
 *   victim: player input
 */
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A game server with stackless coroutines on one thread. */
struct coro {
	const char *name;
	bool (*step)(struct coro *); /* true: it has ended */
	int state, count;
	int64_t wake; /* 0: ready at once */
	thrum_task task;
	bool live;
};

#define COROS 32
static struct coro coros[COROS];
static int64_t start;
static int handled;
static volatile unsigned sink;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static struct coro *spawn(const char *name, bool (*step)(struct coro *), int64_t wake)
{
	for (int i = 0; i < COROS; i++) {
		struct coro *c = &coros[i];

		if (c->live)
			continue;
		*c = (struct coro){.name = name, .step = step, .wake = wake, .live = true};
		c->task = thrum_task_create(THRUM_KIND_FIBER, name);
		if (!wake)
			thrum_task_ready(c->task);
		return c;
	}
	return NULL;
}

/* Stands for computing; sleeps instead, to be gentle. */
static void compute(int us)
{
	sink += (unsigned)us;
	usleep((useconds_t)us);
}

static bool input_step(struct coro *c)
{
	compute(500);
	if (++c->state < 3)
		return false;
	handled++;
	return true;
}

static bool path_step(struct coro *c)
{
	compute(1500);
	return ++c->count == 120;
}

static bool autosave_step(struct coro *c)
{
	switch (c->state++) {
	case 0:
		compute(1000); /* copies the world */
		return false;
	case 1:
		for (c->count = 0; c->count < 70; c->count++)
			compute(2000); /* compresses a chunk; forgets to yield */
		return false;
	default:
		compute(1000); /* renames the file */
		return true;
	}
}

static bool ticker_step(struct coro *c)
{
	compute(200);
	if (++c->count == 12)
		return true;
	c->wake = now() + 30000000;
	return false;
}

/* Stands for the network: inputs come at these ms. */
static const int arrivals[] = {10, 40, 65, 90, 120, 151, 300, 330, 360, 390};
#define ARRIVALS ((int)(sizeof arrivals / sizeof *arrivals))

int main(void)
{
	int arrived = 0, live;
	bool saving = false;

	thrum_start(NULL);
	thrum_lane_name("game loop");
	start = now();
	spawn("ticker", ticker_step, 0);
	spawn("path finder", path_step, 0);
	do {
		int64_t t = now() - start;

		if (!saving && t > 146000000) {
			saving = true;
			spawn("autosave", autosave_step, 0);
			/* an input comes in the same turn */
			spawn("player input", input_step, 0);
			arrived = 6;
		}
		while (arrived < ARRIVALS && arrivals[arrived] * 1000000LL <= t) {
			if (arrived != 5)
				spawn("player input", input_step, 0);
			arrived++;
		}
		live = 0;
		for (int i = 0; i < COROS; i++) {
			struct coro *c = &coros[i];

			if (!c->live)
				continue;
			live++;
			if (c->wake) {
				if (c->wake > now())
					continue;
				c->wake = 0;
				thrum_task_ready(c->task);
			}
			THRUM_RUN (c->task) {
				if (c->step(c)) {
					c->live = false;
					thrum_task_resolve(c->task);
				} else if (!c->wake) {
					thrum_task_ready(c->task);
				}
			}
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(500);
		thrum_resume();
	} while (live || arrived < ARRIVALS);
	printf("%d inputs\n", handled);
	return 0;
}
