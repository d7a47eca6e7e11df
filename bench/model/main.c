/* SPDX-License-Identifier: ISC */
/*
 * Speed and size of models. First from a recording, in turn with decoding it alone, in the same
 * run. Then from made-up events of many shapes; the time to make them is measured alone and
 * subtracted. Time is the thread's CPU time.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../read/read.h"
#include "model.h"
#include "model/model.h"

#define ROUNDS 5

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double median(double *seconds)
{
	qsort(seconds, ROUNDS, sizeof *seconds, compare);
	return seconds[ROUNDS / 2];
}

/* ---- A recording --------------------------------------------------------------------------- */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(1);
}

static double decode(const char *file, uint64_t *count)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t some;
	double before = cpu_seconds();

	if (thrum_trace_open(file, &trace, NULL))
		fail("the recording can't be read");
	for (*count = 0; thrum_trace_next(trace, &events, &some, NULL) == 1; *count += some)
		for (size_t i = 0; i < some; i++)
			__asm__ volatile("" : : "r"(&events[i]) : "memory");
	thrum_trace_close(trace);
	return cpu_seconds() - before;
}

static double load(const char *file, size_t *memory, uint32_t *tasks)
{
	struct thrum_trace *trace;
	struct thrum__model *m;
	double before = cpu_seconds();

	if (thrum_trace_open(file, &trace, NULL) || thrum__model_create(trace, &m) ||
		thrum__model_load(m, trace, NULL, NULL, NULL))
		fail("the recording can't be loaded");
	thrum_trace_close(trace);
	double seconds = cpu_seconds() - before;

	*memory = thrum__model_memory(m);
	*tasks = m->tasks.count;
	thrum__model_destroy(m);
	return seconds;
}

static void compare_with_decoding(unsigned records)
{
	char file[64];
	double decoded[ROUNDS], loaded[ROUNDS];
	uint64_t events = 0;
	size_t memory = 0;
	uint32_t tasks = 0;

	snprintf(file, sizeof file, "%s/thrum-bench-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	int fd = mkstemp(file);

	if (fd < 0 || close(fd) != 0 || !make_recording(file, records))
		fail("the recording can't be made");
	for (int i = 0; i < ROUNDS; i++) {
		decoded[i] = decode(file, &events);
		loaded[i] = load(file, &memory, &tasks);
	}
	unlink(file);
	double reading = median(decoded), all = median(loaded), model = all - reading;

	printf("recording: %.1f M events, %u tasks\n", (double)events / 1e6, tasks);
	printf("%-32s %8.1f M events/s %7.1f ns\n", "decoding", (double)events / reading / 1e6,
		reading / (double)events * 1e9);
	printf("%-32s %8.1f M events/s %7.1f ns\n", "decoding and model",
		(double)events / all / 1e6, all / (double)events * 1e9);
	printf("%-32s %8.1f M events/s %7.1f ns %6.1f bytes", "model alone",
		(double)events / model / 1e6, model / (double)events * 1e9,
		(double)memory / (double)events);
	printf("  (%.2f of decoding, at least 0.33: %s)\n\n", reading / model,
		reading / model >= 1. / 3 ? "yes" : "NO");
}

/* ---- Shapes -------------------------------------------------------------------------------- */

static double make_only(struct shape shape)
{
	struct thrum_event events[BATCH];
	double before = cpu_seconds();
	size_t count;

	while ((count = shape_next(&shape, events)) > 0)
		__asm__ volatile("" : : "r"(events) : "memory");
	return cpu_seconds() - before;
}

static struct thrum__model *make_model(struct shape shape)
{
	struct thrum_event events[BATCH];
	struct thrum__model *m;
	size_t count;

	if (thrum__model_create(NULL, &m))
		fail("out of memory");
	while ((count = shape_next(&shape, events)) > 0)
		if (thrum__model_append(m, events, count))
			fail("out of memory");
	return m;
}

static void measure(const struct shape *shape)
{
	double before = cpu_seconds();
	struct thrum__model *m = make_model(*shape);
	double seconds = cpu_seconds() - before - make_only(*shape);

	/* A painter asks for each task's heir. */
	before = cpu_seconds();
	for (uint32_t i = 0; i < m->tasks.count; i++) {
		uint32_t heir = thrum__model_heir(m, i);

		__asm__ volatile("" : : "r"(heir));
	}
	double asking = cpu_seconds() - before;

	printf("%-32s %8.1f %8.1f %8.1f %10u %8.1f\n", shape->name,
		(double)shape->events / seconds / 1e6, seconds / (double)shape->events * 1e9,
		(double)thrum__model_memory(m) / (double)shape->events, m->tasks.count,
		asking / (double)(m->tasks.count + 1) * 1e9);
	fflush(stdout);
	thrum__model_destroy(m);
}

int main(int argc, char **argv)
{
	unsigned records = argc == 3 && strcmp(argv[1], "--events") == 0
		? (unsigned)strtoul(argv[2], NULL, 10)
		: 10000000;

	if ((argc != 1 && argc != 3) || records == 0) {
		fprintf(stderr, "usage: %s [--events N]\n", argv[0]);
		return 64;
	}
	compare_with_decoding(records);
	printf("%-32s %8s %8s %8s %10s %8s\n", "made-up events", "M/s", "ns", "bytes", "tasks",
		"ns/heir");
	for (unsigned i = 0; i < shape_count; i++)
		measure(&shapes[i]);
	return 0;
}
