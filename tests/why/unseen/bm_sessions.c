/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: session_touch returns without unlocking table_lock when the session has expired, so the worker
 *     thread goes on to wait for its next request with the lock of the table held, and all others wait for it.
 *   culprit: table_lock|session_touch
 *   victim: expire_sessions|write_report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A table of sessions: workers renew sessions for requests, one thread expires them, another reports. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SESSIONS 16
#define WORKERS 2
#define REQUESTS 60

struct session {
	int user;
	long renewed;
	bool expired;
};

struct worker {
	pthread_t thread;
	sem_t mail;
	atomic_int requests[REQUESTS + 1];
	int written;
	int read;
};

static struct session sessions[SESSIONS];
static struct worker workers[WORKERS];
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stopping;
static atomic_int renewed;
static atomic_int refused;
static bool careful;

static void pause_ms(long ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static struct session *session_find(int user)
{
	for (int i = 0; i < SESSIONS; i++) {
		if (sessions[i].user == user)
			return &sessions[i];
	}
	return NULL;
}

static int session_touch(int user)
{
	struct session *session;

	pthread_mutex_lock(&table_lock);
	session = session_find(user);
	if (!session) {
		pthread_mutex_unlock(&table_lock);
		return -1;
	}
	if (session->expired) {
		if (careful)
			pthread_mutex_unlock(&table_lock);
		return -2;
	}
	session->renewed = now_ms();
	pthread_mutex_unlock(&table_lock);
	return 0;
}

static void *answer_requests(void *data)
{
	struct worker *self = data;

	for (;;) {
		int user;

		sem_wait(&self->mail);
		user = atomic_load(&self->requests[self->read++]);
		if (user < 0)
			return NULL;
		if (session_touch(user))
			atomic_fetch_add(&refused, 1);
		else
			atomic_fetch_add(&renewed, 1);
	}
}

static void worker_post(struct worker *worker, int user)
{
	atomic_store(&worker->requests[worker->written++], user);
	sem_post(&worker->mail);
}

static void *expire_sessions(void *data)
{
	(void)data;
	while (!atomic_load(&stopping)) {
		long now = now_ms();

		pthread_mutex_lock(&table_lock);
		for (int i = 0; i < SESSIONS; i++) {
			if (now - sessions[i].renewed > 10000)
				sessions[i].expired = true;
		}
		pthread_mutex_unlock(&table_lock);
		pause_ms(15);
	}
	return NULL;
}

static void *write_report(void *data)
{
	(void)data;
	while (!atomic_load(&stopping)) {
		int open = 0;

		pthread_mutex_lock(&table_lock);
		for (int i = 0; i < SESSIONS; i++)
			open += !sessions[i].expired;
		pthread_mutex_unlock(&table_lock);
		printf("%d sessions, %d renewed, %d refused\n", open, atomic_load(&renewed),
			atomic_load(&refused));
		fflush(stdout);
		pause_ms(40);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t expirer;
	pthread_t reporter;

	if (argc < 2)
		return 2;
	careful = !strcmp(argv[1], "healthy");
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].user = 100 + i;
		sessions[i].renewed = now_ms() - (i == 11 ? 20000 : 0);
	}
	pthread_create(&expirer, NULL, expire_sessions, NULL);
	pthread_create(&reporter, NULL, write_report, NULL);
	for (int i = 0; i < WORKERS; i++) {
		sem_init(&workers[i].mail, 0, 0);
		pthread_create(&workers[i].thread, NULL, answer_requests, &workers[i]);
	}
	for (int i = 0; i < REQUESTS; i++) {
		worker_post(&workers[i % WORKERS], 100 + i * 3 % (SESSIONS + 1));
		pause_ms(5);
	}
	for (int i = 0; i < WORKERS; i++)
		worker_post(&workers[i], -1);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
	atomic_store(&stopping, true);
	pthread_join(expirer, NULL);
	pthread_join(reporter, NULL);
	printf("%d renewed, %d refused\n", atomic_load(&renewed), atomic_load(&refused));
	return 0;
}
