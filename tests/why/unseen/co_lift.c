/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: Guests wait until the lift stands at their floor. If another call is queued, run_lift doesn't hold the
 *     doors (hold_doors is left out), but moves on before it releases the lock. The porter is woken, finds the lift
 *     gone, and waits for "arrived" for ever; the lift counts his call as served and waits for calls.
 *   culprit: run_lift|thread lift|set_out
 *   victim: porter|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The lift of a hotel: guests call it, and it serves the calls in their order. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALLS_MAX 64
#define MOVING (-1)

static struct lift {
	pthread_mutex_t lock;
	pthread_cond_t called;
	pthread_cond_t arrived;
	pthread_cond_t boarded;
	int floor; /* MOVING between floors */
	int position;
	struct {
		int floor;
		bool boarded; /* the guest has stepped in or out */
	} calls[CALLS_MAX];
	int first, count;
	int trips;
	bool stop;
} lift = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
	PTHREAD_COND_INITIALIZER, 0, 0, {{0, false}}, 0, 0, 0, false};

static bool broken;

/* A guest presses the button at a floor. Returns the call's number. */
static int call_lift(int floor)
{
	int call = (lift.first + lift.count++) % CALLS_MAX;

	lift.calls[call].floor = floor;
	lift.calls[call].boarded = false;
	pthread_cond_signal(&lift.called);
	return call;
}

/* A guest calls the lift, waits for it, and steps in or out. */
static void use_lift(int floor)
{
	int call;

	pthread_mutex_lock(&lift.lock);
	call = call_lift(floor);
	while (lift.floor != floor)
		pthread_cond_wait(&lift.arrived, &lift.lock);
	lift.calls[call].boarded = true;
	pthread_cond_signal(&lift.boarded);
	pthread_mutex_unlock(&lift.lock);
}

/* Moves to a floor, while others may call. */
static void travel(int floor)
{
	lift.floor = MOVING;
	while (lift.position != floor) {
		pthread_mutex_unlock(&lift.lock);
		usleep(20000);
		pthread_mutex_lock(&lift.lock);
		lift.position += lift.position < floor ? 1 : -1;
	}
	lift.floor = floor;
	lift.trips++;
}

static void hold_doors(int call)
{
	while (!lift.calls[call].boarded)
		pthread_cond_wait(&lift.boarded, &lift.lock);
}

/* Takes the next call and goes there. */
static int set_out(void)
{
	int call = lift.first;

	lift.first = (call + 1) % CALLS_MAX;
	lift.count--;
	travel(lift.calls[call].floor);
	pthread_cond_broadcast(&lift.arrived);
	return call;
}

static void *run_lift(void *data)
{
	(void)data;
	pthread_mutex_lock(&lift.lock);
	for (;;) {
		int call;

		while (!lift.count && !lift.stop)
			pthread_cond_wait(&lift.called, &lift.lock);
		if (!lift.count)
			break;
		call = set_out();
		if (!broken || !lift.count)
			hold_doors(call);
	}
	pthread_mutex_unlock(&lift.lock);
	return NULL;
}

static void *guest(void *data)
{
	const int *floors = data;

	use_lift(floors[0]);
	use_lift(floors[1]);
	return NULL;
}

static void *porter(void *data)
{
	(void)data;
	use_lift(6);
	use_lift(0);
	return NULL;
}

static void *cleaner(void *data)
{
	(void)data;
	usleep(30000);
	for (int i = 0; i < 12; i++) {
		use_lift(2);
		use_lift(3);
		usleep(20000);
	}
	return NULL;
}

/* The panel at the desk shows where the lift is. */
static void *show_panel(void *data)
{
	bool stop = false;

	(void)data;
	while (!stop) {
		usleep(70000);
		pthread_mutex_lock(&lift.lock);
		stop = lift.stop;
		pthread_mutex_unlock(&lift.lock);
	}
	return NULL;
}

static pthread_t start(void *(*run)(void *), void *data, const char *name)
{
	pthread_t thread;

	pthread_create(&thread, NULL, run, data);
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	static int floors[3][2] = {{0, 3}, {3, 1}, {4, 0}};
	pthread_t machine, panel, first, second;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	machine = start(run_lift, NULL, "lift");
	panel = start(show_panel, NULL, "panel");

	for (int i = 0; i < 3; i++) {
		first = start(guest, floors[i], "guest");
		pthread_join(first, NULL);
		printf("guest %d has come to floor %d\n", i + 1, floors[i][1]);
		fflush(stdout);
	}
	first = start(porter, NULL, "porter");
	second = start(cleaner, NULL, "cleaner");
	pthread_join(second, NULL);
	puts("the cleaner is done");
	fflush(stdout);
	pthread_join(first, NULL);
	puts("the porter is down");

	pthread_mutex_lock(&lift.lock);
	lift.stop = true;
	pthread_cond_signal(&lift.called);
	pthread_mutex_unlock(&lift.lock);
	pthread_join(machine, NULL);
	pthread_join(panel, NULL);
	printf("%d trips\n", lift.trips);
	return 0;
}
