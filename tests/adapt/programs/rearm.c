/* SPDX-License-Identifier: ISC */
/*
 * A loop collects what threads ask for, and answers all of them when a timer has come, which the first of
 * them arms. While the loop is busy, as another timer tells it from time to time, the timer is to be armed
 * again. That is left out, so that the threads wait for ever; with "fine" it isn't. With "slow" the other
 * timer comes seldom; with "socket" the loop waits for others, too; and with "early" it answers some at
 * once. SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "patience.h"

#define ROUNDS 20
#define BUSY 12 /* the round of the loop that comes while it is busy */

static const char *chosen;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t is_answered = PTHREAD_COND_INITIALIZER;
static int asked, answered;
static int epoll, questions, collector, ticker, door;
static int turns;
static bool is_armed;

static bool is(const char *name)
{
	return strcmp(chosen, name) == 0;
}

static void arm(int timer, int us)
{
	struct itimerspec once = {{0, 0}, {us / 1000000, us % 1000000 * 1000L}};

	timerfd_settime(timer, 0, &once, NULL);
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void answer(void)
{
	pthread_mutex_lock(&mutex);
	answered = asked;
	pthread_cond_broadcast(&is_answered);
	pthread_mutex_unlock(&mutex);
}

static void collect(void)
{
	if (is("early") && turns % 4 == 2)
		answer();
	if (!is_armed)
		arm(collector, 2000);
	is_armed = true;
}

static void answer_all(void)
{
	if (++turns == BUSY) {
		if (is("fine"))
			arm(collector, 2000);
		return;
	}
	is_armed = false;
	answer();
}

static void *run_loop(void *unused)
{
	for (;;) {
		struct epoll_event event;
		uint64_t number;

		if (epoll_wait(epoll, &event, 1, -1) != 1 ||
			read(event.data.fd, &number, sizeof number) != sizeof number)
			continue;
		if (event.data.fd == questions)
			collect();
		else if (event.data.fd == collector)
			answer_all();
		else
			arm(ticker, is("slow") ? 1300000 * (int)slowness() : 30000);
	}
	return unused;
}

static void *ask(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		int own = ++asked;

		eventfd_write(questions, 1);
		while (answered < own)
			pthread_cond_wait(&is_answered, &mutex);
		pthread_mutex_unlock(&mutex);
		usleep(3000);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	pthread_t loop, threads[2];

	chosen = argc > 1 ? argv[1] : "";
	end_after(3);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(questions = eventfd(0, 0));
	watch(collector = timerfd_create(CLOCK_MONOTONIC, 0));
	watch(ticker = timerfd_create(CLOCK_MONOTONIC, 0));
	if (is("socket")) {
		door = socket(AF_INET, SOCK_DGRAM, 0);
		bind(door, (struct sockaddr *)&any, sizeof any);
		watch(door);
	}
	arm(ticker, 30000);
	pthread_create(&loop, NULL, run_loop, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, ask, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	puts("answered");
	return 0;
}
