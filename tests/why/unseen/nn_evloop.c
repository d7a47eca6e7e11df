/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The store loop clears its flag `notified` after it has run a batch. The disk thread posts
 *          "page written" during the batch, sees the flag and skips the wake-up, so the loop sleeps
 *          although a message lies in its inbox.
 *   culprit: store inbox|page written|loop_post
 *   victim: checkpoint|sensor feed
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A store of sensor readings: one loop owns the data, and a disk thread writes its pages. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <thrum.h>
#include <unistd.h>

struct message {
	void (*run)(intptr_t argument);
	intptr_t argument;
	thrum_task task;
	struct message *next;
};

static struct loop {
	pthread_mutex_t mutex;
	struct message *first, **end;
	int event;
	bool notified, asleep, stopped;
	thrum_task inbox;
} loop = {.mutex = PTHREAD_MUTEX_INITIALIZER, .end = &loop.first};

static bool clear_first;

static void loop_post(const char *what, void (*run)(intptr_t), intptr_t argument)
{
	struct message *message = calloc(1, sizeof(*message));

	message->run = run;
	message->argument = argument;
	message->task = thrum_task_create(THRUM_KIND_ASYNC, what);
	pthread_mutex_lock(&loop.mutex);
	*loop.end = message;
	loop.end = &message->next;
	thrum_task_signal(loop.inbox, loop.asleep);
	if (!loop.notified && eventfd_write(loop.event, 1))
		perror("eventfd");
	loop.notified = true;
	pthread_mutex_unlock(&loop.mutex);
}

static void *loop_thread(void *data)
{
	struct message *batch, *message;
	eventfd_t count;

	(void)data;
	thrum_lane_name("store loop");
	while (!loop.stopped) {
		thrum_task_wait(thrum_task_current(), loop.inbox);
		loop.asleep = true;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (eventfd_read(loop.event, &count))
			break;
		thrum_resume();
		loop.asleep = false;
		thrum_task_read(thrum_task_current(), loop.inbox);
		pthread_mutex_lock(&loop.mutex);
		if (clear_first)
			loop.notified = false;
		batch = loop.first;
		loop.first = NULL;
		loop.end = &loop.first;
		pthread_mutex_unlock(&loop.mutex);
		while ((message = batch)) {
			batch = message->next;
			THRUM_RUN (message->task) {
				message->run(message->argument);
				thrum_task_resolve(message->task);
			}
			free(message);
		}
		if (!clear_first) {
			pthread_mutex_lock(&loop.mutex);
			loop.notified = false;
			pthread_mutex_unlock(&loop.mutex);
		}
	}
	return NULL;
}

/* ---- The store ---- */

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	bool page_dirty, checkpoint_done;
	thrum_task checkpoint;
} disk = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static int readings[64];
static void append_reading(intptr_t value)
{
	readings[value % 64] += (int)value;
	usleep(200);
}

static void on_page_written(intptr_t success)
{
	pthread_mutex_lock(&disk.mutex);
	disk.checkpoint_done = success;
	thrum_task_resolve(disk.checkpoint);
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
}

static void begin_checkpoint(intptr_t dirty)
{
	pthread_mutex_lock(&disk.mutex);
	disk.page_dirty = dirty;
	pthread_cond_broadcast(&disk.changed);
	pthread_mutex_unlock(&disk.mutex);
	usleep(30000); /* rebuilds the index while the disk writes */
}

static void stop_loop(intptr_t stopped)
{
	loop.stopped = stopped;
}

static void *disk_thread(void *data)
{
	(void)data;
	thrum_lane_name("disk");
	pthread_mutex_lock(&disk.mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!disk.page_dirty)
			pthread_cond_wait(&disk.changed, &disk.mutex);
		thrum_resume();
		disk.page_dirty = false;
		pthread_mutex_unlock(&disk.mutex);
		usleep(4000); /* pwrite and fdatasync */
		loop_post("page written", on_page_written, true);
		pthread_mutex_lock(&disk.mutex);
	}
	return NULL;
}

/* ---- The feed ---- */

static void wait_for_checkpoint(void)
{
	disk.checkpoint_done = false;
	disk.checkpoint = thrum_task_create(THRUM_KIND_PROMISE, "checkpoint");
	thrum_task_should_resolve(disk.checkpoint);
	loop_post("begin checkpoint", begin_checkpoint, true);
	pthread_mutex_lock(&disk.mutex);
	thrum_task_wait(thrum_task_current(), disk.checkpoint);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!disk.checkpoint_done)
		pthread_cond_wait(&disk.changed, &disk.mutex);
	thrum_resume();
	pthread_mutex_unlock(&disk.mutex);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	clear_first = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	thrum_lane_name("sensor feed");
	loop.inbox = thrum_task_create(THRUM_KIND_MAILBOX, "store inbox");
	loop.event = eventfd(0, EFD_CLOEXEC);
	pthread_create(&threads[0], NULL, loop_thread, NULL);
	pthread_create(&threads[1], NULL, disk_thread, NULL);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 12; i++) {
			loop_post("append", append_reading, round * 12 + i);
			usleep(2000);
		}
		wait_for_checkpoint();
	}
	loop_post("stop", stop_loop, true);
	pthread_join(threads[0], NULL);
	thrum_stop();
	printf("60 readings, 5 checkpoints\n");
	return 0;
}
