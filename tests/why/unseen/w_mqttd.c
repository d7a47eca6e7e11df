/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: the session "garage" is taken over by a second CONNECT while it is being resumed. Its state is TAKEOVER when "resume garage" ends, which releases the parked messages only in state RESUMING; so the parked PUBLISHes are never acknowledged, though what they wait for has ended.
 *   culprit: resume garage|takeover
 *   victim: PUBLISH garage
 * case: early
 *   args: early
 *   run: kill 700
 *   ask: why
 *   truth: "takeover garage" closes the timer "load session" of the session, which is still being resumed with it; so "resume garage" never goes on, and the PUBLISHes that are parked behind it hang.
 *   culprit: takeover|load session
 *   victim: PUBLISH garage|resume garage
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
/* mqttd: a broker's session handling on epoll; two devices run in a thread of their own. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

enum {
	CONNECT = 1,
	PUBLISH,
	PUBACK,
	DISCONNECT
};
enum state {
	OFFLINE,
	RESUMING,
	TAKEOVER,
	ACTIVE
};

struct packet {
	uint8_t type, id;
};
struct parked {
	thrum_task task;
	int id;
	struct parked *next;
};
struct session {
	const char *client;
	enum state state;
	int fd, timer;
	thrum_task socket, resume, resume_due;
	struct parked *parked, **end;
	bool closed;
};

static bool broken, close_early;
static int devices[2];
static struct session sessions[2] = {{.client = "attic"}, {.client = "garage"}};

static void acknowledge(struct session *session, thrum_task task, int id)
{
	struct packet ack = {PUBACK, (uint8_t)id};

	if (write(session->fd, &ack, sizeof ack) != sizeof ack)
		thrum_task_fail(task, "write");
	else
		thrum_task_resolve(task);
}

static void on_connect(struct session *session)
{
	struct itimerspec delay = {.it_value.tv_nsec = 120000000};

	if (session->state == RESUMING) {
		thrum_task takeover = thrum_task_createf(THRUM_KIND_TASK, "takeover %s",
			session->client);

		THRUM_RUN (takeover) {
			session->state = TAKEOVER; /* the old connection is given up */
			if (close_early) {
				thrum_task_cancel(session->resume_due);
				close(session->timer);
				session->timer = -1;
			}
			thrum_task_resolve(takeover);
		}
		return;
	}
	session->state = RESUMING;
	session->resume = thrum_task_createf(THRUM_KIND_TASK, "resume %s", session->client);
	session->resume_due = thrum_task_create(THRUM_KIND_TIMER, "load session");
	thrum_task_due(session->resume_due, delay.it_value.tv_nsec);
	thrum_task_wait(session->resume, session->resume_due);
	timerfd_settime(session->timer, 0, &delay, NULL);
}

static void on_publish(struct session *session, int id)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "PUBLISH %s/%d", session->client, id);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (session->state == ACTIVE) {
			acknowledge(session, task, id);
		} else {
			struct parked *parked = malloc(sizeof *parked);

			*parked = (struct parked){task, id, NULL};
			*session->end = parked;
			session->end = &parked->next;
			thrum_task_wait(task, session->resume);
		}
	}
}

static void on_resumed(struct session *session)
{
	struct parked *parked;
	uint64_t times;

	if (read(session->timer, &times, sizeof times) != sizeof times)
		return;
	thrum_task_resolve(session->resume_due);
	THRUM_RUN (session->resume) {
		thrum_task_read(session->resume, session->resume_due);
		if (session->state == RESUMING || !broken) {
			while ((parked = session->parked)) {
				session->parked = parked->next;
				THRUM_RUN (parked->task) {
					thrum_task_read(parked->task, session->resume);
					acknowledge(session, parked->task, parked->id);
				}
				free(parked);
			}
			session->end = &session->parked;
		}
		session->state = ACTIVE;
		thrum_task_resolve(session->resume);
	}
}

static void on_packet(struct session *session)
{
	struct packet packet;

	if (read(session->fd, &packet, sizeof packet) != sizeof packet ||
		packet.type == DISCONNECT) {
		session->closed = true;
		thrum_task_resolve(session->socket);
		close(session->fd);
		return;
	}
	if (packet.type == CONNECT)
		on_connect(session);
	else if (packet.type == PUBLISH)
		on_publish(session, packet.id);
}

static void send_packet(int fd, int type, int id)
{
	struct packet packet = {(uint8_t)type, (uint8_t)id};

	if (write(fd, &packet, sizeof packet) != sizeof packet)
		perror("device");
}

static void await_acks(int fd, int count)
{
	struct packet packet;

	while (count > 0 && read(fd, &packet, sizeof packet) == sizeof packet)
		count -= packet.type == PUBACK;
}

static void *device_thread(void *unused)
{
	(void)unused;
	for (int i = 0; i < 2; i++)
		send_packet(devices[i], CONNECT, 0);
	usleep(10000);
	for (int i = 0; i < 3; i++) {
		send_packet(devices[0], PUBLISH, i);
		send_packet(devices[1], PUBLISH, i);
	}
	usleep(15000);
	send_packet(devices[1], CONNECT, 0); /* the modem has reconnected */
	await_acks(devices[0], 3);
	send_packet(devices[0], PUBLISH, 3);
	await_acks(devices[0], 1);
	usleep(40000);
	send_packet(devices[1], PUBLISH, 3);
	await_acks(devices[1], 4);
	for (int i = 0; i < 2; i++)
		send_packet(devices[i], DISCONNECT, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	int epoll = epoll_create1(0);
	pthread_t thread;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	close_early = argc > 1 && !strcmp(argv[1], "early");
	thrum_lane_name("broker loop");
	for (int i = 0; i < 2; i++) {
		struct session *session = &sessions[i];
		struct epoll_event event = {.events = EPOLLIN};
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		devices[i] = pair[0];
		session->fd = pair[1];
		session->end = &session->parked;
		session->timer = timerfd_create(CLOCK_MONOTONIC, 0);
		session->socket = thrum_task_createf(THRUM_KIND_HANDLE, "socket of %s",
			session->client);
		event.data.u32 = (uint32_t)i * 2;
		epoll_ctl(epoll, EPOLL_CTL_ADD, session->fd, &event);
		event.data.u32 = (uint32_t)i * 2 + 1;
		epoll_ctl(epoll, EPOLL_CTL_ADD, session->timer, &event);
	}
	pthread_create(&thread, NULL, device_thread, NULL);
	while (!sessions[0].closed || !sessions[1].closed) {
		struct epoll_event events[4];
		int n;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		n = epoll_wait(epoll, events, 4, -1);
		thrum_resume();
		for (int i = 0; i < n; i++) {
			struct session *session = &sessions[events[i].data.u32 / 2];

			if (events[i].data.u32 % 2)
				on_resumed(session);
			else if (!session->closed)
				on_packet(session);
		}
	}
	pthread_join(thread, NULL);
	thrum_stop();
	return 0;
}
