/* SPDX-License-Identifier: ISC */
/*
 * A thread queues three jobs, and wakes the loop for each, before the loop looks: libuv makes one run of
 * that. Arguments: "one" takes a job a run, so the loop waits in vain; "several" does so, too, beside another
 * handle; "all" takes all jobs; "late" does so, and the jobs come while the loop waits. SIGALRM ends it.
 * "left" and "closed" have a handle for each piece of work in libuv's pool instead, and close it when that is
 * done: "left" forgets one.
 * In "over" the handle doesn't keep the loop, so that has ended when a thread sends it and waits for an
 * answer; in "anew" the loop runs again, and in "steps" the program runs it step by step then. In "once"
 * the loop has answered a question before it ends.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "patience.h"

#define JOBS 3

static uv_async_t other, jobs_ready;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queued, taken;
static int takes_all, is_late;

static void *queue_jobs(void *unused)
{
	if (is_late)
		usleep(400000);
	for (int i = 0; i < JOBS; i++) {
		pthread_mutex_lock(&lock);
		queued++;
		pthread_mutex_unlock(&lock);
		uv_async_send(&jobs_ready);
	}
	return unused;
}

void on_jobs(uv_async_t *handle);
void on_jobs(uv_async_t *handle)
{
	pthread_mutex_lock(&lock);
	taken = takes_all ? queued : taken + 1;
	pthread_mutex_unlock(&lock);
	if (taken == JOBS)
		uv_close((uv_handle_t *)handle, NULL);
}

void on_other(uv_async_t *handle);
void on_other(uv_async_t *handle)
{
	(void)handle;
}

/* ---- A handle for each piece of work ---------------------------------------------------------- */

#define PIECES 6

static struct piece {
	uv_work_t work;
	uv_async_t progress;
	int number;
} pieces[PIECES];
static int forgotten = -1;

void on_progress(uv_async_t *handle);
void on_progress(uv_async_t *handle)
{
	(void)handle;
}

static void do_piece(uv_work_t *work)
{
	struct piece *piece = work->data;

	usleep(2000);
	if (piece->number != forgotten)
		uv_async_send(&piece->progress);
}

void close_progress(uv_work_t *work, int status);
void close_progress(uv_work_t *work, int status)
{
	struct piece *piece = work->data;

	(void)status;
	if (piece->number != forgotten)
		uv_close((uv_handle_t *)&piece->progress, NULL);
}

static int run_pieces(void)
{
	for (int i = 0; i < PIECES; i++) {
		pieces[i].number = i;
		pieces[i].work.data = &pieces[i];
		if (uv_async_init(uv_default_loop(), &pieces[i].progress, on_progress) ||
			uv_queue_work(uv_default_loop(), &pieces[i].work, do_piece, close_progress))
			return 1;
	}
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	puts("all done");
	return 0;
}

/* ---- A loop that has ended --------------------------------------------------------------------- */

static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static bool is_answered;

void on_question(uv_async_t *handle);
void on_question(uv_async_t *handle)
{
	pthread_mutex_lock(&lock);
	is_answered = true;
	pthread_cond_signal(&answered);
	pthread_mutex_unlock(&lock);
	uv_close((uv_handle_t *)handle, NULL);
}

static void *ask(void *unused)
{
	uv_async_send(&jobs_ready);
	pthread_mutex_lock(&lock);
	while (!is_answered)
		pthread_cond_wait(&answered, &lock);
	pthread_mutex_unlock(&lock);
	return unused;
}

static void run_step_by_step(void)
{
	while (uv_run(uv_default_loop(), UV_RUN_NOWAIT) != 0)
		usleep(1000);
}

static int run_out(const char *mode)
{
	pthread_t thread;

	bool by_steps = strcmp(mode, "steps") == 0;

	if (uv_async_init(uv_default_loop(), &jobs_ready, on_question))
		return 1;
	uv_unref((uv_handle_t *)&jobs_ready);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	if (by_steps)
		uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	if (pthread_create(&thread, NULL, ask, NULL))
		return 1;
	usleep(20000);
	if (by_steps || strcmp(mode, "anew") == 0)
		uv_ref((uv_handle_t *)&jobs_ready);
	if (by_steps)
		run_step_by_step();
	else if (strcmp(mode, "anew") == 0)
		uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	puts("all done");
	return 0;
}

static void end_loop(uv_timer_t *timer)
{
	uv_close((uv_handle_t *)timer, NULL);
}

void on_order(uv_async_t *handle);
void on_order(uv_async_t *handle)
{
	(void)handle;
	pthread_mutex_lock(&lock);
	is_answered = true;
	pthread_cond_signal(&answered);
	pthread_mutex_unlock(&lock);
}

static void *run_loop(void *unused)
{
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return unused;
}

static int ask_twice(void)
{
	static uv_timer_t timer;
	pthread_t thread;

	if (uv_async_init(uv_default_loop(), &jobs_ready, on_order) ||
		uv_timer_init(uv_default_loop(), &timer) ||
		uv_timer_start(&timer, end_loop, 300, 0))
		return 1;
	uv_unref((uv_handle_t *)&jobs_ready);
	if (pthread_create(&thread, NULL, run_loop, NULL))
		return 1;
	ask(NULL);
	pthread_join(thread, NULL);
	is_answered = false;
	ask(NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "one";
	pthread_t thread;

	if (strcmp(mode, "over") == 0 || strcmp(mode, "anew") == 0 || strcmp(mode, "steps") == 0) {
		end_after(strcmp(mode, "over") == 0 ? 2 : 20);
		return run_out(mode);
	}

	if (strcmp(mode, "once") == 0) {
		end_after(3);
		return ask_twice();
	}

	if (strcmp(mode, "left") == 0 || strcmp(mode, "closed") == 0) {
		forgotten = strcmp(mode, "left") == 0 ? 2 : -1;
		end_after(forgotten < 0 ? 20 : 2);
		return run_pieces();
	}

	is_late = strcmp(mode, "late") == 0;
	takes_all = is_late || strcmp(mode, "all") == 0;
	end_after(takes_all ? 20 : 2);
	if (strcmp(mode, "several") == 0 && uv_async_init(uv_default_loop(), &other, on_other))
		return 1;
	if (uv_async_init(uv_default_loop(), &jobs_ready, on_jobs) ||
		pthread_create(&thread, NULL, queue_jobs, NULL))
		return 1;
	if (!is_late)
		pthread_join(thread, NULL);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	if (is_late)
		pthread_join(thread, NULL);
	puts("all done");
	return 0;
}
