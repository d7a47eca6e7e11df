/* SPDX-License-Identifier: ISC */
/* The model is valid, and the same, for any events and however they are divided into calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_helper.h"
#include "rounds.h"

#define STREAMS rounds(1000, 150)
#define EVENTS_MAX 300

static struct thrum__model *make(bool is_mirage)
{
	struct thrum__model *m;

	assert_int_equal(thrum__model_create(NULL, &m), 0);
	m->is_mirage = m->signed_ids = is_mirage;
	return m;
}

/* ---- Nonsense ------------------------------------------------------------------------------ */

static uint64_t draw(uint64_t *seed, uint64_t below)
{
	return model_random(seed) % below;
}

static uint64_t draw_id(uint64_t *seed)
{
	static const uint64_t odd[] = {0, UINT64_MAX, 63, 64, UINT64_C(1) << 63, UINT64_MAX - 1,
		UINT64_C(1) << 40};

	if (draw(seed, 20) == 0)
		return odd[draw(seed, sizeof odd / sizeof *odd)];
	return 1 + draw(seed, draw(seed, 3) == 0 ? 100 : 12);
}

static int64_t draw_time(uint64_t *seed, int64_t *clock)
{
	static const int64_t odd[] = {0, -1, INT64_MIN, INT64_MAX, INT64_MAX - 1};

	switch (draw(seed, 200)) {
	case 0: return odd[draw(seed, sizeof odd / sizeof *odd)];
	case 1: return *clock - (int64_t)draw(seed, 50);
	case 2: return 0;
	default: *clock += (int64_t)draw(seed, 3); return *clock;
	}
}

static void draw_events(uint64_t *seed, struct thrum_event *events, size_t count)
{
	static const char *const texts[] = {"", "a", "b", "net/tcp", "a rather long label\nof two"};
	static const uint8_t kinds[] = {THRUM_KIND_BIND, THRUM_KIND_TRY, THRUM_KIND_MAP,
		THRUM_KIND_TASK, THRUM_KIND_THREAD, THRUM_KIND_UNKNOWN, 31};
	int64_t clock = 0;

	for (size_t i = 0; i < count; i++) {
		const char *text = texts[draw(seed, sizeof texts / sizeof *texts)];
		/* Reads and waits decide where tasks begin, so there are many of them. */
		static const uint8_t often[] = {THRUM_EVENT_CREATE, THRUM_EVENT_READ,
			THRUM_EVENT_WAIT, THRUM_EVENT_BECOME, THRUM_EVENT_SWITCH};
		uint64_t type = draw(seed, 2) ? often[draw(seed, sizeof often)]
					      : draw(seed, THRUM_EVENT_TYPES + 2);

		events[i] = (struct thrum_event){
			.time = draw_time(seed, &clock),
			.task = draw_id(seed),
			.other = draw_id(seed),
			.value = draw(seed, 10) ? (int64_t)draw(seed, 9) - 2 : INT64_MIN,
			.text = text,
			.text_size = (uint32_t)strlen(text),
			.lane = draw(seed, 100) ? (uint32_t)draw(seed, 3) : UINT32_MAX,
			.site = (uint16_t)draw(seed, 4),
			.type = (uint8_t)type,
			.kind = kinds[draw(seed, sizeof kinds)],
			.flags = (uint8_t)(draw(seed, 8) ? 15 : draw(seed, 32)),
		};
	}
}

static void assert_same(const struct thrum__model *left, const struct thrum__model *right)
{
	char *a = model_text(left), *b = model_text(right);

	assert_string_equal(a, b);
	free(a);
	free(b);
}

static void nonsense_is_the_same_in_steps(void **state)
{
	static struct thrum_event events[EVENTS_MAX];

	for (uint64_t stream = 1; stream <= STREAMS; stream++) {
		uint64_t seed = stream;
		bool is_mirage = draw(&seed, 2);
		size_t count = draw(&seed, EVENTS_MAX);
		struct thrum__model *whole = make(is_mirage), *steps = make(is_mirage);

		draw_events(&seed, events, count);
		assert_int_equal(thrum__model_append(whole, events, count), 0);
		assert_true(thrum__model_is_valid(whole));
		for (size_t done = 0; done < count;) {
			size_t step = 1 + draw(&seed, count - done < 40 ? count - done : 40);

			assert_int_equal(thrum__model_append(steps, events + done, step), 0);
			assert_true(thrum__model_is_valid(steps));
			done += step;
		}
		assert_same(whole, steps);
		assert_int_equal(whole->events, count);
		thrum__model_destroy(whole);
		thrum__model_destroy(steps);
	}
}

static bool has_forgotten(const struct thrum__model_rows *rows)
{
	for (uint32_t i = 0; i < rows->blocks; i++)
		if (!rows->block[i])
			return true;
	return false;
}

