/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: unplug_sensor closes its timer without device_gone, so open_devices never gets to 0 at the stop.
 *   culprit: unplug_sensor
 *   victim: stop_station|station_down
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * This weather station reads its sensors by timers of libuv, in a thread of its own. It unplugs a sensor that
 * got wet. At the stop it closes its devices, and reports that it is down once the last of them is gone.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#define SENSORS 6

enum command {
	COMMAND_NONE,
	COMMAND_STOP,
};

struct sensor {
	uv_timer_t timer;
	const char *name;
	unsigned int readings;
	unsigned int wet_after;
	bool is_plugged;
};

static struct sensor sensors[SENSORS] = {
	{.name = "temperature"},
	{.name = "humidity"},
	{.name = "pressure"},
	{.name = "wind", .wet_after = 9},
	{.name = "rain"},
	{.name = "light", .wet_after = 14},
};

static bool broken;
static uv_loop_t loop;
static uv_async_t control;
static uv_idle_t calibration;
static unsigned int calibration_steps;
static unsigned int open_devices;

/* The lock protects these. */
static pthread_mutex_t station_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t station_down = PTHREAD_COND_INITIALIZER;
static enum command pending_command;
static unsigned int total_readings;
static bool is_down;

static void report_down(void)
{
	pthread_mutex_lock(&station_lock);
	is_down = true;
	pthread_cond_broadcast(&station_down);
	pthread_mutex_unlock(&station_lock);
	uv_close((uv_handle_t *)&control, NULL);
}

static void device_gone(uv_handle_t *handle)
{
	(void)handle;
	if (--open_devices == 0)
		report_down();
}

static void sensor_gone(uv_handle_t *handle)
{
	struct sensor *sensor = handle->data;

	fprintf(stderr, "%s is out of order\n", sensor->name);
	open_devices--;
}

static void unplug_sensor(struct sensor *sensor)
{
	if (!sensor->is_plugged)
		return;
	sensor->is_plugged = false;
	uv_close((uv_handle_t *)&sensor->timer, broken ? NULL : sensor_gone);
}

static void read_sensor(uv_timer_t *timer)
{
	struct sensor *sensor = timer->data;

	sensor->readings++;
	pthread_mutex_lock(&station_lock);
	total_readings++;
	pthread_mutex_unlock(&station_lock);
	if (sensor->wet_after && sensor->readings == sensor->wet_after)
		unplug_sensor(sensor);
}

static void calibrate(uv_idle_t *idle)
{
	if (++calibration_steps < 500)
		return;
	uv_idle_stop(idle);
	for (unsigned int i = 0; i < SENSORS; i++)
		uv_timer_start(&sensors[i].timer, read_sensor, 1 + i, 4 + i);
}

static void stop_devices(void)
{
	uv_close((uv_handle_t *)&calibration, device_gone);
	for (unsigned int i = 0; i < SENSORS; i++) {
		if (!sensors[i].is_plugged)
			continue;
		sensors[i].is_plugged = false;
		uv_close((uv_handle_t *)&sensors[i].timer, device_gone);
	}
}

static void obey(uv_async_t *async)
{
	enum command command;

	(void)async;
	pthread_mutex_lock(&station_lock);
	command = pending_command;
	pending_command = COMMAND_NONE;
	pthread_mutex_unlock(&station_lock);
	if (command == COMMAND_STOP)
		stop_devices();
}

static void *run_station(void *unused)
{
	uv_async_init(&loop, &control, obey);
	uv_idle_init(&loop, &calibration);
	uv_idle_start(&calibration, calibrate);
	open_devices = 1;
	for (unsigned int i = 0; i < SENSORS; i++) {
		uv_timer_init(&loop, &sensors[i].timer);
		sensors[i].timer.data = &sensors[i];
		sensors[i].is_plugged = true;
		open_devices++;
	}
	uv_run(&loop, UV_RUN_DEFAULT);
	return unused;
}

static void stop_station(void)
{
	pthread_mutex_lock(&station_lock);
	pending_command = COMMAND_STOP;
	uv_async_send(&control);
	while (!is_down)
		pthread_cond_wait(&station_down, &station_lock);
	printf("%u readings\n", total_readings);
	pthread_mutex_unlock(&station_lock);
}

int main(int argc, char **argv)
{
	pthread_t station;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	uv_loop_init(&loop);
	pthread_create(&station, NULL, run_station, NULL);
	uv_sleep(220);
	stop_station();
	pthread_join(station, NULL);
	uv_loop_close(&loop);
	return 0;
}
