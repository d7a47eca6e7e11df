/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: expire_probe keeps the slot of a probe that got no answer. It should have returned the slot.
 *   culprit: expire_probe
 *   victim: run_probes|epoll
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define N_SLOTS 3
#define N_HOSTS 30
#define STOP 255

struct slot {
	bool busy;
	unsigned char host;
	int timer;
};

static struct slot slots[N_SLOTS];
static int prober, responder, poller;
static int next_host, alive, dead;
static struct sockaddr_in responder_at;
static bool thrifty;

static void *respond(void *arg)
{
	struct sockaddr_in from;
	unsigned char host;
	(void)arg;
	for (;;) {
		socklen_t size = sizeof(from);
		if (recvfrom(responder, &host, 1, 0, (struct sockaddr *)&from, &size) != 1 ||
			host == STOP)
			return NULL;
		usleep(1000 + host % 4 * 500);
		if (host % 7 != 5) /* Hosts 5, 12, 19 and 26 are switched off. */
			sendto(responder, &host, 1, 0, (struct sockaddr *)&from, size);
	}
}

static void start_probe(struct slot *slot)
{
	struct itimerspec patience = {.it_value.tv_nsec = 25000000};
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = slot};

	slot->busy = true;
	slot->host = (unsigned char)next_host++;
	slot->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	timerfd_settime(slot->timer, 0, &patience, NULL);
	epoll_ctl(poller, EPOLL_CTL_ADD, slot->timer, &event);
	sendto(prober, &slot->host, 1, 0, (struct sockaddr *)&responder_at, sizeof(responder_at));
}

static void end_probe(void)
{
	unsigned char host;
	if (recv(prober, &host, 1, MSG_DONTWAIT) != 1)
		return;
	for (int i = 0; i < N_SLOTS; i++)
		if (slots[i].busy && slots[i].host == host) {
			alive++;
			close(slots[i].timer);
			slots[i].busy = false;
			return;
		}
}

static void expire_probe(struct slot *slot)
{
	fprintf(stderr, "host %d: no answer\n", slot->host);
	dead++;
	close(slot->timer);
	if (thrifty)
		slot->busy = false;
}

static void run_probes(void)
{
	struct epoll_event events[4];
	while (alive + dead < N_HOSTS) {
		for (int i = 0; i < N_SLOTS; i++)
			if (!slots[i].busy && next_host < N_HOSTS)
				start_probe(&slots[i]);
		int n = epoll_wait(poller, events, 4, -1);
		for (int i = 0; i < n; i++) {
			struct slot *slot = events[i].data.ptr;
			unsigned long long times;
			if (!slot)
				end_probe();
			else if (slot->busy && read(slot->timer, &times, sizeof(times)) > 0)
				expire_probe(slot);
		}
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
	socklen_t size = sizeof(responder_at);
	unsigned char stop = STOP;
	pthread_t thread;

	thrifty = argc > 1 && strcmp(argv[1], "healthy") == 0;
	responder = socket(AF_INET, SOCK_DGRAM, 0);
	prober = socket(AF_INET, SOCK_DGRAM, 0);
	responder_at.sin_family = AF_INET;
	responder_at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(responder, (struct sockaddr *)&responder_at, size))
		return 1;
	getsockname(responder, (struct sockaddr *)&responder_at, &size);
	poller = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(poller, EPOLL_CTL_ADD, prober, &event);
	pthread_create(&thread, NULL, respond, NULL);
	run_probes();
	sendto(prober, &stop, 1, 0, (struct sockaddr *)&responder_at, size);
	pthread_join(thread, NULL);
	printf("%d hosts alive, %d dead\n", alive, dead);
	close(poller);
	close(prober);
	close(responder);
	return 0;
}
