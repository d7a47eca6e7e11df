/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: All worker threads run h2 sessions, each waits for a stream that is queued behind them in the same pool: thread starvation.
 *   culprit: h2_session|worker|pool_work|stream_done
 *   victim: main|acceptor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about Varnish: with HTTP/2 the session threads take all threads of the pool and wait for their
 * streams, whose tasks are queued for the same pool; the server answers nobody any more.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	THREADS = 3,
	SESSIONS = 3
};

struct work {
	struct work *next;
	void (*run)(void);
};

static pthread_mutex_t pool_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t pool_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t stream_done = PTHREAD_COND_INITIALIZER;
static pthread_cond_t session_done = PTHREAD_COND_INITIALIZER;
static struct work *head, **tail = &head;
static int running, streams, sessions;
static bool broken, stopping;

static void pool_queue(void (*run)(void))
{
	struct work *work = calloc(1, sizeof *work);

	if (!work)
		abort();
	work->run = run;
	pthread_mutex_lock(&pool_mutex);
	*tail = work;
	tail = &work->next;
	pthread_cond_signal(&pool_work);
	pthread_mutex_unlock(&pool_mutex);
}

static void h2_stream(void)
{
	pthread_mutex_lock(&pool_mutex);
	streams++;
	pthread_cond_broadcast(&stream_done);
	pthread_mutex_unlock(&pool_mutex);
}

/* Reads frames, gives each stream to the pool, and stays until the streams have ended. */
static void h2_session(void)
{
	/* All clients come at once: each session has its thread before the first stream. */
	pthread_mutex_lock(&pool_mutex);
	running++;
	pthread_cond_broadcast(&stream_done);
	while (running < SESSIONS)
		pthread_cond_wait(&stream_done, &pool_mutex);
	pthread_mutex_unlock(&pool_mutex);
	pool_queue(h2_stream);
	pthread_mutex_lock(&pool_mutex);
	while (streams < SESSIONS)
		pthread_cond_wait(&stream_done, &pool_mutex);
	sessions++;
	pthread_cond_signal(&session_done);
	pthread_mutex_unlock(&pool_mutex);
}

static void *worker(void *unused)
{
	struct work *work;

	pthread_mutex_lock(&pool_mutex);
	for (;;) {
		while (!head && !stopping)
			pthread_cond_wait(&pool_work, &pool_mutex);
		if (!head)
			break;
		work = head;
		head = work->next;
		if (!head)
			tail = &head;
		pthread_mutex_unlock(&pool_mutex);
		work->run();
		free(work);
		pthread_mutex_lock(&pool_mutex);
	}
	pthread_mutex_unlock(&pool_mutex);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS + 1];
	int count;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	/* The healthy server reserves a thread for streams. */
	count = broken ? THREADS : THREADS + 1;
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, worker, NULL);
	for (int i = 0; i < SESSIONS; i++)
		pool_queue(h2_session);
	pthread_mutex_lock(&pool_mutex);
	while (sessions < SESSIONS)
		pthread_cond_wait(&session_done, &pool_mutex);
	stopping = true;
	pthread_cond_broadcast(&pool_work);
	pthread_mutex_unlock(&pool_mutex);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	printf("%d sessions, %d streams\n", sessions, streams);
	return 0;
}
