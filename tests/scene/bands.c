/* SPDX-License-Identifier: ISC */
/* Bands: each line lies at the height of its duration, and nothing moves while one zooms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "laid_out.h"
#include "model/parts.h"
#include "picture_helper.h"
#include "scene/bands/bands.h"
#include "scene/move.h"
#include "story.h"

#define MS 1000000
#define REQUESTS 30
#define WIDTH 1600
#define HEIGHT 900

/* Some requests are unlike the others, which take 1 ms. */
enum {
	STUCK = 5,   /* never resolves */
	SLOW = 10,   /* takes 40 ms */
	FAILED = 20, /* fails after 3 ms */
	FIRST_ID = 100,
};

/* ---- The trace ----------------------------------------------------------------------------- */

struct event {
	long time, number;
	char line[96];
};

struct events {
	struct event all[8 * REQUESTS + 8];
	size_t count;
};

static void add(struct events *events, long time, const char *format, int id, int number)
{
	struct event *event = &events->all[events->count];

	event->time = time;
	event->number = (long)events->count++;
	snprintf(event->line, sizeof event->line, format, id, number);
}

static int compare_events(const void *a, const void *b)
{
	const struct event *one = a, *other = b;

	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

static long duration_of(int request)
{
	return request == SLOW ? 40L * MS : request == FAILED ? 3L * MS : 1L * MS;
}

/* A request begins every 10 ms and runs for 100 µs. */
static struct thrum__model *make_model(void)
{
	static struct events events;
	static char text[sizeof events.all + 64 * REQUESTS];
	size_t used;

	events.count = 0;
	for (int i = 0; i < REQUESTS; i++) {
		long start = 10L * MS * (i + 1);

		add(&events, start, "create 1 %d promise", FIRST_ID + i, 0);
		add(&events, start, "label %d \"GET /user/%d", FIRST_ID + i, i);
		add(&events, start, "should-resolve %d", FIRST_ID + i, 0);
		add(&events, start + 1000, "switch %d", FIRST_ID + i, 0);
		add(&events, start + 101000, "switch 1", 0, 0);
		if (i != STUCK)
			add(&events, start + duration_of(i),
				i == FAILED ? "fail 1 %d \"reset" : "resolve 1 %d", FIRST_ID + i,
				0);
	}
	add(&events, 400L * MS, "log 1 \"end", 0, 0);
	qsort(events.all, events.count, sizeof *events.all, compare_events);
	used = (size_t)snprintf(text, sizeof text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	for (size_t i = 0; i < events.count; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%ld %s\n",
			events.all[i].time, events.all[i].line);
	return story_model(text, false);
}

/* ---- The picture --------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct picture *p = test_calloc(1, sizeof *p);

	picture_of_model(p, make_model());
	p->scene->state.as = THRUM__AS_BANDS;
	picture_paint(p, WIDTH, HEIGHT);
	*state = p;
	return 0;
}

static int tear_down(void **state)
{
	picture_finish(*state);
	test_free(*state);
	return 0;
}

static float x_of(const struct picture *p, long time)
{
	return (float)thrum__scene_time_axis_x(&p->scene->time, time);
}

/* The band of the requests. */
static const struct thrum__scene_bands_place *band_of(const struct picture *p)
{
	const struct thrum__scene_bands *bands = p->scene->bands;

	for (uint32_t i = 0; i < bands->place_count; i++)
		if (bands->places[i].kind == THRUM__PLACE_BAND)
			return &bands->places[i];
	fail_msg("there is no band");
	return NULL;
}

/* y of a request's line in the picture. */
static float y_of(const struct picture *p, int request)
{
	const struct thrum__scene_bands_place *place = band_of(p);
	long end = request == STUCK ? 400L * MS : 10L * MS * (request + 1) + duration_of(request);

	return THRUM__RULER + place->y +
		thrum__scene_bands_line_y(place, end - 10L * MS * (request + 1));
}

/* Returns the colour of the cell at a place, or -1. */
static int cell_at(const struct picture *p, float x, float y)
{
	for (uint32_t b = 0; b < p->list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &p->list.batches[b];
		const struct thrum__draw_cells *cells = batch->items;

		if (batch->style.op != THRUM__OP_CELLS)
			continue;
		for (uint32_t i = 0; i < batch->count; i++) {
			float column = floorf((x - cells[i].x) / THRUM__CELL_WIDTH);
			float row = floorf(y - cells[i].y);

			if (column < 0 || row < 0 || column >= (float)cells[i].columns ||
				row >= (float)cells[i].rows)
				continue;
			return (uint8_t)p->list.text[cells[i].offset +
				       (uint32_t)row * cells[i].columns + (uint32_t)column] -
				1;
		}
	}
	return -1;
}

/* Whether a cell of a colour lies within a class of a place's height. */
static bool has_cell(const struct picture *p, int colour, float x, float y)
{
	float reach = band_of(p)->row_height / 2;

	for (float at = y - reach; at <= y + reach; at++)
		if (cell_at(p, x, at) == colour)
			return true;
	return false;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void sections_and_numbers_are_told(void **state)
{
	const struct picture *p = *state;
	struct written where;

	assert_int_equal(picture_find(p, "Threads", NULL), 1);
	assert_int_equal(picture_find(p, "loop", NULL), 1);
	assert_int_equal(picture_find(p, "Queues", NULL), 0);
	assert_int_equal(picture_find(p, "Work", NULL), 1);
	assert_int_equal(picture_find(p, "GET /user/#", &where), 1);
	assert_true(where.x + where.width <= 236);
	assert_int_equal(picture_find(p, "median", NULL), 1);
	assert_int_equal(picture_find(p, "1 ms", NULL), 2); /* on the scale, too */
	/* One failed, and a finding's step has the same number. */
	assert_int_equal(picture_find(p, "1", NULL), 2);
}

static void lines_lie_at_the_height_of_their_durations(void **state)
{
	const struct picture *p = *state;

	assert_true(y_of(p, SLOW) < y_of(p, FAILED));
	assert_true(y_of(p, FAILED) < y_of(p, 0));
	assert_true(y_of(p, STUCK) < y_of(p, SLOW));
	for (int i = 0; i < REQUESTS; i++)
		if (i != FAILED)
			assert_true(has_cell(p, THRUM__COLOUR_PEND,
				x_of(p, 10L * MS * (i + 1) + 500000), y_of(p, i)));
	/* The slow one is as long as it took. */
	assert_true(has_cell(p, THRUM__COLOUR_PEND, x_of(p, 148L * MS), y_of(p, SLOW)));
	assert_false(has_cell(p, THRUM__COLOUR_PEND, x_of(p, 152L * MS), y_of(p, SLOW)));
	assert_false(has_cell(p, THRUM__COLOUR_PEND, x_of(p, 108L * MS), y_of(p, SLOW)));
}

static void a_pending_line_reaches_the_end(void **state)
{
	const struct picture *p = *state;

	assert_true(has_cell(p, THRUM__COLOUR_PEND, x_of(p, 399L * MS), y_of(p, STUCK)));
}

static void a_failure_alone_is_a_cross(void **state)
{
	const struct picture *p = *state;
	unsigned count = 0;

	for (uint32_t b = 0; b < p->list.batch_count; b++) {
		const struct thrum__draw_batch *batch = &p->list.batches[b];
		const struct thrum__draw_segment *lines = batch->items;

		if (batch->style.op != THRUM__OP_LINE || batch->style.z != THRUM__Z_END ||
			batch->style.colour != THRUM__COLOUR_BAD)
			continue;
		for (uint32_t i = 0; i < batch->count; i++, count++) {
			assert_true(
				fabsf((lines[i].x1 + lines[i].x2) / 2 - x_of(p, 213L * MS)) <= 3);
			assert_true(fabsf((lines[i].y1 + lines[i].y2) / 2 - y_of(p, FAILED)) <= 4);
		}
	}
	assert_int_equal(count, 2);
}

static void no_band_moves_while_one_zooms(void **state)
{
	struct picture *p = *state;
	float y = band_of(p)->y, height = band_of(p)->height;
	unsigned rows = band_of(p)->rows;

	for (int i = 0; i < 10; i++) {
		thrum__scene_zoom(p->scene, 700, 300, 2);
		picture_paint(p, WIDTH, HEIGHT);
		assert_float_equal(band_of(p)->y, y, 0);
		assert_float_equal(band_of(p)->height, height, 0);
		assert_int_equal(band_of(p)->rows, rows);
	}
}

static uint32_t picked_at(const struct picture *p, float x, float y)
{
	struct thrum__scene_pick pick;

	thrum__scene_pick(p->scene, x, y, 4, &pick);
	return pick.task;
}

static void the_line_at_the_pointer_is_picked(void **state)
{
	struct picture *p = *state;
	uint32_t slow = story_task(p->model, FIRST_ID + SLOW);

	assert_int_equal(picked_at(p, x_of(p, 130L * MS), y_of(p, SLOW)), slow);
	assert_int_equal(picked_at(p, x_of(p, 213L * MS), y_of(p, FAILED)),
		story_task(p->model, FIRST_ID + FAILED));
	assert_int_equal(picked_at(p, x_of(p, 300L * MS), y_of(p, SLOW)), THRUM__NONE);
	assert_int_equal(picked_at(p, 100, y_of(p, SLOW)), THRUM__NONE);
	assert_int_equal(thrum__scene_select(p->scene, slow), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(picture_has_rect(p, THRUM__COLOUR_SEL, NAN, NAN, NAN, 2));
	assert_int_equal(picture_find(p, "GET /user/10", NULL), 1);
}

static int command(struct picture *p, int number)
{
	int status = thrum__scene_command(p->scene, number);

	picture_paint(p, WIDTH, HEIGHT);
	return status;
}

static void commands_open_and_close_bands(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 0); /* nothing has the focus */
	assert_int_equal(command(p, THRUM__COMMAND_DOWN), 1);
	assert_string_equal(bands->focus, "loop");
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(picture_find(p, "for whom", NULL), 1);
	assert_int_equal(command(p, THRUM__COMMAND_DOWN), 1);
	assert_string_equal(bands->focus, "GET /user/#");
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 2);
	assert_int_equal(picture_find(p, "GET /user/20", NULL), 1); /* it failed */
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_string_equal(bands->opened[1], "GET /user/#*");
	assert_int_equal(picture_find(p, "GET /user/9", NULL), 1); /* more are shown */
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 1);
	assert_int_equal(command(p, THRUM__COMMAND_CLOSE_ALL), 1);
	assert_int_equal(command(p, THRUM__COMMAND_CLOSE_ALL), 0);
	assert_int_equal(picture_find(p, "for whom", NULL), 0);
}

/* The line below the rows of an opened band opens it further, as the key does. */
static void a_press_on_more_opens_a_band_further(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;
	struct written where;

	strcpy(bands->opened[0], "GET /user/#");
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", &where), 1);
	assert_true(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	/* If all in sight are shown, it isn't there. */
	p->scene->state.to = 35L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", NULL), 0);
	assert_false(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	p->scene->state.to = p->model->end;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_press(p->scene, where.x + 2, where.y - 4), 1);
	assert_string_equal(bands->opened[0], "GET /user/#*");
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "+ 22 more", NULL), 0);
	assert_int_equal(picture_find(p, "GET /user/9", NULL), 1);
}

