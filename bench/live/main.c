/* SPDX-License-Identifier: ISC */
/*
 * Measures the cost of following a server while it runs. Ten times a second, as the viewer does, or
 * thirty times, the new events are appended and a frame is made. Once a second events older than
 * ten seconds are forgotten, and findings are looked for as often as the scene wants. The server is
 * simulated, so that one of its seconds takes as long as it needs. Prints the cost of a simulated
 * second, early and late.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "scene/scene.h"
#include "timeline/cells.h"
#include "timeline/index/index.h"

#define KEEP INT64_C(10000000000)
#define SECOND INT64_C(1000000000)
#define REQUESTS 500   /* alive, each with a child */
#define CONNECTIONS 50 /* never closed, with an event now and then */
#define STEP_EVENTS 13
#define COUNTED 512 /* events appended together */

#define HALF_CORE 0.5 /* seconds of CPU time a second */

enum part {
	APPEND,
	FORGET,
	UPDATE,
	FINDINGS,
	FRAME,
	PARTS
};

struct server {
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__draw_list list;
	int64_t time, step; /* ns */
	int64_t next_findings;
	uint64_t steps;
	double parts[PARTS]; /* s */
	struct thrum_event events[COUNTED];
	char texts[COUNTED][24];
	size_t count;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void need(int status)
{
	if (status != 0) {
		fprintf(stderr, "live: %s\n", thrum_error_message(status));
		exit(2);
	}
}

/* ---- The server ------------------------------------------------------------------------------ */

static void lap(double *start, double *part)
{
	double time = now();

	*part += time - *start;
	*start = time;
}

static void flush(struct server *s)
{
	double start = now();

	need(thrum__model_append(s->model, s->events, s->count));
	s->count = 0;
	lap(&start, &s->parts[APPEND]);
}

static struct thrum_event *say(struct server *s, int type, uint64_t task, uint64_t other)
{
	struct thrum_event *e = &s->events[s->count++];

	s->time += s->step;
	*e = (struct thrum_event){
		.type = (uint8_t)type,
		.time = s->time,
		.task = task,
		.other = other,
		.text = "",
		.kind = THRUM_KIND_PROMISE,
		.flags = (uint8_t)((task ? THRUM_EVENT_HAS_TASK : 0) |
			(other ? THRUM_EVENT_HAS_OTHER : 0)),
	};
	return e;
}

static void say_text(struct server *s, int type, uint64_t task, const char *text, uint64_t number)
{
	char *to = s->texts[s->count];
	struct thrum_event *e = say(s, type, task, 0);

	e->text_size = (uint32_t)snprintf(to, sizeof s->texts[0], "%s%llu", text,
		(unsigned long long)number);
	e->text = to;
	e->flags |= THRUM_EVENT_HAS_TEXT;
}

/* Task 1 is the main loop, then come the connections; behind them each request has two ids. */
static uint64_t id_of(uint64_t request)
{
	return 2 + CONNECTIONS + 2 * request;
}

static void start(struct server *s)
{
	say(s, THRUM_EVENT_CREATE, 0, 1)->kind = THRUM_KIND_THREAD;
	for (uint64_t i = 0; i < CONNECTIONS; i++)
		say(s, THRUM_EVENT_CREATE, 1, 2 + i);
	flush(s);
}

/* Begins a request and ends an old one. Every fourth request became its child, the others
 * waited. */
static void step(struct server *s)
{
	uint64_t new = s->steps, old = new - REQUESTS, id = id_of(new);

	if (s->count + STEP_EVENTS + 1 > COUNTED)
		flush(s);
	say(s, THRUM_EVENT_CREATE, 1, id)->kind = THRUM_KIND_BIND;
	say_text(s, THRUM_EVENT_LABEL, id, "GET /item/", new);
	say(s, THRUM_EVENT_SWITCH, id, 0);
	say(s, THRUM_EVENT_CREATE, id, id + 1);
	say(s, new % 4 ? THRUM_EVENT_WAIT : THRUM_EVENT_BECOME, id, id + 1);
	say(s, THRUM_EVENT_SWITCH, 1, 0);
	if (new % 100 == 0)
		say_text(s, THRUM_EVENT_LOG, 2 + new / 100 % CONNECTIONS, "alive ", new);
	s->steps++;
	if (new < REQUESTS)
		return;
	id = id_of(old);
	say(s, old % 97 ? THRUM_EVENT_RESOLVE : THRUM_EVENT_FAIL, 1, id + 1);
	say(s, THRUM_EVENT_SWITCH, old % 4 ? id : id + 1, 0);
	say_text(s, THRUM_EVENT_LOG, id, "done ", old % 10);
	say_text(s, THRUM_EVENT_COUNTER, id, "requests", 0);
	s->events[s->count - 1].value = (int64_t) new;
	if (old % 4) {
		say(s, THRUM_EVENT_READ, id, id + 1);
		say(s, THRUM_EVENT_RESOLVE, id, id);
	}
	say(s, THRUM_EVENT_SWITCH, 1, 0);
}

/* ---- Following ------------------------------------------------------------------------------- */

static void find(struct server *s)
{
	double start = now();

	if (s->time < s->next_findings)
		return;
	need(thrum__scene_update_findings(s->scene));
	s->next_findings = s->time + thrum__scene_findings_pause((int64_t)((now() - start) * 1e9));
}

static void slice(struct server *s, int64_t end, bool has_frames, bool is_second)
{
	double start;

	while (s->time < end)
		step(s);
	flush(s);
	start = now();
	if (is_second)
		thrum__model_forget(s->model, s->time - KEEP);
	lap(&start, &s->parts[FORGET]);
	need(thrum__scene_update(s->scene));
	lap(&start, &s->parts[UPDATE]);
	find(s);
	lap(&start, &s->parts[FINDINGS]);
	if (has_frames) {
		s->scene->state.from = s->time - KEEP / 2;
		s->scene->state.to = s->time;
		need(thrum__scene_frame(s->scene, 1600, 900, &thrum__draw_metrics_plain, &s->list));
		lap(&start, &s->parts[FRAME]);
	}
}

static size_t memory(const struct server *s)
{
	return thrum__model_memory(s->model) + thrum__layout_memory(s->scene->layout) +
		thrum__index_memory(s->scene->index);
}

/* The resident memory of the process in MB; 0: unknown. */
static double resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long pages = 0;

