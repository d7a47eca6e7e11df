/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: shut_down, a callback of the loop, joins the thread index_files. That thread asks the loop
 *     whether a file is open (uv_async_send), and waits for the semaphore answered, which on_question
 *     would post in the loop. The loop is blocked in the join, so both wait for ever.
 *   culprit: shut_down|on_question|answered
 *   victim: autosave|report_progress
 * case: healthy
 *   args: healthy
 *   run: kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* An editor indexes its files in a thread. The thread asks the loop which files are open, and skips these. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

static uv_loop_t *loop;
static uv_async_t question;
static uv_timer_t autosave_timer, project_timer, progress_timer;
static uv_thread_t indexer;
static uv_sem_t answered;
static int asked_file;
static int answer;
static atomic_bool stop_now;
static atomic_int indexed;
static int projects, saves;
static int waits_at_once;

/* In the loop: files that the user has open are not to be read from the disk. */
static void on_question(uv_async_t *async)
{
	(void)async;
	answer = asked_file % 9 == 0;
	uv_sem_post(&answered);
}

static int ask_loop(int file)
{
	asked_file = file;
	uv_async_send(&question);
	uv_sem_wait(&answered);
	return answer;
}

static void index_files(void *data)
{
	int *begin = data;

	for (int file = *begin; !stop_now; file++) {
		if (ask_loop(file))
			continue;
		uv_sleep(2); /* reads the file */
		indexed++;
	}
}

static void begin_project(void)
{
	static int begin;

	begin = ++projects * 1000;
	stop_now = 0;
	if (uv_thread_create(&indexer, index_files, &begin))
		projects = -1;
}

/* Ends the thread before the next project is opened. */
static void shut_down(void)
{
	stop_now = 1;
	uv_thread_join(&indexer);
}

static void on_joined(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	begin_project();
}

static void join_in_pool(uv_work_t *work)
{
	(void)work;
	uv_thread_join(&indexer);
}

static uv_work_t join_work;

static void open_project(uv_timer_t *timer)
{
	(void)timer;
	if (waits_at_once) {
		/* The thread looks at a file meanwhile, and comes back with a question. */
		uv_sleep(60);
		shut_down();
		begin_project();
		return;
	}
	stop_now = 1;
	uv_queue_work(loop, &join_work, join_in_pool, on_joined);
}

static void autosave(uv_timer_t *timer)
{
	(void)timer;
	saves++;
}

static void report_progress(uv_timer_t *timer)
{
	(void)timer;
	printf("%d files, %d projects, %d saves\n", indexed, projects, saves);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	waits_at_once = argc > 1 && !strcmp(argv[1], "broken");
	loop = uv_default_loop();
	uv_sem_init(&answered, 0);
	uv_async_init(loop, &question, on_question);
	uv_timer_init(loop, &autosave_timer);
	uv_timer_start(&autosave_timer, autosave, 50, 50);
	uv_timer_init(loop, &progress_timer);
	uv_timer_start(&progress_timer, report_progress, 200, 200);
	uv_timer_init(loop, &project_timer);
	uv_timer_start(&project_timer, open_project, 300, 300);
	begin_project();
	return uv_run(loop, UV_RUN_DEFAULT);
}