static void a_press_on_close_closes_a_band(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;
	struct written where;

	strcpy(bands->opened[0], "GET /user/#*");
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "close ×", &where), 1);
	assert_true(thrum__scene_bands_is_button(p->scene, where.x + 2, where.y - 4));
	assert_false(thrum__scene_bands_is_button(p->scene, where.x - 100, where.y - 4));
	assert_int_equal(thrum__scene_bands_press(p->scene, where.x + 2, where.y - 4), 1);
	assert_int_equal(bands->opened_count, 0);
	p->scene->is_still = true;
	bands->opened_count = 1;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, "close ×", NULL), 0);
}

/* The panel offers to open a box' band, but not to close it. */
static void a_box_opens_until_all_is_shown(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	strcpy(bands->focus, "GET /user/#");
	bands->range_to = 100L * MS;
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 0); /* no durations are chosen */
	bands->took_to = 2L * MS;
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_string_equal(bands->opened[0], "GET /user/#*");
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 0);
	assert_int_equal(command(p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(bands->opened_count, 0);
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 2, 2);
}

static void thousands_of_lines_are_opened_in_steps(void **state)
{
	enum {
		LINES = 2000
	};
	static char text[LINES * 80 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n");
	struct picture p;
	struct thrum__bands_line lines[64];
	struct thrum__bands_box box = {.to = 10 * LINES};
	uint32_t count, in_sight;

	(void)state;
	for (int i = 0; i < LINES; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d label %d \"work %d\n%d resolve 1 %d\n", 10 * i,
			i + 2, 10 * i, i + 2, i, 10 * i + 1 + i * 7 % 9, i + 2);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	strcpy(p.scene->state.bands.focus, "work #");
	for (int i = 0; i < 3; i++) {
		static const char *const more[] = {"+ 1,992 more", "+ 1,936 more",
			"+ 1,488 more: zoom in, or choose some with Shift and a drag"};

		assert_int_equal(command(&p, THRUM__COMMAND_OPEN), 1);
		p.scene->state.track = 1000;
		assert_int_equal(picture_find(&p, more[i], NULL), 1);
	}
	assert_string_equal(p.scene->state.bands.opened[0], "work #**");
	assert_int_equal(command(&p, THRUM__COMMAND_OPEN), 1);
	assert_int_equal(p.scene->state.bands.opened_count, 0);
	/* The slowest are chosen, the first of those that are alike, by start. */
	count = thrum__bands_pick(thrum__scene_bands_of(p.scene), &box, lines, 64, &in_sight);
	assert_int_equal(in_sight, LINES);
	assert_int_equal(count, 64);
	for (uint32_t i = 0; i + 1 < count; i++)
		assert_true(lines[i].start < lines[i + 1].start);
	picture_finish(&p);
}

static void exceptions_are_walked_in_the_order_of_their_ends(void **state)
{
	static const int order[] = {FAILED, STUCK};
	struct picture *p = *state;

	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		assert_int_equal(command(p, THRUM__COMMAND_EXCEPTION), 1);
		assert_int_equal(p->scene->selected,
			story_task(p->model, FIRST_ID + (uint64_t)order[i]));
	}
	assert_int_equal(command(p, THRUM__COMMAND_PREVIOUS_EXCEPTION), 1);
	assert_int_equal(p->scene->selected, story_task(p->model, FIRST_ID + FAILED));
	assert_int_equal(command(p, THRUM__COMMAND_NEXT_ALIKE), 1);
	assert_int_equal(p->scene->selected, story_task(p->model, FIRST_ID + FAILED + 1));
}

