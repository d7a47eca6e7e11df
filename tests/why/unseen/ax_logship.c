/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: relay_read stops reading (uv_read_stop) when too much waits to be written to the sink, but
 *     on_sink_written never reads again, as its low-water mark is zero and nothing is below it; the thread
 *     "producer" blocks in write, and the thread "sink" in read
 *   culprit: on_sink_written|relay_read|relay_pause|relay_resume|uv_read_stop
 *   victim: producer|sink|write_records|store_records|main|uv_run
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A relay for logs: takes records from a program, and passes them on to a store that may be slow. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define RECORD 1024
#define RECORDS 1500

struct marks {
	size_t high;
	size_t low;
};

struct relay {
	uv_loop_t loop;
	uv_pipe_t source;
	uv_pipe_t sink;
	uv_shutdown_t shutdown;
	uv_timer_t report;
	struct marks marks;
	bool paused;
	int pauses;
	size_t passed;
};

struct chunk {
	uv_write_t request;
	struct relay *relay;
	size_t size;
	char bytes[];
};

static void relay_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void allocate(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct chunk *chunk = malloc(sizeof(*chunk) + size);

	if (!chunk)
		abort();
	chunk->relay = handle->data;
	*buffer = uv_buf_init(chunk->bytes, (unsigned)size);
}

static struct chunk *chunk_of(const uv_buf_t *buffer)
{
	return buffer->base ? (struct chunk *)(void *)(buffer->base - offsetof(struct chunk, bytes))
			    : NULL;
}

static void relay_pause(struct relay *relay)
{
	relay->paused = true;
	relay->pauses++;
	uv_read_stop((uv_stream_t *)&relay->source);
}

static void relay_resume(struct relay *relay)
{
	relay->paused = false;
	uv_read_start((uv_stream_t *)&relay->source, allocate, relay_read);
}

static void on_sink_written(uv_write_t *request, int status)
{
	struct chunk *chunk = request->data;
	struct relay *relay = chunk->relay;

	if (status < 0)
		fprintf(stderr, "sink: %s\n", uv_strerror(status));
	relay->passed += chunk->size;
	free(chunk);
	if (relay->paused &&
		uv_stream_get_write_queue_size((uv_stream_t *)&relay->sink) < relay->marks.low)
		relay_resume(relay);
}

static void on_sink_shut(uv_shutdown_t *request, int status)
{
	struct relay *relay = request->data;

	(void)status;
	uv_close((uv_handle_t *)&relay->sink, NULL);
	uv_close((uv_handle_t *)&relay->source, NULL);
	uv_close((uv_handle_t *)&relay->report, NULL);
}

static void relay_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct relay *relay = stream->data;
	struct chunk *chunk = chunk_of(buffer);
	uv_buf_t output;

	if (size <= 0) {
		free(chunk);
		if (size < 0) {
			uv_read_stop(stream);
			relay->shutdown.data = relay;
			uv_shutdown(&relay->shutdown, (uv_stream_t *)&relay->sink, on_sink_shut);
		}
		return;
	}
	chunk->size = (size_t)size;
	chunk->request.data = chunk;
	output = uv_buf_init(chunk->bytes, (unsigned)size);
	uv_write(&chunk->request, (uv_stream_t *)&relay->sink, &output, 1, on_sink_written);
	if (uv_stream_get_write_queue_size((uv_stream_t *)&relay->sink) > relay->marks.high)
		relay_pause(relay);
}

static void on_report(uv_timer_t *timer)
{
	struct relay *relay = timer->data;

	fprintf(stderr, "relay: %zu KiB passed, %d pauses\n", relay->passed / 1024, relay->pauses);
}

static void *write_records(void *data)
{
	int file = *(int *)data;
	char record[RECORD];

	for (int i = 0; i < RECORDS; i++) {
		size_t done = 0;

		memset(record, 'a' + i % 26, sizeof(record));
		while (done < sizeof(record)) {
			ssize_t written = write(file, record + done, sizeof(record) - done);

			if (written < 0) {
				perror("producer");
				return NULL;
			}
			done += (size_t)written;
		}
	}
	close(file);
	return NULL;
}

static void *store_records(void *data)
{
	int file = *(int *)data;
	size_t stored = 0;
	char bytes[16384];
	ssize_t size;

	while ((size = read(file, bytes, sizeof(bytes))) > 0) {
		struct timespec time = {0, 2000000L};

		stored += (size_t)size;
		nanosleep(&time, NULL);
	}
	close(file);
	return (void *)stored;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "healthy";
	static struct relay relay;
	static int source[2], sink[2];
	pthread_t producer, store;
	void *stored;

	relay.marks = (struct marks){.high = 128 * 1024,
		.low = !strcmp(mode, "broken") ? 0 : 32 * 1024};
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, source) < 0 ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, sink) < 0)
		return 2;
	uv_loop_init(&relay.loop);
	uv_pipe_init(&relay.loop, &relay.source, 0);
	uv_pipe_init(&relay.loop, &relay.sink, 0);
	uv_timer_init(&relay.loop, &relay.report);
	relay.source.data = relay.sink.data = relay.report.data = &relay;
	uv_pipe_open(&relay.source, source[1]);
	uv_pipe_open(&relay.sink, sink[0]);
	uv_read_start((uv_stream_t *)&relay.source, allocate, relay_read);
	uv_timer_start(&relay.report, on_report, 100, 100);
	pthread_create(&producer, NULL, write_records, &source[0]);
	pthread_setname_np(producer, "producer");
	pthread_create(&store, NULL, store_records, &sink[1]);
	pthread_setname_np(store, "sink");
	uv_run(&relay.loop, UV_RUN_DEFAULT);
	uv_loop_close(&relay.loop);
	pthread_join(producer, NULL);
	pthread_join(store, &stored);
	printf("%zu bytes stored, %d pauses\n", (size_t)stored, relay.pauses);
	return (size_t)stored == (size_t)RECORD * RECORDS ? 0 : 1;
}
