/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: on_subscriber_writable returns when the subscriber's socket is full again, and doesn't add its
 *          one-shot write event again, as the session still says that it is armed. The subscriber waits for
 *          the rest.
 *   culprit: on_subscriber_writable
 *   victim: run_subscriber|read_message
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	MESSAGES = 300,
	PAYLOAD = 2000
};

struct message {
	unsigned number;
	char payload[PAYLOAD];
};

struct session {
	int socket;
	struct event *writable;
	bool armed; /* the write event is added */
	char *queued;
	size_t length, sent, room;
};

static bool broken;
static struct event_base *base;
static struct session subscriber;
static struct event *publisher_readable, *keepalive;
static int publisher_ends[2], subscriber_ends[2];
static unsigned received, pings;

static void fail(const char *call)
{
	perror(call);
	exit(1);
}

/* true: all was sent; false: the socket is full */
static bool flush_session(struct session *session)
{
	while (session->sent < session->length) {
		ssize_t n = send(session->socket, session->queued + session->sent,
			session->length - session->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0)
			fail("send");
		session->sent += n;
	}
	session->sent = session->length = 0;
	return true;
}

static void arm(struct session *session)
{
	if (session->armed)
		return;
	session->armed = true;
	event_add(session->writable, NULL);
}

static void on_subscriber_writable(int socket, short what, void *data)
{
	struct session *session = data;

	(void)socket, (void)what;
	if (!broken)
		session->armed = false;
	if (!flush_session(session)) {
		arm(session);
		return;
	}
	session->armed = false;
}

static void publish(struct session *session, const struct message *message)
{
	if (session->length + sizeof *message > session->room) {
		session->room = (session->length + sizeof *message) * 2;
		session->queued = realloc(session->queued, session->room);
	}
	memcpy(session->queued + session->length, message, sizeof *message);
	session->length += sizeof *message;
	if (!session->armed && !flush_session(session))
		arm(session);
}

static bool read_message(int socket, struct message *message)
{
	size_t have = 0;

	while (have < sizeof *message) {
		ssize_t n = read(socket, (char *)message + have, sizeof *message - have);

		if (n <= 0)
			return false;
		have += n;
	}
	return true;
}

static void on_publisher_readable(int socket, short what, void *data)
{
	struct message message;

	(void)what, (void)data;
	if (read_message(socket, &message))
		publish(&subscriber, &message);
	else
		event_del(publisher_readable);
}

static void on_keepalive(int socket, short what, void *data)
{
	(void)socket, (void)what, (void)data;
	pings++;
}

static void *run_publisher(void *unused)
{
	struct message message = {0};

	for (message.number = 0; message.number < MESSAGES; message.number++) {
		if (write(publisher_ends[1], &message, sizeof message) != sizeof message)
			fail("write");
		if (message.number % 10 == 9)
			usleep(1000);
	}
	shutdown(publisher_ends[1], SHUT_WR);
	return unused;
}

static void *run_subscriber(void *unused)
{
	struct message message;

	while (received < MESSAGES && read_message(subscriber_ends[1], &message)) {
		received += message.number == received;
		usleep(200); /* stores it in a database */
	}
	event_base_loopexit(base, NULL);
	return unused;
}

int main(int argc, char **argv)
{
	struct timeval interval = {0, 15000};
	pthread_t publisher_thread, subscriber_thread;
	int size = 16384;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	evthread_use_pthreads();
	base = event_base_new();
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, publisher_ends) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, subscriber_ends))
		fail("socketpair");
	setsockopt(subscriber_ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
	subscriber.socket = subscriber_ends[0];
	subscriber.writable = event_new(base, subscriber.socket, EV_WRITE, on_subscriber_writable,
		&subscriber);
	publisher_readable = event_new(base, publisher_ends[0], EV_READ | EV_PERSIST,
		on_publisher_readable, NULL);
	keepalive = event_new(base, -1, EV_PERSIST, on_keepalive, NULL);
	event_add(publisher_readable, NULL);
	event_add(keepalive, &interval);
	pthread_create(&subscriber_thread, NULL, run_subscriber, NULL);
	pthread_create(&publisher_thread, NULL, run_publisher, NULL);
	event_base_dispatch(base);
	pthread_join(publisher_thread, NULL);
	pthread_join(subscriber_thread, NULL);
	printf("%u of %d messages, %u pings\n", received, MESSAGES, pings);
	return received == MESSAGES ? 0 : 1;
}