static void one_command_changes_between_rows_and_bands(void **state)
{
	struct picture *p = *state;

	assert_true(p->scene->shows_bands);
	assert_int_equal(command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(p->scene->state.as, THRUM__AS_ROWS);
	assert_false(p->scene->shows_bands);
	assert_int_equal(picture_find(p, "Work", NULL), 0);
	assert_int_equal(command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(picture_find(p, "Work", NULL), 1);
}

static void zooming_goes_to_the_range_or_to_the_selection(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_state *scene = &p->scene->state;
	int64_t from = scene->from, to = scene->to;

	assert_int_equal(command(p, THRUM__COMMAND_ZOOM_TO), 0); /* there is nothing to go to */
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	scene->bands.range_from = 200L * MS;
	scene->bands.range_to = 240L * MS;
	assert_int_equal(command(p, THRUM__COMMAND_ZOOM_TO), 1);
	assert_int_equal(scene->from, 200L * MS);
	assert_int_equal(scene->to, 240L * MS);
	assert_int_equal(command(p, THRUM__COMMAND_BACK), 1);
	assert_int_equal(scene->from, from);
	assert_int_equal(scene->to, to);
	scene->bands.range_from = scene->bands.range_to = 0;
	assert_int_equal(command(p, THRUM__COMMAND_ZOOM_TO), 1);
	assert_in_range(scene->from, 105L * MS, 110L * MS); /* it lives from 110 to 150 ms */
	assert_in_range(scene->to, 150L * MS, 155L * MS);
}

/* One Escape ends one thing. */
static void escape_ends_one_thing_at_a_time(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_state *scene = &p->scene->state;

	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	assert_int_equal(command(p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(thrum__scene_search(p->scene, "GET"), 0);
	scene->bands.range_from = 200L * MS;
	scene->bands.range_to = 240L * MS;
	assert_int_equal(command(p, THRUM__COMMAND_CLEAR), 1);
	assert_int_equal(scene->bands.range_to, 0);
	assert_string_equal(scene->search, "GET");
	assert_int_equal(command(p, THRUM__COMMAND_CLEAR), 1);
	assert_string_equal(scene->search, "");
	assert_true(scene->has_selected);
	assert_int_equal(command(p, THRUM__COMMAND_CLEAR), 1);
	assert_false(scene->has_selected);
	assert_int_equal(scene->bands.story_count, 1);
	assert_int_equal(command(p, THRUM__COMMAND_CLEAR), 1);
	assert_int_equal(scene->bands.story_count, 0);
	assert_int_equal(command(p, THRUM__COMMAND_CLEAR), 0);
}

/* In rows too: there a story needs bands, which the command shows if there is one. */
static void rows_change_to_bands_for_a_story(void **state)
{
	struct picture *p = *state;

	assert_int_equal(command(p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, 1)), 0); /* a thread */
	assert_int_equal(command(p, THRUM__COMMAND_SLOW), 2);
	assert_false(p->scene->shows_bands);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	assert_int_equal(command(p, THRUM__COMMAND_SLOW), 1);
	assert_true(p->scene->shows_bands);
	assert_int_equal(p->scene->state.bands.story_count, 1);
}

/* The head counts each task once, also those that cross an edge of the range. */
static void a_range_counts_no_task_twice(void **state)
{
	struct picture *p = *state;
	const char *words =
		"30 tasks in these bands, each a line from its beginning to its end; the "
		"higher, the longer it took (scale at the right)";

	assert_int_equal(picture_find(p, words, NULL), 1);
	p->scene->state.bands.range_from = 120L * MS; /* within the slow one */
	p->scene->state.bands.range_to = 130L * MS;
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(p, words, NULL), 1);
}

/* The panel tells about the range, if it was chosen after the task. */
static void what_was_chosen_last_is_told(void **state)
{
	struct picture *p = *state;
	struct thrum__scene_bands_state *bands = &p->scene->state.bands;

	assert_false(thrum__scene_bands_tells_range(p->scene));
	bands->range_from = 120L * MS;
	bands->range_to = 130L * MS;
	assert_true(thrum__scene_bands_tells_range(p->scene));
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 3, 1);
	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID)), 0);
	assert_false(thrum__scene_bands_tells_range(p->scene));
	assert_int_equal(thrum__scene_bands_subject(p->scene) & 1, 0);
	p->scene->tells_range = true;
	assert_true(thrum__scene_bands_tells_range(p->scene));
	bands->range_to = bands->range_from;
	assert_false(thrum__scene_bands_tells_range(p->scene));
}

