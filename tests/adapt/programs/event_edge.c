/* SPDX-License-Identifier: ISC */
/*
 * An edge-triggered event of libevent, whose callback reads once, though more has come. With an argument it
 * reads all. It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "patience.h"

#define SIZE 6000

static bool is_fine;
static int ends[2];
static size_t got;

void on_upload(evutil_socket_t fd, short what, void *base);
void on_upload(evutil_socket_t fd, short what, void *base)
{
	char bytes[4096];

	(void)what;
	do {
		ssize_t size = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

		got += size > 0 ? (size_t)size : 0;
	} while (is_fine && got < SIZE);
	if (got < SIZE)
		return;
	(void)!write(fd, "!", 1);
	event_base_loopbreak(base);
}

static void *upload(void *bytes)
{
	char answer;

	(void)!write(ends[1], bytes, SIZE);
	(void)!read(ends[1], &answer, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	static char bytes[SIZE];
	struct event_base *base;
	pthread_t thread;

	(void)argv;
	is_fine = argc > 1;
	end_after(3);
	evthread_use_pthreads();
	base = event_base_new();
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	event_add(event_new(base, ends[0], EV_READ | EV_PERSIST | EV_ET, on_upload, base), NULL);
	pthread_create(&thread, NULL, upload, bytes);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	return 0;
}
