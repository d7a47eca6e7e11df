/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_maintenance clears the flag and signals without the maintenance lock while the thread is
 *   	between its check of the flag and its wait, so the signal is lost. It should have held the lock.
 *   culprit: stop_maintenance
 *   victim: hash-maint|maintain_table
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORKERS 4
#define SETS 400
#define STRIPES 8

struct item {
	uint32_t hash;
	struct item *next;
};

static pthread_mutex_t stripes[STRIPES];
static pthread_mutex_t maintenance_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t maintenance_cond = PTHREAD_COND_INITIALIZER;
static atomic_bool run_maintenance = true;
static atomic_int items;
static int wanted_power = 6;
static int power = 6;
static struct item *buckets[1 << 12];
static unsigned long moved[STRIPES];
static pthread_t maintenance;
static bool broken;

static uint32_t hash_key(uint32_t key)
{
	key ^= key >> 16;
	key *= 0x7feb352d;
	key ^= key >> 15;
	return key;
}

static void start_expanding(void)
{
	pthread_mutex_lock(&maintenance_lock);
	if (wanted_power == power && wanted_power < 16) {
		wanted_power++;
		pthread_cond_signal(&maintenance_cond);
	}
	pthread_mutex_unlock(&maintenance_lock);
}

static void store_item(uint32_t key)
{
	struct item *it = malloc(sizeof *it);
	it->hash = hash_key(key);
	pthread_mutex_t *lock = &stripes[it->hash % STRIPES];
	pthread_mutex_lock(lock);
	struct item **bucket = &buckets[it->hash % (1 << 12)];
	it->next = *bucket;
	*bucket = it;
	pthread_mutex_unlock(lock);
	if (atomic_fetch_add(&items, 1) % 256 == 255)
		start_expanding();
}

/* Moves the items of one stripe to the larger table. */
static void move_stripe(int stripe)
{
	pthread_mutex_lock(&stripes[stripe]);
	for (int i = stripe; i < 1 << 12; i += STRIPES)
		for (struct item *it = buckets[i]; it; it = it->next)
			moved[stripe]++;
	pthread_mutex_unlock(&stripes[stripe]);
}

static void log_idle_table(void)
{
	char line[80];
	snprintf(line, sizeof line, "table: 2^%d buckets, %d items\n", power, atomic_load(&items));
	fputs(line, stderr);
	usleep(30000);
}

static void *maintain_table(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "hash-maint");
	pthread_mutex_lock(&maintenance_lock);
	while (atomic_load(&run_maintenance)) {
		if (wanted_power != power) {
			pthread_mutex_unlock(&maintenance_lock);
			for (int i = 0; i < STRIPES; i++)
				move_stripe(i);
			pthread_mutex_lock(&maintenance_lock);
			power = wanted_power;
			continue;
		}
		log_idle_table();
		pthread_cond_wait(&maintenance_cond, &maintenance_lock);
	}
	pthread_mutex_unlock(&maintenance_lock);
	return NULL;
}

static void *worker(void *arg)
{
	uint32_t base = (uint32_t)(uintptr_t)arg * 100000;
	char name[16];
	snprintf(name, sizeof name, "worker-%d", (int)(uintptr_t)arg);
	pthread_setname_np(pthread_self(), name);
	for (uint32_t i = 0; i < SETS; i++) {
		store_item(base + i);
		if (i % 20 == 0)
			usleep(1000);
	}
	return NULL;
}

static void stop_maintenance(void)
{
	if (!broken)
		pthread_mutex_lock(&maintenance_lock);
	atomic_store(&run_maintenance, false);
	pthread_cond_signal(&maintenance_cond);
	if (!broken)
		pthread_mutex_unlock(&maintenance_lock);
	pthread_join(maintenance, NULL);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < STRIPES; i++)
		pthread_mutex_init(&stripes[i], NULL);
	pthread_create(&maintenance, NULL, maintain_table, NULL);
	pthread_t workers[WORKERS];
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, worker, (void *)i);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	usleep(60000);
	/* The table grows once more before the server ends. */
	start_expanding();
	usleep(10000);
	stop_maintenance();
	printf("%d items, 2^%d buckets\n", atomic_load(&items), power);
	return 0;
}
