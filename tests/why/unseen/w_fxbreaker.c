/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run:
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run:
 *   ask: diff good
 *   truth: the circuit breaker gives its probe a deadline of 0.02 ms instead of 20 ms (a division too many), so each probe fails, the circuit stays open, and the conversions after it use stale rates instead of asking.
 *   culprit: probe
 *   victim: convert|stale rate
 */
/* fxbreaker: asks a service for exchange rates, behind a circuit breaker. A loop on libuv, annotated by
 * hand; the service is played by timers. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <uv.h>

enum {
	CONVERSIONS = 14
};
enum circuit {
	CLOSED,
	OPEN,
	HALF_OPEN
};

struct call {
	uv_timer_t answer, deadline;
	thrum_task request, owner;
	bool is_probe, ended;
	int handles;
};

static uv_loop_t loop;
static uv_timer_t arrivals, reopen;
static enum circuit circuit;
static int failures, begun, ended, deadline_ms = 40, probe_deadline_ms = 20;
static uint64_t service_up_at;

static void call_begin(thrum_task owner, bool is_probe);

static void on_closed(uv_handle_t *handle)
{
	struct call *call = handle->data;

	if (--call->handles == 0)
		free(call);
}

static void finish(void)
{
	if (++ended == CONVERSIONS)
		uv_timer_stop(&reopen);
}

static void stale_rate(thrum_task owner)
{
	THRUM_RUN (owner) {
		thrum_task stale = thrum_task_create(THRUM_KIND_TASK, "stale rate");

		thrum_task_resolve(stale);
		thrum_task_read(owner, stale);
		thrum_task_resolve(owner);
	}
	finish();
}

static void on_reopen(uv_timer_t *timer)
{
	(void)timer;
	circuit = HALF_OPEN;
	call_begin(THRUM_TASK_NONE, true);
}

static void trip(void)
{
	circuit = OPEN;
	uv_timer_start(&reopen, on_reopen, 60, 0);
}

static void call_end(struct call *call, bool ok)
{
	if (call->ended)
		return;
	call->ended = true;
	uv_close((uv_handle_t *)&call->answer, on_closed);
	uv_close((uv_handle_t *)&call->deadline, on_closed);
	if (ok)
		thrum_task_resolve(call->request);
	else
		thrum_task_fail(call->request, "no answer in time");
	if (call->is_probe) {
		if (ok) {
			circuit = CLOSED;
			failures = 0;
		} else if (ended < CONVERSIONS) {
			trip();
		}
		return;
	}
	if (!ok) {
		if (++failures == 2 && circuit == CLOSED)
			trip();
		stale_rate(call->owner);
		return;
	}
	THRUM_RUN (call->owner) {
		thrum_task_read(call->owner, call->request);
		thrum_task_resolve(call->owner);
	}
	finish();
}

static void on_answer(uv_timer_t *timer)
{
	call_end(timer->data, true);
}

static void on_deadline(uv_timer_t *timer)
{
	call_end(timer->data, false);
}

static void call_begin(thrum_task owner, bool is_probe)
{
	struct call *call = calloc(1, sizeof *call);
	bool up = uv_now(&loop) >= service_up_at || begun < 3;

	call->owner = owner;
	call->is_probe = is_probe;
	call->handles = 2;
	call->request = thrum_task_create(THRUM_KIND_REQUEST,
		is_probe ? "probe rates" : "ask rates");
	if (owner)
		thrum_task_wait(owner, call->request);
	uv_timer_init(&loop, &call->answer);
	uv_timer_init(&loop, &call->deadline);
	call->answer.data = call->deadline.data = call;
	if (up)
		uv_timer_start(&call->answer, on_answer, 5, 0);
	uv_timer_start(&call->deadline, on_deadline,
		(uint64_t)(is_probe ? probe_deadline_ms : deadline_ms), 0);
}

static void on_arrival(uv_timer_t *timer)
{
	thrum_task convert = thrum_task_create(THRUM_KIND_TASK, "convert");

	thrum_task_should_resolve(convert);
	THRUM_RUN (convert) {
		if (circuit == CLOSED)
			call_begin(convert, false);
		else
			stale_rate(convert);
	}
	if (++begun == CONVERSIONS)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "bad"))
		probe_deadline_ms /= 1000;
	uv_loop_init(&loop);
	service_up_at = uv_now(&loop) + 130;
	uv_timer_init(&loop, &arrivals);
	uv_timer_init(&loop, &reopen);
	uv_timer_start(&arrivals, on_arrival, 5, 22);
	uv_run(&loop, UV_RUN_DEFAULT);
	return 0;
}
