/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 500
 *   ask: why
 *   truth: busy loop: the parser of "upload 17" makes no progress on a chunk of length 0 and spins for ever in
 *     parse_chunks; all other connections starve.
 *   culprit: upload 17|parse_chunks|parse upload
 *   victim: health|ping|upload 18
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

/* blobd: takes uploads in chunks (one byte of length, then that many bytes), and answers health checks. */
struct upload {
	int number, fd, peer;
	thrum_task task;
	unsigned char data[256];
	int size;
};
static struct upload uploads[6];
static bool skip_empty;
static volatile unsigned rounds;

static int parse_chunks(const unsigned char *data, int size)
{
	int at = 0, chunks = 0;

	while (at < size) {
		int length = data[at];

		rounds++;
		if (length == 0) {
			if (!skip_empty)
				continue; /* wait for the rest of it */
			at++;
			continue;
		}
		at += 1 + length;
		chunks++;
	}
	return chunks;
}

int main(int argc, char **argv)
{
	int epoll_fd = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0), ticks = 0,
	    left = 6;
	struct epoll_event event;
	thrum_task check = THRUM_TASK_NONE;

	skip_empty = argc > 1 && !strcmp(argv[1], "healthy");
	alarm(8);
	thrum_start(NULL);
	for (int i = 0; i < 6; i++) {
		struct upload *upload = &uploads[i];
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		upload->number = 14 + i;
		upload->fd = ends[0];
		upload->peer = ends[1];
		upload->task = thrum_task_createf(THRUM_KIND_REQUEST, "upload %d", upload->number);
		thrum_task_should_resolve(upload->task);
		event = (struct epoll_event){.events = EPOLLIN, .data.ptr = upload};
		epoll_ctl(epoll_fd, EPOLL_CTL_ADD, upload->fd, &event);
	}
	event = (struct epoll_event){.events = EPOLLIN, .data.ptr = NULL};
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer, &event);
	timerfd_settime(timer, 0, &(struct itimerspec){{0, 20000000}, {0, 20000000}}, NULL);
	while (left) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (epoll_wait(epoll_fd, &event, 1, -1) != 1)
			return 2;
		thrum_resume();
		if (!event.data.ptr) {
			uint64_t n;

			if (read(timer, &n, sizeof n) != sizeof n)
				return 2;
			if (check)
				THRUM_RUN (check)
					thrum_task_resolve(check);
			check = thrum_task_createf(THRUM_KIND_TIMER, "health check %d", ticks);
			thrum_task_due(check, 20000000);
			/* the clients: each sends its upload some time */
			if (ticks < 6) {
				unsigned char text[12] = {5, 'h', 'e', 'l', 'l', 'o', 2, 'o', 'k'};

				if (ticks == 3)
					text[6] = 0, text[7] = 1;
				if (write(uploads[ticks].peer, text, 9) != 9)
					return 2;
			}
			ticks++;
		} else {
			struct upload *upload = event.data.ptr;

			THRUM_RUN (upload->task) {
				upload->size = read(upload->fd, upload->data, sizeof upload->data);
				thrum_logf("%d chunks", parse_chunks(upload->data, upload->size));
				thrum_task_resolve(upload->task);
			}
			left--;
		}
	}
	thrum_stop();
	puts("blobd: done");
	return 0;
}
