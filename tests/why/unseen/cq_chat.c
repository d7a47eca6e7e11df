/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: If a listener's output is too long, hold_back stops reading from the poster of the message
 *     and notes it in listener->held; on_drained reads from that poster again. There is room for one
 *     poster only. When both ann and ben are held back by cy, the second overwrites the first, and
 *     on_drained lets only one go on. The other one's socket is never read again, so it hangs in its
 *     write. The fix notes all who are held back.
 *   culprit: hold_back|on_drained
 *   victim: post_all|run_poster|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A chat server on libevent: two posters paste long texts, two listeners read them. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	POSTERS = 2,
	LISTENERS = 2,
	MESSAGE = 1024,
	MESSAGES = 300,   /* of each poster */
	TOO_LONG = 65536, /* bytes that wait for a listener */
	SHORT = 8192
};

struct user {
	const char *name;
	struct bufferevent *channel; /* the server's end */
	int end;                     /* the user's end */
	unsigned nap_us;
	unsigned number;
	unsigned held; /* a listener: the posters that it holds back, a bit for each */
	bool has_left; /* a poster */
};

static struct user posters[POSTERS] = {{.name = "ann", .nap_us = 500},
	{.name = "ben", .nap_us = 700}};
static struct user listeners[LISTENERS] = {{.name = "cy", .nap_us = 300}, {.name = "dan"}};
static struct event_base *base;
static bool broken;

/* ---- The server ----------------------------------------------------------------------------- */

static void __attribute__((noinline)) hold_back(struct user *listener, struct user *poster)
{
	bufferevent_disable(poster->channel, EV_READ);
	if (broken)
		listener->held = 1U << poster->number;
	else
		listener->held |= 1U << poster->number;
}

/* A listener has read most of its messages. */
static void on_drained(struct bufferevent *channel, void *data)
{
	struct user *listener = data;

	(void)channel;
	for (unsigned i = 0; i < POSTERS; i++)
		if (listener->held & 1U << i && !posters[i].has_left)
			bufferevent_enable(posters[i].channel, EV_READ);
	listener->held = 0;
}

static void on_message(struct bufferevent *channel, void *data)
{
	struct user *poster = data;
	struct evbuffer *input = bufferevent_get_input(channel);
	char message[MESSAGE];

	while (evbuffer_get_length(input) >= MESSAGE) {
		evbuffer_remove(input, message, MESSAGE);
		for (int i = 0; i < LISTENERS; i++) {
			struct evbuffer *output = bufferevent_get_output(listeners[i].channel);

			bufferevent_write(listeners[i].channel, message, MESSAGE);
			if (evbuffer_get_length(output) > TOO_LONG)
				hold_back(&listeners[i], poster);
		}
	}
}

/* The room is closed when the last poster has left. */
static void close_room(void)
{
	static const char end[MESSAGE] = "end";

	for (int i = 0; i < LISTENERS; i++)
		bufferevent_write(listeners[i].channel, end, MESSAGE);
}

static void on_event(struct bufferevent *channel, short what, void *data)
{
	struct user *user = data;
	static unsigned left;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	bufferevent_disable(channel, EV_READ | EV_WRITE);
	user->has_left = true;
	left++;
	if (left == POSTERS)
		close_room();
	if (left == POSTERS + LISTENERS)
		event_base_loopbreak(base);
}

/* ---- The users ------------------------------------------------------------------------------ */

static void __attribute__((noinline)) post_all(struct user *user)
{
	char message[MESSAGE];

	for (int i = 0; i < MESSAGES; i++) {
		memset(message, user->name[0], sizeof(message));
		if (write(user->end, message, MESSAGE) != MESSAGE)
			exit(1);
		usleep(user->nap_us);
	}
}

static void *run_poster(void *data)
{
	struct user *user = data;

	post_all(user);
	close(user->end);
	return NULL;
}

static void __attribute__((noinline)) listen_to_all(struct user *user)
{
	char message[MESSAGE];
	int count = 0;

	do {
		if (recv(user->end, message, MESSAGE, MSG_WAITALL) != MESSAGE)
			exit(1);
		if (++count == 100 && user->nap_us)
			usleep(500000); /* the train is in a tunnel */
		usleep(user->nap_us);
	} while (strcmp(message, "end"));
}

static void *run_listener(void *data)
{
	struct user *user = data;

	listen_to_all(user);
	close(user->end);
	return NULL;
}

static pthread_t join_room(struct user *user, unsigned number, bool posts)
{
	const int small = 8192;
	pthread_t thread;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	user->end = ends[1];
	user->number = number;
	user->channel = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setwatermark(user->channel, EV_WRITE, SHORT, 0);
	bufferevent_setcb(user->channel, posts ? on_message : NULL, posts ? NULL : on_drained,
		on_event, user);
	bufferevent_enable(user->channel, EV_READ | EV_WRITE);
	pthread_create(&thread, NULL, posts ? run_poster : run_listener, user);
	pthread_setname_np(thread, user->name);
	return thread;
}

int main(int argc, char **argv)
{
	pthread_t threads[POSTERS + LISTENERS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	base = event_base_new();
	for (unsigned i = 0; i < LISTENERS; i++)
		threads[i] = join_room(&listeners[i], i, false);
	for (unsigned i = 0; i < POSTERS; i++)
		threads[LISTENERS + i] = join_room(&posters[i], i, true);
	event_base_dispatch(base);
	for (int i = 0; i < POSTERS + LISTENERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < POSTERS; i++)
		bufferevent_free(posters[i].channel);
	for (int i = 0; i < LISTENERS; i++)
		bufferevent_free(listeners[i].channel);
	event_base_free(base);
	return 0;
}
