/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_scan, the callback of the async handle, takes one scan from the queue at each wake-up. Wake-ups
 *     that come close together become one. A family shows five tickets at once, so some scans stay in the
 *     queue, and the gates' threads wait for them for ever.
 *   culprit: on_scan
 *   victim: gate_north|gate_south|north|south
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The turnstiles of a stadium: each gate has a thread that reads tickets, and one loop knows the season's
 * tickets, which it checks for all gates. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

enum {
	TICKETS = 512,
	PARTY = 5,
	ROUNDS = 6,
};

struct scan {
	unsigned ticket;
	bool is_checked;
	bool may_enter;
	struct scan *next;
};

static pthread_mutex_t scans_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t scan_checked = PTHREAD_COND_INITIALIZER;
static struct scan *first_scan, **scans_end = &first_scan;
static uv_loop_t loop;
static uv_async_t scan_arrived;
static uv_async_t closing_time;
static uv_timer_t lamp;
static bool is_used[TICKETS];
static unsigned entered;
static unsigned blinks;
static bool takes_all;

/* The caller has the lock. */
static struct scan *take_scan(void)
{
	struct scan *scan = first_scan;

	if (scan) {
		first_scan = scan->next;
		if (!first_scan)
			scans_end = &first_scan;
	}
	return scan;
}

/* The caller has the lock. */
static void check_scan(struct scan *scan)
{
	scan->may_enter = scan->ticket < TICKETS && !is_used[scan->ticket];
	if (scan->may_enter) {
		is_used[scan->ticket] = true;
		entered++;
	}
	scan->is_checked = true;
	pthread_cond_broadcast(&scan_checked);
}

static void on_scan(uv_async_t *handle)
{
	struct scan *scan;

	(void)handle;
	pthread_mutex_lock(&scans_lock);
	scan = take_scan();
	while (scan) {
		check_scan(scan);
		scan = takes_all ? take_scan() : NULL;
	}
	pthread_mutex_unlock(&scans_lock);
}

static void on_lamp(uv_timer_t *timer)
{
	(void)timer;
	blinks++;
}

static void on_closing(uv_async_t *handle)
{
	(void)handle;
	uv_close((uv_handle_t *)&scan_arrived, NULL);
	uv_close((uv_handle_t *)&closing_time, NULL);
	uv_close((uv_handle_t *)&lamp, NULL);
}

/* Lets a party through the gate, and returns how many of it may enter. */
static unsigned admit(const unsigned *tickets, unsigned count)
{
	struct scan scans[PARTY];
	unsigned admitted = 0;

	memset(scans, 0, sizeof(scans));
	pthread_mutex_lock(&scans_lock);
	for (unsigned i = 0; i < count; i++) {
		scans[i].ticket = tickets[i];
		*scans_end = &scans[i];
		scans_end = &scans[i].next;
		uv_async_send(&scan_arrived);
	}
	for (unsigned i = 0; i < count; i++) {
		while (!scans[i].is_checked)
			pthread_cond_wait(&scan_checked, &scans_lock);
		admitted += scans[i].may_enter;
	}
	pthread_mutex_unlock(&scans_lock);
	return admitted;
}

static void *gate_south(void *data)
{
	unsigned ticket = 100;

	(void)data;
	for (int round = 0; round < 2 * ROUNDS; round++) {
		admit(&ticket, 1);
		ticket++;
		usleep(12000);
	}
	return NULL;
}

static void *gate_north(void *data)
{
	unsigned tickets[PARTY];
	unsigned next = 200;

	(void)data;
	for (int round = 0; round < ROUNDS; round++) {
		tickets[0] = next++;
		admit(tickets, 1);
		usleep(35000);
	}
	for (unsigned i = 0; i < PARTY; i++)
		tickets[i] = next++;
	printf("a family of %d, %u may enter\n", PARTY, admit(tickets, PARTY));
	return NULL;
}

static void *close_stadium(void *data)
{
	pthread_t *gates = data;

	pthread_join(gates[0], NULL);
	pthread_join(gates[1], NULL);
	uv_async_send(&closing_time);
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t gates[2], steward;

	if (count != 2)
		return 2;
	takes_all = !strcmp(arguments[1], "healthy");
	uv_loop_init(&loop);
	uv_async_init(&loop, &scan_arrived, on_scan);
	uv_async_init(&loop, &closing_time, on_closing);
	uv_timer_init(&loop, &lamp);
	uv_timer_start(&lamp, on_lamp, 100, 100);
	pthread_create(&gates[0], NULL, gate_south, NULL);
	pthread_create(&gates[1], NULL, gate_north, NULL);
	pthread_setname_np(gates[0], "south");
	pthread_setname_np(gates[1], "north");
	pthread_create(&steward, NULL, close_stadium, gates);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(steward, NULL);
	uv_loop_close(&loop);
	printf("%u visitors, the lamp blinked %u times\n", entered, blinks);
	return 0;
}
