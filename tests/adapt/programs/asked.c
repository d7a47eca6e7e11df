/* SPDX-License-Identifier: ISC */
/*
 * A loop on epoll takes questions of a client from a socket, gives them to a worker, and answers once the
 * worker rings, by an eventfd. With the argument "loop" it forgets the second answer; with "worker" the
 * worker waits for a permit then, which nobody gives: so all wait for each other, and SIGALRM ends the
 * program. With a second argument the loop uses poll().
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define QUESTIONS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_permit = PTHREAD_COND_INITIALIZER;
static bool worker_fails, loop_fails;
static int asked, permits = QUESTIONS; /* under the lock */
static int bell, client[2], orders[2];

static void *work(void *unused)
{
	const uint64_t one = 1;

	for (int done = 0; done < QUESTIONS; done++) {
		pthread_mutex_lock(&lock);
		while (asked == done)
			pthread_cond_wait(&has_work, &lock);
		while (permits == 0)
			pthread_cond_wait(&has_permit, &lock);
		permits -= worker_fails ? QUESTIONS : 1;
		pthread_mutex_unlock(&lock);
		if (write(bell, &one, sizeof one) != sizeof one)
			break;
	}
	return unused;
}

static void __attribute__((noinline)) take_question(void)
{
	char question;

	if (read(client[0], &question, 1) != 1)
		return;
	pthread_mutex_lock(&lock);
	asked++;
	pthread_cond_signal(&has_work);
	pthread_mutex_unlock(&lock);
}

static bool __attribute__((noinline)) give_answer(int number)
{
	uint64_t rings;

	return read(bell, &rings, sizeof rings) == sizeof rings &&
		((loop_fails && number == 1) || write(client[0], "a", 1) == 1);
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Waits for one of these. Returns the one that is ready. */
static int poll_one(void)
{
	struct pollfd all[] = {{orders[0], POLLIN, 0}, {-1, POLLIN, 0}, {client[0], POLLIN, 0},
		{bell, POLLIN, 0}};

	if (poll(all, 4, -1) > 0)
		for (int i = 0; i < 4; i++)
			if (all[i].revents)
				return all[i].fd;
	return -1;
}

static void *run_polling(void *unused)
{
	for (int answers = 0; answers < QUESTIONS;) {
		int fd = poll_one();

		if (fd == bell && give_answer(answers))
			answers++;
		else if (fd == client[0])
			take_question();
	}
	return unused;
}

static void *run_loop(void *unused)
{
	struct epoll_event event;
	int epoll = epoll_create1(0);

	watch(epoll, orders[0]);
	watch(epoll, client[0]);
	watch(epoll, bell);
	for (int answers = 0; answers < QUESTIONS && epoll_wait(epoll, &event, 1, -1) == 1;) {
		if (event.data.fd == bell && give_answer(answers))
			answers++;
		else if (event.data.fd == client[0])
			take_question();
	}
	return unused;
}

static void *ask(void *unused)
{
	char answer;

	for (int i = 0; i < QUESTIONS; i++)
		if (write(client[1], "q", 1) != 1 || read(client[1], &answer, 1) != 1)
			break;
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const run[])(void *) = {argc > 2 ? run_polling : run_loop, work, ask};
	pthread_t threads[3];

	end_after(6);
	loop_fails = argc > 1 && strcmp(argv[1], "loop") == 0;
	worker_fails = argc > 1 && strcmp(argv[1], "worker") == 0;
	bell = eventfd(0, EFD_CLOEXEC);
	if (bell < 0 || pipe(orders) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, client) != 0)
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, run[i], NULL) != 0)
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
