/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET /cart"
 *   truth: check_out keeps its database connection while it asks the payment provider, which takes 240 ms. Two checkouts have both connections then, and a GET /cart that needs one for 2 ms waits for them.
 *   culprit: POST /checkout|charge card|check_out
 *   victim: GET /cart
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "thrum.h"

/* A shop with a small pool of database connections. A thread serves each request. */

#define CONNECTIONS 2
#define CARTS 24

static bool broken;
static sem_t connections, checkouts_begun;
static thrum_task connections_task;

static void connection_take(void)
{
	if (sem_trywait(&connections)) {
		thrum_task_wait(thrum_task_current(), connections_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (sem_wait(&connections))
			continue;
		thrum_resume();
	}
	thrum_lock_acquired(connections_task);
}

static void connection_give_back(void)
{
	thrum_lock_released(connections_task);
	sem_post(&connections);
}

static void run_query(unsigned us)
{
	usleep(us);
}

/* Asks the provider, over the net. */
static void charge_card(void)
{
	thrum_task charge = thrum_task_create(THRUM_KIND_REQUEST, "charge card");

	thrum_task_wait(thrum_task_current(), charge);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(240000);
	thrum_resume();
	thrum_task_resolve(charge);
	thrum_task_read(thrum_task_current(), charge);
}

static void *check_out(void *unused)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "POST /checkout");

	(void)unused;
	THRUM_RUN (task) {
		connection_take();
		sem_post(&checkouts_begun);
		run_query(1000);
		if (!broken)
			connection_give_back();
		charge_card();
		if (!broken)
			connection_take();
		run_query(1000);
		connection_give_back();
		thrum_task_resolve(task);
	}
	return NULL;
}

static void *show_cart(void *unused)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "GET /cart");

	(void)unused;
	THRUM_RUN (task) {
		connection_take();
		run_query(2000);
		connection_give_back();
		thrum_task_resolve(task);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t carts[CARTS], checkouts[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sem_init(&connections, 0, CONNECTIONS);
	sem_init(&checkouts_begun, 0, 0);
	connections_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "db connections");
	for (int i = 0; i < CARTS; i++) {
		if (i == CARTS - 5) {
			for (int j = 0; j < 2; j++)
				pthread_create(&checkouts[j], NULL, check_out, NULL);
			sem_wait(&checkouts_begun);
			sem_wait(&checkouts_begun);
		}
		pthread_create(&carts[i], NULL, show_cart, NULL);
		usleep(5000);
	}
	for (int i = 0; i < CARTS; i++)
		pthread_join(carts[i], NULL);
	for (int j = 0; j < 2; j++)
		pthread_join(checkouts[j], NULL);
	printf("%d carts, 2 checkouts\n", CARTS);
	thrum_stop();
	return 0;
}
