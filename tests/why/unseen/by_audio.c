/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: SDL pull request #12365 ("pipewire: Fix possible deadlock when opening a device"): open_device holds
 *     the device's device_lock while it waits for the stream's state on loop_cond with loop_lock. It has been
 *     signalled, but before it can take loop_lock again, the loop thread, which has loop_lock, calls output_callback,
 *     which wants device_lock. So open_device (main thread) and the loop thread wait for each other.
 *   culprit: device_lock|output_callback|open_device
 *   victim: set_volume|thread volume
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An audio output. A loop thread stands for the sound server's client library: it tells the state of streams, and
 * calls back for samples, always with its lock held. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 4

enum {
	READY_STATE = 1,
	READY_PARAMETERS = 2,
	READY_ALL = READY_STATE | READY_PARAMETERS,
	OPENED = 4, /* the opening thread has left its wait */
};

struct device {
	pthread_mutex_t device_lock;
	atomic_uint flags;
	int age;       /* turns of the loop since the stream was made; 0: none */
	int first_due; /* the turn in which the server first asks for samples */
	bool open;
	unsigned frames;
	int volume;
};

static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t loop_cond = PTHREAD_COND_INITIALIZER;
static struct device devices[DEVICES];
static atomic_bool quit;
static bool careful;

static void sleep_ms(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* The server wants samples. The loop's lock is held. */
static void output_callback(struct device *device)
{
	unsigned wanted = careful ? READY_ALL | OPENED : READY_ALL;

	if ((atomic_load(&device->flags) & wanted) != wanted)
		return; /* silence */
	pthread_mutex_lock(&device->device_lock);
	device->frames += 1024;
	pthread_mutex_unlock(&device->device_lock);
}

static void parameters_changed(struct device *device)
{
	atomic_fetch_or(&device->flags, READY_PARAMETERS);
	pthread_cond_signal(&loop_cond);
}

static void state_changed(struct device *device)
{
	atomic_fetch_or(&device->flags, READY_STATE);
	pthread_cond_signal(&loop_cond);
}

static void dispatch(struct device *device)
{
	if (!device->age)
		return;
	if (device->age == 2)
		parameters_changed(device);
	if (device->age == 4)
		state_changed(device);
	if (device->age >= device->first_due)
		output_callback(device);
	device->age++;
}

static void *loop_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "pw-loop");
	while (!atomic_load(&quit)) {
		pthread_mutex_lock(&loop_lock);
		for (int i = 0; i < DEVICES; i++)
			dispatch(&devices[i]);
		pthread_mutex_unlock(&loop_lock);
		sleep_ms(10);
	}
	return NULL;
}

/* `first_due` is later if the server's driver must start first. */
static void open_device(int number, int first_due)
{
	struct device *device = &devices[number];

	pthread_mutex_lock(&device->device_lock);
	pthread_mutex_lock(&loop_lock);
	atomic_store(&device->flags, 0);
	device->first_due = first_due;
	device->age = 1;
	while ((atomic_load(&device->flags) & READY_ALL) != READY_ALL)
		pthread_cond_wait(&loop_cond, &loop_lock);
	atomic_fetch_or(&device->flags, OPENED);
	pthread_mutex_unlock(&loop_lock);
	device->open = true;
	pthread_mutex_unlock(&device->device_lock);
}

static void close_device(int number)
{
	struct device *device = &devices[number];

	pthread_mutex_lock(&loop_lock);
	device->age = 0;
	pthread_mutex_unlock(&loop_lock);
	pthread_mutex_lock(&device->device_lock);
	device->open = false;
	pthread_mutex_unlock(&device->device_lock);
}

static void set_volume(int number, int volume)
{
	struct device *device = &devices[number];

	pthread_mutex_lock(&device->device_lock);
	device->volume = volume;
	pthread_mutex_unlock(&device->device_lock);
}

/* Fades all devices in and out. */
static void *volume_thread(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "volume");
	for (int volume = 0; !atomic_load(&quit); volume = (volume + 5) % 100) {
		for (int i = 0; i < DEVICES; i++)
			set_volume(i, volume);
		sleep_ms(30);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t loop;
	pthread_t volume;
	unsigned frames = 0;

	careful = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < DEVICES; i++)
		pthread_mutex_init(&devices[i].device_lock, NULL);
	pthread_create(&loop, NULL, loop_thread, NULL);
	pthread_create(&volume, NULL, volume_thread, NULL);

	for (int i = 0; i < 3; i++) {
		open_device(0, 8);
		sleep_ms(80);
		close_device(0);
	}
	open_device(1, 8);
	sleep_ms(60);
	open_device(2, 4); /* the driver runs already */
	sleep_ms(200);
	open_device(3, 4);
	sleep_ms(100);

	for (int i = 1; i < DEVICES; i++)
		close_device(i);
	atomic_store(&quit, true);
	pthread_join(volume, NULL);
	pthread_join(loop, NULL);
	for (int i = 0; i < DEVICES; i++)
		frames += devices[i].frames;
	printf("played %u frames\n", frames);
	return 0;
}
