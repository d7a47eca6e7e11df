/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow='delivery #'
 *   truth: find_address keeps the address book locked while it asks the slow geocoder for a new address. So deliveries
 *     to known addresses queue for the lock behind every such question.
 *   culprit: address book|find_address|geocoder
 *   victim: dispatcher
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A courier dispatch: dispatchers take deliveries from a list, find the address and choose a courier. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define DISPATCHERS 4
#define DELIVERIES 80
#define STREETS 40

struct address_book {
	pthread_mutex_t mutex;
	thrum_task lock;
	int places[STREETS]; /* 0: not known yet */
};

THRUM_TAG(geocoder, NULL, "geocoder", 0);

static struct address_book book = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static atomic_int next_delivery;
static atomic_uint on_the_way;
static bool broken;

static void book_lock(void)
{
	if (pthread_mutex_trylock(&book.mutex)) {
		thrum_task_wait(thrum_task_current(), book.lock);
		thrum_suspend(THRUM_BLOCKED);
		pthread_mutex_lock(&book.mutex);
		thrum_resume();
	}
	thrum_lock_acquired(book.lock);
}

static void book_unlock(void)
{
	thrum_lock_released(book.lock);
	pthread_mutex_unlock(&book.mutex);
}

static int ask_geocoder(int street)
{
	thrum_suspend(&geocoder);
	usleep(40000);
	thrum_resume();
	return 1000 + street;
}

static int find_address(int street)
{
	int place;

	book_lock();
	place = book.places[street];
	if (place == 0) {
		if (!broken)
			book_unlock();
		place = ask_geocoder(street);
		if (!broken)
			book_lock();
		book.places[street] = place;
	}
	book_unlock();
	return place;
}

/* Finds the courier who is nearest to the place. */
static void choose_courier(int place)
{
	volatile unsigned distance = 0;

	for (int i = 0; i < 20000; i++)
		distance += (unsigned)(place * i) % 97;
	atomic_fetch_add(&on_the_way, 1);
}

static void dispatch(int number)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "delivery %d", number);
	/* One in five goes to a new customer. */
	int street = number % 5 == 0 ? 10 + number / 5 : number % 10;

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		choose_courier(find_address(street));
		thrum_task_resolve(task);
	}
}

static void *run_dispatcher(void *data)
{
	int number;

	thrum_lane_name(data);
	while ((number = atomic_fetch_add(&next_delivery, 1)) < DELIVERIES) {
		dispatch(number);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(3000);
		thrum_resume();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const char *const names[DISPATCHERS] = {"dispatcher 1", "dispatcher 2",
		"dispatcher 3", "dispatcher 4"};
	pthread_t threads[DISPATCHERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	book.lock = thrum_task_create(THRUM_KIND_LOCK, "address book");
	for (int i = 0; i < 10; i++)
		book.places[i] = 1000 + i;
	for (int i = 0; i < DISPATCHERS; i++)
		pthread_create(&threads[i], NULL, run_dispatcher, (void *)names[i]);
	thrum_suspend(THRUM_BLOCKED);
	for (int i = 0; i < DISPATCHERS; i++)
		pthread_join(threads[i], NULL);
	thrum_resume();
	printf("%u deliveries are on the way\n", on_the_way);
	return 0;
}
