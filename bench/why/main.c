/* SPDX-License-Identifier: ISC */
/*
 * Compares the time that finding findings takes with that of making the model: at most half.
 * Given a part of a shape's name, measures only such shapes, once: to count instructions.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../model/model.h"
#include "analyse/why/finding.h"
#include "model/model.h"

#define ROUNDS 5

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void fail(void)
{
	fputs("why: out of memory\n", stderr);
	exit(1);
}

static struct thrum__model *make_model(struct shape shape)
{
	struct thrum_event events[BATCH];
	struct thrum__model *model;
	size_t count;

	if (thrum__model_create(NULL, &model))
		fail();
	while ((count = shape_next(&shape, events)) > 0)
		if (thrum__model_append(model, events, count))
			fail();
	return model;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void measure(const struct shape *shape, unsigned rounds)
{
	double making[ROUNDS], finding[ROUNDS];
	uint32_t count = 0;

	for (unsigned i = 0; i < rounds; i++) {
		double before = cpu_seconds(), between;
		struct thrum__model *model = make_model(*shape);
		struct thrum__findings findings;

		between = cpu_seconds();
		if (thrum__why_make(model, &findings))
			fail();
		finding[i] = cpu_seconds() - between;
		making[i] = between - before;
		count = findings.count;
		thrum__why_free(&findings);
		thrum__model_destroy(model);
	}
	qsort(making, rounds, sizeof *making, compare);
	qsort(finding, rounds, sizeof *finding, compare);
	printf("%-32s %8.1f %8.1f %8.2f %8" PRIu32 "\n", shape->name,
		making[rounds / 2] * 1e9 / (double)shape->events,
		finding[rounds / 2] * 1e9 / (double)shape->events,
		finding[rounds / 2] / making[rounds / 2], count);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	printf("%-32s %8s %8s %8s %8s\n", "made-up events", "model ns", "why ns", "ratio",
		"findings");
	for (unsigned i = 0; i < shape_count; i++)
		if (argc < 2 || strstr(shapes[i].name, argv[1]))
			measure(&shapes[i], argc < 2 ? ROUNDS : 1);
	return 0;
}
