/* SPDX-License-Identifier: ISC */
/*
 * Semaphores. It knows nothing of thrum.
 *
 * permits leak	two places are free when they are taken, and are not given back
 * permits pass	slots of a queue, which one thread takes and another one posts
 * permits lost	the thread that posts the slots leaves out every third; with "kept" one is posted elsewhere
 * permits gone	the only thread that posted items, all before somebody waited, has ended
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "hang.h"

#define TURNS 8

static sem_t places, slots, items;

/* ---- Leak ---------------------------------------------------------------------------------- */

static void *draw(void *unused)
{
	sem_wait(&places); /* waits for ever */
	sem_post(&places);
	return unused;
}

static void *draw_broken(void *unused)
{
	sem_wait(&places); /* and never posts it */
	return unused;
}

static bool has_waiters(void)
{
	int value;

	return sem_getvalue(&places, &value) == 0 && value == 0;
}

static int leak(void)
{
	void *(*const work[])(void *) = {draw, draw_broken, draw, draw_broken, draw};
	pthread_t thread;

	sem_init(&places, 0, 2);
	end_when(has_waiters);
	for (int i = 0; i < 5; i++) {
		pthread_create(&thread, NULL, work[i], NULL);
		pthread_join(thread, NULL);
	}
	return 0;
}

/* ---- Pass ---------------------------------------------------------------------------------- */

static void *produce(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(&slots);
		sem_post(&items);
	}
	return unused;
}

static void *consume(void *unused)
{
	for (int i = 0; i < TURNS; i++) {
		sem_wait(&items);
		sem_post(&slots);
	}
	return unused;
}

static int pass(void)
{
	pthread_t producer, consumer;

	sem_init(&slots, 0, 2);
	sem_init(&items, 0, 0);
	pthread_create(&producer, NULL, produce, NULL);
	/* The producer gets no further for the time being. */
	for (int value = 2; value > 0;)
		sem_getvalue(&slots, &value);
	pthread_create(&consumer, NULL, consume, NULL);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	printf("passed %d items\n", TURNS);
	return 0;
}

/* ---- Lost ---------------------------------------------------------------------------------- */

static bool is_kept, is_fine;

static void free_slot(int number)
{
	if (number % 3 < 2 || is_fine)
		sem_post(&slots);
}

static void free_again(int number)
{
	if (is_kept && number == 5)
		sem_post(&slots);
	fflush(stdout); /* so that it isn't the last call */
}

static void *lose(void *unused)
{
	for (int i = 0; i < 4 * TURNS; i++) {
		sem_wait(&items);
		free_slot(i);
		free_again(i);
	}
	return unused;
}

static void *fill(void *unused)
{
	for (int i = 0; i < 4 * TURNS; i++) {
		sem_wait(&slots);
		sem_post(&items);
	}
	return unused;
}

static bool has_no_slots(void)
{
	int value;

	return sem_getvalue(&slots, &value) == 0 && value == 0;
}

static int lost(void)
{
	pthread_t producer, consumer;

	sem_init(&slots, 0, 4);
	sem_init(&items, 0, 0);
	end_when(has_no_slots);
	pthread_create(&producer, NULL, fill, NULL);
	pthread_create(&consumer, NULL, lose, NULL);
	pthread_join(producer, NULL);
	pthread_join(consumer, NULL);
	printf("filled\n");
	return 0;
}

/* ---- Gone ---------------------------------------------------------------------------------- */

static void *produce_few(void *unused)
{
	for (int i = 0; i < TURNS - 1; i++)
		sem_post(&items); /* one too few */
	return unused;
}

static bool has_no_items(void)
{
	int value;

	return sem_getvalue(&items, &value) == 0 && value == 0;
}

static int gone(void)
{
	pthread_t producer, consumer;

	sem_init(&slots, 0, TURNS);
	sem_init(&items, 0, 0);
	pthread_create(&producer, NULL, produce_few, NULL);
	pthread_join(producer, NULL);
	end_when(has_no_items);
	pthread_create(&consumer, NULL, consume, NULL);
	pthread_join(consumer, NULL); /* waits for ever */
	return 0;
}

int main(int count, char **arguments)
{
	if (count > 1 && strcmp(arguments[1], "leak") == 0)
		return leak();
	if (count > 1 && strcmp(arguments[1], "lost") == 0) {
		is_kept = count > 2 && strcmp(arguments[2], "kept") == 0;
		is_fine = count > 2 && strcmp(arguments[2], "fine") == 0;
		return lost();
	}
	return count > 1 && strcmp(arguments[1], "gone") == 0 ? gone() : pass();
}
