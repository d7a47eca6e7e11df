/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2000
 *   ask: why
 *   truth: printer_account returns early for a job without pages and keeps the lock ledger_lock. So the thread
 *     of each printer hangs at its next job, and the submitter as the queue gets full.
 *   culprit: printer_account|ledger_lock
 *   victim: submit|queue_lock
 * case: healthy
 *   args: healthy
 *   run: live 2000
 *   ask: why
 *   culprit: nothing
 */
/* A print spooler: two printers take jobs from one queue, and the pages are charged to accounts. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define QUEUE 8
#define USERS 4

struct job {
	int number, user, pages;
};

static bool fixed;
static struct job queue[QUEUE];
static unsigned queue_first, queue_count;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t queue_drained = PTHREAD_COND_INITIALIZER;

static pthread_mutex_t ledger_lock = PTHREAD_MUTEX_INITIALIZER;
static long ledger[USERS];
static unsigned jobs_done;

static void spool_put(struct job job)
{
	pthread_mutex_lock(&queue_lock);
	while (queue_count == QUEUE)
		pthread_cond_wait(&queue_drained, &queue_lock);
	queue[(queue_first + queue_count++) % QUEUE] = job;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

static struct job spool_take(void)
{
	struct job job;

	pthread_mutex_lock(&queue_lock);
	while (queue_count == 0)
		pthread_cond_wait(&queue_filled, &queue_lock);
	job = queue[queue_first++ % QUEUE];
	queue_count--;
	pthread_cond_signal(&queue_drained);
	pthread_mutex_unlock(&queue_lock);
	return job;
}

static int printer_account(const struct job *job)
{
	if (fixed && job->pages == 0)
		return -1;
	pthread_mutex_lock(&ledger_lock);
	if (job->pages == 0)
		return -1; /* nothing to charge */
	ledger[job->user] += job->pages;
	__atomic_add_fetch(&jobs_done, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ledger_lock);
	return 0;
}

static void *printer(void *data)
{
	const char *name = data;

	pthread_setname_np(pthread_self(), name);
	for (;;) {
		struct job job = spool_take();

		usleep((unsigned)job.pages * 1000);
		if (printer_account(&job))
			printf("%s: job %d is empty\n", name, job.number);
	}
	return NULL;
}

/* Users print now and then; the 25th job is an empty file. */
static void *submit(void *data)
{
	int number;

	(void)data;
	pthread_setname_np(pthread_self(), "submit");
	for (number = 1;; number++) {
		struct job job = {number, number % USERS, number % 25 ? 1 + number % 6 : 0};

		spool_put(job);
		usleep(6000);
	}
	return NULL;
}

static void *status_page(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "status");
	for (;;) {
		usleep(200000);
		printf("status: %u jobs printed\n", __atomic_load_n(&jobs_done, __ATOMIC_RELAXED));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_create(&threads[0], NULL, printer, "laser");
	pthread_create(&threads[1], NULL, printer, "inkjet");
	pthread_create(&threads[2], NULL, submit, NULL);
	pthread_create(&threads[3], NULL, status_page, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
