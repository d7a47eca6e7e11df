/* SPDX-License-Identifier: ISC */
/*
 * It reports to libthrum itself, but not for what its threads wait.
 *
 *	beside wrong|right   one signal wakes one thread where two wait; it can't use it, and waits again
 *	beside locks         two threads take two locks in opposite orders
 *	beside told          a thread tells for what it waits, then lets one wait untold
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <thrum.h>

#include "hang.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t both;
static int credits, pages, waiting;
static bool is_closed;

/* ---- One signal for two ---------------------------------------------------------------------- */

static void *flush_pages(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (waiting++, !pages && !is_closed)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *send_blocks(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (waiting++, !credits)
		pthread_cond_wait(&changed, &mutex);
	is_closed = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* Its tasks come and go: none of them is left to signal, but the thread is. */
static void *grant_credit(void *is_wrong)
{
	thrum_task grant = thrum_task_create(THRUM_KIND_TASK, "grant");

	THRUM_RUN (grant) {
		pthread_mutex_lock(&mutex);
		credits++;
		if (is_wrong)
			pthread_cond_signal(&changed); /* whom does it wake? */
		else
			pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
		thrum_task_resolve(grant);
	}
	return NULL;
}

static int both_wait(int count)
{
	int reached;

	pthread_mutex_lock(&mutex);
	reached = waiting >= count;
	pthread_mutex_unlock(&mutex);
	return reached;
}

/* By glibc's count of those who use the condition. */
static bool is_waited_for(void)
{
	return __atomic_load_n(&changed.__data.__wrefs, __ATOMIC_ACQUIRE) >= 16;
}

static void share_condition(bool is_wrong)
{
	pthread_t flusher, sender, service;

	pthread_create(&flusher, NULL, flush_pages, NULL);
	while (!both_wait(1))
		usleep(1000);
	pthread_create(&sender, NULL, send_blocks, NULL);
	while (!both_wait(2))
		usleep(1000);
	pthread_create(&service, NULL, grant_credit, is_wrong ? &mutex : NULL);
	pthread_join(service, NULL);
	if (is_wrong)
		end_when(is_waited_for);
	pthread_join(sender, NULL);
	pthread_join(flusher, NULL);
}

/* ---- Two locks ------------------------------------------------------------------------------- */

static void *lock_forward(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&second);
	return unused;
}

static void *lock_backward(void *unused)
{
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&mutex);
	return unused;
}

static bool is_locked(void)
{
	return has_waiter(&mutex) && has_waiter(&second);
}

static void lock_both(void)
{
	pthread_t threads[2];

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&threads[0], NULL, lock_forward, NULL);
	pthread_create(&threads[1], NULL, lock_backward, NULL);
	end_when(is_locked);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
}

/* ---- A thread that tells ----------------------------------------------------------------------- */

static void *take_jobs(void *jobs)
{
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&mutex);
		if (i == 0)
			thrum_task_wait(thrum_task_current(), *(thrum_task *)jobs);
		while (pages <= i) {
			waiting++;
			pthread_cond_wait(&changed, &mutex);
		}
		if (i == 0)
			thrum_task_read(thrum_task_current(), *(thrum_task *)jobs);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void tell_wait(void)
{
	thrum_task jobs = thrum_task_create(THRUM_KIND_MAILBOX, "jobs");
	pthread_t taker;

	pthread_create(&taker, NULL, take_jobs, &jobs);
	for (int i = 0; i < 2; i++) {
		while (!both_wait(i + 1))
			usleep(1000);
		pthread_mutex_lock(&mutex);
		pages++;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	pthread_join(taker, NULL);
	thrum_task_resolve(jobs);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "right";

	if (!strcmp(mode, "locks"))
		lock_both();
	else if (!strcmp(mode, "told"))
		tell_wait();
	else
		share_condition(!strcmp(mode, "wrong"));
	puts("done");
	return 0;
}
