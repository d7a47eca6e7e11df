/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=publish
 *   truth: The autosave holds the lock of the store while it writes each topic to a slow disk. It should
 *     copy the store under the lock and write the copy without it: a publish needs the lock for a moment.
 *   culprit: autosave|save_retained
 *   victim: retained store
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

#define TOPICS 12
#define CLIENTS 3
#define MESSAGES 150

struct retained {
	char payload[48];
	unsigned version;
};

static struct retained store[TOPICS];
static pthread_mutex_t store_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task store_task;
static pthread_mutex_t stop_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t stop_changed = PTHREAD_COND_INITIALIZER;
static bool stopping;
static atomic_ulong written;
static bool broken;

static void lock_store(void)
{
	if (pthread_mutex_trylock(&store_mutex)) {
		thrum_task_wait(thrum_task_current(), store_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&store_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(store_task);
}

static void unlock_store(void)
{
	thrum_lock_released(store_task);
	pthread_mutex_unlock(&store_mutex);
}

/* Checks the message against the access list. */
static bool may_publish(int client, int topic)
{
	unsigned x = (unsigned)(client * 31 + topic);

	for (int i = 0; i < 30000; i++)
		x = x * 1664525u + 1013904223u;
	return x != 0;
}

static void publish(int client, int topic, int number)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "publish");

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (may_publish(client, topic)) {
			lock_store();
			snprintf(store[topic].payload, sizeof(store[topic].payload), "c%d/%d",
				client, number);
			store[topic].version++;
			unlock_store();
		}
	}
	thrum_task_resolve(task);
}

static void *run_client(void *argument)
{
	int client = (int)(long)argument;
	char name[16];

	snprintf(name, sizeof(name), "client %d", client);
	thrum_lane_name(name);
	for (int i = 0; i < MESSAGES; i++) {
		publish(client, (i + client * 5) % TOPICS, i);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(2000);
		thrum_resume();
	}
	return NULL;
}

/* One record; the disk is a slow card. */
static void write_record(const struct retained *record)
{
	written += strlen(record->payload) + sizeof(record->version);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	usleep(4000);
	thrum_resume();
}

static void save_retained(void)
{
	struct retained copy[TOPICS];

	lock_store();
	if (broken) {
		for (int i = 0; i < TOPICS; i++)
			write_record(&store[i]);
		unlock_store();
		return;
	}
	memcpy(copy, store, sizeof(copy));
	unlock_store();
	for (int i = 0; i < TOPICS; i++)
		write_record(&copy[i]);
}

/* Waits for the time of the next autosave. Returns false if the broker stops. */
static bool wait_for_interval(void)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 90 * 1000 * 1000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&stop_mutex);
	while (!stopping) {
		if (pthread_cond_timedwait(&stop_changed, &stop_mutex, &until))
			break;
	}
	go_on = !stopping;
	pthread_mutex_unlock(&stop_mutex);
	return go_on;
}

static void *run_autosave(void *unused)
{
	bool go_on;

	thrum_lane_name("saver");
	do {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		go_on = wait_for_interval();
		thrum_resume();

		thrum_task task = thrum_task_create(THRUM_KIND_TASK, "autosave");

		THRUM_RUN (task)
			save_retained();
		thrum_task_resolve(task);
	} while (go_on);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t saver, clients[CLIENTS];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	store_task = thrum_task_create(THRUM_KIND_LOCK, "retained store");
	pthread_create(&saver, NULL, run_autosave, NULL);
	for (long i = 0; i < CLIENTS; i++)
		pthread_create(&clients[i], NULL, run_client, (void *)(i + 1));
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_mutex_lock(&stop_mutex);
	stopping = true;
	pthread_cond_signal(&stop_changed);
	pthread_mutex_unlock(&stop_mutex);
	pthread_join(saver, NULL);
	thrum_stop();
	printf("%d messages, %lu bytes saved\n", CLIENTS * MESSAGES, written);
	return 0;
}
