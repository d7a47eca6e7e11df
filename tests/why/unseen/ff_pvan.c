/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: At the end of the shift end_shift turns the switch off at once, which cancels the batches that are still on
 *     their way, "send batch 6" and those shortly before it; the healthy one waits for them first.
 *   culprit: send batch [4-6]|end_shift
 *   victim: send batch [0-3]\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The box in a delivery van: it collects positions, and sends them in batches over a slow radio. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define BATCHES 7

static struct {
	bool broken;
	struct thrum_promise *sends[BATCHES];
	int begun, received;
} box;

struct batch {
	int number;
	int positions;
};

/* ---- The radio ---- */

static struct thrum_value on_receipt(struct thrum_loop *loop, void *value, void *data)
{
	struct batch *batch = data;

	(void)loop;
	(void)value;
	box.received += batch->positions;
	return thrum_value_int(batch->number);
}

static struct thrum_promise *transmit(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_sleep(loop, 60); /* the centre's receipt comes back */
}

static struct thrum_promise *send_batch(struct thrum_loop *loop, int number, int positions)
{
	struct batch *batch = malloc(sizeof(*batch));
	struct thrum_promise *sent;

	if (!batch)
		abort();
	*batch = (struct batch){number, positions};
	sent = thrum_promise_bind(thrum_sleep(loop, 10), transmit, NULL, NULL);
	sent = thrum_promise_map(sent, on_receipt, batch, free);
	return thrum_promise_labelf(sent, "send batch %d", number);
}

/* ---- The shift ---- */

static struct thrum_promise *drive(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_switch *scope = data;
	struct thrum_promise *sent;

	(void)value;
	if (box.begun == BATCHES)
		return thrum_promise_return(loop, thrum_value_none());
	sent = send_batch(loop, box.begun, 10 + box.begun);
	box.sends[box.begun++] = thrum_promise_ref(sent);
	thrum_switch_add(scope, sent);
	return thrum_promise_bind(thrum_sleep(loop, 30), drive, scope, NULL);
}

static struct thrum_promise *turn_off(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return thrum_switch_off(data);
}

static struct thrum_promise *end_shift(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all;

	if (box.broken) {
		for (int i = 0; i < BATCHES; i++)
			thrum_promise_unref(box.sends[i]);
		return turn_off(loop, value, data);
	}
	all = thrum_promise_label(thrum_promise_join(loop, box.sends, BATCHES), "last batches");
	return thrum_promise_bind(all, turn_off, data, NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *shift;
	struct thrum_switch *scope;
	struct thrum_loop *loop;
	int error;

	box.broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv, &loop))
		return 1;
	scope = thrum_switch_create(loop, "radio");
	shift = thrum_promise_bind(drive(loop, NULL, scope), end_shift, scope, NULL);
	thrum_promise_should_resolve(thrum_promise_label(shift, "shift"));
	error = thrum_promise_run(shift);
	printf("%d positions received\n", box.received);
	thrum_stop();
	thrum_switch_destroy(scope);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return error != 0;
}
