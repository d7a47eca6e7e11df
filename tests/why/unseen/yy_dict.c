/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: drop_table takes the transaction mutex before the dictionary lock, against the order that
 *   	purge keeps, so both wait for each other. It should have taken the dictionary lock first.
 *   culprit: drop_table
 *   victim: client-|begin_trx|count_rows
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TABLES 16
#define CLIENTS 3
#define QUERIES 120

struct table {
	char name[24];
	int rows;
	bool dropped;
};

struct undo {
	int table;
	struct undo *next;
};

/* Lock order: dict_lock, then trx_mutex. */
static pthread_rwlock_t dict_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t trx_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct table tables[TABLES];
static struct undo *history;
static unsigned long next_trx = 1;
static int purged;
static atomic_int clients_left = CLIENTS;
static bool broken;

static unsigned long begin_trx(int table)
{
	struct undo *undo = calloc(1, sizeof *undo);
	pthread_mutex_lock(&trx_mutex);
	unsigned long id = next_trx++;
	undo->table = table;
	undo->next = history;
	history = undo;
	pthread_mutex_unlock(&trx_mutex);
	return id;
}

static int count_rows(int table)
{
	pthread_rwlock_rdlock(&dict_lock);
	int rows = tables[table].dropped ? -1 : tables[table].rows;
	pthread_rwlock_unlock(&dict_lock);
	return rows;
}

static void *client(void *arg)
{
	long number = (long)arg;
	char name[16];
	snprintf(name, sizeof name, "client-%ld", number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < QUERIES; i++) {
		int table = (int)(number * 5 + i) % TABLES;
		if (count_rows(table) >= 0)
			begin_trx(table);
		usleep(2000);
	}
	atomic_fetch_sub(&clients_left, 1);
	return NULL;
}

/* Removes the undo records of a batch of transactions from their tables. */
static void purge_batch(void)
{
	pthread_rwlock_rdlock(&dict_lock);
	for (int i = 0; i < TABLES; i++)
		if (!tables[i].dropped)
			tables[i].rows |= 1;
	usleep(4000);
	pthread_mutex_lock(&trx_mutex);
	while (history) {
		struct undo *undo = history;
		history = undo->next;
		free(undo);
		purged++;
	}
	pthread_mutex_unlock(&trx_mutex);
	pthread_rwlock_unlock(&dict_lock);
}

static void *purge(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "purge");
	while (atomic_load(&clients_left) > 0) {
		purge_batch();
		usleep(1000);
	}
	purge_batch();
	return NULL;
}

static void mark_dropped(int table)
{
	pthread_rwlock_wrlock(&dict_lock);
	tables[table].dropped = true;
	pthread_rwlock_unlock(&dict_lock);
}

/* No transaction may begin on the table while it goes. */
static void drop_table(int table)
{
	if (broken) {
		pthread_mutex_lock(&trx_mutex);
		usleep(8000);
		mark_dropped(table);
		pthread_mutex_unlock(&trx_mutex);
		return;
	}
	pthread_rwlock_wrlock(&dict_lock);
	pthread_mutex_lock(&trx_mutex);
	tables[table].dropped = true;
	pthread_mutex_unlock(&trx_mutex);
	pthread_rwlock_unlock(&dict_lock);
}

static void *ddl(void *arg)
{
	(void)arg;
	pthread_setname_np(pthread_self(), "ddl");
	for (int i = 0; i < 8; i++) {
		usleep(12000);
		drop_table(i * 2);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < TABLES; i++) {
		snprintf(tables[i].name, sizeof tables[i].name, "shop/order_%d", i);
		tables[i].rows = 100 + i;
	}
	pthread_t threads[CLIENTS + 2];
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, client, (void *)i);
	pthread_create(&threads[CLIENTS], NULL, purge, NULL);
	pthread_create(&threads[CLIENTS + 1], NULL, ddl, NULL);
	for (int i = 0; i < CLIENTS + 2; i++)
		pthread_join(threads[i], NULL);
	printf("purged %d undo records\n", purged);
	return 0;
}
