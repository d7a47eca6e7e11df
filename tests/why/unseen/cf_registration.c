/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: memcached issue #742 ("Potential program hang on worker_hang_lock and init_cond"). To pause the workers,
 *     the maintenance thread holds worker_hang_lock and waits on init_cond until all workers have registered; they
 *     then wait for worker_hang_lock. When the hash table's expansion is followed at once by that of the slabs,
 *     pause_threads takes worker_hang_lock again before the workers of the first pause have come through it. They
 *     wait for the lock and can't register, and the maintenance thread waits for them while it holds the lock.
 *   culprit: worker_hang_lock|pause_threads|maintenance
 *   victim: client|main\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* A cache with worker threads, which a maintenance thread pauses to exchange the tables. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 4
#define CLIENTS 3
#define REQUESTS 260

struct request {
	sem_t done;
	unsigned key;
};

struct message {
	char command; /* 'r': request, 'p': pause, 'q': quit */
	struct request *request;
};

static struct worker {
	int receive, notify;
	unsigned served;
	pthread_t thread;
} workers[WORKERS];

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t init_cond = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t worker_hang_lock = PTHREAD_MUTEX_INITIALIZER;
static int init_count, resumed_count;
static unsigned hash_power = 16, slab_pages = 1;
static bool fixed;

static void tell(struct worker *worker, char command, struct request *request)
{
	struct message message = {command, request};

	if (write(worker->notify, &message, sizeof(message)) != sizeof(message))
		exit(1);
}

/* ---- workers ---- */

static void register_thread_initialized(void)
{
	pthread_mutex_lock(&init_lock);
	init_count++;
	pthread_cond_signal(&init_cond);
	pthread_mutex_unlock(&init_lock);
	/* Force worker threads to pile up if someone wants us to. */
	pthread_mutex_lock(&worker_hang_lock);
	pthread_mutex_unlock(&worker_hang_lock);
	pthread_mutex_lock(&init_lock);
	resumed_count++;
	pthread_cond_signal(&init_cond);
	pthread_mutex_unlock(&init_lock);
}

static void *worker_libevent(void *arg)
{
	struct worker *worker = arg;
	struct message message;

	while (read(worker->receive, &message, sizeof(message)) == sizeof(message)) {
		if (message.command == 'q')
			break;
		if (message.command == 'p') {
			register_thread_initialized();
			continue;
		}
		usleep(1000);
		worker->served++;
		sem_post(&message.request->done);
	}
	return NULL;
}

/* ---- maintenance ---- */

static void pause_threads(void)
{
	int i;

	pthread_mutex_lock(&worker_hang_lock);
	pthread_mutex_lock(&init_lock);
	init_count = 0;
	resumed_count = 0;
	for (i = 0; i < WORKERS; i++)
		tell(&workers[i], 'p', NULL);
	while (init_count < WORKERS)
		pthread_cond_wait(&init_cond, &init_lock);
	pthread_mutex_unlock(&init_lock);
}

static void resume_threads(void)
{
	pthread_mutex_unlock(&worker_hang_lock);
	if (!fixed)
		return;
	pthread_mutex_lock(&init_lock);
	while (resumed_count < WORKERS)
		pthread_cond_wait(&init_cond, &init_lock);
	pthread_mutex_unlock(&init_lock);
}

static void expand_hash(void)
{
	pause_threads();
	usleep(3000);
	hash_power++;
	resume_threads();
}

static void rebalance_slabs(void)
{
	pause_threads();
	usleep(2000);
	slab_pages++;
	resume_threads();
}

static void *maintenance_thread(void *arg)
{
	int i;

	for (i = 0; i < 14; i++) {
		usleep(50000);
		expand_hash();
		if (i < 5) /* there is time in between */
			usleep(20000);
		rebalance_slabs();
	}
	return arg;
}

/* ---- clients ---- */

static void cache_get(unsigned key)
{
	struct request request = {.key = key};

	sem_init(&request.done, 0, 0);
	tell(&workers[key % WORKERS], 'r', &request);
	while (sem_wait(&request.done))
		;
	sem_destroy(&request.done);
}

static void *client_thread(void *arg)
{
	unsigned i, seed = (unsigned)(size_t)arg;

	for (i = 0; i < REQUESTS; i++) {
		cache_get(seed + i);
		usleep(2000);
	}
	return NULL;
}

static void *stats_thread(void *arg)
{
	unsigned i, served;

	for (;;) {
		usleep(100000);
		for (served = i = 0; i < WORKERS; i++)
			served += workers[i].served;
		printf("%u served, 2^%u buckets, %u pages\n", served, hash_power, slab_pages);
		fflush(stdout);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], maintenance, stats;
	char name[16];
	int i, fds[2];

	if (argc < 2)
		return 2;
	fixed = !strcmp(argv[1], "healthy");
	for (i = 0; i < WORKERS; i++) {
		if (pipe(fds))
			return 1;
		workers[i].receive = fds[0];
		workers[i].notify = fds[1];
		pthread_create(&workers[i].thread, NULL, worker_libevent, &workers[i]);
		snprintf(name, sizeof(name), "worker %d", i);
		pthread_setname_np(workers[i].thread, name);
	}
	pthread_create(&stats, NULL, stats_thread, NULL);
	pthread_setname_np(stats, "stats");
	pthread_detach(stats);
	pthread_create(&maintenance, NULL, maintenance_thread, NULL);
	pthread_setname_np(maintenance, "maintenance");
	for (i = 0; i < CLIENTS; i++) {
		pthread_create(&clients[i], NULL, client_thread, (void *)(size_t)(i * 7));
		snprintf(name, sizeof(name), "client %d", i);
		pthread_setname_np(clients[i], name);
	}
	for (i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(maintenance, NULL);
	for (i = 0; i < WORKERS; i++) {
		tell(&workers[i], 'q', NULL);
		pthread_join(workers[i].thread, NULL);
	}
	return 0;
}
