/* SPDX-License-Identifier: ISC */
/*
 * Semaphores. It knows nothing of thrum.
 *
 * permits leak	two places are free when they are taken, and are not given back
 * permits pass	slots of a queue, which one thread takes and another one posts
 * permits lost	the thread that posts the slots leaves out every third; with "kept" one is posted elsewhere
 * permits gone	the only thread that posted items, all before somebody waited, has ended
 * permits circle	two semaphores that are locks are taken in two orders, for the first time; with
 *		"used" the first thread took and posted them before; with "helped" it posts both in the end
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

/* ---- Circle -------------------------------------------------------------------------------- */

static sem_t locks[2];
static pthread_barrier_t both_have;

/* Takes both, its own first. */
static void *take_both(void *own)
{
	sem_t *other = own == &locks[0] ? &locks[1] : &locks[0];

	sem_wait(own);
	pthread_barrier_wait(&both_have);
	sem_wait(other);
	sem_post(other);
	sem_post(own);
	return NULL;
}

/* Whether a thread waits for a semaphore of glibc, for 64 bits. */
static bool is_awaited(const sem_t *lock)
{
	return ((const volatile unsigned *)lock)[1] > 0;
}

static bool are_waited_for(void)
{
	return is_awaited(&locks[0]) && is_awaited(&locks[1]);
}

static int circle(const char *way)
{
	bool is_helped = strcmp(way, "helped") == 0;
	pthread_t threads[2];

	for (int i = 0; i < 2; i++) {
		sem_init(&locks[i], 0, 1);
		if (strcmp(way, "used") == 0) {
			sem_wait(&locks[i]);
			sem_post(&locks[i]);
		}
	}
	pthread_barrier_init(&both_have, NULL, 2);
	if (!is_helped)
		end_when(are_waited_for);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_both, &locks[i]);
	while (is_helped && !are_waited_for())
		usleep(1000);
	for (int i = 0; i < 2 && is_helped; i++)
		sem_post(&locks[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int count, char **arguments)
{
	if (count > 1 && strcmp(arguments[1], "circle") == 0)
		return circle(count > 2 ? arguments[2] : "");
	if (count > 1 && strcmp(arguments[1], "leak") == 0)
		return leak();
	if (count > 1 && strcmp(arguments[1], "lost") == 0) {
		is_kept = count > 2 && strcmp(arguments[2], "kept") == 0;
		is_fine = count > 2 && strcmp(arguments[2], "fine") == 0;
		return lost();
	}
	return count > 1 && strcmp(arguments[1], "gone") == 0 ? gone() : pass();
}
