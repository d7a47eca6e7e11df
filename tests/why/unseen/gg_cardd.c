/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The condition reader_event uses CLOCK_MONOTONIC, but wait_reader takes its deadline from CLOCK_REALTIME, which
 *     lies decades ahead. The wait for the silent reader never times out, so the card is never powered up again.
 *   culprit: card-poll|wait_reader|poll_reader|reader_event
 *   victim: \bmain\b|client|transmit
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A daemon for smart cards. A reader that stays silent is powered up again after a while. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PATIENCE_MS 50

static clockid_t deadline_clock = CLOCK_REALTIME;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t reader_event; /* the reader says something */
static pthread_cond_t card_ready = PTHREAD_COND_INITIALIZER;
static bool has_event, is_card_ready;
static unsigned power_ups;

/* Waits for the reader, but not longer than a while. The lock is held. */
static bool wait_reader(unsigned milliseconds)
{
	struct timespec deadline;

	clock_gettime(deadline_clock, &deadline);
	deadline.tv_nsec += (long)milliseconds * 1000000;
	deadline.tv_sec += deadline.tv_nsec / 1000000000;
	deadline.tv_nsec %= 1000000000;
	while (!has_event)
		if (pthread_cond_timedwait(&reader_event, &lock, &deadline))
			return false;
	return true;
}

static void power_up(void)
{
	power_ups++;
	/* The second time the card answers at once. */
	if (power_ups == 2)
		has_event = true;
}

static void *poll_reader(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "card-poll");
	pthread_mutex_lock(&lock);
	do
		power_up();
	while (!wait_reader(PATIENCE_MS));
	is_card_ready = true;
	pthread_cond_broadcast(&card_ready);
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* A client wants to talk to the card. */
static void *transmit(void *data)
{
	const char *command = data;

	pthread_setname_np(pthread_self(), "client");
	pthread_mutex_lock(&lock);
	while (!is_card_ready)
		pthread_cond_wait(&card_ready, &lock);
	printf("%s: done, after %u power-ups\n", command, power_ups);
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(int argc, char **argv)
{
	static char select_file[] = "SELECT FILE";
	pthread_t poller, client;
	pthread_condattr_t attributes;

	if (argc > 1 && strcmp(argv[1], "healthy") == 0)
		deadline_clock = CLOCK_MONOTONIC;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&reader_event, &attributes);
	pthread_create(&client, NULL, transmit, select_file);
	pthread_create(&poller, NULL, poll_reader, NULL);
	pthread_join(client, NULL);
	pthread_join(poller, NULL);
	return 0;
}
