/* SPDX-License-Identifier: ISC */
/*
 * Measures the cost of a frame of a big trace, for windows of all sizes in all places, in each
 * projection; and the time until the first frame.
 */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../model/model.h"
#include "scene/scene.h"

#define WIDTH 1600
#define HEIGHT 900
#define FRAMES 200 /* for each projection */

#define FRAME_LIMIT 4.0 /* ms */
#define FIRST_LIMIT 50.0
#define RECTS_LIMIT 20000
#define OTHERS_LIMIT 3000
#define BATCHES_LIMIT 40 /* without the strip, the key line and findings */

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static void need(int status)
{
	if (status != 0) {
		fprintf(stderr, "frame: %s\n", thrum_error_message(status));
		exit(2);
	}
}

static double random_part(void)
{
	static uint64_t random = 88172645463325252;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (double)(random >> 11) / (double)(UINT64_C(1) << 53);
}

static struct thrum__model *make_model(struct shape shape)
{
	struct thrum_event events[BATCH];
	struct thrum__model *model;
	size_t count;

	shape.random = 1;
	need(thrum__model_create(NULL, &model));
	while ((count = shape_next(&shape, events)) > 0)
		need(thrum__model_append(model, events, count));
	return model;
}

/* ---- Frames -------------------------------------------------------------------------------- */

struct worst {
	double times[FRAMES];
	size_t rects, others, batches;
};

static void take_frame(struct thrum__scene *scene, struct thrum__draw_list *list, double *time,
	struct worst *worst)
{
	size_t rects, others;
	double start = now();

	need(thrum__scene_frame(scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain, list));
	*time = now() - start;
	thrum__draw_list_count(list, &rects, &others);
	worst->rects = rects > worst->rects ? rects : worst->rects;
	worst->others = others > worst->others ? others : worst->others;
	worst->batches = list->batch_count > worst->batches ? list->batch_count : worst->batches;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sets a window of the whole trace, or of a tenth of it, …, down to some events, in a random
 * place. */
static void set_window(struct thrum__scene *scene, int frame)
{
	struct thrum__scene_state *state = &scene->state;
	double end = (double)scene->model->end, span = end;

	for (int i = frame % 7; i > 0; i--)
		span /= 10;
	state->from = (int64_t)(random_part() * (end - span));
	state->to = state->from + (int64_t)span + 10;
	state->track = state->as == THRUM__AS_BANDS
		? 0
		: random_part() * scene->layout->tracks * (frame % 3) / 3;
}

static void measure(struct thrum__scene *scene, struct thrum__draw_list *list, const char *name)
{
	struct worst worst = {0};
	double high;

	for (int i = 0; i < FRAMES; i++) {
		set_window(scene, i);
		take_frame(scene, list, &worst.times[i], &worst);
	}
	qsort(worst.times, FRAMES, sizeof *worst.times, compare);
	high = worst.times[FRAMES - 1];
	printf("  %-24s %8.2f %8.2f %8.2f %s %8zu %s %8zu %s %6zu %s\n", name,
		worst.times[FRAMES / 2], worst.times[FRAMES * 95 / 100], high,
		high <= FRAME_LIMIT ? "ok  " : "OVER", worst.rects,
		worst.rects <= RECTS_LIMIT ? "ok  " : "OVER", worst.others,
		worst.others <= OTHERS_LIMIT ? "ok  " : "OVER", worst.batches,
		worst.batches <= BATCHES_LIMIT ? "ok" : "OVER");
}

static void measure_all(struct thrum__scene *scene, struct thrum__draw_list *list)
{
	struct thrum__scene_state plain = scene->state;

	printf("  %-24s %8s %8s %8s %4s %8s %4s %8s %4s %6s\n", "ms a frame", "median", "p95",
		"worst", "", "rects", "", "others", "", "batches");
	measure(scene, list, "as it comes");
	scene->state = plain;
	scene->state.fold = scene->state.squeeze = THRUM__FOLD_OFF;
	measure(scene, list, "linear, tracks that fit");
	scene->state.track_height = 24;
	measure(scene, list, "linear, 24 px tracks");
	scene->state = plain;
	scene->state.fold = scene->state.squeeze = THRUM__FOLD_ON;
	measure(scene, list, "folded, squeezed");
	scene->state = plain;
	scene->state.fisheye = true;
	measure(scene, list, "fish-eye");
	scene->state = plain;
	scene->state.counters = scene->state.strip = scene->state.legend = true;
	measure(scene, list, "with everything");
	scene->state = plain;
	scene->state.as = THRUM__AS_BANDS;
	need(thrum__scene_frame(scene, WIDTH, HEIGHT, &thrum__draw_metrics_plain,
		list)); /* makes them */
	measure(scene, list, "bands");
	scene->state = plain;
	need(thrum__scene_search(scene, "label"));
	need(thrum__scene_select(scene, scene->layout->units[scene->layout->unit_count / 2].task));
	scene->state.related_only = true;
	need(thrum__scene_settle(scene));
	plain = scene->state;
	measure(scene, list, "selected, found, faded");
}

static void bench(const struct shape *shape)
{
	double times[3], start = now(), first;
	struct thrum__draw_list list;
	struct worst worst = {0};
	struct thrum__model *model = make_model(*shape);
	struct thrum__scene *scene;

	times[0] = now() - start;
	start = now();
	need(thrum__scene_create(model, NULL, NULL, NULL, &scene));
	times[1] = now() - start;
	thrum__draw_list_init(&list);
	take_frame(scene, &list, &first, &worst);
	printf("%s: %" PRIu64 " events, %" PRIu32 " tasks, %" PRIu32 " tracks\n", shape->name,
		model->events, model->tasks.count - model->tasks.first, scene->layout->tracks);
	printf("  model %.0f ms, layout and index %.0f ms, first frame %.1f ms %s\n", times[0],
		times[1], first, first <= FIRST_LIMIT ? "ok" : "OVER");
	measure_all(scene, &list);
	thrum__draw_list_finish(&list);
	thrum__scene_destroy(scene);
	thrum__model_destroy(model);
}

int main(void)
{
	static const char *const names[] = {"mixed, 10 M", "100,000 live tasks",
		"becomes-chain of 1 M", "1,000 lanes"};

	printf("%d × %d pixels; limits: %.0f ms, %d rects, %d others, %d batches a frame\n", WIDTH,
		HEIGHT, FRAME_LIMIT, RECTS_LIMIT, OTHERS_LIMIT, BATCHES_LIMIT);
	for (unsigned i = 0; i < shape_count; i++)
		for (unsigned j = 0; j < sizeof names / sizeof *names; j++)
			if (strcmp(shapes[i].name, names[j]) == 0)
				bench(&shapes[i]);
	return 0;
}
