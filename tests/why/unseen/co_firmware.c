/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: fastest_mirror takes the first answer of all mirrors that are up. When the check has found all of them
 *     down, it picks from an empty array, and such a promise never ends, though the mirrors are up again soon. So the update of
 *     the thermostat hangs, and with it main.
 *   culprit: fastest_mirror|fastest mirror
 *   victim: update thermostat|main\b|update all
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A hub updates the devices of a house, each from the mirror that answers first. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MIRRORS 3
#define DEVICES 7

struct mirror {
	const char *name;
	unsigned delay; /* ms */
	bool up;
};

static struct mirror mirrors[MIRRORS] = {
	{"north", 15, true},
	{"south", 25, true},
	{"west", 40, true},
};

static const char *const devices[DEVICES] = {
	"lamp",
	"doorbell",
	"heater",
	"thermostat",
	"shutter",
	"camera",
	"socket",
};

static unsigned updated;
static bool broken, finished;

static struct thrum_value name_of(struct thrum_loop *loop, void *value, void *data)
{
	struct mirror *mirror = data;

	(void)loop;
	(void)value;
	return thrum_value_static(mirror);
}

static struct thrum_promise *ask_mirror(struct thrum_loop *loop, struct mirror *mirror)
{
	struct thrum_promise *answer;

	answer = thrum_promise_map(thrum_sleep(loop, mirror->delay), name_of, mirror, NULL);
	return thrum_promise_labelf(answer, "ask mirror %s", mirror->name);
}

static struct thrum_promise *fastest_mirror(struct thrum_loop *loop);

static struct thrum_promise *look_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return fastest_mirror(loop);
}

/* Ends as the mirror that answers first. */
static struct thrum_promise *fastest_mirror(struct thrum_loop *loop)
{
	struct thrum_promise *answers[MIRRORS];
	size_t count = 0;

	for (int i = 0; i < MIRRORS; i++)
		if (mirrors[i].up)
			answers[count++] = ask_mirror(loop, &mirrors[i]);
	if (!count && !broken)
		return thrum_promise_bind(thrum_sleep(loop, 50), look_again, NULL, NULL);
	return thrum_promise_pick(loop, answers, count);
}

static struct thrum_promise *load_image(struct thrum_loop *loop, void *value, void *data)
{
	struct mirror *mirror = value;

	(void)data;
	return thrum_promise_labelf(thrum_sleep(loop, 20 + mirror->delay / 2), "load image from %s",
		mirror->name);
}

static struct thrum_value count_update(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	updated++;
	printf("%s is up to date\n", (const char *)data);
	fflush(stdout);
	return thrum_value_none();
}

static struct thrum_promise *update_device(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *image;

	(void)value;
	image = thrum_promise_bind(fastest_mirror(loop), load_image, NULL, NULL);
	return thrum_promise_map(image, count_update, data, NULL);
}

/* The devices report one after the other. */
static struct thrum_promise *begin_update(struct thrum_loop *loop, int number)
{
	struct thrum_promise *due = thrum_sleep(loop, (uint64_t)number * 60);
	char *name = (char *)(uintptr_t)devices[number];

	due = thrum_promise_bind(due, update_device, name, NULL);
	return thrum_promise_should_resolve(thrum_promise_labelf(due, "update %s", name));
}

/* The check of the mirrors: the house's router starts anew meanwhile, and for a moment none can be reached. */
static struct thrum_promise *check_mirrors(struct thrum_loop *loop, void *value, void *data)
{
	static int checks;
	bool reachable;

	(void)value;
	(void)data;
	checks++;
	reachable = checks != 5;
	for (int i = 0; i < MIRRORS; i++)
		mirrors[i].up = reachable;
	if (finished)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 40), check_mirrors, NULL, NULL);
}

static struct thrum_promise *begin_checks(struct thrum_loop *loop, void *data)
{
	return check_mirrors(loop, NULL, data);
}

int main(int argc, char **argv)
{
	struct thrum_promise *updates[DEVICES], *all;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	thrum_promise_async(loop, "check mirrors", begin_checks, NULL, NULL);
	for (int i = 0; i < DEVICES; i++)
		updates[i] = begin_update(loop, i);
	all = thrum_promise_join(loop, updates, DEVICES);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(all, "update all")));
	printf("%u devices updated: %s\n", updated, thrum_promise_error_message(error));
	finished = true;
	thrum_stop();
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	return uv_loop_close(&uv) != 0;
}
