/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: sort_steps compares the names of the steps as texts, so "10-drop-name" and "11-index-family" come right after
 *     "1-create-people", before 2 to 9; the steps that still need the dropped column fail.
 *   culprit: (10-drop-name|11-index-family)|sort_steps|by_name
 *   victim: [2-9]-\w
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Brings a database up to date: runs the steps of a folder in their order. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

struct step {
	const char *name;
	const char *needs; /* a column that must be there */
	const char *adds;
	const char *drops;
};

static struct step steps[] = {
	{.name = "8-fill-given", .needs = "name"},
	{.name = "1-create-people", .adds = "name"},
	{.name = "11-index-family", .needs = "id"},
	{.name = "3-add-id", .adds = "id"},
	{.name = "9-fill-family", .needs = "name"},
	{.name = "2-trim-names", .needs = "name"},
	{.name = "10-drop-name", .needs = "name", .drops = "name"},
	{.name = "4-add-family", .adds = "family"},
	{.name = "6-add-given", .adds = "given"},
	{.name = "5-number-people", .needs = "id"},
	{.name = "7-check-people", .needs = "id"},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static const char *columns[8];

static const char **find_column(const char *name)
{
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		if (columns[i] ? name && !strcmp(columns[i], name) : !name)
			return &columns[i];
	return NULL;
}

/* ---- The order ---- */

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct step *)left)->name, ((const struct step *)right)->name);
}

static int by_number(const void *left, const void *right)
{
	return atoi(((const struct step *)left)->name) - atoi(((const struct step *)right)->name);
}

static void sort_steps(bool broken)
{
	qsort(steps, STEPS, sizeof(steps[0]), broken ? by_name : by_number);
}

/* ---- The work ---- */

static void change_rows(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 6000000}, NULL);
}

static bool run_step(const struct step *step)
{
	const char **column;

	if (step->needs && !find_column(step->needs))
		return false;
	change_rows();
	if (step->adds && (column = find_column(NULL)))
		*column = step->adds;
	if (step->drops && (column = find_column(step->drops)))
		*column = NULL;
	return true;
}

static size_t run_steps(void)
{
	size_t good = 0;

	for (size_t i = 0; i < STEPS; i++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, steps[i].name);

		THRUM_RUN (task) {
			if (!run_step(&steps[i])) {
				fprintf(stderr, "%s: no column “%s”\n", steps[i].name,
					steps[i].needs);
				thrum_task_fail(task, "no such column");
				break;
			}
			good++;
			thrum_task_resolve(task);
		}
	}
	return good;
}

int main(int argc, char **argv)
{
	thrum_task all = thrum_task_create(THRUM_KIND_TASK, "bring up to date");
	size_t good = 0;

	sort_steps(argc > 1 && !strcmp(argv[1], "broken"));
	THRUM_RUN (all) {
		good = run_steps();
		thrum_task_resolve(all);
	}
	printf("%zu of %zu steps\n", good, STEPS);
	return good < STEPS;
}
