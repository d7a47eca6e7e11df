/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: on_slewed waits for the condition "dome open" without a look at whether the dome is open already. For the
 *     third target the dome is faster than the mount, the broadcast comes before the wait, and no other one comes.
 *   culprit: dome open|on_slewed|on_dome
 *   victim: night|observe (?!M51)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A telescope works through the targets of a night: the dome turns while the mount slews. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

struct target {
	const char *name;
	int slew_ms, dome_ms, exposure_ms;
};

static const struct target targets[] = {
	{"M31", 20, 70, 30},
	{"M42", 15, 60, 40},
	{"M51", 90, 20, 30},
	{"M101", 20, 60, 20},
};
#define TARGETS (sizeof(targets) / sizeof(*targets))

static bool broken;
static bool dome_is_open;
static struct thrum_condition *dome_open;
static int images;
static int weather_reports;

static struct thrum_promise *observe_from(struct thrum_loop *loop, size_t index);

static struct thrum_promise *on_dome(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	dome_is_open = true;
	thrum_condition_broadcast(dome_open, thrum_value_none());
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *on_exposed(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	images++;
	printf("image of %s\n", ((const struct target *)data)->name);
	fflush(stdout);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *expose(struct thrum_loop *loop, void *value, void *data)
{
	const struct target *target = data;

	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop,
							      (uint64_t)target->exposure_ms),
					  "exposure"),
		on_exposed, data, NULL);
}

static struct thrum_promise *on_slewed(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *open;

	(void)value;
	if (!broken && dome_is_open)
		open = thrum_promise_return(loop, thrum_value_none());
	else
		open = thrum_condition_wait(dome_open, NULL);
	return thrum_promise_bind(open, expose, data, NULL);
}

static struct thrum_promise *observe(struct thrum_loop *loop, const struct target *target)
{
	struct thrum_promise *slew, *dome;

	dome_is_open = false;
	dome = thrum_promise_label(thrum_sleep(loop, (uint64_t)target->dome_ms), "turn dome");
	thrum_promise_ignore_result(thrum_promise_bind(dome, on_dome, NULL, NULL));
	slew = thrum_promise_label(thrum_sleep(loop, (uint64_t)target->slew_ms), "slew");
	return thrum_promise_labelf(thrum_promise_bind(slew, on_slewed, (void *)(uintptr_t)target,
					    NULL),
		"observe %s", target->name);
}

static struct thrum_promise *next_target(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return observe_from(loop, (size_t)thrum_int(data) + 1);
}

static struct thrum_promise *observe_from(struct thrum_loop *loop, size_t index)
{
	if (index == TARGETS)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(observe(loop, &targets[index]), next_target,
		(void *)(intptr_t)index, NULL);
}

static void on_weather(uv_timer_t *timer)
{
	(void)timer;
	weather_reports++;
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	struct thrum_promise *night;
	uv_timer_t weather;
	int result;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	uv_timer_init(uv_default_loop(), &weather);
	uv_timer_start(&weather, on_weather, 25, 25);
	dome_open = thrum_condition_create(loop, "dome open");
	night = thrum_promise_should_resolve(thrum_promise_label(observe_from(loop, 0), "night"));
	result = thrum_promise_run(night);
	printf("%d images, %d weather reports, result %d\n", images, weather_reports, result);
	thrum_stop();
	return 0;
}
