/* SPDX-License-Identifier: ISC */
/*
 * A car that leaves hands its charging point to the next that waits. That one has given up, so the point is
 * lost, and another car waits for ever. The twin looks whether anybody still wants the point.
 */
#include "promises.h"

static struct thrum_resolver *waiting[2];

static struct thrum_promise *leave(struct thrum_loop *loop, void *data)
{
	(void)data;
	for (int i = 0; i < 2; i++) {
		if (broken || thrum_resolver_wanted(waiting[i])) {
			thrum_resolver_resolve(waiting[i], thrum_value_none());
			waiting[i] = NULL;
			break;
		}
	}
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *charge(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

/* A car that waits until it has a point, or until `patience` ends. */
static struct thrum_promise *arrive(struct thrum_loop *loop, int i, const char *label,
	struct thrum_promise *patience)
{
	struct thrum_promise *either[2] = {NULL, patience};

	either[0] = thrum_promise_task(loop, name("wait for a point"), &waiting[i]);
	if (patience)
		either[0] = thrum_promise_pick(loop, either, 2);
	return thrum_promise_label(thrum_promise_bind(either[0], charge, NULL, NULL), name(label));
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_resolver *charged, *impatient;
	struct thrum_promise *first = thrum_promise_task(loop, name("charging"), &charged), *second,
			     *third;

	at(5);
	first = thrum_promise_finalize(first, leave, NULL, NULL);
	thrum_promise_label(first, name("car 1"));
	at(10);
	second = arrive(loop, 0, "car 2", thrum_promise_task(loop, name("patience"), &impatient));
	at(20);
	third = thrum_promise_should_resolve(arrive(loop, 1, "car 3", NULL));
	at(30);
	thrum_resolver_resolve(impatient, thrum_value_none());
	at(50);
	thrum_resolver_resolve(charged, thrum_value_none());
	beat_until(2000);
	if (broken)
		killed();
	thrum_promise_unref(first);
	thrum_promise_unref(second);
	thrum_promise_unref(third);
	thrum_resolver_drop(waiting[0]);
	end_loop(loop);
}
