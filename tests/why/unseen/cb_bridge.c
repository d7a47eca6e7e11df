/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=publish
 *   truth: mosquitto #41, #802 and #3402 ("bridge connection DNS request blocks mosquitto main loop"). The broker's only
 *     loop looks up the remote broker's name itself: bridge_connect, in the task "bridge", blocks in lookup_host for
 *     90 ms. Messages that come meanwhile are ready, but have no turn: the slow "publish" waits for the thread that
 *     "bridge" keeps.
 *   culprit: \bbridge\b|lookup_host|look up
 *   victim: publish
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A broker: clients publish messages, the main loop delivers them, and keeps a bridge to another broker. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CLIENTS 3
#define MESSAGES 150 /* of each client */

struct packet {
	thrum_task task;
	unsigned client;
	unsigned number;
	struct packet *next;
};

struct bridge {
	int64_t due; /* ms */
	thrum_task task;
	thrum_task lookup;
	bool wants_address; /* under mutex */
	bool has_address;   /* under mutex */
	unsigned connects;
};

THRUM_TAG(name_server, NULL, "look up", 0);

static bool fixed;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_cond_t asked = PTHREAD_COND_INITIALIZER;
static struct packet *packets; /* under mutex */
static struct packet **packets_end = &packets;
static struct bridge bridge;
static unsigned delivered[CLIENTS];

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void work_for(unsigned us)
{
	struct timespec t;
	int64_t end;

	clock_gettime(CLOCK_MONOTONIC, &t);
	end = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 + us;
	do {
		clock_gettime(CLOCK_MONOTONIC, &t);
	} while ((int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 < end);
}

static void *client_thread(void *data)
{
	unsigned client = (unsigned)(uintptr_t)data;
	struct packet *packet;
	char name[16];
	unsigned i;

	snprintf(name, sizeof(name), "client %u", client);
	thrum_lane_name(name);
	for (i = 0; i < MESSAGES; i++) {
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(12000 + 700 * client);
		thrum_resume();
		packet = calloc(1, sizeof(*packet));
		packet->client = client;
		packet->number = i;
		packet->task = thrum_task_create(THRUM_KIND_TASK, "publish");
		thrum_task_should_resolve(packet->task);
		thrum_task_ready(packet->task);
		pthread_mutex_lock(&mutex);
		*packets_end = packet;
		packets_end = &packet->next;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

/* The system's resolver: the provider's name server is far away. */
static void lookup_host(void)
{
	thrum_suspend(&name_server);
	usleep(90000);
	thrum_resume();
}

static void bridge_connected(void)
{
	bridge.connects++;
	bridge.due = now_ms() + 350; /* the other side closes idle connections soon */
	thrum_task_resolve(bridge.task);
	bridge.task = THRUM_TASK_NONE;
}

static void *resolver_thread(void *data)
{
	(void)data;
	thrum_lane_name("resolver");
	pthread_mutex_lock(&mutex);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (!bridge.wants_address)
			pthread_cond_wait(&asked, &mutex);
		thrum_resume();
		bridge.wants_address = false;
		pthread_mutex_unlock(&mutex);
		THRUM_RUN (bridge.lookup)
			lookup_host();
		pthread_mutex_lock(&mutex);
		thrum_task_resolve(bridge.lookup);
		bridge.has_address = true;
		pthread_cond_signal(&changed);
	}
	return NULL;
}

static void bridge_connect(void)
{
	bridge.task = thrum_task_create(THRUM_KIND_TASK, "bridge");
	bridge.due = INT64_MAX;
	if (fixed) {
		bridge.lookup = thrum_task_create_in(bridge.task, THRUM_KIND_TASK, "lookup");
		thrum_task_wait(bridge.task, bridge.lookup);
		pthread_mutex_lock(&mutex);
		bridge.wants_address = true;
		pthread_cond_signal(&asked);
		pthread_mutex_unlock(&mutex);
		return;
	}
	THRUM_RUN (bridge.task) {
		lookup_host();
		work_for(200);
	}
	bridge_connected();
}

static void deliver(const struct packet *packet)
{
	work_for(300);
	delivered[packet->client]++;
}

static struct packet *wait_for_packet(void)
{
	struct timespec until;
	struct packet *packet;

	pthread_mutex_lock(&mutex);
	if (!packets && !bridge.has_address) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 20000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_cond_timedwait(&changed, &mutex, &until);
		thrum_resume();
	}
	packet = packets;
	if (packet) {
		packets = packet->next;
		if (!packets)
			packets_end = &packets;
	}
	pthread_mutex_unlock(&mutex);
	return packet;
}

static void main_loop(void)
{
	struct packet *packet;
	unsigned count = 0;
	bool has_address;

	while (count < CLIENTS * MESSAGES || bridge.task != THRUM_TASK_NONE) {
		if (now_ms() >= bridge.due && count < CLIENTS * MESSAGES)
			bridge_connect();
		packet = wait_for_packet();
		pthread_mutex_lock(&mutex);
		has_address = bridge.has_address;
		bridge.has_address = false;
		pthread_mutex_unlock(&mutex);
		if (has_address) {
			thrum_task_read(bridge.task, bridge.lookup);
			THRUM_RUN (bridge.task)
				work_for(200);
			bridge_connected();
		}
		if (!packet)
			continue;
		THRUM_RUN (packet->task)
			deliver(packet);
		thrum_task_resolve(packet->task);
		free(packet);
		count++;
	}
}

int main(int argc, char **argv)
{
	pthread_t threads[CLIENTS], resolver;
	unsigned i;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	if (thrum_start(NULL))
		fprintf(stderr, "nothing is recorded\n");
	bridge.due = now_ms() + 400;
	pthread_create(&resolver, NULL, resolver_thread, NULL);
	for (i = 0; i < CLIENTS; i++)
		pthread_create(&threads[i], NULL, client_thread, (void *)(uintptr_t)i);
	main_loop();
	for (i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	thrum_stop();
	printf("%u, %u, %u messages, %u connections of the bridge\n", delivered[0], delivered[1],
		delivered[2], bridge.connects);
	return 0;
}
