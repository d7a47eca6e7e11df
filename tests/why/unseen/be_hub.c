/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: sockets are watched with EPOLLONESHOT. When a frame is only partly there, session_feed returns
 *     early and on_session doesn't arm the socket again (session_rearm is only called after a whole frame);
 *     so the rest of the large frame of the client "camera" is never read, and camera waits for its receipt
 *     for ever
 *   culprit: session_feed|on_session|session_rearm
 *   victim: camera|sensor_run|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A hub for sensors: one epoll set that two threads serve, a timerfd for statistics, an eventfd to stop. */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SENSORS 3
#define FRAMES 14
#define FRAME_MAX 4096

struct head {
	uint32_t number, size;
};

struct session {
	int socket;
	size_t filled;
	unsigned frames;
	char buffer[sizeof(struct head) + FRAME_MAX];
};

struct hub {
	int epoll, timer, stop;
	struct session sessions[SENSORS];
	unsigned reports;
	bool (*feed)(struct session *); /* whether to arm again */
};

struct sensor {
	const char *name;
	int socket;
	uint32_t size;
	pthread_t thread;
	bool ok;
};

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The hub ---- */

static void session_rearm(struct hub *hub, struct session *session)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = session};

	epoll_ctl(hub->epoll, EPOLL_CTL_MOD, session->socket, &event);
}

/* Reads what is there. Returns false if the sensor has gone. */
static bool session_read(struct session *session)
{
	ssize_t n = recv(session->socket, session->buffer + session->filled,
		sizeof(session->buffer) - session->filled, MSG_DONTWAIT);

	if (n > 0)
		session->filled += (size_t)n;
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool session_is_whole(const struct session *session)
{
	struct head head;

	if (session->filled < sizeof(head))
		return false;
	memcpy(&head, session->buffer, sizeof(head));
	return session->filled >= sizeof(head) + head.size;
}

static void session_receipt(struct session *session)
{
	struct head head;

	memcpy(&head, session->buffer, sizeof(head));
	session->filled -= sizeof(head) + head.size;
	memmove(session->buffer, session->buffer + sizeof(head) + head.size, session->filled);
	session->frames++;
	send(session->socket, &head.number, sizeof(head.number), MSG_NOSIGNAL);
}

/* Takes the frames out of the buffer. Returns whether the socket may be armed again. */
static __attribute__((noinline)) bool session_feed(struct session *session)
{
	if (!session_is_whole(session))
		return false; /* the rest comes with the next event */
	while (session_is_whole(session))
		session_receipt(session);
	return true;
}

static __attribute__((noinline)) bool session_feed_any(struct session *session)
{
	while (session_is_whole(session))
		session_receipt(session);
	return true;
}

static void on_session(struct hub *hub, struct session *session)
{
	if (!session_read(session)) {
		epoll_ctl(hub->epoll, EPOLL_CTL_DEL, session->socket, NULL);
		return;
	}
	if (hub->feed(session))
		session_rearm(hub, session);
}

static void on_timer(struct hub *hub)
{
	uint64_t times;

	if (read(hub->timer, &times, sizeof(times)) == sizeof(times))
		__atomic_add_fetch(&hub->reports, 1, __ATOMIC_RELAXED);
}

static void *hub_serve(void *data)
{
	struct hub *hub = data;
	struct epoll_event event;

	pthread_setname_np(pthread_self(), "hub");
	for (;;) {
		if (epoll_wait(hub->epoll, &event, 1, -1) != 1)
			continue;
		if (event.data.ptr == &hub->stop)
			return NULL; /* it stays readable for the other thread */
		if (event.data.ptr == &hub->timer)
			on_timer(hub);
		else
			on_session(hub, event.data.ptr);
	}
}

static bool hub_open(struct hub *hub)
{
	struct itimerspec each = {{0, 40000000}, {0, 40000000}};
	struct epoll_event timer = {.events = EPOLLIN, .data.ptr = &hub->timer};
	struct epoll_event stop = {.events = EPOLLIN, .data.ptr = &hub->stop};

	hub->epoll = epoll_create1(EPOLL_CLOEXEC);
	hub->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	hub->stop = eventfd(0, EFD_CLOEXEC);
	return timerfd_settime(hub->timer, 0, &each, NULL) == 0 &&
		epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->timer, &timer) == 0 &&
		epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->stop, &stop) == 0;
}

static void hub_add(struct hub *hub, struct session *session, int socket)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = session};

	session->socket = socket;
	epoll_ctl(hub->epoll, EPOLL_CTL_ADD, socket, &event);
}

/* ---- The sensors ---- */

/* A frame of more than a packet goes out in two parts, as on a slow radio link. */
static bool send_frame(struct sensor *sensor, uint32_t number, uint32_t size)
{
	char frame[sizeof(struct head) + FRAME_MAX] = {0};
	struct head head = {number, size};
	size_t total = sizeof(head) + size, first = total > 1400 ? 1400 : total;

	memcpy(frame, &head, sizeof(head));
	if (send(sensor->socket, frame, first, MSG_NOSIGNAL) != (ssize_t)first)
		return false;
	if (first == total)
		return true;
	pause_ms(6);
	return send(sensor->socket, frame + first, total - first, MSG_NOSIGNAL) ==
		(ssize_t)(total - first);
}

static void *sensor_run(void *data)
{
	struct sensor *sensor = data;

	pthread_setname_np(pthread_self(), sensor->name);
	for (uint32_t i = 0; i < FRAMES; i++) {
		uint32_t receipt, size = i % 10 == 8 ? sensor->size : sensor->size / 8;

		if (!send_frame(sensor, i, size) ||
			recv(sensor->socket, &receipt, sizeof(receipt), MSG_WAITALL) !=
				sizeof(receipt))
			return NULL;
		pause_ms(7);
	}
	sensor->ok = true;
	return NULL;
}

int main(int argc, char **argv)
{
	static struct hub hub;
	struct sensor sensors[SENSORS] = {{.name = "door", .size = 64},
		{.name = "heat", .size = 800}, {.name = "camera", .size = 4000}};
	pthread_t threads[2];
	uint64_t one = 1;
	bool ok = true;

	if (argc != 2 || !hub_open(&hub))
		return 2;
	hub.feed = strcmp(argv[1], "healthy") == 0 ? session_feed_any : session_feed;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, hub_serve, &hub))
			return 2;
	for (int i = 0; i < SENSORS; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
			return 2;
		hub_add(&hub, &hub.sessions[i], ends[0]);
		sensors[i].socket = ends[1];
		if (pthread_create(&sensors[i].thread, NULL, sensor_run, &sensors[i]))
			return 2;
	}
	for (int i = 0; i < SENSORS; i++) {
		pthread_join(sensors[i].thread, NULL);
		close(sensors[i].socket);
		ok = ok && sensors[i].ok;
	}
	if (write(hub.stop, &one, sizeof(one)) != sizeof(one))
		return 2;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%u reports\n", hub.reports);
	return ok ? 0 : 1;
}
