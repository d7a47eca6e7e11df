/* SPDX-License-Identifier: ISC */
/* A scene whose model forgets: findings, statistics, documents and the picture at each step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "laid_out.h"
#include "report/document/document.h"
#include "report/table/table.h"
#include "rounds.h"
#include "scene/scene.h"
#include "words/words.h"

#define EVENTS 60000
#define PIECE 1500  /* events between two updates; more than a block of tasks lives meanwhile */
#define LIVES 40000 /* ns that the model remembers */
#define OLD 40      /* ids of tasks that wait all the time and never end */
#define LIVE 60     /* other tasks that are pending at a time */
#define ROWS 100    /* of a table that are read at each end */
#define TEXT 4096

/* ---- Events -------------------------------------------------------------------------------- */

/* Returns the id of a recent task, and now and then of one that never ends. */
static uint64_t any_task(uint64_t *random, uint32_t ids)
{
	uint32_t back = ids < LIVE ? ids : LIVE;

	return back == 0 || layout_random(random, 12) == 0
		? 1 + layout_random(random, OLD)
		: OLD + ids - layout_random(random, back);
}

/* Returns random events of all types from which findings are concluded, of tasks of many kinds. */
static struct thrum_event *make_events(uint64_t seed, uint32_t count)
{
	static const uint8_t TYPES[] = {THRUM_EVENT_CREATE, THRUM_EVENT_CREATE, THRUM_EVENT_CREATE,
		THRUM_EVENT_SWITCH, THRUM_EVENT_SWITCH, THRUM_EVENT_WAIT, THRUM_EVENT_WAIT,
		THRUM_EVENT_READ, THRUM_EVENT_RESOLVE, THRUM_EVENT_RESOLVE, THRUM_EVENT_RESOLVE,
		THRUM_EVENT_FAIL, THRUM_EVENT_CANCEL, THRUM_EVENT_BECOME, THRUM_EVENT_LOCK,
		THRUM_EVENT_UNLOCK, THRUM_EVENT_SIGNAL, THRUM_EVENT_LINK_SEND,
		THRUM_EVENT_LINK_RECEIVE, THRUM_EVENT_DUE, THRUM_EVENT_LABEL, THRUM_EVENT_LOG,
		THRUM_EVENT_SHOULD_RESOLVE};
	static const uint8_t KINDS[] = {THRUM_KIND_PROMISE, THRUM_KIND_PROMISE, THRUM_KIND_FIBER,
		THRUM_KIND_BIND, THRUM_KIND_CHOOSE, THRUM_KIND_JOIN, THRUM_KIND_LOCK,
		THRUM_KIND_SEMAPHORE, THRUM_KIND_CONDITION, THRUM_KIND_TIMER, THRUM_KIND_REQUEST,
		THRUM_KIND_HANDLE};
	static const uint8_t ENDS[] = {THRUM_EVENT_RESOLVE, THRUM_EVENT_RESOLVE, THRUM_EVENT_FAIL,
		THRUM_EVENT_CANCEL};
	static const char *const TEXTS[] = {"one", "two", "three", "four"};
	struct thrum_event *events = calloc(count, sizeof *events);
	int64_t time = 0;
	uint32_t ids = 0, ended = 0;

	assert_non_null(events);
	for (uint32_t i = 0; i < count; i++) {
		struct thrum_event *e = &events[i];
		const char *text = TEXTS[layout_random(&seed, 4)];

		time += layout_random(&seed, 10);
		*e = (struct thrum_event){
			.time = time,
			.lane = layout_random(&seed, 3),
			.type = i < OLD ? THRUM_EVENT_CREATE
					: TYPES[layout_random(&seed, sizeof TYPES)],
			.kind = KINDS[layout_random(&seed, sizeof KINDS)],
			.text = text,
			.text_size = (uint32_t)strlen(text),
			.task = any_task(&seed, ids),
			.other = any_task(&seed, ids),
			.value = layout_random(&seed, 1000),
			.flags = THRUM_EVENT_HAS_TASK | THRUM_EVENT_HAS_OTHER |
				THRUM_EVENT_HAS_TEXT,
		};
		/* All other tasks end, so that their blocks are forgotten. */
		if (e->type == THRUM_EVENT_CREATE && ids > ended + LIVE) {
			e->type = ENDS[layout_random(&seed, sizeof ENDS)];
			e->other = OLD + ++ended;
		} else if (e->type == THRUM_EVENT_CREATE) {
			e->other = i < OLD ? i + 1 : OLD + ++ids;
			e->kind = i < OLD ? THRUM_KIND_PROMISE : e->kind;
		} else if (e->type == THRUM_EVENT_BECOME && (e->task <= OLD || e->other <= OLD)) {
			e->type = THRUM_EVENT_WAIT;
		} else if (e->other <= OLD && e->type != THRUM_EVENT_SIGNAL) {
			e->type = THRUM_EVENT_READ;
		}
	}
	return events;
}

/* ---- Uses of a model ----------------------------------------------------------------------- */

