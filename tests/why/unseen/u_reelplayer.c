/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: kill 900
 *   ask: diff good
 *   truth: the generation is off by one after the seek: it is raised twice (in seek and again in flush_queues), but the demuxer is told the first number. So all frames after the seek (frame 60 and on) fail as stale and are thrown away; the renderer waits for ever for a frame, and "playback" never ends.
 *   culprit: (?i)stale|frame [67]\d|generation
 *   victim: playback|render
 */
/* reelplayer: a video player of coroutines: demux, decode, render, and a user who seeks. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- Coroutines: a round robin of contexts ---- */
#define COROUTINES 12
struct coroutine {
	ucontext_t context;
	void (*run)(void *);
	void *data;
	bool used, done, ready;
	int64_t due; /* 0: no timer */
	thrum_task task;
};
static struct coroutine coroutines[COROUTINES], *self;
static ucontext_t scheduler;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void coroutine_main(void)
{
	self->run(self->data);
	self->done = true;
	thrum_task_resolve(self->task);
	swapcontext(&self->context, &scheduler);
}

static struct coroutine *spawn(const char *name, void (*run)(void *), void *data)
{
	struct coroutine *c = coroutines;

	while (c->used)
		c++;
	c->used = c->ready = true;
	c->run = run;
	c->data = data;
	c->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_ready(c->task);
	getcontext(&c->context);
	c->context.uc_stack.ss_size = 64 * 1024;
	c->context.uc_stack.ss_sp = malloc(64 * 1024);
	makecontext(&c->context, coroutine_main, 0);
	return c;
}

static void make_ready(struct coroutine *c)
{
	if (!c->ready && !c->done) {
		c->ready = true;
		thrum_task_ready(c->task);
	}
}

/* Goes back to the scheduler, until somebody calls make_ready. */
static void park(void)
{
	swapcontext(&self->context, &scheduler);
}

static void nap(int ms)
{
	thrum_task timer = thrum_task_create(THRUM_KIND_TIMER, "nap");

	thrum_task_due(timer, ms * 1000000LL);
	thrum_task_wait(self->task, timer);
	self->due = now_ms() + ms;
	while (self->due)
		park();
	thrum_task_resolve(timer);
	thrum_task_read(self->task, timer);
}

/* Runs until `last` is done. */
static void run_until(const struct coroutine *last)
{
	while (!last->done) {
		bool ran = false;
		int64_t now = now_ms();

		for (int i = 0; i < COROUTINES; i++) {
			struct coroutine *c = &coroutines[i];

			if (c->used && c->due && c->due <= now) {
				c->due = 0;
				make_ready(c);
			}
			if (!c->used || c->done || !c->ready)
				continue;
			c->ready = false;
			ran = true;
			self = c;
			thrum_task_switch(c->task);
			swapcontext(&scheduler, &c->context);
			thrum_task_switch(THRUM_TASK_NONE);
		}
		if (!ran) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			usleep(1000);
			thrum_resume();
		}
	}
}

#define ROOM 4
#define END 80
struct frame {
	int number, generation;
	thrum_task task;
};
struct queue {
	struct frame frames[ROOM];
	int first, count;
	struct coroutine *reader, *writer;
	thrum_task task;
};
static struct queue packets, pictures;
static int generation, demux_generation, position, shown, stale;
static bool bad;

static void queue_wait(struct queue *queue, struct coroutine **place)
{
	thrum_task_wait(self->task, queue->task);
	*place = self;
	park();
	*place = NULL;
}

static void put(struct queue *queue, struct frame frame)
{
	while (queue->count == ROOM)
		queue_wait(queue, &queue->writer);
	queue->frames[(queue->first + queue->count++) % ROOM] = frame;
	thrum_task_signal(queue->task, queue->reader ? 1 : 0);
	if (queue->reader)
		make_ready(queue->reader);
}

static struct frame take(struct queue *queue)
{
	while (!queue->count)
		queue_wait(queue, &queue->reader);
	queue->count--;
	thrum_task_read(self->task, queue->task);
	if (queue->writer)
		make_ready(queue->writer);
	return queue->frames[queue->first++ % ROOM];
}

static void demux(void *none)
{
	(void)none;
	while (position < END) {
		struct frame frame = {position++, demux_generation, 0};

		frame.task = thrum_task_createf(THRUM_KIND_TASK, "frame %d", frame.number);
		put(&packets, frame);
	}
}

static void decode(void *none)
{
	(void)none;
	for (;;) {
		struct frame frame = take(&packets);

		nap(2);
		put(&pictures, frame);
		if (frame.number == END - 1)
			return;
	}
}

static void render(void *none)
{
	(void)none;
	for (;;) {
		struct frame frame = take(&pictures);

		if (frame.generation != generation) {
			stale++;
			thrum_task_fail(frame.task, "stale generation");
			continue;
		}
		nap(4);
		shown++;
		thrum_task_resolve(frame.task);
		if (frame.number == END - 1)
			return;
	}
}

static void flush_queues(void)
{
	if (bad)
		generation++; /* the bug: seek() has done so */
	for (; packets.count; packets.count--)
		thrum_task_cancel(packets.frames[packets.first++ % ROOM].task);
	if (packets.writer)
		make_ready(packets.writer);
}

static void seek(int to)
{
	demux_generation = ++generation;
	position = to;
	flush_queues();
}

static void user(void *none)
{
	(void)none;
	nap(90);
	seek(60);
}

static void subtitles(void *none)
{
	(void)none;
	for (;;)
		nap(30);
}

static void playback(void *data)
{
	struct coroutine *renderer = data;

	thrum_task_wait(self->task, renderer->task);
	while (!renderer->done)
		nap(10);
	thrum_task_read(self->task, renderer->task);
}

int main(int argc, char **argv)
{
	struct coroutine *renderer, *last;

	bad = argc > 1 && !strcmp(argv[1], "bad");
	packets.task = thrum_task_create(THRUM_KIND_MAILBOX, "packets");
	pictures.task = thrum_task_create(THRUM_KIND_MAILBOX, "pictures");
	spawn("demux", demux, NULL);
	spawn("decode", decode, NULL);
	renderer = spawn("render", render, NULL);
	spawn("user", user, NULL);
	spawn("subtitles", subtitles, NULL);
	last = spawn("playback", playback, renderer);
	thrum_task_should_resolve(last->task);
	run_until(last);
	thrum_stop();
	printf("%d shown, %d stale\n", shown, stale);
	return 0;
}
