/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 700
 *   ask: why
 *   truth: the timer "flush delay eu-west" is set anew by every line, and lines never pause for 20 ms: it never
 *          fires, so "batch 3 eu-west" is never sent and the checkpoint waits for ever.
 *   culprit: flush delay
 *   victim: (batch|checkpoint)
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* A log shipper with two destinations: one flushes by size, one 20 ms after the first line of a batch. */
static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

struct destination {
	const char *name;
	thrum_task batch, delay, upload;
	int64_t due, sent;
	int lines, batches, max_lines;
	int debounce; /* each line postpones the flush */
};

static struct destination eu = {.name = "eu-west", .max_lines = 0};
static struct destination us = {.name = "us-east", .max_lines = 2000};
static int busy_phase;

static void flush(struct destination *d)
{
	THRUM_RUN (d->batch) {
		if (d->delay) {
			thrum_task_resolve(d->delay);
			thrum_task_read(d->batch, d->delay);
			d->delay = THRUM_TASK_NONE;
		}
		d->upload = thrum_task_createf(THRUM_KIND_REQUEST, "PUT /%s/%d", d->name,
			d->batches);
		thrum_task_wait(d->batch, d->upload);
		d->sent = now();
		d->due = 0;
	}
}

static void on_upload(struct destination *d)
{
	THRUM_RUN (d->batch) {
		thrum_task_resolve(d->upload);
		thrum_task_read(d->batch, d->upload);
		thrum_task_resolve(d->batch);
	}
	d->batch = d->upload = THRUM_TASK_NONE;
	d->sent = 0;
	d->lines = 0;
}

static void add_line(struct destination *d)
{
	if (d->sent)
		return; /* spooled on disk while an upload is under way */
	if (!d->lines++) {
		d->batches++;
		d->batch = thrum_task_createf(THRUM_KIND_TASK, "batch %d %s", d->batches, d->name);
		if (!d->max_lines) {
			d->delay = thrum_task_createf(THRUM_KIND_TIMER, "flush delay %s", d->name);
			thrum_task_due(d->delay, 20000000);
			thrum_task_wait(d->batch, d->delay);
			d->due = now() + 20000000;
		}
	} else if (d->debounce && !d->max_lines) {
		thrum_task_due(d->delay, 20000000);
		d->due = now() + 20000000;
	}
	if (d->max_lines && d->lines >= d->max_lines)
		flush(d);
}

static void on_line(void)
{
	thrum_task line = thrum_task_create(THRUM_KIND_TASK, "line");

	THRUM_RUN (line) {
		add_line(&eu);
		add_line(&us);
		thrum_task_resolve(line);
	}
}

int main(int argc, char **argv)
{
	int control = eventfd(0, EFD_NONBLOCK);
	thrum_task reload = thrum_task_create(THRUM_KIND_HANDLE, "reload config");
	thrum_task checkpoint;
	int64_t begin = now();
	int broken = argc > 1 && !strcmp(argv[1], "broken"), reached = 0;

	eu.debounce = broken;
	checkpoint = thrum_task_create(THRUM_KIND_TASK, "checkpoint");
	for (;;) {
		struct pollfd p = {control, POLLIN, 0};
		int64_t t = now() - begin;

		/* two short bursts in the night, then the day begins */
		busy_phase = t > 110000000;
		if (busy_phase || t % 50000000 < 10000000)
			for (int i = 0; i < (busy_phase ? 400 : 20); i++)
				on_line();
		if (eu.due && now() >= eu.due)
			flush(&eu);
		if (eu.sent && now() > eu.sent + 4000000)
			on_upload(&eu);
		if (us.sent && now() > us.sent + 7000000)
			on_upload(&us);
		if (!reached && eu.batch && eu.batches == 3) {
			thrum_task_wait(checkpoint, eu.batch);
			reached = 1;
		} else if (reached == 1 && eu.batches > 3) {
			thrum_task_resolve(checkpoint);
			reached = 2;
		}
		if (t > 600000000 && !broken)
			break;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&p, 1, 1);
		thrum_resume();
	}
	/* the rest goes to the spool */
	if (eu.delay)
		thrum_task_cancel(eu.delay);
	if (eu.upload)
		thrum_task_cancel(eu.upload);
	if (us.upload)
		thrum_task_cancel(us.upload);
	if (eu.batch)
		thrum_task_cancel(eu.batch);
	if (us.batch)
		thrum_task_cancel(us.batch);
	thrum_task_cancel(reload);
	return 0;
}
