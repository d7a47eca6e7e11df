/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: an error in the user's program makes the main thread itself call runtime_stop (from
 *     report_error), which waits on user_finished until the user's program has returned; only the main
 *     thread would say that.
 *   culprit: runtime_stop|report_error|user_finished|#1 (aa_selfstop|main)
 *   victim: worker-\d|run_tasks
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about HPX: the stop waits for a condition that the main thread notifies, in the main
 * thread. The runtime of a task language: workers run tasks, the main thread runs the program of the
 * user.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORKERS 3

struct task {
	int number;
	struct task *next;
};

static pthread_mutex_t runtime_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_added = PTHREAD_COND_INITIALIZER;
static pthread_cond_t task_done = PTHREAD_COND_INITIALIZER;
static pthread_cond_t user_finished = PTHREAD_COND_INITIALIZER;
static struct task *tasks;
static int open_tasks;
static bool stopping, user_running, broken;
static pthread_t workers[WORKERS], main_thread;

static void *run_tasks(void *data)
{
	struct timespec work = {0, 3000000};
	struct task *task;
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&runtime_lock);
	for (;;) {
		while (!tasks && !stopping)
			pthread_cond_wait(&task_added, &runtime_lock);
		task = tasks;
		if (!task)
			break;
		tasks = task->next;
		pthread_mutex_unlock(&runtime_lock);
		nanosleep(&work, NULL);
		free(task);
		pthread_mutex_lock(&runtime_lock);
		if (--open_tasks == 0)
			pthread_cond_broadcast(&task_done);
	}
	pthread_mutex_unlock(&runtime_lock);
	return NULL;
}

static void start_workers(void)
{
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, run_tasks, (void *)i);
}

static void spawn(int number)
{
	struct task *task = malloc(sizeof(*task));

	if (!task)
		return;
	task->number = number;
	pthread_mutex_lock(&runtime_lock);
	task->next = tasks;
	tasks = task;
	open_tasks++;
	pthread_cond_signal(&task_added);
	pthread_mutex_unlock(&runtime_lock);
}

static void wait_for_tasks(void)
{
	pthread_mutex_lock(&runtime_lock);
	while (open_tasks)
		pthread_cond_wait(&task_done, &runtime_lock);
	pthread_mutex_unlock(&runtime_lock);
}

/* Ends the runtime when the user's program has returned. It may be called by any thread. */
static void runtime_stop(void)
{
	pthread_mutex_lock(&runtime_lock);
	/* The user's program may still spawn tasks, so the workers are told afterwards. */
	if (broken || !pthread_equal(pthread_self(), main_thread))
		while (user_running)
			pthread_cond_wait(&user_finished, &runtime_lock);
	stopping = true;
	pthread_cond_broadcast(&task_added);
	pthread_mutex_unlock(&runtime_lock);
}

static void report_error(const char *text)
{
	fprintf(stderr, "error: %s; the runtime stops\n", text);
	runtime_stop();
}

static int user_program(void)
{
	for (int i = 0; i < 12; i++)
		spawn(i);
	wait_for_tasks();
	if (getenv("HOME_OF_THE_SOLVER") == NULL) {
		report_error("no grid for the solver");
		return EXIT_FAILURE;
	}
	return EXIT_SUCCESS;
}

static int run(int (*program)(void))
{
	int status;

	main_thread = pthread_self();
	user_running = true;
	start_workers();
	status = program();
	pthread_mutex_lock(&runtime_lock);
	user_running = false;
	pthread_cond_broadcast(&user_finished);
	pthread_mutex_unlock(&runtime_lock);
	runtime_stop();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return status;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	/* The error is expected; the test is whether the runtime ends. */
	return run(user_program) == EXIT_FAILURE ? EXIT_SUCCESS : EXIT_FAILURE;
}
