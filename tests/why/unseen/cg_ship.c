/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the shipper may have 3 frames on the way. store_frame of the collector drops a frame that it has
 *     already, and forgets to give its credit back. After three repeated frames the shipper has no credit
 *     left and waits for an answer that the collector never writes.
 *   culprit: store_frame|on_frames
 *   victim: shipper|on_credit|send_frames
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A log shipper and a collector, each with a loop of its own, joined by a socket with a window of credits. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	WINDOW = 3,
	FRAMES = 48
};

static bool broken;

struct shipper {
	uv_loop_t loop;
	uv_pipe_t link;
	uv_timer_t heartbeat;
	int credits;
	int next;
	int acknowledged;
	unsigned beats;
	char input[64];
};

struct collector {
	uv_loop_t loop;
	uv_pipe_t link;
	bool stored[256];
	int count;
	int repeated;
	char input[64];
};

static struct shipper shipper;
static struct collector collector;

struct output {
	uv_write_t request;
	char byte;
};

static void on_written(uv_write_t *request, int status)
{
	if (status < 0 && status != UV_ECANCELED)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
	free(request);
}

static void write_byte(uv_pipe_t *link, char byte)
{
	struct output *output = malloc(sizeof(*output));
	uv_buf_t buffer;

	if (!output)
		abort();
	output->byte = byte;
	buffer = uv_buf_init(&output->byte, 1);
	if (uv_write(&output->request, (uv_stream_t *)link, &buffer, 1, on_written) < 0)
		free(output);
}

/* ---- The collector ---- */

static void collector_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(collector.input, sizeof(collector.input));
}

static void store_frame(unsigned char number)
{
	if (collector.stored[number]) {
		collector.repeated++;
		if (!broken)
			write_byte(&collector.link, 'C');
		return;
	}
	collector.stored[number] = true;
	collector.count++;
	write_byte(&collector.link, 'C');
}

static void on_frames(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	if (size < 0) {
		uv_close((uv_handle_t *)stream, NULL);
		return;
	}
	for (ssize_t i = 0; i < size; i++)
		store_frame((unsigned char)buffer->base[i]);
}

static void *run_collector(void *data)
{
	uv_read_start((uv_stream_t *)&collector.link, collector_buffer, on_frames);
	uv_run(&collector.loop, UV_RUN_DEFAULT);
	return data;
}

/* ---- The shipper ---- */

/* After each rotation of the log, the last line of the old file is read again. */
static unsigned char frame_number(int frame)
{
	return (unsigned char)(frame > 0 && frame % 12 == 0 ? frame - 1 : frame);
}

static void send_frames(void)
{
	while (shipper.credits > 0 && shipper.next < FRAMES) {
		shipper.credits--;
		write_byte(&shipper.link, (char)frame_number(shipper.next++));
	}
}

static void shipper_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	*buffer = uv_buf_init(shipper.input, sizeof(shipper.input));
}

static void on_credit(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	(void)buffer;
	if (size < 0)
		return;
	shipper.credits += (int)size;
	shipper.acknowledged += (int)size;
	if (shipper.acknowledged == FRAMES) {
		uv_close((uv_handle_t *)stream, NULL);
		uv_close((uv_handle_t *)&shipper.heartbeat, NULL);
		return;
	}
	send_frames();
}

static void on_heartbeat(uv_timer_t *timer)
{
	(void)timer;
	shipper.beats++;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	uv_loop_init(&collector.loop);
	uv_loop_init(&shipper.loop);
	uv_pipe_init(&collector.loop, &collector.link, 0);
	uv_pipe_init(&shipper.loop, &shipper.link, 0);
	if (uv_pipe_open(&collector.link, ends[0]) || uv_pipe_open(&shipper.link, ends[1]))
		return 1;
	uv_timer_init(&shipper.loop, &shipper.heartbeat);
	uv_timer_start(&shipper.heartbeat, on_heartbeat, 100, 100);
	if (pthread_create(&thread, NULL, run_collector, NULL))
		return 1;
	pthread_setname_np(thread, "collector");
	shipper.credits = WINDOW;
	uv_read_start((uv_stream_t *)&shipper.link, shipper_buffer, on_credit);
	send_frames();
	uv_run(&shipper.loop, UV_RUN_DEFAULT);
	pthread_join(thread, NULL);
	uv_loop_close(&shipper.loop);
	uv_loop_close(&collector.loop);
	printf("%d frames stored, %d came twice\n", collector.count, collector.repeated);
	return 0;
}
