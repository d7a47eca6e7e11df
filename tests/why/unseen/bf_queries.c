/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: run_query takes one of 3 connections. If the answer can't be parsed (queries 11, 22 and 33),
 *     it fails early and doesn't give the connection back. After three such queries none is left.
 *   culprit: query (11|22|33)\b
 *   victim: query (3[4-9]|4\d)
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* Four clients send queries over three connections, which a semaphore counts. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define CLIENTS 4
#define CONNECTIONS 3

struct pool {
	sem_t places;
	thrum_task task;
};

static struct pool pool;
static bool strict;
static atomic_int numbers, good, bad;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	nanosleep(&time, NULL);
	thrum_resume();
}

static void pool_take(struct pool *from)
{
	if (sem_trywait(&from->places)) {
		thrum_task_wait(thrum_task_current(), from->task);
		thrum_suspend(THRUM_BLOCKED);
		while (sem_wait(&from->places))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(from->task);
}

static void pool_give_back(struct pool *to)
{
	thrum_lock_released(to->task);
	sem_post(&to->places);
}

/* The answer of the database: some rows are empty. */
static void receive(int number, char *answer, size_t size)
{
	pause_ms(4 + number % 3);
	if (number % 11 == 0)
		snprintf(answer, size, "row=;");
	else
		snprintf(answer, size, "row=%d;", number * 3);
}

static int parse(const char *answer, int *row)
{
	return sscanf(answer, "row=%d;", row) == 1 ? 0 : -1;
}

static int run_query(int number)
{
	char answer[64];
	int row = 0;

	pool_take(&pool);
	receive(number, answer, sizeof(answer));
	if (parse(answer, &row)) {
		if (strict)
			return -1;
		row = 0;
	}
	pause_ms(1);
	pool_give_back(&pool);
	return row;
}

static void *client(void *data)
{
	const char *name = data;

	thrum_lane_name(name);
	for (;;) {
		int number = ++numbers;
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "query %d", number);

		thrum_task_should_resolve(task);
		THRUM_RUN (task) {
			if (run_query(number) < 0) {
				bad++;
				thrum_task_resolve(task); /* the client shows an empty table */
			} else {
				good++;
				thrum_task_resolve(task);
			}
		}
		pause_ms(3);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[CLIENTS] = {"client a", "client b", "client c", "client d"};
	pthread_t threads[CLIENTS];

	strict = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&pool.places, 0, CONNECTIONS);
	pool.task = thrum_task_create(THRUM_KIND_SEMAPHORE, "connections");
	for (int i = 0; i < CLIENTS; i++)
		if (pthread_create(&threads[i], NULL, client, (void *)names[i]))
			return 1;
	for (;;) {
		pause_ms(500);
		printf("%d good, %d bad\n", good, bad);
		fflush(stdout);
	}
}
