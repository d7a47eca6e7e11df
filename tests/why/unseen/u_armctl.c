/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: wait_motion checks `finished` without the lock, then waits without checking again. For the short move 4 servo_loop signals motion_done between the check and the wait, when nobody waits: the wake-up is lost, and plan_moves waits for ever (and main for it).
 *   culprit: (?i)(signal|wake).{0,80}(lost|nobody|no one|no waiter|before|early|too soon)|lost wake|too late
 *   victim: plan_moves|main|estop_watch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* armctl: moves a robot arm; a planner gives moves to a servo thread. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t arm_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t new_move = PTHREAD_COND_INITIALIZER;
static pthread_cond_t motion_done = PTHREAD_COND_INITIALIZER;
static const int move_ms[] = {40, 35, 50, 45, 5, 40, 30};
#define MOVES (int)(sizeof(move_ms) / sizeof(*move_ms))
static atomic_int commanded = -1, finished = -1;
static bool broken, power_off;
static int estop, journal_lines;

static void *servo_loop(void *none)
{
	int at = -1;

	for (;;) {
		pthread_mutex_lock(&arm_lock);
		while (commanded == at && !power_off)
			pthread_cond_wait(&new_move, &arm_lock);
		if (power_off)
			break;
		at = commanded;
		pthread_mutex_unlock(&arm_lock);
		usleep(move_ms[at] * 1000);
		pthread_mutex_lock(&arm_lock);
		finished = at;
		pthread_cond_signal(&motion_done);
		pthread_mutex_unlock(&arm_lock);
	}
	pthread_mutex_unlock(&arm_lock);
	return none;
}

static void write_journal(int move)
{
	(void)move;
	journal_lines++;
	usleep(20000); /* flash is slow */
}

static void wait_motion(int move)
{
	if (atomic_load(&finished) >= move) /* fast path */
		return;
	write_journal(move);
	pthread_mutex_lock(&arm_lock);
	if (broken)
		pthread_cond_wait(&motion_done, &arm_lock);
	else
		while (finished < move)
			pthread_cond_wait(&motion_done, &arm_lock);
	pthread_mutex_unlock(&arm_lock);
}

static void *plan_moves(void *none)
{
	for (int move = 0; move < MOVES; move++) {
		pthread_mutex_lock(&arm_lock);
		commanded = move;
		pthread_cond_signal(&new_move);
		pthread_mutex_unlock(&arm_lock);
		wait_motion(move);
	}
	return none;
}

static void *estop_watch(void *none)
{
	struct pollfd watched = {.fd = estop, .events = POLLIN};

	poll(&watched, 1, -1); /* nobody presses it, until the end */
	return none;
}

int main(int argc, char **argv)
{
	pthread_t servo, planner, watch;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	estop = eventfd(0, 0);
	pthread_create(&watch, NULL, estop_watch, NULL);
	pthread_create(&servo, NULL, servo_loop, NULL);
	pthread_create(&planner, NULL, plan_moves, NULL);
	pthread_join(planner, NULL);
	pthread_mutex_lock(&arm_lock);
	power_off = true;
	pthread_cond_signal(&new_move);
	pthread_mutex_unlock(&arm_lock);
	pthread_join(servo, NULL);
	eventfd_write(estop, 1);
	pthread_join(watch, NULL);
	printf("%d moves\n", journal_lines);
	return 0;
}
