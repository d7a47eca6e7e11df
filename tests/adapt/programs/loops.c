/* SPDX-License-Identifier: ISC */
/* Waits in each of the calls that loops use. It knows nothing of thrum. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#define SHOW(call) printf("%s: %d\n", #call, call)

int main(void)
{
	struct timespec short_time = {0, 1000000};
	struct timeval short_interval = {0, 1000};
	struct epoll_event event = {.events = EPOLLIN}, events[4];
	int pipes[2], epoll = epoll_create1(0);
	struct pollfd poll_in;
	fd_set read_set;

	if (epoll < 0 || pipe(pipes) < 0)
		return 1;
	event.data.ptr = &event;
	SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, pipes[0], &event));
	poll_in = (struct pollfd){.fd = pipes[0], .events = POLLIN};
	FD_ZERO(&read_set);
	SHOW(epoll_wait(epoll, events, 4, 1));
	SHOW(poll(&poll_in, 1, 1));
	SHOW(ppoll(&poll_in, 1, &short_time, NULL));
	SHOW(select(0, NULL, NULL, NULL, &short_interval));
	SHOW(pselect(0, NULL, NULL, NULL, &short_time, NULL));
	SHOW((int)write(pipes[1], "x", 1));
	errno = 77;
	SHOW(epoll_wait(epoll, events, 4, -1));
	SHOW(events[0].data.ptr == &event);
	SHOW(epoll_pwait(epoll, events, 4, -1, NULL));
	SHOW(poll(&poll_in, 1, -1));
	FD_SET(pipes[0], &read_set);
	SHOW(select(pipes[0] + 1, &read_set, NULL, NULL, NULL));
	SHOW(FD_ISSET(pipes[0], &read_set) != 0);
	SHOW(epoll_wait(-1, events, 4, -1));
	SHOW(errno);
	return 6;
}
