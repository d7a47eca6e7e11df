/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_written tests whether all that was queued has been written before it subtracts what it has just
 *     written, so the count is never 0 there, and a relay that was paused never reads from its source again.
 *   culprit: on_written|relay_pause|uv_read_stop|camera
 *   victim: sink_camera|collect
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A relay between feeds and collectors, on libuv: it stops reading from a feed while too much is queued for its collector. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	CHUNK = 16 * 1024,
	HIGH_WATER = 64 * 1024,
	CAMERA_BYTES = 1024 * 1024
};

struct relay {
	const char *name;
	uv_pipe_t source, sink;
	size_t queued, total;
	bool paused;
	int feed_end, collector_end;
};

struct packet {
	uv_write_t request;
	struct relay *relay;
	size_t length;
	char *bytes;
};

static bool broken;
static uv_loop_t loop;
static uv_timer_t heartbeat;
static atomic_bool camera_done;
static int open_relays;

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(malloc(CHUNK), CHUNK);
}

static void on_read(uv_stream_t *source, ssize_t count, const uv_buf_t *buffer);

static void relay_pause(struct relay *relay)
{
	relay->paused = true;
	uv_read_stop((uv_stream_t *)&relay->source);
}

static void relay_resume(struct relay *relay)
{
	relay->paused = false;
	uv_read_start((uv_stream_t *)&relay->source, on_alloc, on_read);
}

static void relay_close(struct relay *relay)
{
	uv_close((uv_handle_t *)&relay->source, NULL);
	uv_close((uv_handle_t *)&relay->sink, NULL);
	printf("%s: %zu bytes\n", relay->name, relay->total);
	if (--open_relays == 0)
		uv_close((uv_handle_t *)&heartbeat, NULL);
}

static void on_written(uv_write_t *request, int status)
{
	struct packet *packet = (struct packet *)request;
	struct relay *relay = packet->relay;

	if (status < 0 && status != UV_ECANCELED)
		fprintf(stderr, "%s: %s\n", relay->name, uv_strerror(status));
	if (!broken)
		relay->queued -= packet->length;
	if (relay->paused && relay->queued == 0)
		relay_resume(relay);
	if (broken)
		relay->queued -= packet->length;
	free(packet->bytes);
	free(packet);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	(void)status;
	relay_close(request->data);
	free(request);
}

static void on_read(uv_stream_t *source, ssize_t count, const uv_buf_t *buffer)
{
	struct relay *relay = source->data;
	struct packet *packet;
	uv_shutdown_t *shutdown_request;
	uv_buf_t out;

	if (count <= 0) {
		free(buffer->base);
		if (count == 0)
			return;
		uv_read_stop(source);
		shutdown_request = calloc(1, sizeof(*shutdown_request));
		shutdown_request->data = relay;
		uv_shutdown(shutdown_request, (uv_stream_t *)&relay->sink, on_shutdown);
		return;
	}
	packet = calloc(1, sizeof(*packet));
	packet->relay = relay;
	packet->length = (size_t)count;
	packet->bytes = buffer->base;
	relay->queued += packet->length;
	relay->total += packet->length;
	out = uv_buf_init(packet->bytes, (unsigned)count);
	uv_write(&packet->request, (uv_stream_t *)&relay->sink, &out, 1, on_written);
	if (relay->queued >= HIGH_WATER)
		relay_pause(relay);
}

static void relay_open(struct relay *relay, const char *name)
{
	int in[2], out[2], size = 32 * 1024;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, in) || socketpair(AF_UNIX, SOCK_STREAM, 0, out))
		exit(1);
	setsockopt(out[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	relay->name = name;
	relay->feed_end = in[1];
	relay->collector_end = out[1];
	uv_pipe_init(&loop, &relay->source, 0);
	uv_pipe_init(&loop, &relay->sink, 0);
	uv_pipe_open(&relay->source, in[0]);
	uv_pipe_open(&relay->sink, out[0]);
	relay->source.data = relay;
	open_relays++;
	relay_resume(relay);
}

static void *feed_camera(void *data)
{
	struct relay *relay = data;
	static char frame[CHUNK];
	size_t sent = 0;

	pthread_setname_np(pthread_self(), "feed_camera");
	while (sent < CAMERA_BYTES) {
		ssize_t count = write(relay->feed_end, frame, sizeof(frame));

		if (count <= 0)
			break;
		sent += (size_t)count;
	}
	close(relay->feed_end);
	return NULL;
}

static void *feed_telemetry(void *data)
{
	struct relay *relay = data;
	char sample[96] = {0};

	pthread_setname_np(pthread_self(), "feed_telemetry");
	while (!camera_done) {
		if (write(relay->feed_end, sample, sizeof(sample)) <= 0)
			break;
		usleep(20000);
	}
	close(relay->feed_end);
	return NULL;
}

static void *collect(void *data)
{
	struct relay *relay = data;
	bool is_camera = strcmp(relay->name, "camera") == 0;
	char block[8192];

	pthread_setname_np(pthread_self(), is_camera ? "sink_camera" : "sink_telemetry");
	while (read(relay->collector_end, block, sizeof(block)) > 0)
		usleep(is_camera ? 2000 : 100); /* the disk */
	if (is_camera)
		camera_done = true;
	close(relay->collector_end);
	return NULL;
}

static void on_heartbeat(uv_timer_t *timer)
{
	unsigned *beats = timer->data;

	(*beats)++;
}

int main(int argc, char **argv)
{
	static struct relay camera, telemetry;
	pthread_t threads[4];
	unsigned beats = 0;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	uv_loop_init(&loop);
	relay_open(&camera, "camera");
	relay_open(&telemetry, "telemetry");
	uv_timer_init(&loop, &heartbeat);
	heartbeat.data = &beats;
	uv_timer_start(&heartbeat, on_heartbeat, 50, 50);
	pthread_create(&threads[0], NULL, feed_camera, &camera);
	pthread_create(&threads[1], NULL, feed_telemetry, &telemetry);
	pthread_create(&threads[2], NULL, collect, &camera);
	pthread_create(&threads[3], NULL, collect, &telemetry);
	uv_run(&loop, UV_RUN_DEFAULT);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	uv_loop_close(&loop);
	printf("%u heartbeats\n", beats);
	return 0;
}
