/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: When too many bytes wait for the sink, hub_pause stops reading from all sources (uv_read_stop);
 *     when they have gone, on_written starts reading again only from the source of the frame that was just
 *     written. The others stay stopped for ever, and the feeder threads behind them block in write.
 *   culprit: on_written|source_resume|hub_pause|uv_read_st(op|art)|read.?stop
 *   victim: feed-|feeder_run|drain|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A multiplexer: frames from several cameras go over one slow link, with back pressure. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define SOURCES 3
#define HIGH_WATER (96 * 1024)
#define LOW_WATER (16 * 1024)
#define PER_SOURCE (768 * 1024)
#define CHUNK (16 * 1024)

struct hub;

struct source {
	uv_pipe_t pipe;
	struct hub *hub;
	int number;
	size_t received;
	int ended;
};

struct hub {
	uv_loop_t loop;
	uv_pipe_t sink;
	uv_timer_t progress;
	struct source sources[SOURCES];
	size_t pending; /* bytes that wait for the sink */
	int paused;
	int open;
	int fair; /* after a pause everybody goes on */
	unsigned pauses, reports;
};

struct frame {
	uv_write_t write;
	struct source *source;
	size_t size;
	char bytes[];
};

struct feeder {
	pthread_t thread;
	int fd;
	int number;
};

struct drain {
	pthread_t thread;
	int fd;
	size_t total;
};

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct frame *frame = malloc(sizeof(*frame) + CHUNK);

	(void)suggested;
	frame->source = handle->data;
	*buffer = uv_buf_init(frame->bytes, CHUNK);
}

static void source_resume(struct source *source)
{
	if (!source->ended)
		uv_read_start((uv_stream_t *)&source->pipe, on_alloc, on_read);
}

static void hub_pause(struct hub *hub)
{
	hub->paused = 1;
	hub->pauses++;
	for (int i = 0; i < SOURCES; i++)
		if (!hub->sources[i].ended)
			uv_read_stop((uv_stream_t *)&hub->sources[i].pipe);
}

static void hub_close_if_done(struct hub *hub)
{
	if (hub->open || hub->pending)
		return;
	uv_close((uv_handle_t *)&hub->progress, NULL);
	uv_close((uv_handle_t *)&hub->sink, NULL);
}

static void on_written(uv_write_t *write, int status)
{
	struct frame *frame = write->data;
	struct source *source = frame->source;
	struct hub *hub = source->hub;

	if (status)
		fprintf(stderr, "write: %s\n", uv_strerror(status));
	hub->pending -= frame->size;
	free(frame);
	if (hub->paused && hub->pending <= LOW_WATER) {
		hub->paused = 0;
		if (!hub->fair)
			source_resume(source);
		for (int i = 0; hub->fair && i < SOURCES; i++)
			source_resume(&hub->sources[i]);
	}
	hub_close_if_done(hub);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct source *source = stream->data;
	struct hub *hub = source->hub;
	struct frame *frame = buffer->base ? (void *)(buffer->base - sizeof(*frame)) : NULL;
	uv_buf_t bytes;

	if (size <= 0) {
		free(frame);
		if (size == 0)
			return;
		source->ended = 1;
		hub->open--;
		uv_close((uv_handle_t *)&source->pipe, NULL);
		hub_close_if_done(hub);
		return;
	}
	source->received += size;
	frame->size = size;
	frame->write.data = frame;
	hub->pending += size;
	bytes = uv_buf_init(frame->bytes, size);
	uv_write(&frame->write, (uv_stream_t *)&hub->sink, &bytes, 1, on_written);
	if (!hub->paused && hub->pending >= HIGH_WATER)
		hub_pause(hub);
}

static void on_progress(uv_timer_t *timer)
{
	struct hub *hub = timer->data;

	hub->reports++;
}

static void *feeder_run(void *data)
{
	struct feeder *feeder = data;
	static const char picture[8192];
	char name[16];

	snprintf(name, sizeof(name), "feed-%c", 'a' + feeder->number);
	pthread_setname_np(pthread_self(), name);
	for (size_t sent = 0; sent < PER_SOURCE; sent += sizeof(picture))
		if (write(feeder->fd, picture, sizeof(picture)) != sizeof(picture))
			break;
	close(feeder->fd);
	return NULL;
}

/* The far end of the link, which takes about 10 MB a second. */
static void *drain_run(void *data)
{
	struct drain *drain = data;
	char bytes[16384];
	ssize_t size;

	pthread_setname_np(pthread_self(), "drain");
	while ((size = read(drain->fd, bytes, sizeof(bytes))) > 0) {
		drain->total += size;
		nanosleep(&(struct timespec){0, 1500000}, NULL);
	}
	close(drain->fd);
	return NULL;
}

static void open_pipe(uv_loop_t *loop, uv_pipe_t *pipe, int fd, void *data)
{
	uv_pipe_init(loop, pipe, 0);
	pipe->data = data;
	if (uv_pipe_open(pipe, fd))
		exit(1);
}

int main(int argc, char **argv)
{
	static struct hub hub;
	struct feeder feeders[SOURCES];
	struct drain drain = {0};
	int pair[2];

	if (argc != 2)
		return 2;
	uv_loop_init(&hub.loop);
	hub.fair = strcmp(argv[1], "broken") != 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 1;
	open_pipe(&hub.loop, &hub.sink, pair[0], &hub);
	drain.fd = pair[1];
	pthread_create(&drain.thread, NULL, drain_run, &drain);
	for (int i = 0; i < SOURCES; i++) {
		struct source *source = &hub.sources[i];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			return 1;
		source->hub = &hub;
		source->number = i;
		open_pipe(&hub.loop, &source->pipe, pair[0], source);
		hub.open++;
		source_resume(source);
		feeders[i] = (struct feeder){.fd = pair[1], .number = i};
		pthread_create(&feeders[i].thread, NULL, feeder_run, &feeders[i]);
	}
	uv_timer_init(&hub.loop, &hub.progress);
	hub.progress.data = &hub;
	uv_timer_start(&hub.progress, on_progress, 100, 100);
	uv_run(&hub.loop, UV_RUN_DEFAULT);
	for (int i = 0; i < SOURCES; i++)
		pthread_join(feeders[i].thread, NULL);
	pthread_join(drain.thread, NULL);
	uv_loop_close(&hub.loop);
	printf("%zu bytes, %u pauses\n", drain.total, hub.pauses);
	return drain.total != (size_t)SOURCES * PER_SOURCE;
}
