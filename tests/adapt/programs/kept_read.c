/* SPDX-License-Identifier: ISC */
/*
 * A thread reads a table under a read lock in each of its rounds, and so does another one. From some time on
 * it forgets to release the lock in every third round, so the main thread waits for ever to write. With the
 * argument "fine" it releases it; with "batch" it works for long with the lock. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

#define ROUNDS 20 /* of writing before the reader forgets, */
#define SEEN 6 /* and so often it has read while the writer waited: only then its holds are told */

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static atomic_bool is_forgetful, is_long, is_over, is_waiting;
static atomic_int seen;

static __attribute__((noinline)) void look_up(int round)
{
	pthread_rwlock_rdlock(&table);
	seen += is_waiting;
	if (is_forgetful && round % 3 == 0)
		return;
	pthread_rwlock_unlock(&table);
}

static void work_long(void)
{
	pthread_rwlock_rdlock(&table);
	while (!is_over)
		usleep(2000);
	pthread_rwlock_unlock(&table);
}

static void *serve(void *unused)
{
	for (int round = 0; !is_over; round++) {
		look_up(round);
		usleep(2000);
		if (is_long)
			work_long();
	}
	return unused;
}

static void *count(void *unused)
{
	while (!is_over) {
		pthread_rwlock_rdlock(&table);
		usleep(500);
		pthread_rwlock_unlock(&table);
		usleep(2000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	bool is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	bool is_batch = argc > 1 && strcmp(argv[1], "batch") == 0;
	pthread_t threads[2];

	end_after(3);
	pthread_create(&threads[0], NULL, serve, NULL);
	pthread_create(&threads[1], NULL, count, NULL);
	for (int i = 0; i < ROUNDS || seen < SEEN; i++) {
		is_waiting = true;
		pthread_rwlock_wrlock(&table);
		is_waiting = false;
		usleep(100);
		pthread_rwlock_unlock(&table);
		usleep(10000);
	}
	is_forgetful = !is_fine && !is_batch;
	is_long = is_batch;
	usleep(50000);
	pthread_rwlock_wrlock(&table);
	pthread_rwlock_unlock(&table);
	is_over = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