/* How many rects have a colour and a z. */
static unsigned count_rects(const struct picture *p, int z, int colour)
{
	unsigned count = 0;

	for (uint32_t b = 0; b < p->list.batch_count; b++)
		if (p->list.batches[b].style.op == THRUM__OP_RECT &&
			p->list.batches[b].style.z == z &&
			p->list.batches[b].style.colour == colour)
			count += p->list.batches[b].count;
	return count;
}

static void found_lines_are_marked_on_top_of_their_band(void **state)
{
	struct picture *p = *state;
	float top = THRUM__RULER + band_of(p)->y, x;

	assert_int_equal(thrum__scene_search(p->scene, "user/10"), 0);
	picture_paint(p, WIDTH, HEIGHT);
	x = thrum__scene_bands_left(WIDTH) +
		2 * floorf((x_of(p, 110L * MS) - thrum__scene_bands_left(WIDTH)) / 2);
	assert_int_equal(count_rects(p, THRUM__Z_END, THRUM__COLOUR_HIT), 1);
	assert_true(picture_has_rect(p, THRUM__COLOUR_HIT, x, top - 6, 2, 4));
	assert_true(picture_has_rect(p, THRUM__COLOUR_INK, x, top - 2, 2, 2));
	assert_int_equal(thrum__scene_search(p->scene, ""), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_int_equal(count_rects(p, THRUM__Z_END, THRUM__COLOUR_HIT), 0);
}

static void unrelated_lines_are_faded(void **state)
{
	struct picture *p = *state;
	float x = x_of(p, 10L * MS + 500000);

	assert_int_equal(thrum__scene_select(p->scene, story_task(p->model, FIRST_ID + SLOW)), 0);
	picture_paint(p, WIDTH, HEIGHT);
	assert_true(has_cell(p, THRUM__COLOUR_PEND, x, y_of(p, 0)));
	assert_int_equal(command(p, THRUM__COMMAND_RELATED), 1);
	assert_true(has_cell(p, THRUM__COLOUR_FADED, x, y_of(p, 0)));
	assert_false(has_cell(p, THRUM__COLOUR_PEND, x, y_of(p, 0)));
	assert_true(
		picture_has_rect(p, THRUM__COLOUR_SEL, NAN, NAN, NAN, 2)); /* its own line isn't */
}

/* Where nearly all tasks of a group fail, marks would say nothing: the column says "all". */
static void failures_of_all_are_no_marks(void **state)
{
	enum {
		TASKS = 60,
		WELL = 7 /* the one that doesn't fail: 98.3 % do */
	};
	static char text[TASKS * 160 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	struct picture p;
	struct written where;

	(void)state;
	for (int i = 0; i < TASKS; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /no/%d\n%ld should-resolve %d\n"
			"%ld switch %d\n%ld switch 1\n%ld %s 1 %d\n",
			i * 10L * MS, i + 2, i * 10L * MS, i + 2, i, i * 10L * MS, i + 2,
			i * 10L * MS + 1000, i + 2, i * 10L * MS + 2000, i * 10L * MS + 1L * MS,
			i == WELL ? "resolve" : "fail", i + 2);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	p.scene->state.findings = false;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(&p, "all", &where), 1);
	assert_int_equal(where.colour, THRUM__COLOUR_BAD);
	for (uint32_t b = 0; b < p.list.batch_count; b++) {
		assert_false(p.list.batches[b].style.colour == THRUM__COLOUR_BAD &&
			p.list.batches[b].style.op == THRUM__OP_LINE);
		for (float y = y_of(&p, 0) - 20; y < y_of(&p, 0) + 20; y++)
			assert_int_not_equal(cell_at(&p, x_of(&p, 11L * MS), y), THRUM__COLOUR_BAD);
	}
	picture_finish(&p);
}

/* Makes the only call site of a model. */
static void add_site(struct thrum__model *model)
{
	struct thrum__sites *sites = model->sites;

	assert_int_equal(sites->room, 0);
	sites->all = calloc(2, sizeof *sites->all);
	sites->all[1] = malloc(sizeof *sites->all[1]);
	*sites->all[1] = (struct thrum_trace_site){"net.c", "fetch", 42};
	sites->room = 2;
}

/* Without labels the bands are call sites, which the head says. */
static void a_trace_without_labels_has_bands_by_site(void **state)
{
	static char text[4000];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 switch 1\n");
	struct thrum__model *model;
	struct story story;
	struct picture p;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d switch %d\n%d resolve %d %d\n%d switch 1\n",
			100 * i + 1, i + 2, 100 * i + 2, i + 2, 100 * i + 50, i + 2, i + 2,
			100 * i + 51);
	story_init(&story, text);
	for (size_t i = 2; i < story.count; i++)
		if (story.events[i].type == THRUM_EVENT_CREATE)
			story.events[i].site = 1;
	assert_int_equal(thrum__model_create(NULL, &model), 0);
	assert_int_equal(thrum__model_append(model, story.events, story.count), 0);
	add_site(model);
	picture_of_model(&p, model);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(p.scene->bands->all->family.by_site);
	assert_int_equal(picture_find(&p,
				 "No task here has a label; these are call sites. thrum_task_label "
				 "names them.",
				 NULL),
		1);
	assert_int_equal(picture_find(&p, "promise in fetch:42", NULL), 1); /* the band's name */
	picture_finish(&p);
	story_finish(&story);
}

