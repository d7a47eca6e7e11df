/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=invoice
 *   truth: refresh_templates reads the templates from the disk while it holds the lock "templates", so the invoices
 *     that are printed meanwhile wait for that lock most of their time.
 *   culprit: refresh templates|refresh_templates|templates
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* Prints invoices by a pool of threads; the templates are read anew every now and then. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define INVOICES 120
#define WORKERS 3

struct job {
	int number;
	long submitted;
	thrum_task task;
	struct job *next;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_changed = PTHREAD_COND_INITIALIZER;
static struct job *queue, **queue_end = &queue;
static bool closing;

static pthread_mutex_t templates_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task templates_task;
static char templates[4][32];
static bool read_first;
static bool all_printed;

static long total_ms;

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void nap(unsigned ms)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(ms * 1000);
	thrum_resume();
}

static void templates_lock(void)
{
	if (pthread_mutex_trylock(&templates_mutex)) {
		thrum_task_wait(thrum_task_current(), templates_task);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&templates_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(templates_task);
}

static void templates_unlock(void)
{
	thrum_lock_released(templates_task);
	pthread_mutex_unlock(&templates_mutex);
}

THRUM_TAG(disk, NULL, "read the disk", 0);

static void read_templates(char into[4][32], int version)
{
	for (int i = 0; i < 4; i++) {
		thrum_suspend(&disk);
		usleep(20000);
		thrum_resume();
		snprintf(into[i], 32, "template %d, version %d", i, version);
	}
}

static void refresh_templates(int version)
{
	char fresh[4][32];

	if (read_first) {
		read_templates(fresh, version);
		templates_lock();
		memcpy(templates, fresh, sizeof templates);
		templates_unlock();
	} else {
		templates_lock();
		read_templates(templates, version);
		templates_unlock();
	}
}

static void *refresher(void *unused)
{
	thrum_lane_name("refresher");
	for (int version = 1; !__atomic_load_n(&all_printed, __ATOMIC_RELAXED); version++) {
		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "refresh templates");

		THRUM_RUN (task)
			refresh_templates(version);
		thrum_task_resolve(task);
		nap(30);
	}
	return unused;
}

static void print_invoice(const struct job *job)
{
	char text[64];

	templates_lock();
	snprintf(text, sizeof text, "%s: no. %d", templates[job->number % 4], job->number);
	templates_unlock();
	nap(2 + (unsigned)job->number % 3); /* the printer takes it */
	if (job->number % 40 == 0)
		puts(text);
}

static void *worker(void *unused)
{
	struct job *job;

	thrum_lane_name("worker");
	pthread_mutex_lock(&pool_lock);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!queue && !closing)
			pthread_cond_wait(&pool_changed, &pool_lock);
		thrum_resume();
		job = queue;
		if (!job)
			break;
		queue = job->next;
		if (!queue)
			queue_end = &queue;
		pthread_mutex_unlock(&pool_lock);
		THRUM_RUN (job->task)
			print_invoice(job);
		thrum_task_resolve(job->task);
		pthread_mutex_lock(&pool_lock);
		total_ms += now_ms() - job->submitted;
		free(job);
	}
	pthread_mutex_unlock(&pool_lock);
	return unused;
}

static void submit(int number)
{
	struct job *job = calloc(1, sizeof *job);

	job->number = number;
	job->submitted = now_ms();
	job->task = thrum_task_createf(THRUM_KIND_TASK, "invoice %d", number);
	thrum_task_should_resolve(job->task);
	pthread_mutex_lock(&pool_lock);
	thrum_task_ready(job->task);
	*queue_end = job;
	queue_end = &job->next;
	pthread_cond_signal(&pool_changed);
	pthread_mutex_unlock(&pool_lock);
}

int main(int argc, char **argv)
{
	pthread_t workers[WORKERS], refresh;

	read_first = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	templates_task = thrum_task_create(THRUM_KIND_LOCK, "templates");
	pthread_create(&refresh, NULL, refresher, NULL);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, NULL);
	for (int i = 0; i < INVOICES; i++) {
		submit(i);
		nap(15);
	}
	pthread_mutex_lock(&pool_lock);
	closing = true;
	pthread_cond_broadcast(&pool_changed);
	pthread_mutex_unlock(&pool_lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	__atomic_store_n(&all_printed, true, __ATOMIC_RELAXED);
	pthread_join(refresh, NULL);
	thrum_stop();
	printf("all printed, each in %ld ms on average\n", total_ms / INVOICES);
	return 0;
}
