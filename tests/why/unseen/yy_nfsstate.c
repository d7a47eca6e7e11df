/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: reclaim_lock returns early for a client whose grace period is over and keeps the state mutex
 *   	of the file locked. It should have unlocked it on that path, too.
 *   culprit: reclaim_lock
 *   victim: op_close|op_lock|expire_leases|reaper
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES 6
#define WORKERS 4
#define REQUESTS 240

enum op {
	OP_OPEN,
	OP_LOCK,
	OP_RECLAIM,
	OP_CLOSE
};

struct file_state {
	pthread_mutex_t state_mutex;
	int opens;
	int locks;
};

struct request {
	enum op op;
	int file;
	int client;
};

static struct file_state files[FILES];
static struct request ring[32];
static unsigned head, tail;
static bool closed;
static pthread_mutex_t ring_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ring_filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t ring_drained = PTHREAD_COND_INITIALIZER;
static int denied;
static bool broken;

static bool grace_is_over(int client)
{
	return client == 13;
}

static int op_open(struct file_state *f)
{
	pthread_mutex_lock(&f->state_mutex);
	f->opens++;
	pthread_mutex_unlock(&f->state_mutex);
	return 0;
}

static int op_lock(struct file_state *f)
{
	pthread_mutex_lock(&f->state_mutex);
	f->locks++;
	usleep(300);
	pthread_mutex_unlock(&f->state_mutex);
	return 0;
}

static int reclaim_lock(struct file_state *f, int client)
{
	pthread_mutex_lock(&f->state_mutex);
	if (grace_is_over(client)) {
		__atomic_add_fetch(&denied, 1, __ATOMIC_RELAXED);
		if (!broken)
			pthread_mutex_unlock(&f->state_mutex);
		return -1;
	}
	f->locks++;
	pthread_mutex_unlock(&f->state_mutex);
	return 0;
}

static int op_close(struct file_state *f)
{
	pthread_mutex_lock(&f->state_mutex);
	if (f->opens > 0)
		f->opens--;
	f->locks = 0;
	pthread_mutex_unlock(&f->state_mutex);
	return 0;
}

static bool next_request(struct request *req)
{
	pthread_mutex_lock(&ring_mutex);
	while (head == tail && !closed)
		pthread_cond_wait(&ring_filled, &ring_mutex);
	bool got = head != tail;
	if (got) {
		*req = ring[tail++ % 32];
		pthread_cond_signal(&ring_drained);
	}
	pthread_mutex_unlock(&ring_mutex);
	return got;
}

static void *serve(void *arg)
{
	char name[16];
	snprintf(name, sizeof name, "nfs-svc-%ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	struct request req;
	while (next_request(&req)) {
		struct file_state *f = &files[req.file];
		switch (req.op) {
		case OP_OPEN: op_open(f); break;
		case OP_LOCK: op_lock(f); break;
		case OP_RECLAIM: reclaim_lock(f, req.client); break;
		case OP_CLOSE: op_close(f); break;
		}
	}
	return NULL;
}

static void submit(struct request req)
{
	pthread_mutex_lock(&ring_mutex);
	while (head - tail == 32)
		pthread_cond_wait(&ring_drained, &ring_mutex);
	ring[head++ % 32] = req;
	pthread_cond_signal(&ring_filled);
	pthread_mutex_unlock(&ring_mutex);
}

/* Walks over all files and drops locks whose leases ran out. */
static void *expire_leases(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "reaper");
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < FILES; i++) {
			pthread_mutex_lock(&files[i].state_mutex);
			if (files[i].locks > 50)
				files[i].locks = 50;
			pthread_mutex_unlock(&files[i].state_mutex);
		}
		usleep(20000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < FILES; i++)
		pthread_mutex_init(&files[i].state_mutex, NULL);
	pthread_t svc[WORKERS], reaper;
	for (long i = 0; i < WORKERS; i++)
		pthread_create(&svc[i], NULL, serve, (void *)i);
	pthread_create(&reaper, NULL, expire_leases, NULL);
	for (int i = 0; i < REQUESTS; i++) {
		struct request req = {(enum op)(i % 4), (i / 4) % FILES, i % 60 == 42 ? 13 : i % 9};
		submit(req);
		usleep(500);
	}
	pthread_mutex_lock(&ring_mutex);
	closed = true;
	pthread_cond_broadcast(&ring_filled);
	pthread_mutex_unlock(&ring_mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(svc[i], NULL);
	pthread_join(reaper, NULL);
	printf("%d requests, %d reclaims denied\n", REQUESTS, denied);
	return 0;
}
