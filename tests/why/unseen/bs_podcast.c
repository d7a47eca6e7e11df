/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: on_data stops reading when too many chunks are queued for the disk. on_written begins to read again only if
 *     exactly LOW_WATER chunks are queued, but a batch takes the whole queue, so the number jumps past it. The
 *     download stays stopped and the server can't send the rest.
 *   culprit: on_written|on_data|uv_read_stop|read_stop|LOW_WATER
 *   victim: publisher|serve_episode
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Fetches an episode of a podcast, and writes it to the disk in batches, in the thread pool. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define EPISODE_SIZE (3 * 1024 * 1024)
#define CHUNK 8192
#define HIGH_WATER 8
#define LOW_WATER 2

struct episode {
	uv_pipe_t connection;
	uv_timer_t progress;
	uv_work_t batch;
	bool writing, ended, paused;
	int queued; /* chunks that no batch has taken yet */
	int in_batch;
	size_t received, stored;
	char buffer[CHUNK];
};

static bool broken;

static void flush_queue(struct episode *episode);

/* The publisher's server. */
static void *serve_episode(void *data)
{
	int fd = *(int *)data;
	char chunk[CHUNK];
	size_t sent = 0;

	pthread_setname_np(pthread_self(), "publisher");
	memset(chunk, 'm', sizeof(chunk));
	while (sent < EPISODE_SIZE) {
		ssize_t n = write(fd, chunk, sizeof(chunk));

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
	close(fd);
	return NULL;
}

static void give_buffer(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct episode *episode = handle->data;

	(void)suggested;
	*buffer = uv_buf_init(episode->buffer, sizeof(episode->buffer));
}

static void finish(struct episode *episode)
{
	printf("stored %zu bytes\n", episode->stored);
	uv_timer_stop(&episode->progress);
	uv_close((uv_handle_t *)&episode->progress, NULL);
	uv_close((uv_handle_t *)&episode->connection, NULL);
}

static void on_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct episode *episode = stream->data;

	(void)buffer;
	if (size < 0) {
		uv_read_stop(stream);
		episode->ended = true;
		if (!episode->writing)
			finish(episode);
		return;
	}
	episode->received += (size_t)size;
	episode->queued++;
	if (episode->queued >= HIGH_WATER) {
		episode->paused = true;
		uv_read_stop(stream);
	}
	flush_queue(episode);
}

static void write_batch(uv_work_t *work)
{
	struct episode *episode = work->data;

	usleep(500 + 100 * (unsigned)episode->in_batch);
}

static void on_written(uv_work_t *work, int status)
{
	struct episode *episode = work->data;
	bool room;

	(void)status;
	episode->writing = false;
	episode->stored = episode->received;
	flush_queue(episode);
	room = broken ? episode->queued == LOW_WATER : episode->queued <= LOW_WATER;
	if (episode->paused && room) {
		episode->paused = false;
		uv_read_start((uv_stream_t *)&episode->connection, give_buffer, on_data);
	}
	if (episode->ended && !episode->writing)
		finish(episode);
}

static void flush_queue(struct episode *episode)
{
	if (episode->writing || !episode->queued)
		return;
	episode->writing = true;
	episode->in_batch = episode->queued;
	episode->queued = 0;
	uv_queue_work(episode->connection.loop, &episode->batch, write_batch, on_written);
}

static void on_progress(uv_timer_t *timer)
{
	struct episode *episode = timer->data;

	printf("%3zu %%\n", episode->received * 100 / EPISODE_SIZE);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct episode episode;
	uv_loop_t *loop = uv_default_loop();
	pthread_t publisher;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	pthread_create(&publisher, NULL, serve_episode, &ends[1]);
	uv_pipe_init(loop, &episode.connection, 0);
	uv_pipe_open(&episode.connection, ends[0]);
	episode.connection.data = episode.progress.data = episode.batch.data = &episode;
	uv_timer_init(loop, &episode.progress);
	uv_timer_start(&episode.progress, on_progress, 100, 100);
	uv_read_start((uv_stream_t *)&episode.connection, give_buffer, on_data);
	uv_run(loop, UV_RUN_DEFAULT);
	pthread_join(publisher, NULL);
	return 0;
}
