/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the analysis. Reads any bytes as a trace, and asks every question about its model:
 * statistics, findings, paths, a flame graph, and the comparison of the trace with itself and with
 * its own first half. Fails if an answer isn't consistent.
 */
#include <stdlib.h>

#include "analyse/diff/diff.h"
#include "analyse/odd/odd.h"
#include "analyse/slow/flame.h"
#include "analyse/stats/stats.h"
#include "analyse/why/finding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

static bool any(const void *context, const char *label, size_t size)
{
	return true;
}

static struct thrum__model *model_of(const uint8_t *data, size_t size)
{
	struct thrum_trace *trace;
	struct thrum__model *model;

	if (thrum_trace_open_memory(data, size, &trace, NULL) != 0)
		return NULL;
	require(thrum__model_create(trace, &model) == 0);
	require(thrum__model_load(model, trace, NULL, NULL, NULL) == 0);
	thrum_trace_close(trace);
	return model;
}

/* Checks that a path has no holes and lies within its task's time. */
static void check_path(struct thrum__paths *paths, uint32_t task)
{
	struct thrum__path path;

	require(thrum__slow_path_make(paths, task, &path) == 0);
	for (uint32_t i = 0; i < path.count; i++) {
		const struct thrum__path_part *part = &path.parts[i];

		require(part->from <= part->to && part->frame < paths->frame_count);
		require(part->from == (i > 0 ? part[-1].to : path.from));
	}
	require(path.count == 0 || path.parts[path.count - 1].to == path.to);
	thrum__slow_path_free(&path);
}

static void check_paths(const struct thrum__model *model)
{
	struct thrum__paths paths;
	struct thrum__lives lives;
	struct thrum__flame flame;

	require(thrum__slow_paths_init(&paths, model) == 0);
	require(thrum__slow_lives_make(model, paths.heads, any, NULL, &lives) == 0);
	for (uint32_t i = 0; i < lives.count && i < 100; i++)
		check_path(&paths, lives.items[i].item);
	require(thrum__slow_flame_make(&paths, &lives, &flame) == 0);
	for (uint32_t i = 0; i < flame.count; i++)
		require(flame.boxes[i].from >= 0 && flame.boxes[i].time >= 0 &&
			flame.boxes[i].self <= flame.boxes[i].time &&
			flame.boxes[i].depth <= flame.depth);
	thrum__slow_flame_free(&flame);
	thrum__slow_lives_free(&lives);
	thrum__slow_paths_finish(&paths);
}

/* Checks that a finding names tasks that exist, and begins with a cause. */
static void check_findings(const struct thrum__model *model)
{
	struct thrum__findings findings;
	struct thrum__odd_search search = {.model = model};
	struct thrum__odd odd[2];

	require(thrum__why_make(model, &findings) == 0);
	require(thrum__analyse_odd(&search, THRUM__NONE, model->end, odd, 2) <= 2);
	thrum__analyse_odd_free(&search);
	for (uint32_t i = 0; i < findings.count; i++) {
		const struct thrum__finding *finding = &findings.findings[i];

		require(finding->class < THRUM__FINDING_CLASSES && finding->step_count > 0 &&
			finding->step_count <= THRUM__STEPS_MAX);
		for (unsigned s = 0; s < finding->step_count; s++)
			require(finding->steps[s].task < model->tasks.count);
	}
	thrum__why_free(&findings);
}

static void check_comparison(const struct thrum__model *good, const struct thrum__model *bad)
{
	struct thrum__comparison comparison;

	require(thrum__diff_make(good, bad, &comparison) == 0);
	require(good != bad || comparison.count == 0);
	thrum__diff_free(&comparison);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__model *model = model_of(data, size), *half;
	struct thrum__stats stats;

	if (!model)
		return 0;
	require(thrum__stats_make(model, true, 10, &stats) == 0);
	thrum__stats_free(&stats);
	check_findings(model);
	check_paths(model);
	check_comparison(model, model);
	half = model_of(data, size / 2);
	if (half)
		check_comparison(half, model);
	thrum__model_destroy(half);
	thrum__model_destroy(model);
	return 0;
}
