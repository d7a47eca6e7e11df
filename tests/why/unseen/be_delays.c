/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self size 256K kill 1500
 *   ask: why
 *   truth: delay_append puts a delayed job at the end of the list, and delay_take_due stops at the first one
 *     that isn't due. Once "backoff upload 4", which the server put off for an hour, is the first, all
 *     shorter backoffs behind it (upload 6, 9, 11) are overdue and never end
 *   culprit: backoff|delay_append|delay_take_due
 *   victim: upload (6|9|11)\b|sync
 * case: healthy
 *   args: healthy
 *   run: self size 256K
 *   ask: why
 *   culprit: nothing
 */

/* Uploads photos from a loop, puts those off that fail, and answers the probes of a monitor meanwhile. */

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define UPLOADS 12
#define PROBES 8 /* in each burst */
#define HOUR_MS (3600 * 1000)

struct upload {
	struct upload *next;
	unsigned number, tries;
	thrum_task task, backoff;
	int64_t due;
	bool deferred, done;
};

struct syncer {
	int probes;
	struct upload uploads[UPLOADS];
	struct upload *ready, **ready_end;
	struct upload *delayed; /* the first due is the first */
	unsigned left, answered;
	void (*delay)(struct syncer *, struct upload *);
};

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void make_ready(struct syncer *syncer, struct upload *upload)
{
	thrum_task_ready(upload->task);
	upload->next = NULL;
	*syncer->ready_end = upload;
	syncer->ready_end = &upload->next;
}

/* ---- Jobs that are put off ---- */

/* All backoffs are equally long, so the list stays in order. */
static void delay_append(struct syncer *syncer, struct upload *upload)
{
	struct upload **place = &syncer->delayed;

	while (*place)
		place = &(*place)->next;
	upload->next = NULL;
	*place = upload;
}

static void delay_insert(struct syncer *syncer, struct upload *upload)
{
	struct upload **place = &syncer->delayed;

	while (*place && (*place)->due <= upload->due)
		place = &(*place)->next;
	upload->next = *place;
	*place = upload;
}

static void delay_take_due(struct syncer *syncer)
{
	int64_t now = now_ms();

	while (syncer->delayed && syncer->delayed->due <= now) {
		struct upload *upload = syncer->delayed;

		syncer->delayed = upload->next;
		thrum_task_resolve(upload->backoff);
		make_ready(syncer, upload);
	}
}

static void put_off(struct syncer *syncer, struct upload *upload, int ms)
{
	upload->due = now_ms() + ms;
	upload->backoff = thrum_task_createf(THRUM_KIND_TIMER, "backoff upload %u", upload->number);
	thrum_task_due(upload->backoff, ms * INT64_C(1000000));
	thrum_task_wait(upload->task, upload->backoff);
	syncer->delay(syncer, upload);
}

/* ---- Uploads ---- */

static void upload_done(struct syncer *syncer, struct upload *upload)
{
	upload->done = true;
	thrum_task_resolve(upload->task);
	syncer->left--;
}

/* Every third fails at first. The quota of the album of upload 4 is used up until the next hour. */
static void upload_step(struct syncer *syncer, struct upload *upload)
{
	if (upload->tries++ > 0)
		thrum_task_read(upload->task, upload->backoff);
	if (upload->number == 4) {
		thrum_log("429, Retry-After: 3600");
		upload->deferred = true;
		syncer->left--; /* it may stay for the next run */
		put_off(syncer, upload, HOUR_MS);
	} else if (upload->tries == 1 && (upload->number % 3 == 0 || upload->number == 11)) {
		thrum_log("503");
		put_off(syncer, upload, 40);
	} else {
		upload_done(syncer, upload);
	}
}

static void upload_begin(struct syncer *syncer, unsigned number)
{
	struct upload *upload = &syncer->uploads[number - 1];

	upload->number = number;
	upload->task = thrum_task_createf(THRUM_KIND_TASK, "upload %u", number);
	if (number != 4)
		thrum_task_should_resolve(upload->task);
	make_ready(syncer, upload);
}

static void run_ready(struct syncer *syncer)
{
	struct upload *upload;

	while ((upload = syncer->ready)) {
		if (!(syncer->ready = upload->next))
			syncer->ready_end = &syncer->ready;
		THRUM_RUN (upload->task)
			upload_step(syncer, upload);
	}
}

/* ---- The monitor ---- */

static void answer_probes(struct syncer *syncer)
{
	char probes[64];
	ssize_t n = recv(syncer->probes, probes, sizeof(probes), MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++) {
		thrum_task probe = thrum_task_createf(THRUM_KIND_TASK, "probe %u",
			++syncer->answered);

		THRUM_RUN (probe) {
			thrum_logf("%u uploads left, %c", syncer->left, probes[i]);
			thrum_task_resolve(probe);
		}
	}
}

static void *monitor_run(void *data)
{
	int socket = *(int *)data;
	struct timespec pause = {0, 600000};

	pthread_setname_np(pthread_self(), "monitor");
	while (send(socket, "probeall", PROBES, MSG_NOSIGNAL) == PROBES) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		nanosleep(&pause, NULL);
		thrum_resume();
	}
	return NULL;
}

static void syncer_run(struct syncer *syncer)
{
	unsigned begun = 0;
	int64_t next = now_ms();

	while (syncer->left > 0) {
		struct pollfd watched = {syncer->probes, POLLIN, 0};

		if (begun < UPLOADS && now_ms() >= next) {
			upload_begin(syncer, ++begun);
			next += 25;
		}
		delay_take_due(syncer);
		run_ready(syncer);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&watched, 1, 5);
		thrum_resume();
		answer_probes(syncer);
	}
}

int main(int argc, char **argv)
{
	static struct syncer syncer;
	pthread_t monitor;
	int ends[2];

	if (argc != 2 || thrum_start(NULL) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 2;
	syncer.delay = strcmp(argv[1], "healthy") == 0 ? delay_insert : delay_append;
	syncer.ready_end = &syncer.ready;
	syncer.left = UPLOADS;
	syncer.probes = ends[0];
	if (pthread_create(&monitor, NULL, monitor_run, &ends[1]))
		return 2;
	syncer_run(&syncer);
	for (struct upload *upload = syncer.delayed; upload; upload = upload->next) {
		thrum_task_cancel(upload->backoff);
		thrum_task_cancel(upload->task);
	}
	thrum_stop();
	close(ends[0]);
	pthread_join(monitor, NULL);
	close(ends[1]);
	printf("%u uploads, %u probes\n", UPLOADS - syncer.left, syncer.answered);
	return 0;
}
