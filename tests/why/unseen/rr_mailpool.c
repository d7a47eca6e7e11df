/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: retire_worker() closes its session before it takes itself off the count of idle workers, so
 *     queue_letter() believes that a worker waits, signals work_ready to nobody and starts no new worker.
 *   culprit: retire_worker|work_ready
 *   victim: await_receipts|receipt_ready
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* This program sends letters through a pool of workers. A worker that was idle for a while leaves. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	MAX_WORKERS = 3,
	IDLE_MS = 20,
	BURST = 18
};

struct letter {
	struct letter *next;
	int number;
	char to[32];
	unsigned signature;
};

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work_ready = PTHREAD_COND_INITIALIZER;
static pthread_cond_t receipt_ready = PTHREAD_COND_INITIALIZER;
static struct letter *first, **last = &first;
static int workers, idle, receipts;
static unsigned digest;
static bool count_late;

static void pause_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* The other side takes its time to answer QUIT. */
static void close_session(void)
{
	pause_ms(60);
}

static void sign(struct letter *letter)
{
	unsigned sum = 5381;

	for (int round = 0; round < 2000; round++)
		for (const char *c = letter->to; *c; c++)
			sum = sum * 33 + (unsigned char)*c;
	letter->signature = sum;
}

static void deliver(struct letter *letter)
{
	sign(letter);
	pause_ms(1);
}

/* The caller holds pool_lock. */
static void retire_worker(void)
{
	if (count_late) {
		pthread_mutex_unlock(&pool_lock);
		close_session();
		pthread_mutex_lock(&pool_lock);
		idle--;
		workers--;
		pthread_mutex_unlock(&pool_lock);
		return;
	}
	idle--;
	workers--;
	pthread_mutex_unlock(&pool_lock);
	close_session();
}

/* Returns false if no letter came in time. */
static bool wait_for_letter(void)
{
	struct timespec due;
	int error = 0;

	clock_gettime(CLOCK_REALTIME, &due);
	due.tv_nsec += IDLE_MS * 1000000L;
	if (due.tv_nsec >= 1000000000L) {
		due.tv_sec++;
		due.tv_nsec -= 1000000000L;
	}
	while (!first && error != ETIMEDOUT)
		error = pthread_cond_timedwait(&work_ready, &pool_lock, &due);
	return first != NULL;
}

static void *deliver_letters(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&pool_lock);
	for (;;) {
		idle++;
		if (!wait_for_letter()) {
			retire_worker();
			return NULL;
		}
		idle--;

		struct letter *letter = first;
		first = letter->next;
		if (!first)
			last = &first;
		pthread_mutex_unlock(&pool_lock);
		deliver(letter);
		pthread_mutex_lock(&pool_lock);
		digest ^= letter->signature;
		free(letter);
		receipts++;
		pthread_cond_signal(&receipt_ready);
	}
}

static void start_worker(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, deliver_letters, NULL))
		abort();
	pthread_detach(thread);
	workers++;
}

static void queue_letter(int number)
{
	struct letter *letter = calloc(1, sizeof(*letter));

	if (!letter)
		abort();
	letter->number = number;
	snprintf(letter->to, sizeof(letter->to), "reader%d@example.org", number);
	pthread_mutex_lock(&pool_lock);
	*last = letter;
	last = &letter->next;
	if (idle > 0)
		pthread_cond_signal(&work_ready);
	else if (workers < MAX_WORKERS)
		start_worker();
	pthread_mutex_unlock(&pool_lock);
}

static void await_receipts(int wanted)
{
	pthread_mutex_lock(&pool_lock);
	while (receipts < wanted)
		pthread_cond_wait(&receipt_ready, &pool_lock);
	pthread_mutex_unlock(&pool_lock);
}

int main(int argc, char **argv)
{
	int sent = 0;

	count_late = argc > 1 && !strcmp(argv[1], "broken");
	for (; sent < BURST; sent++)
		queue_letter(sent);
	await_receipts(sent);
	for (int reminder = 0; reminder < 4; reminder++) {
		pause_ms(45);
		queue_letter(sent++);
		await_receipts(sent);
	}
	printf("%d letters are sent, digest %08x\n", sent, digest);
	return 0;
}
