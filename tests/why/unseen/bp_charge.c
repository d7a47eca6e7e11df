/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: a driver who loses patience and leaves stays in the garage's waiting list. point_release hands the free charging
 *     point to one who has left, so the point is lost; after both are lost the other cars wait for ever.
 *   culprit: point_release|unplug|car [34]\b
 *   victim: all cars|display
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A garage with two charging points for electric cars. One that comes when both are taken waits in a list. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define CARS 8
#define POINTS 2

struct garage {
	unsigned free;
	struct thrum_resolver *waiting[CARS]; /* in the order of their coming */
	unsigned first, last;
	unsigned charged, left;
	bool look;
	bool closed;
};

struct car {
	unsigned number;
	unsigned comes, patience, charges; /* ms; a patience of 0 has no end */
};

static struct garage garage = {.free = POINTS};

/* Returns a promise for a charging point. */
static struct thrum_promise *point_acquire(struct thrum_loop *loop)
{
	if (garage.free > 0) {
		garage.free--;
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_task(loop, "wait for a point", &garage.waiting[garage.last++]);
}

/* Gives the point to the next in the list. */
static void point_release(void)
{
	while (garage.first < garage.last) {
		struct thrum_resolver *next = garage.waiting[garage.first++];

		if (garage.look && !thrum_resolver_wanted(next)) {
			thrum_resolver_drop(next);
			continue;
		}
		thrum_resolver_resolve(next, thrum_value_none());
		return;
	}
	garage.free++;
}

static struct thrum_promise *unplug(struct thrum_loop *loop, void *data)
{
	(void)data;
	garage.charged++;
	point_release();
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *plug_in(struct thrum_loop *loop, void *value, void *data)
{
	struct car *car = data;
	struct thrum_promise *charging = thrum_sleep(loop, car->charges);

	(void)value;
	charging = thrum_promise_labelf(charging, "charge %u", car->number);
	return thrum_promise_finalize(charging, unplug, car, NULL);
}

static struct thrum_promise *drive_on(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct car *car = data;

	if (failure->code != -ETIMEDOUT)
		return thrum_promise_fail_again(loop, failure);
	garage.left++;
	printf("car %u drives on\n", car->number);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *arrive(struct thrum_loop *loop, void *value, void *data)
{
	struct car *car = data;
	struct thrum_promise *point = point_acquire(loop);

	(void)value;
	if (car->patience)
		point = thrum_timeout(point, car->patience);
	return thrum_promise_try_bind(point, plug_in, drive_on, car, NULL);
}

static struct thrum_promise *display(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *display_tick(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 50), display, data, NULL);
}

static struct thrum_promise *display(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	printf("%u charged, %u have left, %u points are free\n", garage.charged, garage.left,
		garage.free);
	if (garage.closed)
		return thrum_promise_return(loop, thrum_value_none());
	return display_tick(loop, data);
}

int main(int argc, char **argv)
{
	static struct car cars[CARS] = {
		{1, 1, 0, 120},
		{2, 4, 300, 140},
		{3, 10, 40, 60},
		{4, 15, 45, 80},
		{5, 30, 0, 50},
		{6, 60, 0, 70},
		{7, 200, 0, 40},
		{8, 260, 0, 30},
	};
	struct thrum_promise *all[CARS], *done;
	struct thrum_loop *loop;
	int result;

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	garage.look = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_async(loop, "display", display_tick, NULL, NULL);
	for (unsigned i = 0; i < CARS; i++) {
		all[i] = thrum_promise_bind(thrum_sleep(loop, cars[i].comes), arrive, &cars[i],
			NULL);
		all[i] = thrum_promise_labelf(all[i], "car %u", cars[i].number);
	}
	done = thrum_promise_join(loop, all, CARS);
	done = thrum_promise_should_resolve(thrum_promise_label(done, "all cars"));
	result = thrum_promise_run(done);
	garage.closed = true;
	printf("closed: %s\n", thrum_promise_error_message(result));
	thrum_stop();
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
