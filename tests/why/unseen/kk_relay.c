/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: part_written keeps its hold if hold_source has another reason too, so reading is never resumed.
 *   culprit: hold_source|part_written
 *   victim: run_camera|run_viewer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * This relay passes a camera's stream on to a viewer. It holds the camera while the viewer's queue is full,
 * and while the camera has used up its quota for some time.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define PART_SIZE (16 * 1024)
#define QUEUE_LIMIT (2 * 1024)
#define QUOTA (48 * 1024)
#define QUOTA_MS 30
#define STREAM_SIZE (640 * 1024)

enum hold {
	HOLD_QUEUE = 1,
	HOLD_QUOTA = 2,
};

struct part {
	uv_write_t write;
	char bytes[PART_SIZE];
};

static bool broken;
static uv_loop_t loop;
static uv_pipe_t source;
static uv_pipe_t sink;
static uv_timer_t quota_window;
static uv_async_t control;
static uv_shutdown_t ending;
static unsigned int holds;
static size_t quota_used;
static int camera_end;
static int viewer_end;

static void provide_part(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct part *part = malloc(sizeof(*part));

	(void)handle;
	(void)size;
	if (!part)
		abort();
	*buffer = uv_buf_init(part->bytes, sizeof(part->bytes));
}

static struct part *part_of(char *bytes)
{
	return (struct part *)(void *)(bytes - offsetof(struct part, bytes));
}

static void take_part(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void hold_source(enum hold reason)
{
	if (holds == 0)
		uv_read_stop((uv_stream_t *)&source);
	holds |= reason;
}

static void release_source(enum hold reason)
{
	holds &= ~(unsigned int)reason;
	if (holds == 0)
		uv_read_start((uv_stream_t *)&source, provide_part, take_part);
}

static void quota_renewed(uv_timer_t *timer)
{
	(void)timer;
	quota_used = 0;
	if (holds & HOLD_QUOTA)
		release_source(HOLD_QUOTA);
}

static void part_written(uv_write_t *write, int status)
{
	struct part *part = write->data;
	bool is_held = broken ? holds == HOLD_QUEUE : holds & HOLD_QUEUE;

	if (status < 0)
		fprintf(stderr, "viewer: %s\n", uv_strerror(status));
	if (is_held && uv_stream_get_write_queue_size((uv_stream_t *)&sink) == 0)
		release_source(HOLD_QUEUE);
	free(part);
}

static void sink_ended(uv_shutdown_t *request, int status)
{
	(void)status;
	uv_close((uv_handle_t *)request->handle, NULL);
	uv_close((uv_handle_t *)&source, NULL);
	uv_close((uv_handle_t *)&quota_window, NULL);
	uv_close((uv_handle_t *)&control, NULL);
}

static void take_part(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct part *part = part_of(buffer->base);
	uv_buf_t bytes;

	if (size <= 0) {
		free(part);
		if (size < 0) {
			uv_read_stop(stream);
			uv_shutdown(&ending, (uv_stream_t *)&sink, sink_ended);
		}
		return;
	}
	bytes = uv_buf_init(part->bytes, (unsigned int)size);
	part->write.data = part;
	uv_write(&part->write, (uv_stream_t *)&sink, &bytes, 1, part_written);
	if (quota_used == 0)
		uv_timer_start(&quota_window, quota_renewed, QUOTA_MS, 0);
	quota_used += (size_t)size;
	if (uv_stream_get_write_queue_size((uv_stream_t *)&sink) > QUEUE_LIMIT)
		hold_source(HOLD_QUEUE);
	if (quota_used >= QUOTA)
		hold_source(HOLD_QUOTA);
}

static void obey(uv_async_t *async)
{
	uv_stop(async->loop);
}

static void *run_camera(void *unused)
{
	static char frame[PART_SIZE];

	for (size_t sent = 0; sent < STREAM_SIZE; sent += sizeof(frame))
		if (write(camera_end, frame, sizeof(frame)) != (ssize_t)sizeof(frame))
			break;
	close(camera_end);
	return unused;
}

static void *run_viewer(void *unused)
{
	static char frame[PART_SIZE];
	size_t shown = 0;
	ssize_t got;

	while ((got = read(viewer_end, frame, sizeof(frame))) > 0) {
		shown += (size_t)got;
		usleep(1000);
	}
	printf("%zu bytes shown\n", shown);
	return unused;
}

int main(int argc, char **argv)
{
	int left[2], right[2], size = 4096;
	pthread_t camera, viewer;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, left) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, right) < 0)
		return 1;
	camera_end = left[0];
	viewer_end = right[1];
	setsockopt(right[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	uv_loop_init(&loop);
	uv_pipe_init(&loop, &source, 0);
	uv_pipe_init(&loop, &sink, 0);
	uv_pipe_open(&source, left[1]);
	uv_pipe_open(&sink, right[0]);
	uv_timer_init(&loop, &quota_window);
	uv_async_init(&loop, &control, obey);
	uv_read_start((uv_stream_t *)&source, provide_part, take_part);
	pthread_create(&camera, NULL, run_camera, NULL);
	pthread_create(&viewer, NULL, run_viewer, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	pthread_join(camera, NULL);
	pthread_join(viewer, NULL);
	return 0;
}
