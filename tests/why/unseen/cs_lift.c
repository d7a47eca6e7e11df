/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: A call that comes while the doors close is put on the list “boarding” of the present stop by
 *     ride. The doors open again only in the first half of their way. When they are shut, depart empties
 *     the list, and the call that is still on it is forgotten. Stop 3 ends, and its passenger is never let
 *     in. The fix gives such calls back to the queue.
 *   culprit: stop 3|depart|close_doors
 *   victim: call \d|ride|passenger
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* The firmware of a lift: a state machine, and passengers who press buttons. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

enum {
	PASSENGERS = 6
};
enum state {
	IDLE,
	MOVING,
	OPENING,
	OPEN,
	CLOSING,
	SHUTTING
};

struct call {
	struct call *next;
	thrum_task task;
	int floor, number;
	bool served;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum state state;
	int floor, target, stops;
	bool reopen, off;
	struct call *waiting, *boarding;
	thrum_task stop;
} lift = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool broken;

static void push(struct call **list, struct call *call)
{
	while (*list)
		list = &(*list)->next;
	call->next = NULL;
	*list = call;
}

/* The motor and the doors take their time. The mutex is free meanwhile. */
static void machine(int ms)
{
	pthread_mutex_unlock(&lift.mutex);
	thrum_suspend(THRUM_BLOCKED_OUTSIDE);
	usleep(ms * 1000);
	thrum_resume();
	pthread_mutex_lock(&lift.mutex);
}

static void *ride(void *data)
{
	struct call *call = data;

	call->task = thrum_task_createf(THRUM_KIND_TASK, "call %d", call->number);
	thrum_task_should_resolve(call->task);
	pthread_mutex_lock(&lift.mutex);
	if (lift.floor == call->floor && lift.state >= OPENING) {
		push(&lift.boarding, call);
		lift.reopen = true;
		thrum_task_wait(call->task, lift.stop);
	} else {
		push(&lift.waiting, call);
	}
	pthread_cond_broadcast(&lift.changed);
	while (!call->served)
		pthread_cond_wait(&lift.changed, &lift.mutex);
	pthread_mutex_unlock(&lift.mutex);
	return NULL;
}

static void idle(void)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	while (!lift.waiting && !lift.off)
		pthread_cond_wait(&lift.changed, &lift.mutex);
	thrum_resume();
	if (lift.waiting) {
		lift.target = lift.waiting->floor;
		lift.state = MOVING;
	}
}

static void move(void)
{
	for (; lift.floor != lift.target; lift.floor += lift.floor < lift.target ? 1 : -1)
		machine(15);
	lift.stop = thrum_task_createf(THRUM_KIND_TASK, "stop %d at floor %d", ++lift.stops,
		lift.floor);
	thrum_task_should_resolve(lift.stop);
	lift.state = OPENING;
}

static void open_doors(void)
{
	struct call *call, **at = &lift.waiting;

	while ((call = *at))
		if (call->floor != lift.floor) {
			at = &call->next;
		} else {
			*at = call->next;
			push(&lift.boarding, call);
			thrum_task_wait(call->task, lift.stop);
		}
	machine(20);
	lift.state = OPEN;
}

static void let_in(void)
{
	struct call *call;

	while ((call = lift.boarding)) {
		lift.boarding = call->next;
		call->served = true;
		thrum_task_resolve(call->task);
	}
	lift.reopen = false;
	pthread_cond_broadcast(&lift.changed);
	machine(40);
	lift.state = CLOSING;
}

static void close_doors(void)
{
	machine(40);
	lift.state = lift.reopen ? OPENING : SHUTTING;
}

static void depart(void)
{
	struct call *call;

	machine(200); /* the second half, and the lock */
	while (!broken && (call = lift.boarding)) {
		lift.boarding = call->next;
		push(&lift.waiting, call);
	}
	lift.boarding = NULL;
	lift.reopen = false;
	thrum_task_resolve(lift.stop);
	lift.state = IDLE;
}

static void *run_lift(void *data)
{
	static void (*const steps[])(void) = {idle, move, open_doors, let_in, close_doors, depart};

	(void)data;
	thrum_lane_name("lift");
	pthread_mutex_lock(&lift.mutex);
	while (!lift.off || lift.waiting)
		THRUM_RUN (lift.state >= OPENING ? lift.stop : thrum_task_current())
			steps[lift.state]();
	pthread_mutex_unlock(&lift.mutex);
	return NULL;
}

/* Sleeps until the doors are about to be shut at this stop. */
static void await_shutting(int stop)
{
	pthread_mutex_lock(&lift.mutex);
	while (lift.state != SHUTTING || lift.stops != stop) {
		pthread_mutex_unlock(&lift.mutex);
		usleep(2000);
		pthread_mutex_lock(&lift.mutex);
	}
	pthread_mutex_unlock(&lift.mutex);
}

int main(int argc, char **argv)
{
	static struct call calls[PASSENGERS] = {{.floor = 2}, {.floor = 4}, {.floor = 1},
		{.floor = 1}, {.floor = 2}, {.floor = 3}};
	pthread_t controller, passengers[PASSENGERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	pthread_create(&controller, NULL, run_lift, NULL);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < PASSENGERS; i++) {
		calls[i].number = i + 1;
		if (i == 3)
			await_shutting(3); /* someone runs up late */
		pthread_create(&passengers[i], NULL, ride, &calls[i]);
		if (i < 3)
			pthread_join(passengers[i], NULL);
	}
	for (int i = 3; i < PASSENGERS; i++)
		pthread_join(passengers[i], NULL);
	pthread_mutex_lock(&lift.mutex);
	lift.off = true;
	pthread_cond_broadcast(&lift.changed);
	pthread_mutex_unlock(&lift.mutex);
	pthread_join(controller, NULL);
	thrum_resume();
	thrum_stop();
	printf("%d stops, %d passengers\n", lift.stops, PASSENGERS);
	return 0;
}
