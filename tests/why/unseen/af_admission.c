/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The alarm thread gives up in admit_urgent after its time-out, and leaves urgent_waiting
 *     counted up. So the scheduler believes that an urgent query still waits,
 *     and never admits the bulk queries again.
 *   culprit: admit_urgent|thread alarm
 *   victim: admit_bulk|bulk_turn|run_report
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The admission gate of a query server: two places to run, and urgent queries go before bulk ones. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PLACES 2
#define REPORTS 4
#define QUERIES 40

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t urgent_turn = PTHREAD_COND_INITIALIZER;
static pthread_cond_t bulk_turn = PTHREAD_COND_INITIALIZER;
static int places_free = PLACES;
static int urgent_waiting;
static int urgent_served, urgent_late, bulk_served;
static bool careful;

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

/* The caller holds gate_lock. */
static void wake_next(void)
{
	if (urgent_waiting > 0)
		pthread_cond_signal(&urgent_turn);
	else
		pthread_cond_signal(&bulk_turn);
}

static void admit_bulk(void)
{
	pthread_mutex_lock(&gate_lock);
	while (places_free == 0 || urgent_waiting > 0)
		pthread_cond_wait(&bulk_turn, &gate_lock);
	places_free--;
	pthread_mutex_unlock(&gate_lock);
}

/* Returns false if no place was free for `patience` ms. */
static bool admit_urgent(long patience)
{
	struct timespec until = in_ms(patience);

	pthread_mutex_lock(&gate_lock);
	urgent_waiting++;
	while (places_free == 0) {
		int error = pthread_cond_timedwait(&urgent_turn, &gate_lock, &until);

		if (error == ETIMEDOUT && places_free == 0) {
			urgent_late++;
			if (careful) {
				urgent_waiting--;
				wake_next();
			}
			pthread_mutex_unlock(&gate_lock);
			return false;
		}
	}
	urgent_waiting--;
	places_free--;
	if (places_free > 0)
		wake_next();
	pthread_mutex_unlock(&gate_lock);
	return true;
}

static void leave_gate(int *served)
{
	pthread_mutex_lock(&gate_lock);
	places_free++;
	++*served;
	wake_next();
	pthread_mutex_unlock(&gate_lock);
}

static void *run_report(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "report");
	for (int i = 0; i < QUERIES; i++) {
		admit_bulk();
		/* The eleventh query of a report scans a whole table. */
		usleep(i == 10 ? 30000 : 1500);
		leave_gate(&bulk_served);
	}
	return NULL;
}

static void *watch_alarms(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "alarm");
	for (int i = 0; i < 30; i++) {
		if (admit_urgent(5)) {
			usleep(200);
			leave_gate(&urgent_served);
		}
		usleep(2500);
	}
	return NULL;
}

static void *serve_dashboard(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "dashboard");
	for (int i = 0; i < 50; i++) {
		if (admit_urgent(400)) {
			usleep(300);
			leave_gate(&urgent_served);
		}
		usleep(1000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t reports[REPORTS], alarms, dashboard;

	careful = argc > 1 && strcmp(argv[1], "healthy") == 0;
	for (int i = 0; i < REPORTS; i++)
		pthread_create(&reports[i], NULL, run_report, NULL);
	pthread_create(&alarms, NULL, watch_alarms, NULL);
	pthread_create(&dashboard, NULL, serve_dashboard, NULL);
	pthread_join(alarms, NULL);
	pthread_join(dashboard, NULL);
	for (int i = 0; i < REPORTS; i++)
		pthread_join(reports[i], NULL);
	printf("%d urgent, %d late, %d bulk\n", urgent_served, urgent_late, bulk_served);
	return 0;
}
