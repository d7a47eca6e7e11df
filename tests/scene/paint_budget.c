/* SPDX-License-Identifier: ISC */
/* However much happens, a frame has few items, and the important ones are among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "marks_helper.h"

#define EVENTS 100000
#define RECTS_MAX 20000
#define OTHERS_MAX 3000
#define BATCHES_MAX 48 /* 40, and what the pins and notes of a finding add */

struct crowd {
	struct thrum_event *events;
	size_t count;
	int64_t now;
	uint64_t ids, random;
};

static uint32_t dice(struct crowd *c, uint32_t sides)
{
	c->random = c->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(c->random >> 33) % sides;
}

static void add(struct crowd *c, int type, uint64_t task, uint64_t other, const char *text)
{
	c->events[c->count++] = (struct thrum_event){
		.time = c->now,
		.clock = (uint64_t)c->now,
		.type = (uint8_t)type,
		.kind = THRUM_KIND_PROMISE,
		.task = task,
		.other = other,
		.flags = THRUM_EVENT_HAS_TASK | (other ? THRUM_EVENT_HAS_OTHER : 0) |
			(text[0] ? THRUM_EVENT_HAS_TEXT : 0),
		.text = text,
		.text_size = (uint32_t)strlen(text),
	};
}

/* Tasks that come and go, about `alive` at a time, and meet each other. */
static void live(struct crowd *c, uint32_t alive, uint32_t pause, bool fails)
{
	while (c->count + 8 < EVENTS) {
		uint64_t task = c->ids > alive ? c->ids - dice(c, alive) : c->ids;

		c->now += 1 + dice(c, pause);
		switch (dice(c, 8)) {
		case 0:
		case 1: add(c, THRUM_EVENT_CREATE, task, ++c->ids, ""); break;
		case 2: add(c, THRUM_EVENT_WAIT, task, c->ids, ""); break;
		case 3: add(c, THRUM_EVENT_READ, task, c->ids, ""); break;
		case 4: add(c, THRUM_EVENT_SIGNAL, task, c->ids, ""); break;
		case 5:
			add(c, fails ? THRUM_EVENT_FAIL : THRUM_EVENT_RESOLVE, c->ids, task, "");
			break;
		case 6: add(c, THRUM_EVENT_LOG, task, 0, "said"); break;
		default: add(c, THRUM_EVENT_SWITCH, task, 0, ""); break;
		}
	}
}

/* Forty tasks that each create many short ones: few tracks, all full. */
static void serve(struct crowd *c)
{
	uint64_t loops = 40;

	for (uint64_t i = 0; i < loops; i++)
		add(c, THRUM_EVENT_CREATE, 1, ++c->ids, "");
	while (c->count + 8 < EVENTS) {
		uint64_t loop = 2 + dice(c, (uint32_t)loops);

		c->now += 1 + dice(c, 1000);
		add(c, THRUM_EVENT_CREATE, loop, ++c->ids, "");
		add(c, THRUM_EVENT_WAIT, loop, c->ids, "");
		add(c, THRUM_EVENT_SWITCH, c->ids, 0, "");
		c->now += 1 + dice(c, dice(c, 10) ? 500 : 50000);
		add(c, dice(c, 50) ? THRUM_EVENT_RESOLVE : THRUM_EVENT_FAIL, c->ids, c->ids, "");
		add(c, THRUM_EVENT_SWITCH, loop, 0, "");
		add(c, THRUM_EVENT_READ, loop, c->ids, "");
	}
}

static void chain(struct crowd *c)
{
	while (c->count + 8 < EVENTS) {
		c->now += 10;
		add(c, THRUM_EVENT_CREATE, 1, c->ids + 1, "");
		add(c, THRUM_EVENT_SWITCH, c->ids, 0, "");
		c->now += 10;
		add(c, THRUM_EVENT_BECOME, c->ids, c->ids + 1, "");
		add(c, THRUM_EVENT_SWITCH, 1, 0, "");
		c->ids++;
	}
}

static void stretches(struct crowd *c)
{
	while (c->count + 8 < EVENTS) {
		c->now += 1 + dice(c, 100);
		add(c, THRUM_EVENT_SPAN_BEGIN, 0, 0, "outer");
		add(c, THRUM_EVENT_SPAN_BEGIN, 0, 0, "inner");
		c->now += 1 + dice(c, 50);
		add(c, THRUM_EVENT_SPAN_END, 0, 0, "inner");
		add(c, THRUM_EVENT_SPAN_END, 0, 0, "outer");
		add(c, THRUM_EVENT_SUSPEND, 0, 0, "hibernated");
		c->now += 1 + dice(c, 50);
		add(c, THRUM_EVENT_RESUME, 0, 0, "hibernated");
		add(c, THRUM_EVENT_LOST, 0, 0, "overwritten");
	}
}

