/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: "wait for completion" runs a cycle under mqttclient_mutex; the cycle finds the keep-alive overdue,
 *     closes the session, and disconnect_internal locks the same mutex again: it waits for itself.
 *   culprit: wait for completion|disconnect_internal|client_cycle
 *   victim: receiver|subscribe
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about Paho's MQTT client: a publish a minute after the last one deadlocks in
 * waitForCompletion, because its cycle, which holds the client's mutex, closes the session for a missed
 * keep-alive and locks the mutex again.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <thrum.h>
#include <unistd.h>

static pthread_mutex_t mqttclient_mutex = PTHREAD_MUTEX_INITIALIZER;
static thrum_task mutex_task;
static bool connected = true, ping_outstanding;
static int received, sent, reconnects;
static bool healthy;

static void lock_mutex(void)
{
	if (pthread_mutex_trylock(&mqttclient_mutex)) {
		thrum_task_wait(thrum_task_current(), mutex_task);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		pthread_mutex_lock(&mqttclient_mutex);
		thrum_resume();
	}
	thrum_lock_acquired(mutex_task);
}

static void unlock_mutex(void)
{
	thrum_lock_released(mutex_task);
	pthread_mutex_unlock(&mqttclient_mutex);
}

static void disconnect_internal(void)
{
	lock_mutex();
	connected = false;
	unlock_mutex();
}

/* The session is closed if the last ping has no answer. */
static void check_keepalive(void)
{
	if (ping_outstanding)
		disconnect_internal();
	ping_outstanding = connected;
}

/* One turn: reads what has come, then looks after the session. */
static void client_cycle(void)
{
	lock_mutex();
	received++;
	if (healthy) {
		unlock_mutex();
		check_keepalive();
	} else {
		check_keepalive();
		unlock_mutex();
	}
}

static void publish(const char *topic)
{
	thrum_task message = thrum_task_createf(THRUM_KIND_TASK, "publish %s", topic);

	THRUM_RUN (message) {
		lock_mutex();
		if (!connected) {
			connected = true;
			ping_outstanding = false;
			reconnects++;
		}
		sent++;
		unlock_mutex();
	}
	thrum_task_resolve(message);
}

static void wait_for_completion(void)
{
	thrum_task wait = thrum_task_create(THRUM_KIND_TASK, "wait for completion");

	thrum_task_should_resolve(wait);
	THRUM_RUN (wait) {
		client_cycle();
		usleep(1000);
	}
	thrum_task_resolve(wait);
}

static void *receive(void *data)
{
	(void)data;
	thrum_lane_name("receiver");
	for (int i = 0; i < 60; i++) {
		lock_mutex();
		received++;
		unlock_mutex();
		usleep(3000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t receiver;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	mutex_task = thrum_task_create(THRUM_KIND_LOCK, "mqttclient_mutex");
	pthread_create(&receiver, NULL, receive, NULL);
	publish("home/boiler");
	wait_for_completion();
	/* A minute passes; the broker has dropped the connection and answers no ping. */
	usleep(60000);
	publish("home/boiler");
	wait_for_completion();
	publish("home/door");
	pthread_join(receiver, NULL);
	printf("%d sent, %d reconnects, %s\n", sent, reconnects,
		received > 0 ? "received" : "nothing");
	thrum_stop();
	return 0;
}