/* Finds the words on groups without a band. */
static void find_others(void *context, const struct written *text)
{
	struct written *words = context;
	char all[400];

	snprintf(all, sizeof all, "%.*s", (int)text->size, text->text);
	if (strstr(all, "shutdown 1"))
		*words = *text;
}

/* A finding whose task has no band opens the groups without one. */
static void a_finding_opens_the_groups_without_a_band(void **state)
{
	static char text[8000];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n");
	const struct thrum__scene_bands_place *place;
	struct picture p;
	uint32_t group;

	(void)state;
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /user/%d\n%ld switch %d\n"
			"%ld switch 1\n%ld resolve 1 %d\n",
			(i + 1) * 10L * MS, i + 10, (i + 1) * 10L * MS, i + 10, i,
			(i + 1) * 10L * MS + 1000, i + 10, (i + 1) * 10L * MS + 2000,
			(i + 1) * 10L * MS + 1L * MS, i + 10);
	sprintf(text + used,
		"%ld create 1 5 promise\n%ld label 5 \"shutdown\n%ld should-resolve 5\n"
		"%ld log 1 \"end\n",
		300L * MS, 300L * MS, 300L * MS, 900L * MS);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(p.scene->findings.count, 1);
	group = thrum__family_group(&p.scene->bands->all->family, story_task(p.model, 5));
	assert_null(thrum__scene_bands_place_of(p.scene->bands, group));
	assert_int_equal(thrum__scene_show_finding(p.scene, 0), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	place = thrum__scene_bands_place_of(p.scene->bands, group);
	assert_non_null(place);
	assert_int_equal(thrum__scene_bands_opened(&p.scene->state.bands, THRUM__BANDS_MORE), 1);
	picture_finish(&p);
}

