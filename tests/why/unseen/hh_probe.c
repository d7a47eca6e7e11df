/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The watchdog cancels the thread poll_bus while it reads from the bus with readings_lock
 *     held. The thread dies without a clean-up handler that unlocks it, so the lock is never released.
 *   culprit: poll_bus
 *   victim: update_display|log_history|replay_last|readings_lock
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define SENSORS 6

static pthread_mutex_t readings_lock = PTHREAD_MUTEX_INITIALIZER;
static int32_t readings[SENSORS];
static int32_t shown[SENSORS];
static int64_t history;
static int bus[2];
static bool unlock_at_cancel;
static atomic_int beats;
static atomic_bool quitting;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void unlock_readings(void *wanted)
{
	if (*(bool *)wanted)
		pthread_mutex_unlock(&readings_lock);
}

/* Sensor 4 has a loose contact: after a while it doesn't answer any more. */
static void *simulate_bus(void *unused)
{
	uint8_t sensor;

	for (int asked = 0; read(bus[1], &sensor, 1) == 1; asked++) {
		int32_t value = 2000 + sensor * 10 + asked % 7;

		if (sensor == 4 && asked > 40)
			continue;
		if (write(bus[1], &value, sizeof(value)) != sizeof(value))
			break;
	}
	return unused;
}

static void *poll_bus(void *unused)
{
	while (!atomic_load(&quitting)) {
		for (uint8_t sensor = 0; sensor < SENSORS; sensor++) {
			int32_t value = 0;

			pthread_mutex_lock(&readings_lock);
			pthread_cleanup_push(unlock_readings, &unlock_at_cancel);
			if (write(bus[0], &sensor, 1) == 1 &&
				read(bus[0], &value, sizeof(value)) == sizeof(value))
				readings[sensor] = value;
			pthread_cleanup_pop(0);
			pthread_mutex_unlock(&readings_lock);
			atomic_fetch_add(&beats, 1);
		}
		pause_ms(4);
	}
	return unused;
}

/* It stands in for the bus when that is dead. */
static void *replay_last(void *unused)
{
	for (int round = 0; round < 20; round++) {
		pthread_mutex_lock(&readings_lock);
		for (int i = 0; i < SENSORS; i++)
			readings[i] += round % 2 ? 1 : -1;
		pthread_mutex_unlock(&readings_lock);
		atomic_fetch_add(&beats, 1);
		pause_ms(5);
	}
	return unused;
}

static void *update_display(void *unused)
{
	while (!atomic_load(&quitting)) {
		pthread_mutex_lock(&readings_lock);
		memcpy(shown, readings, sizeof(shown));
		pthread_mutex_unlock(&readings_lock);
		pause_ms(8);
	}
	return unused;
}

static void *log_history(void *unused)
{
	while (!atomic_load(&quitting)) {
		pthread_mutex_lock(&readings_lock);
		for (int i = 0; i < SENSORS; i++)
			history += readings[i];
		pthread_mutex_unlock(&readings_lock);
		pause_ms(11);
	}
	return unused;
}

/* It returns true if the thread had to be cancelled. */
static bool watch_poller(pthread_t poller)
{
	for (int turn = 0; turn < 30; turn++) {
		int before = atomic_load(&beats);

		pause_ms(50);
		if (atomic_load(&beats) == before) {
			pthread_cancel(poller);
			pthread_join(poller, NULL);
			return true;
		}
	}
	return false;
}

int main(int argc, char **argv)
{
	pthread_t poller, device, display, logger, replay;

	if (argc != 2)
		return 2;
	unlock_at_cancel = !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, bus)) {
		perror("socketpair");
		return 1;
	}
	pthread_create(&device, NULL, simulate_bus, NULL);
	pthread_create(&display, NULL, update_display, NULL);
	pthread_create(&logger, NULL, log_history, NULL);
	pthread_create(&poller, NULL, poll_bus, NULL);
	if (!watch_poller(poller)) {
		fprintf(stderr, "the bus never failed\n");
		return 1;
	}
	pthread_create(&replay, NULL, replay_last, NULL);
	pthread_join(replay, NULL);
	atomic_store(&quitting, true);
	pthread_join(display, NULL);
	pthread_join(logger, NULL);
	shutdown(bus[0], SHUT_RDWR);
	pthread_join(device, NULL);
	printf("%d beats, history %s\n", atomic_load(&beats), history > 0 ? "kept" : "empty");
	return 0;
}
