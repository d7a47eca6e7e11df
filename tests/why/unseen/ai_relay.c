/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The relay stops reading from the producer (pause_producer, uv_read_stop) as too much is queued. While it is
 *     paused, the storage changes its leader: the writes to the old upstream end as cancelled, and on_written ignores
 *     them, without counting them down and lifting the back-pressure. Nobody calls resume_producer any more.
 *   culprit: on_written|pause_producer|resume_producer|switch_upstream
 *   victim: \bproducer\b|storage|\bmain\b|send_samples
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* relay: passes samples of a producer on to a storage. If the storage changes its leader, the relay follows. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

#define CHUNK 4096
#define CHUNKS 96
#define HIGH_WATER (8 * CHUNK) /* as much may be queued before the producer is paused */
#define LOW_WATER (2 * CHUNK)
#define SOCKET_BUFFER (4 * CHUNK)
#define BUSY_MS 350

struct upstream {
	uv_pipe_t pipe;
	struct relay *relay;
};

struct chunk {
	uv_write_t write;
	struct upstream *upstream;
	size_t size;
	char data[CHUNK];
};

struct relay {
	uv_loop_t *loop;
	uv_pipe_t producer;
	struct upstream *upstream;
	int standby; /* the socket of the next leader */
	size_t queued;
	bool paused, ended;
	unsigned pauses, lost;
};

struct storage {
	int leader, next_leader;
	bool changes_leader;
	size_t stored;
};

static void fail(const char *what, int error)
{
	fprintf(stderr, "relay: %s: %s\n", what, uv_strerror(error));
	exit(1);
}

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Producer and storage, as threads ---- */

__attribute__((noinline)) void send_samples(int socket)
{
	char samples[CHUNK];

	memset(samples, 's', sizeof samples);
	for (unsigned i = 0; i < CHUNKS; i++)
		if (send(socket, samples, sizeof samples, MSG_NOSIGNAL) < 0) {
			perror("relay: producer");
			break;
		}
	close(socket);
}

void *run_producer(void *data)
{
	send_samples(*(int *)data);
	return NULL;
}

__attribute__((noinline)) size_t store_samples(int socket)
{
	char samples[CHUNK];
	size_t stored = 0;
	ssize_t n;

	while ((n = read(socket, samples, sizeof samples)) > 0)
		stored += (size_t)n;
	close(socket);
	return stored;
}

/* At first the storage compacts its files and reads nothing. Then another leader may take over. */
void *run_storage(void *data)
{
	struct storage *storage = data;

	pause_ms(BUSY_MS);
	if (storage->changes_leader)
		close(storage->leader);
	else
		storage->stored += store_samples(storage->leader);
	storage->stored += store_samples(storage->next_leader);
	return NULL;
}

/* ---- The relay ---- */

void on_producer_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);
void on_upstream_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void alloc_chunk(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct chunk *chunk = calloc(1, sizeof *chunk);

	(void)handle, (void)size;
	*buffer = chunk ? uv_buf_init(chunk->data, sizeof chunk->data) : uv_buf_init(NULL, 0);
}

static struct chunk *chunk_of(const uv_buf_t *buffer)
{
	return buffer->base ? (struct chunk *)(buffer->base - offsetof(struct chunk, data)) : NULL;
}

__attribute__((noinline)) void pause_producer(struct relay *relay)
{
	uv_read_stop((uv_stream_t *)&relay->producer);
	relay->paused = true;
	relay->pauses++;
}

__attribute__((noinline)) void resume_producer(struct relay *relay)
{
	relay->paused = false;
	uv_read_start((uv_stream_t *)&relay->producer, alloc_chunk, on_producer_data);
}

static void on_upstream_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void close_upstream(struct upstream *upstream)
{
	if (!uv_is_closing((uv_handle_t *)&upstream->pipe))
		uv_close((uv_handle_t *)&upstream->pipe, on_upstream_closed);
}

static void end_if_drained(struct relay *relay)
{
	if (!relay->ended || relay->queued > 0)
		return;
	close_upstream(relay->upstream);
	if (relay->standby >= 0)
		close(relay->standby);
}