/* A disc that would cover words makes room for them, but stays near its time. */
static void discs_stand_beside_words(void **state)
{
	static const char *const others[] = {"first of all", "then the cache", "and the table",
		"last of all"};
	static char text[8000];
	size_t used = (size_t)sprintf(text,
		"0 create - 1 thread\n0 label 1 \"loop\n0 switch 1\n0 create 1 5 promise\n"
		"0 label 5 \"shutdown\n0 should-resolve 5\n");
	struct written words = {.size = 0};
	struct picture p;
	unsigned rings = 0;

	(void)state;
	for (int i = 0; i < 4; i++)
		used += (size_t)sprintf(text + used,
			"1000 create 1 %d promise\n1000 label %d \"%s\n2000 resolve 1 %d\n", i + 6,
			i + 6, others[i], i + 6);
	for (int i = 0; i < 20; i++)
		used += (size_t)sprintf(text + used,
			"%ld create 1 %d promise\n%ld label %d \"GET /user/%d\n%ld resolve 1 %d\n",
			(i + 1) * 10L * MS, i + 10, (i + 1) * 10L * MS, i + 10, i,
			(i + 1) * 10L * MS + 1L * MS, i + 10);
	sprintf(text + used, "%ld log 1 \"end\n", 900L * MS);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(p.scene->findings.count, 1);
	picture_texts(&p, THRUM__Z_LABEL, THRUM__Z_LABEL, find_others, &words);
	assert_true(words.width > 200);
	for (uint32_t b = 0; b < p.list.batch_count; b++) {
		const struct thrum__draw_circle *all = p.list.batches[b].items;

		for (uint32_t i = 0;
			p.list.batches[b].style.op == THRUM__OP_RING && i < p.list.batches[b].count;
			i++, rings++) {
			assert_true(all[i].x < words.x + 60);
			assert_true(all[i].y - 9 >= words.y || all[i].y + 9 <= words.y - 8);
			assert_true(fabsf(all[i].y - words.y) < 40);
		}
	}
	assert_true(rings > 0);
	picture_finish(&p);
}

/* A name in the gutter tells its sentence, and a thread steps forward from the others. */
static void a_name_tells_about_it(void **state)
{
	struct picture *p = *state;
	char words[400];
	struct written where;

	assert_int_equal(picture_find(p, "loop", &where), 1);
	assert_true(thrum__scene_name_words(p->scene, where.x, where.y, words, sizeof words) > 0);
	assert_non_null(strstr(words, "loop: runs "));
	assert_true(thrum__scene_hover_name(p->scene, where.x, where.y));
	assert_false(thrum__scene_hover_name(p->scene, where.x, where.y));
	assert_true(thrum__scene_hover_name(p->scene, INFINITY, 0));
	assert_int_equal(thrum__scene_name_words(p->scene, 800, where.y, words, sizeof words), 0);
	assert_int_equal(thrum__scene_line_words(p->scene, story_task(p->model, FIRST_ID + FAILED),
				 words, sizeof words),
		strlen(", 3 ms, failed: reset"));
	assert_string_equal(words, ", 3 ms, failed: reset");
}

