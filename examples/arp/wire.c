/* SPDX-License-Identifier: ISC */
/* The wire. Only here do promises meet callbacks: the hardware's interrupt, which is a timer of
 * libuv, resolves the promises that others wait for. */
#include "wire.h"

#include <stdlib.h>

/* A promise for a time, seen from this side: its resolver. */
struct alarm {
	struct alarm *next; /* the one after it */
	unsigned time;
	struct thrum_resolver *resolver;
};

struct wire {
	struct thrum_loop *loop;
	uv_timer_t interrupt;
	unsigned now, random;
	struct alarm *alarms; /* the next one first */
	struct {
		wire_receive *receive;
		void *data;
	} ends[2];
};

/* ---- Its clock ------------------------------------------------------------------------------- */

static void interrupted(uv_timer_t *timer);

static void arm(struct wire *wire)
{
	if (!wire->alarms)
		return;
	/* libuv counts from the time at which it last looked at the clock. */
	uv_update_time(thrum_loop_uv(wire->loop));
	uv_timer_start(&wire->interrupt, interrupted, wire->alarms->time - wire->now, 0);
}

static void interrupted(uv_timer_t *timer)
{
	struct wire *wire = timer->data;
	struct alarm *alarm = wire->alarms;
	struct thrum_resolver *resolver = alarm->resolver;

	wire->alarms = alarm->next;
	wire->now = alarm->time;
	free(alarm);
	arm(wire);
	/* Everything that waited for this time runs now, before the call returns. */
	thrum_resolver_resolve(resolver, thrum_value_none());
}

/* Returns a promise for a later time of the wire's clock. */
static struct thrum_promise *after(struct wire *wire, unsigned ms, const char *label)
{
	struct alarm **place = &wire->alarms;
	struct alarm *alarm = malloc(sizeof *alarm);
	struct thrum_promise *promise;

	if (!alarm)
		return thrum_promise_fail(wire->loop, -ENOMEM, NULL);
	promise = thrum_promise_wait(wire->loop, label, &alarm->resolver);
	alarm->time = wire->now + ms;
	while (*place && (*place)->time <= alarm->time)
		place = &(*place)->next;
	alarm->next = *place;
	*place = alarm;
	arm(wire);
	return promise;
}

static unsigned dice(struct wire *wire, unsigned least, unsigned most)
{
	wire->random = wire->random * 1103515245 + 12345;
	return least + (wire->random >> 16) % (most - least + 1);
}

unsigned wire_now(const struct wire *wire)
{
	return wire->now;
}

/* ---- Its frames ------------------------------------------------------------------------------ */

struct flight {
	struct wire *wire;
	int to;
	struct frame frame;
};

static void arrive(struct thrum_loop *loop, void *value, void *data)
{
	static const char *const names[] = {"ARP request arrives", "ARP reply arrives",
		"TCP segment arrives"};
	struct flight *flight = data;
	struct wire *wire = flight->wire;

	(void)loop, (void)value;
	/* One of the few lines that serve only the recording: the arrival of this frame runs
	 * here. */
	thrum_task_label(thrum_task_current(), names[flight->frame.type]);
	wire->ends[flight->to].receive(&flight->frame, wire->ends[flight->to].data);
}

struct thrum_promise *wire_send(struct wire *wire, int end, const struct frame *frame)
{
	struct flight *flight = malloc(sizeof *flight);

	if (!flight)
		return thrum_promise_fail(wire->loop, -ENOMEM, NULL);
	*flight = (struct flight){wire, !end, *frame};
	/* free() gets the flight when it has arrived, or if it never arrives. */
	thrum_promise_on_success(after(wire, dice(wire, 1, 5), "flight"), arrive, flight, free);
	/* The card reports a little later that it has sent the frame. */
	return after(wire, dice(wire, 2, 9), "transmit");
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

struct wire *wire_create(struct thrum_loop *loop, unsigned seed)
{
	struct wire *wire = calloc(1, sizeof *wire);

	if (!wire)
		return NULL;
	wire->loop = loop;
	wire->random = seed;
	uv_timer_init(thrum_loop_uv(loop), &wire->interrupt);
	wire->interrupt.data = wire;
	return wire;
}

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

void wire_destroy(struct wire *wire)
{
	struct alarm *alarm;

	while ((alarm = wire->alarms)) {
		wire->alarms = alarm->next;
		thrum_resolver_drop(alarm->resolver);
		free(alarm);
	}
	uv_close((uv_handle_t *)&wire->interrupt, closed);
}

void wire_attach(struct wire *wire, int end, wire_receive *receive, void *data)
{
	wire->ends[end].receive = receive;
	wire->ends[end].data = data;
}
