/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: c-ares #742 ("Deadlock in ares_queue_wait_empty"). When the time is up, queue_wait_empty notes that,
 *     but stays in its loop, and no longer gives the channel's lock away, as it doesn't wait any more. So the main
 *     thread spins with channel_lock; the event thread can't take the lock in process_answer, the
 *     number of queries never goes down, and the loop never ends.
 *   culprit: queue_wait_empty|resolve_batch|main\b
 *   victim: event thread|ares-event|process_answer|prefetch
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Resolves the names in a list of hosts, in batches. Answers come in an event thread. */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct packet {
	unsigned id;
	unsigned delay_ms;
	char name[40];
};

static bool fixed;
static int sockets[2]; /* 0: ours, 1: the name server's */
static pthread_mutex_t channel_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t channel_empty;
static unsigned all_queries; /* under channel_lock */
static unsigned answers;     /* under channel_lock */
static unsigned next_id;     /* under channel_lock */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The name server: answers each question after its time. */
static void *name_server(void *data)
{
	struct packet packet;

	(void)data;
	while (recv(sockets[1], &packet, sizeof(packet), 0) == sizeof(packet)) {
		if (packet.delay_ms)
			usleep(packet.delay_ms * 1000);
		if (send(sockets[1], &packet, sizeof(packet), 0) < 0)
			break;
	}
	return NULL;
}

static void query(const char *name, unsigned delay_ms)
{
	struct packet packet;

	memset(&packet, 0, sizeof(packet));
	pthread_mutex_lock(&channel_lock);
	packet.id = next_id++;
	packet.delay_ms = delay_ms;
	snprintf(packet.name, sizeof(packet.name), "%s", name);
	all_queries++;
	pthread_mutex_unlock(&channel_lock);
	if (send(sockets[0], &packet, sizeof(packet), 0) < 0)
		perror("send");
}

static void process_answer(void)
{
	struct packet packet;

	if (recv(sockets[0], &packet, sizeof(packet), 0) != sizeof(packet))
		return;
	pthread_mutex_lock(&channel_lock);
	answers++;
	if (all_queries > 0 && --all_queries == 0)
		pthread_cond_broadcast(&channel_empty);
	pthread_mutex_unlock(&channel_lock);
}

static void *event_thread(void *data)
{
	struct pollfd fd = {.fd = sockets[0], .events = POLLIN};

	(void)data;
	for (;;) {
		if (poll(&fd, 1, -1) > 0)
			process_answer();
	}
	return NULL;
}

/* Keeps the addresses of the name server's own zone fresh. */
static void *prefetch_thread(void *data)
{
	(void)data;
	for (;;) {
		usleep(150000);
		query("ns.example.org", 0);
	}
	return NULL;
}

/* Waits until no query is pending. Returns false if that takes longer than timeout_ms; -1: no limit. */
static bool queue_wait_empty(int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	int64_t left;
	struct timespec until;
	bool done = true;

	pthread_mutex_lock(&channel_lock);
	while (all_queries > 0) {
		if (timeout_ms < 0) {
			pthread_cond_wait(&channel_empty, &channel_lock);
			continue;
		}
		left = end - now_ms();
		if (left <= 0) {
			done = false;
			if (fixed)
				break;
		} else {
			until.tv_sec = end / 1000;
			until.tv_nsec = end % 1000 * 1000000;
			pthread_cond_timedwait(&channel_empty, &channel_lock, &until);
		}
	}
	pthread_mutex_unlock(&channel_lock);
	return done;
}

static void cancel_queries(void)
{
	pthread_mutex_lock(&channel_lock);
	all_queries = 0;
	pthread_cond_broadcast(&channel_empty);
	pthread_mutex_unlock(&channel_lock);
}

static void start(const char *name, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, NULL))
		exit(1);
	pthread_setname_np(thread, name);
	pthread_detach(thread);
}

static void resolve_batch(unsigned batch, unsigned delay_ms, int timeout_ms)
{
	char name[40];
	unsigned i;

	for (i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "host%u.rack%u.example.org", i, batch);
		query(name, delay_ms);
	}
	if (queue_wait_empty(timeout_ms)) {
		printf("batch %u: resolved\n", batch);
	} else {
		printf("batch %u: gave up\n", batch);
		cancel_queries();
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	pthread_condattr_t attr;
	unsigned i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&channel_empty, &attr);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 1;
	start("name server", name_server);
	start("ares-event", event_thread);
	start("prefetch", prefetch_thread);
	for (i = 0; i < 8; i++)
		resolve_batch(i, 2, i % 2 ? 2000 : -1);
	/* This rack's name server is far away. */
	resolve_batch(8, 60, 100);
	for (i = 9; i < 12; i++)
		resolve_batch(i, 2, 2000);
	return 0;
}
