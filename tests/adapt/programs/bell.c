/* SPDX-License-Identifier: ISC */
/*
 * A loop on epoll waits for a pipe of orders and for a bell, an eventfd. It reads several rings at once, and
 * does one job: so main waits for the others, and SIGALRM ends the program. With the argument "fine" it does
 * a job for each ring. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "patience.h"

#define RINGS 3

static int bell, orders[2], done[2];
static bool is_fine;

static void __attribute__((noinline)) answer_bell(void)
{
	uint64_t rings = 0;

	if (read(bell, &rings, sizeof rings) != sizeof rings)
		return;
	for (uint64_t i = 0; i < (is_fine ? rings : 1); i++)
		if (write(done[1], "d", 1) != 1)
			return;
}

static void *run_loop(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	int epoll = epoll_create1(0);

	event.data.fd = orders[0];
	epoll_ctl(epoll, EPOLL_CTL_ADD, orders[0], &event);
	event.data.fd = bell;
	epoll_ctl(epoll, EPOLL_CTL_ADD, bell, &event);
	while (epoll_wait(epoll, &event, 1, -1) == 1) {
		char order;

		if (event.data.fd == bell)
			answer_bell();
		else if (read(orders[0], &order, 1) == 1 && order == 'q')
			break;
	}
	return unused;
}

int main(int argc, char **argv)
{
	uint64_t one = 1;
	pthread_t loop;
	char end;

	end_after(6);
	is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	bell = eventfd(0, EFD_CLOEXEC);
	if (bell < 0 || pipe(orders) != 0 || pipe(done) != 0 || write(orders[1], "o", 1) != 1)
		return 1;
	/* All rings come before the loop reads one. */
	for (int i = 0; i < RINGS; i++)
		if (write(bell, &one, sizeof one) != sizeof one)
			return 1;
	if (pthread_create(&loop, NULL, run_loop, NULL) != 0)
		return 1;
	for (int i = 0; i < RINGS; i++)
		if (read(done[0], &end, 1) != 1)
			return 1;
	if (write(orders[1], "q", 1) != 1)
		return 1;
	pthread_join(loop, NULL);
	return 0;
}
