/* SPDX-License-Identifier: ISC */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "stage_helper.h"
#include "story.h"

#define WORKERS 40
#define ROUNDS 5

/* Each worker runs for 2 µs in each round; rounds are a ms apart. */
static void tell(char *story, size_t size)
{
	size_t n = (size_t)snprintf(story, size, "0 create - 1 thread\n0 label 1 \"main\n");

	for (int w = 0; w < WORKERS; w++)
		n += (size_t)snprintf(story + n, size - n,
			"%d create 1 %d promise\n%d label %d \"worker %d\n", 10 + w, 10 + w, 10 + w,
			10 + w, w);
	for (int r = 0; r < ROUNDS; r++)
		for (int w = 0; w < WORKERS; w++)
			n += (size_t)snprintf(story + n, size - n, "%d switch %d\n%d switch 1\n",
				r * 1000000 + 1000 + w * 4000, 10 + w,
				r * 1000000 + 3000 + w * 4000);
	n += (size_t)snprintf(story + n, size - n,
		"%d counter 1 =5 \"net/bytes\n%d counter 1 =6 \"net/packets\n%d log 1 \"end\n",
		ROUNDS * 1000000 - 2, ROUNDS * 1000000 - 1, ROUNDS * 1000000);
	assert_true(n < size);
}

void show_add(struct show *show, const char *story)
{
	struct thrum__scene *scene;
	unsigned i = 0;
	char name[16];

	while (show->models[i])
		i++;
	show->models[i] = story_model(story, false);
	snprintf(name, sizeof name, "trace %u", i + 1);
	assert_int_equal(thrum__scene_create(show->models[i], NULL, NULL, NULL, &scene), 0);
	assert_int_equal(thrum__stage_add(show->stage, scene, name), 0);
}

#define REQUESTS 20

struct event {
	long time, number;
	char line[64];
};

static int compare_events(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

const char *show_requests(int ms, const char *own)
{
	static struct event events[8 * REQUESTS];
	static char story[sizeof events];
	size_t count = 0, used;

	for (int i = 0; i < 2 * REQUESTS; i++) {
		long start = 10L * 1000000 * (1 + i % REQUESTS);
		const char *label = i < REQUESTS ? "GET /user" : own;
		const char *const formats[] = {"create 1 %d promise", "label %d \"%s %d",
			"resolve 1 %d"};

		for (int k = 0; k < 3; k++) {
			struct event *event = &events[count];

			event->time = start + (k == 2 ? (long)ms * 1000000 : 0);
			event->number = (long)count++;
			snprintf(event->line, sizeof event->line, formats[k], 100 + i, label, i);
		}
	}
	qsort(events, count, sizeof *events, compare_events);
	used = (size_t)snprintf(story, sizeof story,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(story + used, sizeof story - used, "%ld %s\n",
			events[i].time, events[i].line);
	return story;
}

void show_init(struct show *show, unsigned traces)
{
	static char story[64 * 1024];

	*show = (struct show){0};
	tell(story, sizeof story);
	assert_int_equal(thrum__stage_create(&show->stage), 0);
	for (unsigned i = 0; i < traces; i++)
		show_add(show, story);
	show_frame(show, 0);
}

void show_finish(struct show *show)
{
	thrum__stage_destroy(show->stage);
	for (unsigned i = 0; i < sizeof show->models / sizeof *show->models; i++)
		thrum__model_destroy(show->models[i]);
}

static int set_up(void **state, unsigned traces)
{
	struct show *show = test_calloc(1, sizeof *show);

	show_init(show, traces);
	*state = show;
	return 0;
}

int show_one(void **state)
{
	return set_up(state, 1);
}

int show_two(void **state)
{
	return set_up(state, 2);
}

int show_end(void **state)
{
	show_finish(*state);
	test_free(*state);
	return 0;
}

int show_frame(struct show *show, double later)
{
	int status;

	show->now += later;
	status = thrum__stage_frame(show->stage, STAGE_WIDTH, STAGE_HEIGHT,
		&thrum__draw_metrics_plain, show->now);
	assert_true(status >= 0);
	return status;
}

void show_settle(struct show *show)
{
	for (int i = 0; show_frame(show, 16) != 0; i++)
		assert_true(i < 100);
}

void show_set(struct show *show, const char *state)
{
	struct thrum_error_info error = {0};

	if (thrum__stage_state_parse(show->stage, state, &error) < 0)
		fail_msg("%s", error.message);
	show_settle(show);
}

void show_expect(struct show *show, const char *state)
{
	char printed[1024];

	assert_true(
		thrum__stage_state_print(show->stage, printed, sizeof printed) < sizeof printed);
	assert_string_equal(printed, state);
}

float show_x(const struct show *show, uint32_t part, int64_t time)
{
	return (float)thrum__scene_time_axis_x(&show->stage->parts[part].scene->time, time);
}

float show_y(const struct show *show, uint32_t part, uint32_t track)
{
	const struct thrum__stage_part *p = &show->stage->parts[part];
	float head = show->stage->count > 1 ? THRUM__HEAD : 0;

	return p->top + head + thrum__scene_track_axis_line(&p->scene->tracks, track);
}

void show_drag(struct show *show, float x1, float y1, float x2, float y2, unsigned with)
{
	const int steps = 5;

	assert_true(thrum__stage_press(show->stage, x1, y1, with) >= 0);
	for (int i = 1; i <= steps; i++) {
		assert_true(thrum__stage_move(show->stage, x1 + (x2 - x1) * (float)i / steps,
				    y1 + (y2 - y1) * (float)i / steps, with) >= 0);
		show_frame(show, 16);
	}
	assert_true(thrum__stage_release(show->stage, x2, y2, with) >= 0);
	show_settle(show);
}

struct thrum__scene_state *show_state(struct show *show, uint32_t part)
{
	return &show->stage->parts[part].scene->state;
}