static struct thrum__model *make(int which)
{
	struct crowd c = {calloc(EVENTS, sizeof *c.events), 0, 0, 1, 42};
	struct thrum__model *model;

	assert_non_null(c.events);
	add(&c, THRUM_EVENT_CREATE, 0, 1, "");
	c.events[0].flags &= (uint8_t)~THRUM_EVENT_HAS_TASK;
	add(&c, THRUM_EVENT_SWITCH, 1, 0, "");
	switch (which) {
	case 0: live(&c, 500, 1000, false); break;
	case 1: live(&c, 20, 1000, false); break;
	case 2: live(&c, 60, 3, true); break;
	case 3: live(&c, 20000, 100, true); break;
	case 4: chain(&c); break;
	case 5: serve(&c); break;
	default: stretches(&c); break;
	}
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, c.events, c.count), 0);
	free(c.events);
	return model;
}

static double milliseconds(void)
{
	struct timespec t;

	timespec_get(&t, TIME_UTC);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* The failures in sight. */
static unsigned count_failures(const struct marks *m)
{
	const struct thrum__scene *scene = m->scene;
	struct thrum__index_stretch stretch;
	struct thrum__index_walk walk;
	unsigned count = 0;

	for (uint32_t i = 0; i < scene->tracks.count; i++) {
		const struct thrum__scene_track_box *box = &scene->tracks.boxes[i];

		thrum__index_walk_begin(&walk, scene->index, THRUM__INDEX_FAILURES, box->track,
			box->tracks, scene->state.from, scene->state.to, 1000000000);
		count += thrum__index_walk_next(&walk, &stretch);
	}
	return count;
}

/* Failures have crosses, and the selected unit, if its track is in sight, a band. */
static void check_what_matters(const struct marks *m)
{
	unsigned failures = count_failures(m), crosses;
	uint32_t unit = m->scene->selected == THRUM__NONE
		? THRUM__NONE
		: thrum__layout_unit(m->scene->layout, m->scene->selected);

	crosses = marks_count(m, THRUM__Z_END, THRUM__OP_LINE, THRUM__COLOUR_BAD, -1) / 2;
	if ((failures > 0) != (crosses > 0) || (failures < 20 && crosses < failures))
		fail_msg("%u rows with failures, %u crosses", failures, crosses);
	if (unit == THRUM__NONE ||
		!thrum__scene_track_axis_find(&m->scene->tracks,
			thrum__layout_track(m->scene->layout, unit)))
		return;
	assert_int_equal(marks_count(m, THRUM__Z_BAND, THRUM__OP_RECT, THRUM__COLOUR_SEL_BG, -1),
		1);
}

static double check(struct marks *m, int which, const char *what)
{
	double start = milliseconds(), took;
	size_t rects, others;

	assert_int_equal(thrum__scene_frame(m->scene, 1600, 900, &thrum__draw_metrics_plain,
				 &m->list),
		0);
	took = milliseconds() - start;
	thrum__draw_list_count(&m->list, &rects, &others);
	if (rects > RECTS_MAX || others > OTHERS_MAX || m->list.batch_count > BATCHES_MAX)
		fail_msg("crowd %d, %s, height %.0f: %zu rects, %zu others, %u batches", which,
			what, (double)m->scene->state.track_height, rects, others,
			m->list.batch_count);
	check_what_matters(m);
	return took;
}

static void check_windows(struct marks *m, int which, const char *what, double *worst)
{
	static const float heights[] = {0, 2, 5, 11, 24, 45};
	struct thrum__scene_state *state = &m->scene->state;

	for (size_t h = 0; h < sizeof heights / sizeof *heights; h++) {
		for (int64_t part = 1; part <= 10000; part *= 10) {
			double took;

			state->track_height = heights[h];
			state->from = m->model->end / 2 - m->model->end / 2 / part;
			state->to = state->from + m->model->end / part + 1;
			took = check(m, which, what);
			*worst = took > *worst ? took : *worst;
		}
	}
}

static void frames_are_bounded(void **state)
{
	(void)state;
	for (int which = 0; which < 7; which++) {
		struct marks m;
		double worst = 0;

		marks_init(&m, make(which));
		check_windows(&m, which, "plain", &worst);
		assert_int_equal(thrum__scene_select(m.scene, m.model->tasks.count / 2), 0);
		check_windows(&m, which, "selected", &worst);
		m.scene->state.related_only = true;
		assert_int_equal(thrum__scene_settle(m.scene), 0);
		check_windows(&m, which, "related", &worst);
		m.scene->state.fisheye = true;
		check_windows(&m, which, "fish-eye", &worst);
		printf("crowd %d: %u rows, worst frame %.1f ms\n", which, m.scene->layout->tracks,
			worst);
		marks_finish(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(frames_are_bounded)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
