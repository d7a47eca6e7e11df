/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: announce_all asks the trackers one after the other, so that the announces behind the dead tracker wait for its time-out; the healthy one asks all at once.
 *   culprit: announce
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After reports about Transmission: announcing takes very long at the start, because a tracker that doesn't answer
 * holds up the announces to the next ones.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	TRACKERS = 5,
	DEAD = 1
};

static struct thrum_loop *loop;
static bool broken;
static unsigned peers;

static struct thrum_promise *add_peers(struct thrum_loop *in, void *value, void *data)
{
	(void)value;
	(void)data;
	peers += 50;
	return thrum_promise_return(in, thrum_value_none());
}

/* Goes on with the other trackers. */
static struct thrum_promise *tracker_failed(struct thrum_loop *in,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	return thrum_promise_return(in, thrum_value_none());
}

static struct thrum_promise *announce(int tracker)
{
	struct thrum_promise *answer = thrum_sleep(loop, tracker == DEAD ? 5000 : 10);

	answer = thrum_promise_bind(thrum_timeout(answer, 250), add_peers, NULL, NULL);
	answer = thrum_promise_catch(answer, tracker_failed, NULL, NULL);
	return thrum_promise_labelf(answer, "announce tracker %d", tracker);
}

static struct thrum_promise *announce_next(struct thrum_loop *in, void *value, void *data)
{
	int tracker = (int)(intptr_t)data;

	(void)value;
	if (tracker == TRACKERS)
		return thrum_promise_return(in, thrum_value_none());
	return thrum_promise_bind(announce(tracker), announce_next, (void *)(intptr_t)(tracker + 1),
		NULL);
}

static struct thrum_promise *announce_all(void)
{
	struct thrum_promise *all[TRACKERS];

	if (broken)
		return thrum_promise_label(announce_next(loop, NULL, (void *)0), "announce all");
	for (int i = 0; i < TRACKERS; i++)
		all[i] = announce(i);
	return thrum_promise_label(thrum_promise_join(loop, all, TRACKERS), "announce all");
}

int main(int argc, char **argv)
{
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	error = thrum_promise_run(announce_all());
	printf("%u peers\n", peers);
	return error != 0;
}
