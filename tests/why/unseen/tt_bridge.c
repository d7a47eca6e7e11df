/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: stop_bridge stops and joins the uplink thread before the sensors have ended. The uplink was the
 *     only one to take messages out of the outbox, so the sensors wait for room in it for ever.
 *   culprit: uplink
 *   victim: sensor-[0-9]|publish_reading|outbox_room
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OUTBOX 16
#define SENSORS 4
#define READINGS 60

struct message {
	int sensor;
	int reading;
	char topic[32];
};

static pthread_mutex_t outbox_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t outbox_filled = PTHREAD_COND_INITIALIZER;
static pthread_cond_t outbox_room = PTHREAD_COND_INITIALIZER;
static struct message outbox[OUTBOX];
static unsigned outbox_first, outbox_count;
static bool stop_requested;

static unsigned sent_by_sensor[SENSORS];
static unsigned long checksum;
static pthread_t uplink, sensors[SENSORS];

static void publish_reading(int sensor, int reading)
{
	struct message message = {.sensor = sensor, .reading = reading};

	snprintf(message.topic, sizeof(message.topic), "plant/%d/temperature", sensor);
	pthread_mutex_lock(&outbox_mutex);
	while (outbox_count == OUTBOX)
		pthread_cond_wait(&outbox_room, &outbox_mutex);
	outbox[(outbox_first + outbox_count++) % OUTBOX] = message;
	pthread_cond_signal(&outbox_filled);
	pthread_mutex_unlock(&outbox_mutex);
}

static void *run_sensor(void *argument)
{
	int sensor = (int)(long)argument;
	char name[16];

	snprintf(name, sizeof(name), "sensor-%d", sensor);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < READINGS; i++) {
		publish_reading(sensor, 180 + (i * 13 + sensor) % 40);
		usleep(1000);
	}
	return NULL;
}

static void send_to_broker(const struct message *message)
{
	for (const char *c = message->topic; *c; c++)
		checksum = checksum * 31 + (unsigned char)*c;
	checksum += (unsigned long)message->reading;
	sent_by_sensor[message->sensor]++;
	usleep(500);
}

/* The caller holds the mutex. */
static struct message take_message(void)
{
	struct message message = outbox[outbox_first];

	outbox_first = (outbox_first + 1) % OUTBOX;
	outbox_count--;
	pthread_cond_signal(&outbox_room);
	return message;
}

/* Sends messages until it is told to stop. Then it sends the rest, and ends. */
static void *run_uplink(void *unused)
{
	struct message message;

	pthread_setname_np(pthread_self(), "uplink");
	pthread_mutex_lock(&outbox_mutex);
	for (;;) {
		while (!outbox_count && !stop_requested)
			pthread_cond_wait(&outbox_filled, &outbox_mutex);
		if (stop_requested)
			break;
		message = take_message();
		pthread_mutex_unlock(&outbox_mutex);
		send_to_broker(&message);
		pthread_mutex_lock(&outbox_mutex);
	}
	while (outbox_count > 0) {
		message = take_message();
		send_to_broker(&message);
	}
	pthread_mutex_unlock(&outbox_mutex);
	return unused;
}

static void stop_uplink(void)
{
	pthread_mutex_lock(&outbox_mutex);
	stop_requested = true;
	pthread_cond_signal(&outbox_filled);
	pthread_mutex_unlock(&outbox_mutex);
	pthread_join(uplink, NULL);
}

static void wait_for_sensors(void)
{
	for (int i = 0; i < SENSORS; i++)
		pthread_join(sensors[i], NULL);
}

static void stop_bridge(bool uplink_first)
{
	if (uplink_first) {
		stop_uplink();
		wait_for_sensors();
	} else {
		wait_for_sensors();
		stop_uplink();
	}
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	unsigned total = 0;

	pthread_create(&uplink, NULL, run_uplink, NULL);
	for (long i = 0; i < SENSORS; i++)
		pthread_create(&sensors[i], NULL, run_sensor, (void *)i);
	usleep(40000);
	stop_bridge(broken);
	for (int i = 0; i < SENSORS; i++)
		total += sent_by_sensor[i];
	printf("sent %u messages, checksum %lx\n", total, checksum);
	return total == SENSORS * READINGS ? 0 : 1;
}