static void tell_findings(const struct thrum__scene *scene)
{
	for (uint32_t i = 0; i < scene->findings.count; i++) {
		const struct thrum__finding *finding = &scene->findings.findings[i];
		struct thrum__words_mention mentions[THRUM__MENTIONS_MAX];
		struct thrum__document document;
		char text[TEXT];
		unsigned count;

		assert_true(thrum__model_has_row(&scene->model->tasks, finding->task));
		thrum__words_finding_title(scene->model, finding, text, sizeof text);
		for (unsigned step = 0; step < finding->step_count; step++) {
			assert_true(thrum__model_has_row(&scene->model->tasks,
				finding->steps[step].task));
			thrum__words_step_title(scene->model, finding, step, text, sizeof text);
			thrum__words_step_line(scene->model, finding, step, text, sizeof text);
			thrum__words_step_sentence(scene->model, finding, step, text, sizeof text,
				mentions, &count);
		}
		thrum__document_init(&document);
		assert_int_equal(thrum__document_finding(scene->model, finding, &document), 0);
		thrum__document_finish(&document);
	}
}

static void read_tables(const struct thrum__stats *stats)
{
	for (int kind = 0; kind < THRUM__TABLE_COUNT; kind++) {
		struct thrum__table table;
		struct thrum__table_cell cell;
		uint32_t count;
		unsigned columns;

		assert_int_equal(thrum__table_init(&table, kind, stats), 0);
		columns = table.form->count;
		/* The first and the last rows. */
		count = table.count < 2 * ROWS ? table.count : 2 * ROWS;
		for (uint32_t i = 0; i < count; i++) {
			uint32_t row = i < ROWS ? i : table.count - count + i;

			for (unsigned column = 0; column < columns; column++)
				thrum__table_words(&table, row, column, &cell);
		}
		thrum__table_finish(&table);
	}
}

static void tell_tasks(const struct thrum__stats *stats, uint64_t *random)
{
	const struct thrum__model *model = stats->model;

	for (int i = 0; i < 30; i++) {
		uint32_t task = layout_random(random, model->tasks.count);
		struct thrum__document document;

		thrum__document_init(&document);
		if (thrum__model_has_row(&model->tasks, task))
			assert_int_equal(thrum__document_task(stats, task, THRUM__NONE, &document),
				0);
		thrum__document_finish(&document);
	}
}

static void use_model(struct thrum__scene *scene, uint64_t *random)
{
	struct thrum__draw_list list;
	struct thrum__stats stats;

	tell_findings(scene);
	assert_int_equal(thrum__stats_make(scene->model, layout_random(random, 2), 20, &stats), 0);
	read_tables(&stats);
	tell_tasks(&stats, random);
	thrum__stats_free(&stats);
	scene->state.from = scene->model->forgotten - 1000;
	scene->state.to = scene->model->end + 1000;
	scene->state.track_height = (float)(4 + layout_random(random, 20));
	thrum__draw_list_init(&list);
	assert_int_equal(thrum__scene_frame(scene, 1000, 500, &thrum__draw_metrics_plain, &list),
		0);
	thrum__draw_list_finish(&list);
}

/* Selects a random task, gives some commands, and hovers over another task. */
static void go_about(struct thrum__scene *scene, uint64_t *random)
{
	uint32_t task = layout_random(random, scene->model->tasks.count);

	scene->state.related_only = layout_random(random, 2);
	if (!thrum__model_has_row(&scene->model->tasks, task))
		return;
	assert_int_equal(thrum__scene_select(scene, task), 0);
	for (int i = 0; i < 5; i++)
		assert_true(thrum__scene_command(scene,
				    (int)layout_random(random, THRUM__COMMAND_COUNT)) >= 0);
	thrum__scene_hover(scene, layout_random(random, scene->model->tasks.count));
}

/* ---- The test ------------------------------------------------------------------------------ */

static bool has_forgotten(const struct thrum__model_rows *rows)
{
	for (uint32_t i = 0; i < rows->blocks; i++)
		if (!rows->block[i])
			return true;
	return false;
}

static void forgets_while_it_is_looked_at(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= rounds(8, 4); seed++) {
		struct thrum_event *events = make_events(seed, EVENTS);
		const struct thrum__scene_options options = {.by_lane = seed % 4 == 0};
		struct thrum__model *model = layout_model(events, 0);
		struct thrum__scene *scene;
		struct thrum__stats stats;
		uint64_t random = seed;

		model->is_mirage = seed % 3 == 0;
		assert_int_equal(thrum__model_append(model, events, PIECE), 0);
		assert_int_equal(thrum__scene_create(model, &options, NULL, NULL, &scene), 0);
		assert_int_equal(thrum__scene_search(scene, "two"), 0);
		for (uint32_t at = PIECE; at < EVENTS; at += PIECE) {
			assert_int_equal(thrum__stats_make(model, true, 20, &stats), 0);
			assert_int_equal(thrum__model_append(model, events + at, PIECE), 0);
			thrum__model_forget(model, model->end - LIVES);
			read_tables(&stats);
			thrum__stats_free(&stats);
			assert_true(thrum__model_is_valid(model));
			assert_int_equal(thrum__scene_update(scene), 0);
			tell_findings(scene);
			if (layout_random(&random, 3) > 0)
				assert_int_equal(thrum__scene_update_findings(scene), 0);
			use_model(scene, &random);
			go_about(scene, &random);
		}
		assert_true(has_forgotten(&model->tasks));
		assert_true(has_forgotten(&model->edges));
		thrum__scene_destroy(scene);
		thrum__model_destroy(model);
		free(events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forgets_while_it_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
