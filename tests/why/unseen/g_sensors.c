/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: diff healthy
 *   truth: When a batch is full, on_readings writes it and stops the flush timer, but forgets to note that the timer no longer runs. So it is never started again (on_flush_due never runs), the last few readings stay in the gateway, and the archive waits for them.
 *   culprit: flush_due|flush_timer
 *   victim: archive
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gateway on libuv: sensors send readings, which go to the archive in batches: when a batch is full, or
 * some time after its first reading. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define SENSORS 3
#define BATCH 16

struct reading {
	uint32_t sensor, value;
};

struct sensor {
	uv_pipe_t pipe;
	pthread_t thread;
	int number, socket, bursts, burst; /* sends `bursts` times `burst` readings */
	size_t have;
	char rest[sizeof(struct reading)];
};

struct write {
	uv_write_t request;
	struct reading readings[BATCH];
};

static struct sensor sensors[SENSORS] = {
	{.number = 1, .bursts = 2, .burst = 20},
	{.number = 2, .bursts = 12, .burst = 1},
	{.number = 3, .bursts = 4, .burst = 4},
};
static uv_loop_t *loop;
static uv_pipe_t archive_pipe;
static uv_timer_t flush_timer, heartbeat;
static struct reading batch[BATCH];
static unsigned batch_count, total, heartbeats;
static bool timer_runs, exact;

static void pause_ms(long milliseconds)
{
	struct timespec time = {0, milliseconds * 1000000};

	nanosleep(&time, NULL);
}

static void on_written(uv_write_t *request, int status)
{
	free(request);
}

static void flush_batch(void)
{
	struct write *write = malloc(sizeof(*write));
	uv_buf_t buffer = uv_buf_init((char *)write->readings, batch_count * sizeof(batch[0]));

	memcpy(write->readings, batch, sizeof(batch));
	batch_count = 0;
	uv_write(&write->request, (uv_stream_t *)&archive_pipe, &buffer, 1, on_written);
}

static void on_flush_due(uv_timer_t *timer)
{
	timer_runs = false;
	if (batch_count > 0)
		flush_batch();
}

static void add_reading(const struct reading *reading)
{
	batch[batch_count++] = *reading;
	if (batch_count == BATCH) {
		uv_timer_stop(&flush_timer);
		if (exact)
			timer_runs = false;
		flush_batch();
	} else if (!timer_runs) {
		timer_runs = true;
		uv_timer_start(&flush_timer, on_flush_due, 30, 0);
	}
}

static void allocate(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	static char bytes[256];

	*buffer = uv_buf_init(bytes, sizeof(bytes));
}

static void on_readings(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct sensor *sensor = (struct sensor *)stream;
	struct reading reading;

	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL); /* the sensor has left */
		return;
	}
	for (ssize_t i = 0; i < size; i++) {
		sensor->rest[sensor->have++] = buffer->base[i];
		if (sensor->have < sizeof(reading))
			continue;
		memcpy(&reading, sensor->rest, sizeof(reading));
		sensor->have = 0;
		add_reading(&reading);
	}
}

/* The archive closes its connection when it has got all readings of the day. */
static void on_archive(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size >= 0)
		return;
	uv_close((uv_handle_t *)stream, NULL);
	uv_close((uv_handle_t *)&heartbeat, NULL);
	uv_close((uv_handle_t *)&flush_timer, NULL);
}

static void on_heartbeat(uv_timer_t *timer)
{
	heartbeats++;
}

static void *measure(void *data)
{
	struct sensor *sensor = data;
	struct reading readings[20];
	char name[16];

	snprintf(name, sizeof(name), "sensor-%d", sensor->number);
	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < sensor->bursts; i++) {
		for (int k = 0; k < sensor->burst; k++)
			readings[k] = (struct reading){sensor->number, i * 100 + k};
		if (write(sensor->socket, readings, sensor->burst * sizeof(readings[0])) < 0)
			break;
		pause_ms(4 + sensor->burst);
	}
	close(sensor->socket);
	return NULL;
}

static void *store(void *data)
{
	int socket = *(int *)data;
	struct reading reading;

	pthread_setname_np(pthread_self(), "archive");
	for (unsigned count = 0; count < total; count++)
		if (recv(socket, &reading, sizeof(reading), MSG_WAITALL) != sizeof(reading))
			break;
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t archive;
	int pair[2], stored;

	exact = argc < 2 || strcmp(argv[1], "broken");
	loop = uv_default_loop();
	uv_timer_init(loop, &flush_timer);
	uv_timer_init(loop, &heartbeat);
	uv_timer_start(&heartbeat, on_heartbeat, 25, 25);
	for (int i = 0; i < SENSORS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		total += sensors[i].bursts * sensors[i].burst;
		sensors[i].socket = pair[0];
		uv_pipe_init(loop, &sensors[i].pipe, 0);
		uv_pipe_open(&sensors[i].pipe, pair[1]);
		uv_read_start((uv_stream_t *)&sensors[i].pipe, allocate, on_readings);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	stored = pair[0];
	uv_pipe_init(loop, &archive_pipe, 0);
	uv_pipe_open(&archive_pipe, pair[1]);
	uv_read_start((uv_stream_t *)&archive_pipe, allocate, on_archive);
	pthread_create(&archive, NULL, store, &stored);
	for (int i = 0; i < SENSORS; i++)
		pthread_create(&sensors[i].thread, NULL, measure, &sensors[i]);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(archive, NULL);
	for (int i = 0; i < SENSORS; i++)
		pthread_join(sensors[i].thread, NULL);
	fprintf(stderr, "%u readings, %u heartbeats\n", total, heartbeats);
	return 0;
}
