/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: When four blocks are queued for the flash, on_data stops reading. after_flash looks whether all are
 *     written before it counts down its own block, so it never sees 0 and never starts reading again.
 *   culprit: after_flash|on_data
 *   victim: transmitter|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* The receiver of firmware over the air: blocks come by a radio link and are flashed in libuv's thread pool. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

enum {
	BLOCK = 4096,
	BLOCKS = 200,
	MOST_QUEUED = 4
};

struct block {
	uv_work_t work;
	unsigned number;
	char data[BLOCK];
};

struct receiver {
	uv_pipe_t radio;
	uv_timer_t beacon;
	struct block *filling;
	size_t filled;
	unsigned received, flashed, queued, beacons;
	bool paused;
};

static bool healthy;
static struct receiver receiver;

static void on_data(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer);

static void give_space(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	(void)handle;
	(void)size;
	if (!receiver.filling) {
		receiver.filling = calloc(1, sizeof(*receiver.filling));
		receiver.filled = 0;
	}
	*buffer = uv_buf_init(receiver.filling->data + receiver.filled, BLOCK - receiver.filled);
}

static void finish(void)
{
	printf("%u blocks flashed\n", receiver.flashed);
	uv_close((uv_handle_t *)&receiver.beacon, NULL);
	uv_close((uv_handle_t *)&receiver.radio, NULL);
}

/* Runs in the pool. */
static void flash_block(uv_work_t *work)
{
	struct block *block = work->data;

	(void)block->number;
	usleep(1000);
}

static void resume_reading(void)
{
	receiver.paused = false;
	uv_read_start((uv_stream_t *)&receiver.radio, give_space, on_data);
}

static void after_flash(uv_work_t *work, int status)
{
	struct block *block = work->data;

	(void)status;
	receiver.flashed++;
	if (healthy)
		receiver.queued--;
	if (receiver.paused && receiver.queued == 0)
		resume_reading();
	if (!healthy)
		receiver.queued--;
	free(block);
	if (receiver.flashed == BLOCKS)
		finish();
}

static void on_data(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct block *block = receiver.filling;

	(void)buffer;
	if (got < 0) {
		uv_read_stop(stream);
		return;
	}
	receiver.filled += got;
	if (receiver.filled < BLOCK)
		return;
	receiver.filling = NULL;
	block->number = receiver.received++;
	block->work.data = block;
	uv_queue_work(stream->loop, &block->work, flash_block, after_flash);
	if (++receiver.queued == MOST_QUEUED) {
		receiver.paused = true;
		uv_read_stop(stream);
	}
}

static void on_beacon(uv_timer_t *timer)
{
	(void)timer;
	receiver.beacons++;
}

static void *transmit(void *data)
{
	int fd = *(int *)data;
	char block[BLOCK];

	memset(block, 0x5a, sizeof(block));
	for (int i = 0; i < BLOCKS; i++) {
		size_t sent = 0;

		while (sent < sizeof(block)) {
			ssize_t n = write(fd, block + sent, sizeof(block) - sent);

			if (n < 0)
				return NULL;
			sent += n;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	pthread_t transmitter;
	int pair[2], size = 16384;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	uv_pipe_init(loop, &receiver.radio, 0);
	uv_pipe_open(&receiver.radio, pair[0]);
	uv_read_start((uv_stream_t *)&receiver.radio, give_space, on_data);
	uv_timer_init(loop, &receiver.beacon);
	uv_timer_start(&receiver.beacon, on_beacon, 50, 50);
	pthread_create(&transmitter, NULL, transmit, &pair[1]);
	pthread_setname_np(transmitter, "transmitter");
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(transmitter, NULL);
	close(pair[1]);
	uv_loop_close(loop);
	return 0;
}
