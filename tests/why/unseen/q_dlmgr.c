/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="fetch segment"
 *   truth: The slowest segment was downloaded in 4 ms, but its "verify segment" waited in the verifier's mailbox while the only verifier thread rehashed the whole old file ("rehash ubuntu.iso", 200 ms).
 *   culprit: rehash ubuntu
 *   victim: fetch segment|verify segment
 */
#include <pthread.h>
#include <stdio.h>
#include <thrum.h>
#include <unistd.h>

struct job {
	thrum_task task;
	int us;
	bool done;
	struct job *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct job *head, **tail = &head;
static int idle;
static thrum_task mailbox, ledger;
static pthread_mutex_t ledger_mutex = PTHREAD_MUTEX_INITIALIZER;

static void submit(struct job *job, const char *name, int us)
{
	job->us = us;
	job->done = false;
	job->next = NULL;
	job->task = thrum_task_create(THRUM_KIND_TASK, name);
	pthread_mutex_lock(&mutex);
	*tail = job;
	tail = &job->next;
	thrum_task_ready(job->task);
	thrum_task_signal(mailbox, idle);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

static void await(struct job *job)
{
	pthread_mutex_lock(&mutex);
	while (!job->done) {
		thrum_task_wait(thrum_task_current(), job->task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_wait(&changed, &mutex);
		thrum_resume();
	}
	thrum_task_read(thrum_task_current(), job->task);
	pthread_mutex_unlock(&mutex);
}

static void *verifier(void *unused)
{
	thrum_lane_name("verifier");
	pthread_mutex_lock(&mutex);
	for (;;) {
		struct job *job;

		while (!head) {
			idle++;
			thrum_task_wait(thrum_task_current(), mailbox);
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			pthread_cond_wait(&changed, &mutex);
			thrum_resume();
			idle--;
		}
		job = head;
		head = job->next;
		if (!head)
			tail = &head;
		thrum_task_read(thrum_task_current(), mailbox);
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (job->task)
			usleep(job->us);
		pthread_mutex_lock(&mutex);
		job->done = true;
		thrum_task_resolve(job->task);
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

/* Notes the segment in the ledger, under the ledger's own lock. */
static void note(void)
{
	if (pthread_mutex_trylock(&ledger_mutex)) {
		thrum_task_wait(thrum_task_current(), ledger);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&ledger_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(ledger);
	usleep(1000);
	thrum_lock_released(ledger);
	pthread_mutex_unlock(&ledger_mutex);
}

static void *connection(void *data)
{
	struct job verify;

	thrum_lane_name(data);
	for (int i = 0; i < 9; i++) {
		thrum_task segment = thrum_task_create(THRUM_KIND_REQUEST, "fetch segment");

		thrum_task_should_resolve(segment);
		THRUM_RUN (segment) {
			thrum_suspend(THRUM_WAIT_FOR_WORK); /* recv */
			usleep(4000);
			thrum_resume();
			submit(&verify, "verify segment", 900);
			await(&verify);
			note();
			thrum_task_resolve(segment);
		}
	}
	return NULL;
}

int main(void)
{
	static struct job rehash;
	pthread_t threads[3];

	mailbox = thrum_task_create(THRUM_KIND_MAILBOX, "to verify");
	ledger = thrum_task_create(THRUM_KIND_LOCK, "ledger");
	pthread_create(&threads[0], NULL, verifier, NULL);
	pthread_create(&threads[1], NULL, connection, "mirror kernel.org");
	pthread_create(&threads[2], NULL, connection, "mirror debian.net");
	usleep(30000);
	submit(&rehash, "rehash ubuntu.iso", 200000);
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	await(&rehash);
	puts("18 segments");
	return 0;
}
