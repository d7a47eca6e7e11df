/* SPDX-License-Identifier: ISC */
/*
 * An event of libevent that comes once, and that its callback forgets to add again; with `fine` it doesn't.
 * It knows nothing of thrum. Where it hangs, SIGALRM ends it: without a handler, as threads whose calls a
 * handler might end don't look.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_fine;
static int ends[2];
static struct event *question;

static void on_question(evutil_socket_t fd, short what, void *base)
{
	char byte;

	(void)what;
	if (recv(fd, &byte, 1, MSG_DONTWAIT) != 1) {
		event_base_loopbreak(base);
		return;
	}
	if (send(fd, "!", 1, 0) != 1)
		abort();
	if (byte != 'x' || is_fine)
		event_add(question, NULL);
}

static void *ask(void *unused)
{
	const char *bytes = "aaxaa";
	char byte;

	for (; *bytes; bytes++)
		if (send(ends[1], bytes, 1, 0) != 1 || recv(ends[1], &byte, 1, 0) != 1)
			abort();
	shutdown(ends[1], SHUT_WR);
	return unused;
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	pthread_t client;

	(void)argv;
	is_fine = argc > 1;
	alarm(is_fine ? 0 : 3);
	socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
	question = event_new(base, ends[0], EV_READ, on_question, base);
	event_add(question, NULL);
	pthread_create(&client, NULL, ask, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(client, NULL);
	event_free(question);
	event_base_free(base);
	return 0;
}
