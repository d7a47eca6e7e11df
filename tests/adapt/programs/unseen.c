/* SPDX-License-Identifier: ISC */
/*
 * A worker puts answers into a queue, and wakes a loop by a pipe, unless a wake-up is under way. It knows
 * nothing of thrum. Where it hangs, SIGALRM ends it.
 *
 * unseen epoll		the loop takes the queue, and only later notes that the wake-up is over: an answer
 *			that comes between is never sent
 * unseen poll		the same by poll
 *
 * These end:
 *
 * unseen early		the loop notes it as it takes the queue
 * unseen again		the loop notes it later, and looks into the queue once more
 * unseen empty		the worker has nothing to put there at that time, but does so much later
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define QUESTIONS 2
#define LONG 1500000 /* us */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int queued;
static bool is_waking;
static int wake, ends[2], set;
static sem_t questions, put;
static const char *name;

static bool is_case(const char *other)
{
	return strcmp(name, other) == 0;
}

/* ---- The worker -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void put_answer(int count)
{
	bool wakes;
	uint64_t one = 1;

	pthread_mutex_lock(&lock);
	queued += count;
	wakes = count > 0 && !is_waking;
	is_waking |= wakes;
	pthread_mutex_unlock(&lock);
	if (wakes && write(wake, &one, sizeof one) != sizeof one)
		abort();
}

static void *work(void *unused)
{
	for (int i = 0; i < QUESTIONS; i++) {
		sem_wait(&questions);
		put_answer(i == 0 || !is_case("empty"));
		sem_post(&put);
	}
	if (is_case("empty")) {
		usleep(LONG);
		put_answer(1);
	}
	return unused;
}

/* ---- The loop ---------------------------------------------------------------------------------- */

static __attribute__((noinline)) int take_answers(bool is_over)
{
	int count;

	pthread_mutex_lock(&lock);
	count = queued;
	queued = 0;
	if (is_over)
		is_waking = false;
	pthread_mutex_unlock(&lock);
	return count;
}

static void end_wake_up(void)
{
	pthread_mutex_lock(&lock);
	is_waking = false;
	pthread_mutex_unlock(&lock);
}

/* The second answer comes while the first one is sent. */
static int send_answers(int count, int before)
{
	for (int i = 0; i < count; i++) {
		sem_wait(&put);
		if (before + i == 0) {
			sem_post(&questions);
			sem_wait(&put);
			sem_post(&put);
		}
		if (send(ends[0], "!", 1, 0) != 1)
			abort();
	}
	return before + count;
}

static void wait_for_wake_up(void)
{
	struct pollfd fds[] = {{wake, POLLIN, 0}, {ends[0], POLLIN, 0}};
	struct epoll_event event;

	if (is_case("poll") ? poll(fds, 2, -1) < 1 : epoll_wait(set, &event, 1, -1) != 1)
		abort();
}

static void serve(void)
{
	bool is_early = !is_case("epoll") && !is_case("poll") && !is_case("again");
	uint64_t number;

	for (int sent = 0; sent < QUESTIONS;) {
		wait_for_wake_up();
		if (read(wake, &number, sizeof number) != sizeof number)
			abort();
		sent = send_answers(take_answers(is_early), sent);
		if (is_case("again"))
			sent = send_answers(take_answers(true), sent);
		else if (!is_early)
			end_wake_up();
	}
}

/* ---- Others ------------------------------------------------------------------------------------ */

static void *ask(void *unused)
{
	char answer;

	sem_post(&questions);
	for (int i = 0; i < QUESTIONS; i++)
		if (recv(ends[1], &answer, 1, 0) != 1)
			abort();
	return unused;
}

static void watch(int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	if (epoll_ctl(set, EPOLL_CTL_ADD, fd, &event))
		abort();
}

int main(int count, char **arguments)
{
	pthread_t thread;

	name = count > 1 ? arguments[1] : "";
	end_after(5);
	wake = eventfd(0, 0);
	set = epoll_create1(0);
	sem_init(&questions, 0, 0);
	sem_init(&put, 0, 0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		abort();
	watch(wake);
	watch(ends[0]);
	pthread_create(&thread, NULL, work, NULL);
	pthread_create(&thread, NULL, ask, NULL);
	serve();
	pthread_join(thread, NULL);
	return 0;
}
