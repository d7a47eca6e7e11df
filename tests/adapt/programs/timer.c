/* SPDX-License-Identifier: ISC */
/*
 * A thread does a step each time a timer expires, and arms the timer again: after two steps, it forgets
 * that, and main waits in vain. Arguments: "never" arms it never; "armed" always does so; "other" leaves it
 * to another thread, which does so late; "child" has a child, which has the timer, too; "clock" arms it by
 * the time of another clock the last time, and "far" for a hundred years, as if it were none. With a second
 * argument the thread reads from the timer without an epoll. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

#define STEPS 3

static sem_t done;
static int timer, epoll;
static const char *mode = "";
static int with_epoll;

#define CENTURY 3155760000

static void arm_far(int step)
{
	struct itimerspec time = {.it_value.tv_sec = CENTURY};
	int flags = 0;

	if (step < STEPS - 1)
		return;
	if (strcmp(mode, "clock") == 0) {
		flags = TFD_TIMER_ABSTIME;
		clock_gettime(CLOCK_REALTIME, &time.it_value);
	}
	timerfd_settime(timer, flags, &time, NULL);
}

static void arm(void)
{
	timerfd_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 20000000}, NULL);
}

void *run_steps(void *unused);
void *run_steps(void *unused)
{
	struct epoll_event event;
	uint64_t times;

	for (int step = 1; !with_epoll || epoll_wait(epoll, &event, 1, -1) == 1; step++) {
		if (read(timer, &times, sizeof times) != sizeof times)
			return unused;
		sem_post(&done);
		if (step < STEPS - 1 || strcmp(mode, "armed") == 0)
			arm();
		if (strcmp(mode, "clock") == 0 || strcmp(mode, "far") == 0)
			arm_far(step);
	}
	return unused;
}

static void *arm_late(void *unused)
{
	usleep(600000);
	arm();
	return unused;
}

/* A child arms it late. */
static void begin_child(void)
{
	if (fork() == 0) {
		usleep(600000);
		arm();
		_exit(0);
	}
}

int main(int argc, char **argv)
{
	pthread_t loop, other;

	mode = argc > 1 ? argv[1] : mode;
	end_after(strcmp(mode, "child") == 0 ? 20 : 3); /* that one ends by itself */
	epoll = epoll_create1(0);
	with_epoll = argc <= 2;
	timer = timerfd_create(CLOCK_MONOTONIC, with_epoll ? TFD_NONBLOCK : 0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &(struct epoll_event){.events = EPOLLIN});
	sem_init(&done, 0, 0);
	if (strcmp(mode, "child") == 0)
		begin_child();
	if (strcmp(mode, "never") != 0)
		arm();
	if (pthread_create(&loop, NULL, run_steps, NULL) != 0)
		return 1;
	if (strcmp(mode, "other") == 0)
		pthread_create(&other, NULL, arm_late, NULL);
	for (int step = 0; step < STEPS; step++)
		sem_wait(&done);
	if (strcmp(mode, "child") == 0)
		wait(NULL);
	return 0;
}
