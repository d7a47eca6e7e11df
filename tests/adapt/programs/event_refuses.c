/* SPDX-License-Identifier: ISC */
/*
 * A server by libevent has a limit of one connection: then it disables its listener, and forgets to enable
 * it again. With `fine` it does when the connection ends, with `late` a timer does. The socket is of TCP, or
 * with `unix` a Unix socket without a file. It knows nothing of thrum. Where it hangs, SIGALRM ends it:
 * without a handler, as threads whose calls a handler might end don't look.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "patience.h"

#define CLIENTS 3

static struct event_base *base;
static struct evconnlistener *listener;
static struct sockaddr_storage address;
static socklen_t address_size;
static bool is_fine, is_late;
static int served;

static void open_again(evutil_socket_t fd, short what, void *data)
{
	(void)fd, (void)what, (void)data;
	evconnlistener_enable(listener);
}

static void on_bytes(struct bufferevent *from, void *data)
{
	char byte;

	(void)data;
	while (bufferevent_read(from, &byte, 1) == 1)
		bufferevent_write(from, "!", 1);
}

static void on_end(struct bufferevent *from, short what, void *data)
{
	static const struct timeval soon = {.tv_usec = 300000};

	(void)what, (void)data;
	bufferevent_free(from);
	if (is_fine)
		evconnlistener_enable(listener);
	if (is_late)
		event_base_once(base, -1, EV_TIMEOUT, open_again, NULL, &soon);
	if (++served == CLIENTS)
		event_base_loopbreak(base);
}

static __attribute__((noinline)) void refuse_more(void)
{
	if (evconnlistener_disable(listener) != 0)
		abort();
}

static void on_connection(struct evconnlistener *from, evutil_socket_t fd, struct sockaddr *peer,
	int size, void *data)
{
	struct bufferevent *buffer = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);

	(void)from, (void)peer, (void)size, (void)data;
	bufferevent_setcb(buffer, on_bytes, NULL, on_end, NULL);
	bufferevent_enable(buffer, EV_READ | EV_WRITE);
	refuse_more();
}

static void *ask(void *unused)
{
	for (int i = 0; i < CLIENTS; i++) {
		int fd = socket(address.ss_family, SOCK_STREAM, 0);
		char byte = '?';

		if (connect(fd, (struct sockaddr *)&address, address_size) != 0 ||
			send(fd, &byte, 1, 0) != 1 || recv(fd, &byte, 1, 0) != 1)
			abort();
		close(fd);
	}
	return unused;
}

static void set_address(bool is_unix)
{
	struct sockaddr_in *four = (struct sockaddr_in *)&address;
	struct sockaddr_un *own = (struct sockaddr_un *)&address;

	if (is_unix) {
		own->sun_family = AF_UNIX;
		snprintf(own->sun_path + 1, sizeof own->sun_path - 1, "refuses %ld",
			(long)getpid());
		address_size = sizeof *own;
		return;
	}
	four->sin_family = AF_INET;
	four->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address_size = sizeof *four;
}

int main(int argc, char **argv)
{
	pthread_t client;

	is_fine = argc > 1 && strcmp(argv[argc - 1], "fine") == 0;
	is_late = argc > 1 && strcmp(argv[argc - 1], "late") == 0;
	if (!is_fine && !is_late)
		end_after(6);
	base = event_base_new();
	set_address(argc > 1 && strcmp(argv[1], "unix") == 0);
	listener = evconnlistener_new_bind(base, on_connection, NULL, LEV_OPT_CLOSE_ON_FREE, 8,
		(struct sockaddr *)&address, (int)address_size);
	getsockname(evconnlistener_get_fd(listener), (struct sockaddr *)&address, &address_size);
	pthread_create(&client, NULL, ask, NULL);
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	pthread_join(client, NULL);
	evconnlistener_free(listener);
	event_base_free(base);
	return 0;
}
