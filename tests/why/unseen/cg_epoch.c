/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: before the updater frees an old table, it waits until each worker has announced that it doesn't
 *     use it. A worker that waits in take_packet for packets announces nothing, though it uses no table
 *     then: it doesn't leave the set of readers. When the traffic of lan ends, the updater waits for its
 *     worker for ever.
 *   culprit: take_packet|\blan\b
 *   victim: updater|wait_for_readers
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A router: two workers look up routes in a table without a lock; an updater replaces the table. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	ROUTES = 64,
	UPDATES = 8,
	WAN_PACKETS = 400,
	LAN_PACKETS = 60
};

static bool broken;

struct table {
	int next_hop[ROUTES];
};

struct worker {
	const char *name;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t arrived;
	int packets[16];
	int count;
	bool closed;
	/* Under epoch_mutex: */
	bool is_online;
	unsigned seen;
	unsigned forwarded;
};

static struct worker wan = {
	.name = "wan",
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.arrived = PTHREAD_COND_INITIALIZER,
};
static struct worker lan = {
	.name = "lan",
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.arrived = PTHREAD_COND_INITIALIZER,
};
static struct worker *const workers[] = {&wan, &lan};

static struct table *_Atomic current;
static pthread_mutex_t epoch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reader_passed = PTHREAD_COND_INITIALIZER;
static unsigned epoch = 1;

/* ---- Epochs ---- */

/* The worker uses no table at this moment. */
static void announce(struct worker *self, bool is_online)
{
	pthread_mutex_lock(&epoch_mutex);
	self->is_online = is_online;
	self->seen = epoch;
	pthread_cond_signal(&reader_passed);
	pthread_mutex_unlock(&epoch_mutex);
}

static bool all_passed(unsigned target)
{
	for (size_t i = 0; i < sizeof(workers) / sizeof(*workers); i++)
		if (workers[i]->is_online && workers[i]->seen < target)
			return false;
	return true;
}

static void wait_for_readers(void)
{
	unsigned target;

	pthread_mutex_lock(&epoch_mutex);
	target = ++epoch;
	while (!all_passed(target))
		pthread_cond_wait(&reader_passed, &epoch_mutex);
	pthread_mutex_unlock(&epoch_mutex);
}

/* ---- Workers ---- */

static bool take_packet(struct worker *self, int *packet)
{
	bool has_one;

	pthread_mutex_lock(&self->mutex);
	while (!self->count && !self->closed) {
		if (!broken)
			announce(self, false);
		pthread_cond_wait(&self->arrived, &self->mutex);
		if (!broken)
			announce(self, true);
	}
	has_one = self->count > 0;
	if (has_one)
		*packet = self->packets[--self->count];
	pthread_mutex_unlock(&self->mutex);
	return has_one;
}

static void *forward(void *data)
{
	struct worker *self = data;
	int packet;

	announce(self, true);
	while (take_packet(self, &packet)) {
		struct table *table = atomic_load(&current);

		self->forwarded += table->next_hop[packet % ROUTES] >= 0;
		announce(self, true);
	}
	announce(self, false);
	return NULL;
}

static void put_packet(struct worker *worker, int packet)
{
	pthread_mutex_lock(&worker->mutex);
	if (worker->count < 16)
		worker->packets[worker->count++] = packet;
	pthread_cond_signal(&worker->arrived);
	pthread_mutex_unlock(&worker->mutex);
}

static void close_port(struct worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->closed = true;
	pthread_cond_signal(&worker->arrived);
	pthread_mutex_unlock(&worker->mutex);
}

/* ---- The routes ---- */

static void *updater(void *data)
{
	for (int update = 1; update <= UPDATES; update++) {
		struct table *old = atomic_load(&current), *new = malloc(sizeof(*new));

		if (!new)
			abort();
		*new = *old;
		new->next_hop[update % ROUTES] = update;
		atomic_store(&current, new);
		wait_for_readers();
		free(old);
		usleep(50000);
	}
	return data;
}

int main(int argc, char **argv)
{
	pthread_t update;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	atomic_store(&current, calloc(1, sizeof(struct table)));
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&workers[i]->thread, NULL, forward, workers[i]))
			return 1;
		pthread_setname_np(workers[i]->thread, workers[i]->name);
	}
	if (pthread_create(&update, NULL, updater, NULL))
		return 1;
	pthread_setname_np(update, "updater");
	for (int packet = 0; packet < WAN_PACKETS; packet++) {
		put_packet(&wan, packet);
		if (packet < LAN_PACKETS) /* then the office goes home */
			put_packet(&lan, packet);
		usleep(3000);
	}
	pthread_join(update, NULL);
	for (int i = 0; i < 2; i++) {
		close_port(workers[i]);
		pthread_join(workers[i]->thread, NULL);
	}
	free(atomic_load(&current));
	printf("wan %u, lan %u packets\n", wan.forwarded, lan.forwarded);
	return 0;
}
