/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: The marker puts a paper for its second marking into the stream "papers", from which only the marker itself
 *     takes. The stream is full of other papers, so the marker waits for room that only it could make.
 *   culprit: second_marking|on_marked|marker
 *   victim: submission \d+
 * case: healthy
 *   args: healthy
 *   run: self kill 2000
 *   ask: why
 *   culprit: nothing
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PAPERS 20
#define ROOM 4

struct paper {
	int candidate;
	int points, markings;
	struct thrum_resolver *marked;
};

static struct paper papers[PAPERS];
static struct thrum_stream *stream;
static bool healthy;
static int given, saves;

static struct thrum_promise *mark_next(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *on_marked(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *mark(struct thrum_loop *loop, struct paper *paper)
{
	struct thrum_promise *marking = thrum_promise_label(thrum_sleep(loop, 4), "mark");

	return thrum_promise_bind(marking, on_marked, paper, NULL);
}

/* A paper that fails by a point is read twice. */
static struct thrum_promise *second_marking(struct thrum_loop *loop, struct paper *paper)
{
	struct thrum_promise *pushed;

	if (healthy)
		return mark(loop, paper);
	pushed = thrum_stream_push(stream, thrum_value_static(paper));
	return thrum_promise_bind(thrum_promise_label(pushed, "second marking"), mark_next, NULL,
		NULL);
}

static struct thrum_promise *on_marked(struct thrum_loop *loop, void *value, void *data)
{
	struct paper *paper = data;

	(void)value;
	paper->points = 40 + paper->candidate % 11;
	if (++paper->markings == 1 && paper->points == 49)
		return second_marking(loop, paper);
	thrum_resolver_resolve(paper->marked, thrum_value_int(paper->points));
	return mark_next(loop, NULL, NULL);
}

static struct thrum_promise *on_paper(struct thrum_loop *loop, void *value, void *data)
{
	(void)data;
	return mark(loop, value);
}

static struct thrum_promise *mark_next(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_stream_next(stream), on_paper, NULL, NULL);
}

static struct thrum_promise *tell_mark(struct thrum_loop *loop, void *value, void *data)
{
	struct paper *paper = data;

	printf("candidate %d: %d points\n", paper->candidate, (int)thrum_int(value));
	fflush(stdout);
	given++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *await_mark(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	return data;
}

static struct thrum_promise *hand_in(struct thrum_loop *loop, void *value, void *data)
{
	struct paper *paper = data;
	struct thrum_promise *mark_given = thrum_promise_task(loop, "mark given", &paper->marked);
	struct thrum_promise *pushed = thrum_stream_push(stream, thrum_value_static(paper));

	(void)value;
	return thrum_promise_bind(pushed, await_mark, mark_given, NULL);
}

static void submit(struct thrum_loop *loop, struct paper *paper)
{
	struct thrum_promise *whole;

	/* All hand in within the last second. */
	whole = thrum_promise_bind(thrum_sleep(loop, 30 + paper->candidate), hand_in, paper, NULL);
	whole = thrum_promise_bind(whole, tell_mark, paper, NULL);
	thrum_promise_labelf(whole, "submission %d", paper->candidate);
	thrum_promise_ignore_result(thrum_promise_should_resolve(whole));
}

static struct thrum_promise *autosave(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	saves++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 30), "autosave"), autosave,
		data, NULL);
}

static struct thrum_promise *run_marker(struct thrum_loop *loop, void *data)
{
	return thrum_promise_label(mark_next(loop, NULL, data), "marker");
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_loop_t uv;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		return 1;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop))
		return 1;
	stream = thrum_stream_create(loop, "papers", ROOM);
	thrum_promise_async(loop, "marking room", run_marker, NULL, NULL);
	for (int i = 0; i < PAPERS; i++) {
		papers[i].candidate = i;
		submit(loop, &papers[i]);
	}
	thrum_promise_ignore_result(
		thrum_promise_bind(thrum_sleep(loop, 30), autosave, NULL, NULL));
	/* The server stays for the next exam. */
	uv_run(&uv, UV_RUN_DEFAULT);
	return 0;
}
