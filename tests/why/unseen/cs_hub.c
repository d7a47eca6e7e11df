/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: All displays of the house share one promise of the present measurement. The display “hall” gives
 *     up after 40 ms: the timeout in show cancels the shared promise itself, as hub_get hands it out
 *     without protection. The displays “kitchen” and “attic” fail with it. They take this for a hub that is
 *     off, and wait for a signal that it is on again. Nobody gives that signal, since the hub was never
 *     off.
 *   culprit: hall|patience|hub_get|measurement.*cancel|cancel.*measurement
 *   victim: kitchen|attic|hub is on|on_gone
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The displays of a house show what a hub with a slow radio measures. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	ROUNDS = 5,
	SLOW_ROUND = 3
};

struct display {
	const char *name;
	int patience; /* in ms; 0: no limit */
	int shown, missed;
};

static struct hub {
	struct thrum_promise *measurement; /* under way, for all who ask */
	struct thrum_condition *on;
	int round, measured;
} hub;

static struct display displays[] = {{"kitchen", 0, 0, 0}, {"hall", 40, 0, 0}, {"attic", 0, 0, 0}};
enum {
	DISPLAYS = sizeof displays / sizeof *displays
};

static bool broken;

/* ---- The hub -------------------------------------------------------------------------------- */

static struct thrum_value to_degrees(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	hub.measured++;
	return thrum_value_int(200 + hub.round);
}

static void hub_forget(struct thrum_loop *loop, void *data)
{
	(void)loop;
	(void)data;
	thrum_promise_unref(hub.measurement);
	hub.measurement = NULL;
}

/* Returns the measurement that is under way, or begins one. */
static struct thrum_promise *hub_get(struct thrum_loop *loop)
{
	if (!hub.measurement) {
		struct thrum_promise *radio = thrum_sleep(loop, hub.round == SLOW_ROUND ? 250 : 5);

		radio = thrum_promise_label(radio, "radio");
		hub.measurement = thrum_promise_map(radio, to_degrees, NULL, NULL);
		hub.measurement = thrum_promise_label(hub.measurement, "measurement");
		thrum_promise_on_termination(thrum_promise_ref(hub.measurement), hub_forget, NULL,
			NULL);
	}
	if (broken)
		return thrum_promise_ref(hub.measurement);
	return thrum_promise_protected(thrum_promise_ref(hub.measurement));
}

/* ---- Displays ------------------------------------------------------------------------------- */

static struct thrum_promise *show(struct thrum_loop *loop, struct display *display);

static struct thrum_promise *draw(struct thrum_loop *loop, void *value, void *data)
{
	struct display *display = data;

	display->shown = (int)thrum_int(value);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_power(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return show(loop, data);
}

/* No measurement: the old one stays, or the hub has been switched off for cleaning. */
static struct thrum_promise *on_gone(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct display *display = data;

	display->missed++;
	if (failure->code == -ETIMEDOUT)
		return thrum_promise_return(loop, thrum_value_none());
	if (failure->code != THRUM_CANCELED)
		return thrum_promise_fail_again(loop, failure);
	return thrum_promise_bind(thrum_condition_wait(hub.on, NULL), on_power, display, NULL);
}

static struct thrum_promise *show(struct thrum_loop *loop, struct display *display)
{
	struct thrum_promise *value = hub_get(loop);

	if (display->patience)
		value = thrum_promise_label(thrum_timeout(value, display->patience), "patience");
	return thrum_promise_try_bind(value, draw, on_gone, display, NULL);
}

/* ---- The house ------------------------------------------------------------------------------ */

static struct thrum_promise *refresh(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *rest(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 100), refresh, data, NULL);
}

static struct thrum_promise *refresh(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *all[DISPLAYS];

	(void)value;
	if (++hub.round > ROUNDS)
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < DISPLAYS; i++)
		all[i] = thrum_promise_labelf(show(loop, &displays[i]), "%s %d", displays[i].name,
			hub.round);
	return thrum_promise_bind(thrum_promise_join(loop, all, DISPLAYS), rest, data, NULL);
}

/* The cleaning: switches the hub off and on again once a minute. */
static void clean(uv_timer_t *timer)
{
	(void)timer;
	thrum_condition_broadcast(hub.on, thrum_value_none());
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *all;
	uv_timer_t timer;
	int code;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	hub.on = thrum_condition_create(loop, "hub is on");
	uv_timer_init(uv_default_loop(), &timer);
	uv_timer_start(&timer, clean, 60000, 60000);
	all = thrum_promise_bind(thrum_sleep(loop, 300), refresh, NULL, NULL);
	all = thrum_promise_should_resolve(thrum_promise_label(all, "house"));
	code = thrum_promise_run(all);
	thrum_stop();
	for (int i = 0; i < DISPLAYS; i++)
		printf("%s: %d, %d missed\n", displays[i].name, displays[i].shown,
			displays[i].missed);
	printf("%d measured: %s\n", hub.measured, thrum_promise_error_message(code));
	thrum_condition_destroy(hub.on);
	uv_close((uv_handle_t *)&timer, NULL);
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code != 0;
}