static void low_pictures_scroll(void **state)
{
	struct picture *p = *state;
	struct written where;
	float y;

	picture_paint(p, WIDTH, 140);
	assert_true(p->scene->bands->content > p->scene->bands->height);
	thrum__scene_drag(p->scene, 700, 80, 0, -1000);
	y = thrum__scene_bands_scroll(p->scene->bands, p->scene->state.track);
	assert_float_equal(y, p->scene->bands->content - p->scene->bands->height, 1);
	picture_paint(p, WIDTH, 140);
	assert_int_equal(picture_find(p, "Threads", &where), 1);
	assert_true(where.y < THRUM__RULER); /* the ruler hides it */
	thrum__scene_drag(p->scene, 700, 80, 0, 1000);
	assert_float_equal(p->scene->state.track, 0, 0);
}

static void all_widths_and_heights_are_painted(void **state)
{
	static const float sizes[][2] = {{1600, 900}, {999, 700}, {600, 500}, {599, 500}, {200, 60},
		{1, 1}, {0, 0}, {8000, 300}};
	struct picture *p = *state;

	p->scene->state.legend = p->scene->state.strip = true;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		picture_paint(p, sizes[i][0], sizes[i][1]);
}

static void a_trace_without_tasks_has_bands(void **state)
{
	struct picture p;

	picture_init(&p, "0 log - \"nothing\n", false);
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(picture_find(&p, "Work", NULL), 1);
	picture_finish(&p);
}

/* Whether a text somewhere in the picture has this in it. */
static bool says(const struct picture *p, const char *words)
{
	static char text[1 << 20];

	assert_true(thrum__draw_list_print(&p->list, text, sizeof text) < sizeof text);
	return strstr(text, words) != NULL;
}

