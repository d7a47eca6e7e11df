/* SPDX-License-Identifier: ISC */
/*
 * Compares models of real traces, point by point, with those of the original viewer
 * (NAME.threads.tsv). A rule must explain each difference by a known weakness of the original, and
 * may do so for few tasks only.
 */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model_helper.h"

#define CELLS 10
#define AFTERLIFE 1000 /* ns by which the original shows a pending task after its last event */

struct comparison {
	const char *name;
	const struct thrum__model *m;
	int64_t first_switch;  /* before this time the original has no running task */
	uint32_t runs, values; /* the next row expected, from the end and from the beginning */
	uint64_t excused_id;   /* the task that was excused last */
	char section[64];
};

static unsigned tasks, excused, different;

static void differ(const struct comparison *c, int64_t id, const char *field, const char *line)
{
	printf("%s: task %" PRId64 ": %s differs: %s\n", c->name, id, field, line);
	different++;
}

static void excuse(struct comparison *c, int64_t id, const char *field, const char *weakness)
{
	printf("%s: task %" PRId64 ": %s: %s\n", c->name, id, field, weakness);
	excused += c->excused_id != (uint64_t)id;
	c->excused_id = (uint64_t)id;
}

static uint32_t find(const struct comparison *c, int64_t id)
{
	return thrum__model_find(c->m, (uint64_t)id);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

static bool became(const struct comparison *c, uint32_t task, const char *expected)
{
	uint32_t heir = THRUM__TASK(c->m, task, became);

	if (strcmp(expected, "-") == 0)
		return heir == THRUM__NONE;
	/* The original notes the end that the chain had at that time. */
	uint32_t wanted = find(c, strtoll(expected, NULL, 10));

	while (heir != THRUM__NONE && heir != wanted)
		heir = THRUM__TASK(c->m, heir, became);
	return heir != THRUM__NONE;
}

/* Tells whether the last thing known of a task is a run before the first switch. */
static bool ran_early(const struct comparison *c, uint32_t task)
{
	uint32_t run = THRUM__TASK(c->m, task, run);

	return run != THRUM__NONE && THRUM__RUN(c->m, run, start) < c->first_switch &&
		THRUM__RUN(c->m, run, end) == THRUM__TASK(c->m, task, last);
}

static void compare_end(struct comparison *c, int64_t id, uint32_t task, char **cell,
	const char *line)
{
	const struct thrum__model *m = c->m;
	bool is_finding = strcmp(cell[9], "should-resolve thread never resolved") == 0;
	const char *failure = thrum__model_string(m, THRUM__TASK(m, task, failure), NULL);
	int64_t end = thrum__model_task_end_time(m, task), expected = strtoll(cell[4], NULL, 10);

	if (is_finding) {
		if (!thrum__model_is_stuck(m, task) ||
			THRUM__TASK(m, task, state) != THRUM__STATE_PENDING || expected != m->end)
			differ(c, id, "finding", line);
		return;
	}
	if (strcmp(cell[9], "-") != 0 ? strcmp(cell[9], failure) != 0 : *failure != '\0')
		differ(c, id, "failure", line);
	if (THRUM__TASK(m, task, end) == THRUM__OPEN)
		expected -= AFTERLIFE;
	if (end == expected)
		return;
	if (THRUM__TASK(m, task, end) == THRUM__OPEN && ran_early(c, task))
		excuse(c, id, "end", "9, nobody runs before the first switch");
	else
		differ(c, id, "end", line);
}

static void compare_task(struct comparison *c, char **cell, const char *line)
{
	const struct thrum__model *m = c->m;
	int64_t id = strtoll(cell[1], NULL, 10);
	uint32_t task = find(c, id);

	tasks++;
	if (id == -1) {
		if (strtoll(cell[4], NULL, 10) != m->end)
			differ(c, id, "end", line);
		return;
	}
	if (task == THRUM__NONE) {
		differ(c, id, "existence", line);
		return;
	}
	const char *kind = THRUM__TASK(m, task, flags) & THRUM__TASK_PREEXISTING
		? "preexisting"
		: thrum_kind_name(THRUM__TASK(m, task, kind));

	if (strcmp(kind, cell[2]) != 0)
		differ(c, id, "kind", line);
	if (THRUM__TASK(m, task, start) != strtoll(cell[3], NULL, 10))
		differ(c, id, "start", line);
	compare_end(c, id, task, cell, line);
	if (!became(c, task, cell[7]))
		differ(c, id, "becomes", line);
	/* The task's runs follow, the latest first. */
	c->runs = THRUM__TASK(m, task, run);
}

static void compare_parent(struct comparison *c, char **cell, const char *line)
{
	int64_t id = strtoll(cell[2], NULL, 10), parent = strtoll(cell[1], NULL, 10);
	uint32_t task = find(c, id);

	if (task != THRUM__NONE && THRUM__TASK(c->m, task, parent) != find(c, parent))
		differ(c, id, "parent", line);
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static bool is_at(int64_t start, int64_t end, char **cell, const struct thrum__model *m)
{
	return start == strtoll(cell[2], NULL, 10) &&
		(end == THRUM__OPEN ? m->end : end) == strtoll(cell[3], NULL, 10);
}

static void compare_run(struct comparison *c, char **cell, const char *line)
{
	const struct thrum__model *m = c->m;
	int64_t id = strtoll(cell[1], NULL, 10);
	uint32_t i = c->runs;

	if (id == -1) {
		/* When no task runs, the lane is suspended. `runs` counts suspensions from the
		 * end. */
		i = m->suspensions.count - ++c->runs;
		if (i >= m->suspensions.count ||
			!is_at(THRUM__SUSPENSION(m, i, start), THRUM__SUSPENSION(m, i, end), cell,
				m))
			differ(c, id, "suspension", line);
		return;
	}
	if (i == THRUM__NONE || !is_at(THRUM__RUN(m, i, start), THRUM__RUN(m, i, end), cell, m)) {
		differ(c, id, "run", line);
		return;
	}
	c->runs = THRUM__RUN(m, i, prev);
}

/* Reports runs of the task that the original doesn't have. */
static void finish_task(struct comparison *c)
{
	const struct thrum__model *m = c->m;
	int64_t id = strtoll(c->section, NULL, 10);

	if (id == -1 || !*c->section)
		return;
	for (; c->runs != THRUM__NONE; c->runs = THRUM__RUN(m, c->runs, prev)) {
		if (THRUM__RUN(m, c->runs, start) < c->first_switch)
			excuse(c, id, "run", "9, nobody runs before the first switch");
		else
			differ(c, id, "run", "(only here)");
	}
}

/* ---- The rest ------------------------------------------------------------------------------ */

static void compare_value(struct comparison *c, char **cell, const char *line)
{
	const struct thrum__model *m = c->m;
	uint32_t i = 0;

	if (strcmp(c->section, cell[1]) != 0)
		c->values = 0;
	snprintf(c->section, sizeof c->section, "%s", cell[1]);
	while (i < m->counter_count &&
		strcmp(thrum__model_string(m, m->counters[i].name, NULL), cell[1]) != 0)
		i++;
	if (i == m->counter_count || c->values >= m->counters[i].values.count ||
		THRUM__VALUE(&m->counters[i], c->values, time) != strtoll(cell[2], NULL, 10) ||
		(double)THRUM__VALUE(&m->counters[i], c->values, value) != strtod(cell[3], NULL))
		differ(c, 0, "counter", line);
	c->values++;
}

static void compare_gc(struct comparison *c, char **cell, const char *line)
{
	const struct thrum__model *m = c->m;

	for (uint32_t i = 0; i < m->spans.count; i++)
		if (THRUM__SPAN(m, i, start) == strtoll(cell[1], NULL, 10) &&
			THRUM__SPAN(m, i, end) == strtoll(cell[2], NULL, 10))
			return;
	differ(c, 0, "gc", line);
}

/* Undoes the escapes of a cell, in place. */
static void unescape(char *cell)
{
	char *to = cell;

	for (; *cell; cell++, to++) {
		unsigned byte;

		*to = *cell;
		if (*cell != '\\')
			continue;
		cell++;
		*to = *cell == 't' ? '\t' : *cell == 'n' ? '\n' : *cell == 'r' ? '\r' : *cell;
		if (*cell == 'x' && sscanf(cell + 1, "%2x", &byte) == 1) {
			*to = (char)byte;
			cell += 2;
		}
	}
	*to = '\0';
}

static void compare_line(struct comparison *c, char **cell, const char *line)
{
	if (strcmp(cell[0], "thread") == 0) {
		finish_task(c);
		c->runs = 0;
		compare_task(c, cell, line);
		snprintf(c->section, sizeof c->section, "%s", cell[1]);
	} else if (strcmp(cell[0], "create") == 0) {
		compare_parent(c, cell, line);
	} else if (strcmp(cell[0], "active") == 0) {
		compare_run(c, cell, line);
	} else if (strcmp(cell[0], "counter") == 0) {
		finish_task(c);
		c->section[0] = '\0';
	} else if (strcmp(cell[0], "value") == 0) {
		compare_value(c, cell, line);
	} else if (strcmp(cell[0], "gc") == 0) {
		compare_gc(c, cell, line);
	}
}

/* Finds the time at which a task first runs. */
static int64_t first_switch(FILE *from)
{
	int64_t first = INT64_MAX, start;
	char line[8192];

	while (fgets(line, sizeof line, from))
		if (sscanf(line, "active\t%*s\t%" SCNd64, &start) == 1 && start < first)
			first = start;
	rewind(from);
	return first;
}

static void compare(const char *file, const char *name)
{
	struct thrum__model *m = model_of_file(file);
	struct comparison c = {.name = name, .m = m, .excused_id = UINT64_MAX};
	char path[8192], line[8192], copy[8192];

	snprintf(path, sizeof path, "%s/%s.threads.tsv", model_data(), name);
	FILE *from = fopen(path, "r");

	assert_non_null(from);
	c.first_switch = first_switch(from);
	while (fgets(line, sizeof line, from)) {
		char none[1] = "", *cell[CELLS], *rest = copy;

		line[strcspn(line, "\n")] = '\0';
		strcpy(copy, line);
		for (int i = 0; i < CELLS; i++) {
			cell[i] = rest ? rest : none;
			rest = rest ? strchr(rest, '\t') : NULL;
			if (rest)
				*rest++ = '\0';
			unescape(cell[i]);
		}
		compare_line(&c, cell, line);
	}
	finish_task(&c);
	fclose(from);
	thrum__model_destroy(m);
}

static void models_are_the_originals(void **state)
{
	assert_true(model_each_trace(compare) > 0);
	printf("%u tasks, %u excused\n", tasks, excused);
	assert_int_equal(different, 0);
	assert_true(excused * 50 <= tasks);
}

int main(void)
{
	if (!model_data())
		return 77;
	const struct CMUnitTest tests_here[] = {cmocka_unit_test(models_are_the_originals)};

	return cmocka_run_group_tests(tests_here, NULL, NULL);
}
