/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self live 2500
 *   ask: why
 *   truth: The packet ids wrap after 15, and send_publish takes an id that a slow publish of firmware still uses. The newer
 *     entry takes its place in the table inflight, so the old one's acknowledgement finds nobody, and it never ends.
 *   culprit: send_publish|inflight|publish firmware
 *   victim: rollout
 * case: healthy
 *   args: healthy
 *   run: self live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A client of a message broker: values of sensors, and now and then a firmware, each acknowledged by its packet id. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define IDS 16 /* the header has four bits; 0 is reserved */

static bool fixed;
static struct thrum_resolver *inflight[IDS];
static unsigned last_id, acknowledged, strays, ticks;

static unsigned take_packet_id(void)
{
	for (int tries = 0; tries < IDS; tries++) {
		last_id = last_id % (IDS - 1) + 1;
		if (!fixed || !inflight[last_id])
			return last_id;
	}
	return 0;
}

static void on_puback(struct thrum_loop *loop, void *value, void *data)
{
	uintptr_t id = (uintptr_t)data;
	struct thrum_resolver *resolver = inflight[id];

	(void)loop;
	(void)value;
	if (!resolver) {
		strays++; /* the broker may send it twice */
		return;
	}
	inflight[id] = NULL;
	acknowledged++;
	thrum_resolver_resolve(resolver, thrum_value_none());
}

/* The broker answers a value soon; it answers a firmware when the flash has been written. */
static void broker_receive(struct thrum_loop *loop, unsigned id, unsigned ms)
{
	struct thrum_promise *reply = thrum_promise_label(thrum_sleep(loop, ms), "puback");

	thrum_promise_on_success(reply, on_puback, (void *)(uintptr_t)id, NULL);
}

static struct thrum_promise *send_publish(struct thrum_loop *loop, const char *label, unsigned ms)
{
	struct thrum_promise *published;
	unsigned id = take_packet_id();

	if (id == 0)
		return thrum_promise_fail(loop, -EBUSY, "no packet id is free");
	published = thrum_promise_wait(loop, label, &inflight[id]);
	broker_receive(loop, id, ms);
	return published;
}

static struct thrum_promise *rollout_next(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *rollout_pause(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 50), rollout_next, data, NULL);
}

static struct thrum_promise *rollout_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned *device = data;
	struct thrum_promise *update;

	(void)value;
	/* devices of the second series have a slow flash */
	update = send_publish(loop, "publish firmware", ++*device > 2 ? 300 : 30);
	update = thrum_promise_bind(update, rollout_pause, device, NULL);
	return thrum_promise_should_resolve(
		thrum_promise_labelf(update, "update device %u", *device));
}

static struct thrum_promise *rollout(struct thrum_loop *loop, void *data)
{
	return rollout_next(loop, NULL, data);
}

static struct thrum_promise *sensor_tick(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *sent = send_publish(loop, "publish value", 4);

	(void)value;
	thrum_promise_ignore_result(thrum_promise_should_resolve(sent));
	if (++ticks % 50 == 0) {
		printf("%u acknowledged, %u strays\n", acknowledged, strays);
		fflush(stdout);
	}
	return thrum_promise_bind(thrum_sleep(loop, 10), sensor_tick, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	unsigned device = 0;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_async(loop, "rollout", rollout, &device, NULL);
	return thrum_promise_run(thrum_promise_label(sensor_tick(loop, NULL, NULL), "sensor")) != 0;
}