/* Adds up the numbers of a table's blocks that are not forgotten. */
static uint64_t sum_blocks(const struct thrum__model_rows *rows)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < rows->blocks; i++)
		sum += rows->block[i] ? i + 1 : 0;
	return sum + ((uint64_t)rows->first << 32);
}

/* Forgets in two steps, after the first one was given up once, which frees no row. */
static void forget_in_steps(struct thrum__model *m, int64_t before)
{
	const struct thrum__model_rows *rows[] = {&m->tasks, &m->runs, &m->edges, &m->notes};
	uint64_t were[4], will[4];

	for (int i = 0; i < 4; i++)
		were[i] = sum_blocks(rows[i]);
	for (int give_up = 1; give_up >= 0; give_up--) {
		struct thrum__model *ahead = thrum__model_forget_begin(m, before);

		assert_true(thrum__model_is_valid(ahead));
		assert_true(thrum__model_is_valid(m));
		will[0] = sum_blocks(&ahead->tasks);
		will[1] = sum_blocks(&ahead->runs);
		will[2] = sum_blocks(&ahead->edges);
		will[3] = sum_blocks(&ahead->notes);
		for (int i = 0; i < 4; i++)
			assert_int_equal(sum_blocks(rows[i]), were[i]);
		if (give_up)
			thrum__model_ahead_free(ahead);
		else
			thrum__model_forget_end(m, ahead);
	}
	for (int i = 0; i < 4; i++)
		assert_int_equal(sum_blocks(rows[i]), will[i]);
}

static void nonsense_can_be_forgotten(void **state)
{
	static struct thrum_event events[EVENTS_MAX];

	for (uint64_t stream = 1; stream <= rounds(20, 4); stream++) {
		uint64_t seed = stream * 77;
		struct thrum__model *m = make(draw(&seed, 2));

		for (int round = 0; round < 120; round++) {
			draw_events(&seed, events, EVENTS_MAX);
			for (size_t i = 0; i < EVENTS_MAX; i++) {
				events[i].time = (events[i].time & 255) + round * 400;
				if (events[i].task < 200)
					events[i].task += (uint64_t)round * 90;
				if (events[i].other < 200)
					events[i].other += (uint64_t)round * 90;
			}
			assert_int_equal(thrum__model_append(m, events, EVENTS_MAX), 0);
			if (draw(&seed, 10) == 0) {
				forget_in_steps(m, m->end - (int64_t)draw(&seed, 2000));
				assert_true(thrum__model_is_valid(m));
			}
		}
		assert_true(thrum__model_is_valid(m));
		assert_true(has_forgotten(&m->notes));
		thrum__model_destroy(m);
	}
}

/* ---- Real traces --------------------------------------------------------------------------- */

static void compare_steps(const char *file, const char *name)
{
	struct thrum__model *whole = model_of_file(file), *steps;
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;
	uint64_t seed = 5;

	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum__model_create(trace, &steps), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t done = 0; done < count;) {
			size_t step = 1 + draw(&seed, count - done < 9 ? count - done : 9);

			assert_int_equal(thrum__model_append_from(steps, trace, events + done,
						 step),
				0);
			done += step;
		}
	thrum_trace_close(trace);
	assert_same(whole, steps);
	thrum__model_destroy(whole);
	thrum__model_destroy(steps);
}

static void real_traces_are_the_same_in_steps(void **state)
{
	if (model_each_trace(compare_steps) == 0)
		skip();
}

/* ---- Loading ------------------------------------------------------------------------------- */

static bool stop(void *context, const struct thrum__model *m)
{
	unsigned *calls = context;

	++*calls;
	return false;
}

static void loading_can_be_stopped_and_goes_on(void **state)
{
	char file[8192];
	unsigned calls = 0;
	struct thrum_trace *trace;
	struct thrum__model *m, *whole;
	int result;

	if (!model_data())
		skip();
	snprintf(file, sizeof file, "%s/net.ctf", model_data());
	whole = model_of_file(file);
	assert_int_equal(thrum_trace_open(file, &trace, NULL), 0);
	assert_int_equal(thrum__model_create(trace, &m), 0);
	while ((result = thrum__model_load(m, trace, stop, &calls, NULL)) == 1)
		assert_true(m->events < whole->events || calls > 0);
	assert_int_equal(result, 0);
	assert_true(calls > 1);
	assert_same(whole, m);
	thrum_trace_close(trace);
	thrum__model_destroy(m);
	thrum__model_destroy(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nonsense_is_the_same_in_steps),
		cmocka_unit_test(nonsense_can_be_forgotten),
		cmocka_unit_test(real_traces_are_the_same_in_steps),
		cmocka_unit_test(loading_can_be_stopped_and_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