/* A caller may make the bands of a big model itself: an update then leaves them as they are. */
static void bands_can_be_made_elsewhere(void **state)
{
	enum {
		EVENTS = 120000,
		MORE = 10000
	};
	struct thrum_event *events = layout_events(12, EVENTS + MORE, 2);
	struct thrum_event late = events[EVENTS + MORE - 1];
	struct picture p;
	struct thrum__bands *made;
	int64_t to;

	(void)state;
	picture_of_model(&p, layout_model(events, EVENTS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_BANDS;
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(thrum__scene_bands_lag(p.scene));
	to = thrum__scene_bands_of(p.scene)->to;
	assert_int_equal(thrum__model_append(p.model, events + EVENTS, MORE), 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_true(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->made_to, to);
	assert_false(says(&p, "are still being counted"));
	late.type = THRUM_EVENT_LOG;
	late.time += 2000000000;
	assert_int_equal(thrum__model_append(p.model, &late, 1), 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(says(&p, "The last 2 s are still being counted."));
	assert_int_equal(thrum__scene_bands_of(p.scene)->to, p.model->end);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	assert_false(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->to, p.model->end);
	thrum__model_forget(p.model, p.model->end / 2);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_false(thrum__scene_bands_lag(p.scene));
	picture_paint(&p, WIDTH, HEIGHT);
	picture_finish(&p);
	free(events);
}

/* Until bands are made anew, an update keeps stories and the rows of opened bands: all paths would have to be
 * made anew. */
static void paths_are_made_anew_after_the_bands(void **state)
{
	enum {
		EVENTS = 60000,
		MORE = 6000
	};
	struct thrum_event *events = layout_events(12, EVENTS + MORE, 2);
	struct thrum__bands_line line;
	struct thrum__bands *made;
	const struct thrum__paths *paths;
	struct picture p;
	uint32_t group, shown, task;

	(void)state;
	picture_of_model(&p, layout_model(events, EVENTS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_BANDS;
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	shown = p.scene->bands->all->family.shown[0];
	thrum__scene_bands_group_name(p.scene->bands->all, shown, p.scene->state.bands.focus);
	assert_int_equal(command(&p, THRUM__COMMAND_OPEN), 1);
	task = p.scene->bands->all->family.groups[shown].sample;
	assert_true(thrum__bands_line_of(p.scene->bands->all, task, &line, &group));
	assert_int_equal(thrum__scene_select(p.scene, line.task), 0);
	assert_int_equal(command(&p, THRUM__COMMAND_PIN), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	paths = p.scene->bands->paths;
	assert_non_null(paths);
	assert_true(p.scene->bands->row_count > 0);
	assert_int_equal(p.scene->bands->story_count, 1);
	for (int i = 0; i < 6; i++) {
		uint32_t edges = paths->model->edges.count;

		assert_int_equal(thrum__model_append(p.model, events + EVENTS + i * MORE / 6,
					 MORE / 6),
			0);
		assert_true(paths->model->edges.count > edges);
		assert_int_equal(thrum__scene_update(p.scene), 0);
		p.scene->state.from = p.model->end / (i + 2); /* other rows, and another grain */
		p.scene->state.to = p.model->end;
		picture_paint(&p, WIDTH, HEIGHT);
		assert_ptr_equal(p.scene->bands->paths, paths);
		assert_true(p.scene->bands->are_paths_old);
		assert_int_equal(p.scene->bands->story_count, 1);
		assert_true(says(&p, " waited for, from top to bottom"));
	}
	/* Another story needs new ones. */
	assert_int_equal(command(&p, THRUM__COMMAND_PIN), 1);
	assert_int_equal(command(&p, THRUM__COMMAND_PIN), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	assert_true(p.scene->bands->are_paths_old);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	assert_int_equal(p.scene->bands->story_count, 1);
	thrum__model_forget(p.model, p.model->end / 2);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(p.scene->bands->are_paths_old);
	picture_finish(&p);
	free(events);
}

/* Rows are shown until the bands of a big model, which are made elsewhere, are there. */
static void rows_wait_for_big_bands(void **state)
{
	struct thrum_event *events = layout_events(12, THRUM__LATER_BANDS, 2);
	struct thrum__bands *made;
	struct picture p;

	(void)state;
	picture_of_model(&p, layout_model(events, THRUM__LATER_BANDS));
	p.scene->bands_later = true;
	p.scene->state.as = THRUM__AS_ROWS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(command(&p, THRUM__COMMAND_BANDS), 1);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_true(thrum__scene_awaits_bands(p.scene));
	assert_null(p.scene->bands);
	assert_false(p.scene->shows_bands);
	assert_int_equal(command(&p, THRUM__COMMAND_BANDS), 1);
	assert_false(thrum__scene_awaits_bands(p.scene));
	assert_int_equal(command(&p, THRUM__COMMAND_BANDS), 1);
	assert_int_equal(thrum__bands_make(p.model, NULL, NULL, &made), 0);
	p.scene->state.track = 9; /* of the rows that are shown meanwhile */
	assert_int_equal(thrum__scene_take_bands(p.scene, made), 0);
	assert_float_equal(p.scene->state.track, 0, 0);
	assert_int_equal(thrum__scene_update(p.scene), 0);
	picture_paint(&p, WIDTH, HEIGHT);
	assert_false(thrum__scene_awaits_bands(p.scene));
	assert_true(p.scene->shows_bands);
	picture_finish(&p);
	free(events);
}

/* A program that gives thousands of kinds of names gets no thousands of places. */
static void not_all_of_thousands_of_groups_have_places(void **state)
{
	enum {
		GROUPS = 700
	};
	static char text[GROUPS * 96 + 64];
	size_t used = (size_t)sprintf(text, "0 create - 1 thread\n");
	struct picture p;

	(void)state;
	for (int i = 0; i < GROUPS; i++)
		used += (size_t)sprintf(text + used,
			"%d create 1 %d promise\n%d label %d \"g%c%c\n", 2 * i + 1, i + 2,
			2 * i + 1, i + 2, 'a' + i / 26, 'a' + i % 26);
	picture_of_model(&p, story_model(text, false));
	p.scene->state.as = THRUM__AS_BANDS;
	picture_paint(&p, WIDTH, HEIGHT);
	assert_int_equal(thrum__scene_bands_of(p.scene)->family.more_count, GROUPS);
	assert_int_equal(picture_find(&p, "− 700 more", NULL), 1);
	assert_int_equal(picture_find(&p, "the 500 with the most tasks are below", NULL), 1);
	assert_true(p.scene->bands->place_count < 510);
	picture_finish(&p);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(sections_and_numbers_are_told),
		TEST(lines_lie_at_the_height_of_their_durations),
		TEST(a_pending_line_reaches_the_end),
		TEST(a_failure_alone_is_a_cross),
		TEST(no_band_moves_while_one_zooms),
		TEST(the_line_at_the_pointer_is_picked),
		TEST(commands_open_and_close_bands),
		TEST(a_press_on_more_opens_a_band_further),
		TEST(a_press_on_close_closes_a_band),
		TEST(a_box_opens_until_all_is_shown),
		cmocka_unit_test(thousands_of_lines_are_opened_in_steps),
		cmocka_unit_test(paths_are_made_anew_after_the_bands),
		TEST(exceptions_are_walked_in_the_order_of_their_ends),
		TEST(one_command_changes_between_rows_and_bands),
		TEST(zooming_goes_to_the_range_or_to_the_selection),
		TEST(escape_ends_one_thing_at_a_time),
		TEST(rows_change_to_bands_for_a_story),
		TEST(a_range_counts_no_task_twice),
		TEST(what_was_chosen_last_is_told),
		TEST(found_lines_are_marked_on_top_of_their_band),
		TEST(unrelated_lines_are_faded),
		cmocka_unit_test(discs_stand_beside_words),
		TEST(a_name_tells_about_it),
		TEST(low_pictures_scroll),
		TEST(all_widths_and_heights_are_painted),
		cmocka_unit_test(a_trace_without_tasks_has_bands),
		cmocka_unit_test(bands_can_be_made_elsewhere),
		cmocka_unit_test(rows_wait_for_big_bands),
		cmocka_unit_test(a_finding_opens_the_groups_without_a_band),
		cmocka_unit_test(failures_of_all_are_no_marks),
		cmocka_unit_test(a_trace_without_labels_has_bands_by_site),
		cmocka_unit_test(not_all_of_thousands_of_groups_have_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
