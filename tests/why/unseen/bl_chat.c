/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: on_read raises the low read watermark of a member to the length of a long message and never sets it
 *     back to the header's, so the member's next, short message stays in the buffer and on_read isn't called.
 *   culprit: on_read|watermark
 *   victim: bob|alice|carol|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A chat server on libevent: messages have a header with their length, and the server acknowledges each. */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MEMBERS 3
#define MESSAGES 60

struct member {
	const char *name;
	pthread_t thread;
	int socket;
	struct bufferevent *stream;
	uint16_t body; /* length of the body that is awaited; 0: a header */
	int received;
};

static struct member members[MEMBERS] = {{.name = "alice"}, {.name = "bob"}, {.name = "carol"}};
static struct event_base *base;
static struct event *keepalive;
static int open_members = MEMBERS;
static bool healthy;

/* ---- the server ---- */

static void acknowledge(struct member *member, const char *body, size_t size)
{
	char sum = 0;

	for (size_t i = 0; i < size; i++)
		sum ^= body[i];
	member->received++;
	bufferevent_write(member->stream, &sum, 1);
}

static void on_read(struct bufferevent *stream, void *data)
{
	struct member *member = data;
	struct evbuffer *input = bufferevent_get_input(stream);
	char body[2048];

	for (;;) {
		size_t wanted = member->body ? member->body : sizeof member->body;

		if (evbuffer_get_length(input) < wanted) {
			if (healthy || wanted > sizeof member->body)
				bufferevent_setwatermark(stream, EV_READ, wanted, 0);
			return;
		}
		if (member->body == 0) {
			evbuffer_remove(input, &member->body, sizeof member->body);
			continue;
		}
		evbuffer_remove(input, body, wanted);
		acknowledge(member, body, wanted);
		member->body = 0;
	}
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
	struct member *member = data;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	printf("%s left after %d messages\n", member->name, member->received);
	bufferevent_free(stream);
	member->stream = NULL;
	if (--open_members == 0)
		event_del(keepalive);
}

static void on_keepalive(evutil_socket_t socket, short what, void *data)
{
	(void)socket;
	(void)what;
	(void)data;
	printf("%d members\n", open_members);
	fflush(stdout);
}

/* ---- members ---- */

static bool say(int socket, size_t size, bool in_parts)
{
	char message[2050];
	uint16_t length = (uint16_t)size;
	char sum;

	memcpy(message, &length, 2);
	memset(message + 2, 'a' + (int)(size % 26), size);
	if (in_parts) {
		if (write(socket, message, 2) != 2)
			return false;
		usleep(30000); /* the rest is read from a slow disk */
		if (write(socket, message + 2, size) != (ssize_t)size)
			return false;
	} else if (write(socket, message, size + 2) != (ssize_t)size + 2) {
		return false;
	}
	return read(socket, &sum, 1) == 1;
}

static void *member_run(void *data)
{
	const struct member *member = data;
	int number = (int)(member - members);

	pthread_setname_np(pthread_self(), member->name);
	for (int i = 0; i < MESSAGES; i++) {
		/* One of them sends a picture now and then. */
		bool picture = number == 1 && i % 25 == 24;

		if (!say(member->socket, picture ? 1800 : (size_t)(4 + (i * 7 + number) % 40),
			    picture))
			break;
		usleep(2000);
	}
	close(member->socket);
	return NULL;
}

int main(int argc, char **argv)
{
	struct timeval interval = {0, 100000};

	if (argc < 2)
		return 2;
	healthy = !strcmp(argv[1], "healthy");
	base = event_base_new();
	for (int i = 0; i < MEMBERS; i++) {
		struct member *member = &members[i];
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		evutil_make_socket_nonblocking(pair[0]);
		member->socket = pair[1];
		member->stream = bufferevent_socket_new(base, pair[0], BEV_OPT_CLOSE_ON_FREE);
		bufferevent_setcb(member->stream, on_read, NULL, on_event, member);
		bufferevent_enable(member->stream, EV_READ | EV_WRITE);
		pthread_create(&member->thread, NULL, member_run, member);
	}
	keepalive = event_new(base, -1, EV_PERSIST, on_keepalive, NULL);
	event_add(keepalive, &interval);
	event_base_dispatch(base);
	for (int i = 0; i < MEMBERS; i++)
		pthread_join(members[i].thread, NULL);
	event_free(keepalive);
	event_base_free(base);
	printf("closed\n");
	return 0;
}
