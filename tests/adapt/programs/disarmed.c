/* SPDX-License-Identifier: ISC */
/*
 * A loop gives a thread a job whenever a timer has come, and arms it again once an eventfd tells that the job
 * is done. The third time it arms the timer with zero, as if that meant "at once": all rests. With "first" it
 * does so before the timer came at all. With "fine" the time is a nanosecond. With "cancels" it takes back a
 * timer that is armed; with "locked" it holds the lock that the thread needs; with "helper" another thread
 * arms the timer after a while. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "patience.h"

#define JOBS 6
#define WRONG 3 /* the job after which something else happens */
#define USUAL 2000000

static const char *chosen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_given = PTHREAD_COND_INITIALIZER;
static int given, taken;
static int epoll, timer, done;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

void set_timer(long ns);
void set_timer(long ns)
{
	timerfd_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = ns}, NULL);
}

static void *work(void *unused)
{
	for (;;) {
		pthread_mutex_lock(&mutex);
		while (taken == given)
			pthread_cond_wait(&is_given, &mutex);
		taken++;
		pthread_mutex_unlock(&mutex);
		eventfd_write(done, 1);
	}
	return unused;
}

static void give_job(void)
{
	pthread_mutex_lock(&mutex);
	given++;
	pthread_cond_signal(&is_given);
	if (is("locked") && given == WRONG)
		set_timer(0);
	else
		pthread_mutex_unlock(&mutex);
}

static void after_job(int job)
{
	if (job != WRONG)
		set_timer(USUAL);
	else if (is("cancels"))
		set_timer(USUAL), set_timer(0);
	else
		set_timer(is("fine") ? 1 : 0);
}

static void *arm_late(void *unused)
{
	usleep(700000);
	set_timer(1);
	return unused;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	pthread_t worker, helper;
	uint64_t number;
	int jobs = 0;

	chosen = argc > 1 ? argv[1] : "";
	end_after(3);
	epoll = epoll_create1(0);
	watch(timer = timerfd_create(CLOCK_MONOTONIC, 0));
	watch(done = eventfd(0, 0));
	if (pthread_create(&worker, NULL, work, NULL) != 0 ||
		(is("helper") && pthread_create(&helper, NULL, arm_late, NULL) != 0))
		return 1;
	set_timer(is("first") ? 0 : USUAL);
	while (jobs < JOBS && epoll_wait(epoll, &event, 1, -1) == 1) {
		if (read(event.data.fd, &number, sizeof number) != sizeof number)
			return 1;
		if (event.data.fd == timer)
			give_job();
		else
			after_job(++jobs);
	}
	puts("done");
	return 0;
}