__attribute__((noinline)) void connect_upstream(struct relay *relay, int socket)
{
	struct upstream *upstream = calloc(1, sizeof *upstream);
	int error;

	if (!upstream)
		fail("upstream", UV_ENOMEM);
	upstream->relay = relay;
	uv_pipe_init(relay->loop, &upstream->pipe, 0);
	upstream->pipe.data = upstream;
	if ((error = uv_pipe_open(&upstream->pipe, socket)) != 0)
		fail("upstream", error);
	uv_read_start((uv_stream_t *)&upstream->pipe, alloc_chunk, on_upstream_read);
	relay->upstream = upstream;
}

/* The leader is gone. All that was on its way to it is lost; samples need not be complete. */
__attribute__((noinline)) void switch_upstream(struct relay *relay)
{
	int socket = relay->standby;

	relay->standby = -1;
	close_upstream(relay->upstream);
	if (socket < 0)
		fail("no other leader", UV_ECONNREFUSED);
	connect_upstream(relay, socket);
}

void on_upstream_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct upstream *upstream = stream->data;

	free(chunk_of(buffer));
	if (size < 0 && upstream == upstream->relay->upstream)
		switch_upstream(upstream->relay);
}

void on_written(uv_write_t *write, int status)
{
	struct chunk *chunk = write->data;
	struct relay *relay = chunk->upstream->relay;

	if (chunk->upstream != relay->upstream || status < 0) {
		/* It was for a leader that is gone. */
		relay->lost++;
		free(chunk);
		return;
	}
	relay->queued -= chunk->size;
	free(chunk);
	if (relay->paused && relay->queued <= LOW_WATER)
		resume_producer(relay);
	end_if_drained(relay);
}

void on_producer_data(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct relay *relay = stream->data;
	struct chunk *chunk = chunk_of(buffer);
	uv_buf_t out;

	if (size <= 0) {
		free(chunk);
		if (size < 0) {
			relay->ended = true;
			uv_close((uv_handle_t *)stream, NULL);
			end_if_drained(relay);
		}
		return;
	}
	chunk->size = (size_t)size;
	chunk->upstream = relay->upstream;
	chunk->write.data = chunk;
	out = uv_buf_init(chunk->data, (unsigned)size);
	relay->queued += chunk->size;
	uv_write(&chunk->write, (uv_stream_t *)&relay->upstream->pipe, &out, 1, on_written);
	if (relay->queued > HIGH_WATER)
		pause_producer(relay);
}

static void make_sockets(int ends[2])
{
	int size = SOCKET_BUFFER;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		fail("socketpair", -1);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

int main(int argc, char **argv)
{
	struct storage storage = {0};
	struct relay relay = {.standby = -1};
	pthread_t producer_thread, storage_thread;
	int in[2], first[2], second[2];

	if (argc != 2) {
		fprintf(stderr, "usage: relay broken|healthy\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	make_sockets(in);
	make_sockets(first);
	make_sockets(second);
	storage.leader = first[1];
	storage.next_leader = second[1];
	relay.standby = second[0];
	storage.changes_leader = strcmp(argv[1], "broken") == 0;
	relay.loop = uv_default_loop();
	uv_pipe_init(relay.loop, &relay.producer, 0);
	relay.producer.data = &relay;
	uv_pipe_open(&relay.producer, in[1]);
	connect_upstream(&relay, first[0]);
	resume_producer(&relay);

	pthread_create(&producer_thread, NULL, run_producer, &in[0]);
	pthread_setname_np(producer_thread, "producer");
	pthread_create(&storage_thread, NULL, run_storage, &storage);
	pthread_setname_np(storage_thread, "storage");
	uv_run(relay.loop, UV_RUN_DEFAULT);
	pthread_join(producer_thread, NULL);
	pthread_join(storage_thread, NULL);
	printf("%zu bytes stored, %u pauses, %u chunks lost\n", storage.stored, relay.pauses,
		relay.lost);
	return uv_loop_close(relay.loop) != 0;
}
