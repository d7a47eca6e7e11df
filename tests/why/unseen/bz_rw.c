/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reader_exit looks whether it is the last reader before it counts itself out, so the writer isn't woken
 *   culprit: reader_exit|reader \d
 *   victim: writer|checkpoint
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

static bool is_broken;

/* A lock of readers and a writer, made by hand. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t readers_gone = PTHREAD_COND_INITIALIZER,
		      writer_gone = PTHREAD_COND_INITIALIZER;
static thrum_task gone_task, writer_task;
static unsigned gone_waiters, writer_waiters;
static int readers, writes;
static bool is_writing, is_over, wants;

static void wait_for(pthread_cond_t *condition, thrum_task task, unsigned *waiters)
{
	++*waiters;
	thrum_task_wait(thrum_task_current(), task);
	thrum_suspend(THRUM_BLOCKED);
	pthread_cond_wait(condition, &mutex);
	thrum_resume();
	thrum_task_read(thrum_task_current(), task);
}

static void signal_all(pthread_cond_t *condition, thrum_task task, unsigned *waiters)
{
	thrum_task_signal(task, *waiters);
	*waiters = 0;
	pthread_cond_broadcast(condition);
}

static void reader_enter(void)
{
	pthread_mutex_lock(&mutex);
	while (is_writing || wants)
		wait_for(&writer_gone, writer_task, &writer_waiters);
	readers++;
	pthread_mutex_unlock(&mutex);
}

static void reader_exit(bool is_early)
{
	bool is_last;

	pthread_mutex_lock(&mutex);
	is_last = readers == (is_early ? 0 : 1);
	readers--;
	if (is_last)
		signal_all(&readers_gone, gone_task, &gone_waiters);
	pthread_mutex_unlock(&mutex);
}

static void writer_enter(void)
{
	pthread_mutex_lock(&mutex);
	wants = true;
	while (readers > 0)
		wait_for(&readers_gone, gone_task, &gone_waiters);
	is_writing = true;
	pthread_mutex_unlock(&mutex);
}

static void writer_exit(void)
{
	pthread_mutex_lock(&mutex);
	is_writing = wants = false;
	signal_all(&writer_gone, writer_task, &writer_waiters);
	pthread_mutex_unlock(&mutex);
}

static void nap(int us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep((useconds_t)us);
	thrum_resume();
}

static void *run_reader(void *name)
{
	int n = 0;

	thrum_lane_name(name);
	while (!is_over) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "scan %d of %s", ++n,
			(char *)name);

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			reader_enter();
			nap(1500);
			reader_exit(is_broken && writes > 8 && n % 2);
			thrum_task_resolve(task);
		}
		nap(700);
	}
	return NULL;
}

static void *run_beat(void *data)
{
	thrum_lane_name("beat");
	while (!is_over) {
		nap(12000);
		thrum_log("beat");
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	thrum_task writer;

	is_broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	gone_task = thrum_task_create(THRUM_KIND_CONDITION, "readers gone");
	writer_task = thrum_task_create(THRUM_KIND_CONDITION, "writer gone");
	pthread_create(&threads[0], NULL, run_reader, "reader 1");
	pthread_create(&threads[1], NULL, run_reader, "reader 2");
	pthread_create(&threads[2], NULL, run_beat, NULL);
	for (int i = 1; i <= 30; i++) {
		writer = thrum_task_createf(THRUM_KIND_TASK, "checkpoint %d", i);
		thrum_task_should_resolve(writer);
		THRUM_RUN (writer) {
			writer_enter();
			nap(500);
			writes++;
			writer_exit();
			thrum_task_resolve(writer);
		}
		nap(6000);
	}
	is_over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
