/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: libevent issue #512 ("Deadlock happend"; also #1654, "deadlock on event_del_nolock_"): remove_session
 *     holds session_lock while it calls event_del, which waits until the callback of that event has returned. The
 *     callback, on_packet, runs in the loop's thread at that time, and wants session_lock. So the two wait
 *     for each other. The caller who sends packets goes on.
 *   culprit: session_lock|remove_session
 *   victim: on_tick
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A small media server: one thread runs the event loop and receives packets, the main thread adds and removes
 * sessions as calls come and go. */
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SESSIONS 4
#define PACKET 160

struct session {
	int number;
	int sockets[2]; /* ours, and that of the far end */
	struct event *event;
	unsigned packets;
	bool open;
};

static struct event_base *base;
static struct session sessions[SESSIONS];
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static bool careful;
static unsigned mixed;
static unsigned ticks;
static atomic_bool hung_up;

static void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

static void decode(const unsigned char *packet, size_t size)
{
	unsigned sum = 0;

	for (size_t i = 0; i < size; i++)
		sum += packet[i];
	sleep_ms(sum % 2 ? 3 : 120); /* a keyframe takes longer */
}

static void on_packet(evutil_socket_t fd, short what, void *data)
{
	struct session *session = data;
	unsigned char packet[PACKET];
	ssize_t size = recv(fd, packet, sizeof packet, MSG_DONTWAIT);

	(void)what;
	if (size <= 0)
		return;
	decode(packet, (size_t)size);
	pthread_mutex_lock(&session_lock);
	if (session->open) {
		session->packets++;
		mixed++;
	}
	pthread_mutex_unlock(&session_lock);
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	ticks++;
}

static void add_session(int number)
{
	struct session *session = &sessions[number];

	session->number = number;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, session->sockets))
		abort();
	session->event = event_new(base, session->sockets[0], EV_READ | EV_PERSIST, on_packet,
		session);
	pthread_mutex_lock(&session_lock);
	session->open = true;
	event_add(session->event, NULL);
	pthread_mutex_unlock(&session_lock);
}

static void remove_session(int number)
{
	struct session *session = &sessions[number];

	if (careful)
		event_del(session->event);
	pthread_mutex_lock(&session_lock);
	session->open = false;
	if (!careful)
		event_del(session->event);
	pthread_mutex_unlock(&session_lock);
	event_free(session->event);
	close(session->sockets[0]);
	close(session->sockets[1]);
}

static void send_packet(int number, bool keyframe)
{
	unsigned char packet[PACKET];

	memset(packet, 2, sizeof packet);
	if (!keyframe)
		packet[0] = 1;
	send(sessions[number].sockets[1], packet, sizeof packet, MSG_DONTWAIT);
}

/* Talks to session 0, which lasts as long as the program. */
static void *caller_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "caller");
	while (!atomic_load(&hung_up)) {
		send_packet(0, false);
		sleep_ms(25);
	}
	return NULL;
}

static void *loop_thread(void *data)
{
	struct timeval interval = {0, 20000};
	struct event *tick = event_new(base, -1, EV_PERSIST, on_tick, NULL);

	(void)data;
	pthread_setname_np(pthread_self(), "event loop");
	event_add(tick, &interval);
	event_base_dispatch(base);
	event_free(tick);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loop;
	pthread_t caller;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	evthread_use_pthreads();
	base = event_base_new();
	if (!base)
		return 1;
	add_session(0);
	pthread_create(&loop, NULL, loop_thread, NULL);
	pthread_create(&caller, NULL, caller_thread, NULL);

	/* Calls that end after a silence. */
	for (int round = 0; round < 4; round++) {
		int number = 1 + round % (SESSIONS - 1);

		add_session(number);
		for (int i = 0; i < 3; i++) {
			send_packet(number, i == 0);
			sleep_ms(10);
		}
		sleep_ms(220);
		remove_session(number);
	}
	/* One that is hung up while the other side talks. */
	add_session(2);
	send_packet(2, false);
	sleep_ms(30);
	send_packet(2, true);
	sleep_ms(40);
	remove_session(2);

	for (int i = 0; i < 3; i++) {
		add_session(1);
		send_packet(1, false);
		sleep_ms(50);
		remove_session(1);
	}
	atomic_store(&hung_up, true);
	pthread_join(caller, NULL);
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
	remove_session(0);
	event_base_free(base);
	printf("mixed %u packets\n", mixed);
	return 0;
}
