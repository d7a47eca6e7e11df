/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=charge
 *   truth: settle_batch keeps its line to the bank while it sleeps before it tries again (backoff). There are two
 *     lines only, so while two settlements sleep, all charges wait for a line that nobody uses.
 *   culprit: settle_batch|settle\b|backoff
 *   victim: shop-|clerk
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A payment gateway with few lines to the bank: cards are charged, and settlements are sent in between. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	LINES = 2,
	SHOPS = 3,
	CHARGES = 40,
	SETTLEMENTS = 6
};

static sem_t lines;
static thrum_task lines_task;
static bool gives_up_line;
static atomic_int charged;
static atomic_int settled;
static atomic_int open_threads;

THRUM_TAG(bank_tag, NULL, "answer of the bank", 0);
THRUM_TAG(backoff_tag, NULL, "backoff", 0);

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void line_take(void)
{
	if (sem_trywait(&lines)) {
		thrum_task_wait(thrum_task_current(), lines_task);
		thrum_suspend(THRUM_BLOCKED);
		sem_wait(&lines);
		thrum_resume();
	}
	thrum_lock_acquired(lines_task);
}

static void line_give(void)
{
	thrum_lock_released(lines_task);
	sem_post(&lines);
}

static void ask_bank(long ms)
{
	thrum_suspend(&bank_tag);
	pause_ms(ms);
	thrum_resume();
}

/* ---- Charges ---- */

static void charge_card(int shop, int number)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "charge");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		thrum_logf("shop %d, receipt %d", shop, number);
		line_take();
		ask_bank(4);
		line_give();
		atomic_fetch_add(&charged, 1);
	}
	thrum_task_resolve(task);
}

static void *shop(void *data)
{
	int number = *(int *)data;
	long slowest = 0;
	char name[16];

	snprintf(name, sizeof(name), "shop-%d", number);
	thrum_lane_name(name);
	for (int i = 0; i < CHARGES; i++) {
		long begin = now_ms();

		charge_card(number, i);
		if (now_ms() - begin > slowest)
			slowest = now_ms() - begin;
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_ms(15 + number * 3);
		thrum_resume();
	}
	printf("%s: slowest charge %ld ms\n", name, slowest);
	atomic_fetch_sub(&open_threads, 1);
	return NULL;
}

/* ---- Settlements ---- */

static bool send_settlement(int batch, int try)
{
	ask_bank(6);
	return try >= 1 + batch % 3;
}

static void backoff(int try)
{
	thrum_suspend(&backoff_tag);
	pause_ms(80 << try);
	thrum_resume();
}

static void settle_batch(int batch)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "settle");
	int try = 0;

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		thrum_logf("batch %d", batch);
		line_take();
		while (!send_settlement(batch, try)) {
			if (gives_up_line)
				line_give();
			backoff(try++);
			if (gives_up_line)
				line_take();
		}
		line_give();
		atomic_fetch_add(&settled, 1);
	}
	thrum_task_resolve(task);
}

static void *clerk(void *data)
{
	int number = *(int *)data;
	char name[16];

	snprintf(name, sizeof(name), "clerk-%d", number);
	thrum_lane_name(name);
	for (int i = 0; i < SETTLEMENTS; i++) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_ms(20 + number * 10);
		thrum_resume();
		settle_batch(i * 2 + number);
	}
	atomic_fetch_sub(&open_threads, 1);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t threads[SHOPS + 2];
	int numbers[SHOPS + 2];

	if (count < 2)
		return 2;
	gives_up_line = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	sem_init(&lines, 0, LINES);
	lines_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "lines to the bank");
	atomic_store(&open_threads, SHOPS + 2);
	for (int i = 0; i < SHOPS + 2; i++) {
		numbers[i] = i < SHOPS ? i : i - SHOPS;
		pthread_create(&threads[i], NULL, i < SHOPS ? shop : clerk, &numbers[i]);
	}
	while (atomic_load(&open_threads) > 0) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pause_ms(100);
		thrum_resume();
		fprintf(stderr, "charged %d, settled %d\n", atomic_load(&charged),
			atomic_load(&settled));
	}
	for (int i = 0; i < SHOPS + 2; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	return 0;
}