	if (file) {
		if (fscanf(file, "%*d %ld", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Prints the cost of a second, on average of the last `seconds` before `until`. */
static void report(const struct server *s, unsigned until, unsigned seconds)
{
	const double *parts = s->parts;
	double n = 1e3 / seconds, cost = 0;

	for (int i = 0; i < PARTS; i++)
		cost += parts[i];

	printf("%6u %8.1f %7.1f %7.1f %7.1f %7.1f %9.1f %s %8.1f %8.1f %8.1f %8.1f %7u\n", until,
		n * parts[APPEND], n * parts[FORGET], n * parts[UPDATE], n * parts[FINDINGS],
		n * parts[FRAME], n * cost, cost / seconds <= HALF_CORE ? "ok  " : "OVER",
		(double)thrum__model_memory(s->model) / 1e6,
		(double)(memory(s) - thrum__model_memory(s->model)) / 1e6, (double)memory(s) / 1e6,
		resident(), (unsigned)s->scene->layout->tracks);
	fflush(stdout);
}

/* Follows a server for `times` × `seconds` seconds. Frames are made only in those that are
 * reported. */
static void follow(uint64_t rate, int slices, unsigned seconds, unsigned times, bool has_frames)
{
	struct thrum__scene_options options = {.by_lane = true};
	struct server *s = calloc(1, sizeof *s);

	need(s ? thrum__model_create(NULL, &s->model) : -THRUM_E_MEMORY);
	need(thrum__scene_create(s->model, &options, NULL, NULL, &s->scene));
	thrum__draw_list_init(&s->list);
	s->step = SECOND / (int64_t)rate;
	start(s);
	printf("\n%llu events/s, %d updates a second%s\n"
	       "%6s %8s %7s %7s %7s %7s %9s %4s %8s %8s %8s %8s %7s\n",
		(unsigned long long)rate, slices, has_frames ? ", frames of 1600 × 900" : "",
		"second", "append", "forget", "update", "find", "frame", "ms/s", "", "model MB",
		"scene MB", "sum", "resident", "tracks");
	for (unsigned time = 1; time <= times; time++) {
		bool is_told = time == 1 || time == times || time == 10 || time == 60;

		memset(s->parts, 0, sizeof s->parts);
		for (int i = 1; i <= (int)seconds * slices; i++)
			slice(s, SECOND * seconds * (time - 1) + SECOND * i / slices,
				has_frames && is_told, i % slices == 0);
		if (is_told)
			report(s, time * seconds, seconds);
	}
	thrum__draw_list_finish(&s->list);
	thrum__scene_destroy(s->scene);
	thrum__model_destroy(s->model);
	free(s);
}

/* live [MINUTES]: follows the slower server for MINUTES (3 by default; 0: not at all), and the
 * faster one for twenty seconds. */
int main(int argc, char **argv)
{
	unsigned minutes = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 3;

	printf("The whole cost of a simulated second, in ms.\n");
	if (minutes > 0)
		follow(100000, 30, 60, minutes, true);
	follow(1000000, 10, 10, 2, false);
	follow(1000000, 30, 10, 2, false);
	return 0;
}
