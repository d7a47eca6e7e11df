/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Deliveries have a lower priority than input. When the spool is full, on_mail returns without reading, to try
 *     again later; but its socket stays readable, so libevent calls it again and again, and never comes to on_delivery,
 *     which would make room. The client waits for the answer to its last mails.
 *   culprit: on_mail
 *   victim: client|run_client|send_mails
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mail queue on libevent: input goes before deliveries, so that clients wait for nobody but the spool. */
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SPOOL 6
#define MAIL 32 /* bytes */

struct spool {
	struct event_base *base;
	struct event *mail;
	struct event *delivery;
	int client;
	unsigned waiting; /* mails */
	unsigned delivered;
	bool rests; /* whether input is switched off while the spool is full */
	bool resting;
};

static void deliver_soon(struct spool *spool)
{
	static const struct timeval soon = {0, 1000};

	if (!evtimer_pending(spool->delivery, NULL))
		evtimer_add(spool->delivery, &soon);
}

static void on_mail(evutil_socket_t fd, short what, void *data)
{
	struct spool *spool = data;
	char mail[MAIL];
	ssize_t size;

	(void)what;
	if (spool->waiting == SPOOL) {
		/* No room: later. */
		if (spool->rests) {
			event_del(spool->mail);
			spool->resting = true;
		}
		return;
	}
	size = recv(fd, mail, sizeof mail, MSG_WAITALL);
	if (size <= 0) {
		event_del(spool->mail);
		event_base_loopbreak(spool->base);
		return;
	}
	spool->waiting++;
	deliver_soon(spool);
}

/* Delivers one mail, and tells its sender. */
static void on_delivery(evutil_socket_t fd, short what, void *data)
{
	struct spool *spool = data;

	(void)fd;
	(void)what;
	usleep(1000);
	spool->waiting--;
	spool->delivered++;
	if (write(spool->client, "D", 1) != 1)
		return;
	if (spool->waiting > 0)
		deliver_soon(spool);
	if (spool->resting) {
		spool->resting = false;
		event_add(spool->mail, NULL);
	}
}

static void send_mails(int fd, unsigned count)
{
	char mail[MAIL];
	char answer;

	for (unsigned i = 0; i < count; i++) {
		memset(mail, 0, sizeof mail);
		snprintf(mail, sizeof mail, "mail %u of %u", i + 1, count);
		if (write(fd, mail, sizeof mail) != (ssize_t)sizeof mail)
			return;
	}
	for (unsigned i = 0; i < count; i++) {
		if (read(fd, &answer, 1) != 1)
			return;
	}
}

static void *run_client(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "client");
	for (unsigned i = 0; i < 16; i++) {
		send_mails(fd, 1 + i % 4);
		usleep(20000);
	}
	send_mails(fd, 60); /* the newsletter */
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	struct spool spool = {.rests = argc < 2 || strcmp(argv[1], "broken")};
	pthread_t client;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	spool.base = event_base_new();
	event_base_priority_init(spool.base, 2);
	spool.client = ends[0];
	spool.mail = event_new(spool.base, ends[0], EV_READ | EV_PERSIST, on_mail, &spool);
	event_priority_set(spool.mail, 0);
	spool.delivery = evtimer_new(spool.base, on_delivery, &spool);
	event_priority_set(spool.delivery, 1);
	event_add(spool.mail, NULL);
	pthread_create(&client, NULL, run_client, &ends[1]);
	event_base_dispatch(spool.base);
	pthread_join(client, NULL);
	printf("spool: %u delivered\n", spool.delivered);
	event_free(spool.mail);
	event_free(spool.delivery);
	event_base_free(spool.base);
	return 0;
}
