/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The relay stops reading from an agent while too much is queued for the store, and on_stored starts
 *     it again. pause_agent keeps only the last agent that was paused. When both are paused at once, the first
 *     is forgotten: nobody calls uv_read_start for it again, its data stays unread, and its thread is stuck in
 *     write, or waits for its acknowledgement.
 *   culprit: pause_agent|on_stored|on_lines
 *   victim: agent_main|send_batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A relay of log lines: two agents send batches, the relay passes them on to a store, which is sometimes slow. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum {
	AGENTS = 2,
	HIGH = 64 * 1024,
	LOW = 16 * 1024,
	SEGMENT = 256 * 1024
};

struct agent {
	uv_pipe_t pipe;
	size_t expected; /* of the batch that comes in */
	char size[sizeof(size_t)];
	size_t size_read;
	bool is_paused;
	int socket; /* the agent's end */
};

struct chunk {
	uv_write_t write;
	size_t size;
	char *data;
};

static bool broken;
static struct agent agents[AGENTS];
static uv_pipe_t store;
static uv_timer_t statistics;
static size_t queued, most_queued;
static struct agent *paused;
static unsigned open_agents;
static struct timespec begin;

static void on_lines(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	(void)handle;
	(void)suggested;
	*buffer = uv_buf_init(malloc(16384), 16384);
}

static void pause_agent(struct agent *agent)
{
	uv_read_stop((uv_stream_t *)&agent->pipe);
	agent->is_paused = true;
	paused = agent;
}

static void resume_agent(struct agent *agent)
{
	if (!agent || !agent->is_paused)
		return;
	agent->is_paused = false;
	uv_read_start((uv_stream_t *)&agent->pipe, on_room, on_lines);
}

static void on_stored(uv_write_t *write, int status)
{
	struct chunk *chunk = (struct chunk *)write;

	(void)status;
	queued -= chunk->size;
	free(chunk->data);
	free(chunk);
	if (queued > LOW)
		return;
	if (broken)
		resume_agent(paused);
	for (int i = 0; i < AGENTS && !broken; i++)
		resume_agent(&agents[i]);
}

static void on_agent_closed(uv_handle_t *handle)
{
	(void)handle;
	if (--open_agents == 0) {
		uv_close((uv_handle_t *)&store, NULL);
		uv_close((uv_handle_t *)&statistics, NULL);
	}
}

/* Counts a piece of the agent's batch. When that is complete, the agent gets a byte. */
static void agent_count(struct agent *agent, const char *data, size_t size)
{
	while (size > 0) {
		size_t part;

		if (agent->size_read < sizeof(agent->size)) {
			agent->size[agent->size_read++] = *data++;
			size--;
			memcpy(&agent->expected, agent->size, sizeof(agent->expected));
			continue;
		}
		part = size < agent->expected ? size : agent->expected;
		agent->expected -= part;
		data += part;
		size -= part;
		if (agent->expected == 0) {
			uv_buf_t ok = uv_buf_init("+", 1);

			agent->size_read = 0;
			uv_try_write((uv_stream_t *)&agent->pipe, &ok, 1);
		}
	}
}

static void on_lines(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct agent *agent = stream->data;
	struct chunk *chunk;
	uv_buf_t out;

	if (size <= 0) {
		free(buffer->base);
		if (size < 0)
			uv_close((uv_handle_t *)stream, on_agent_closed);
		return;
	}
	agent_count(agent, buffer->base, (size_t)size);
	chunk = malloc(sizeof(*chunk));
	chunk->size = (size_t)size;
	chunk->data = buffer->base;
	queued += chunk->size;
	out = uv_buf_init(chunk->data, (unsigned)size);
	uv_write(&chunk->write, (uv_stream_t *)&store, &out, 1, on_stored);
	if (queued > HIGH)
		pause_agent(agent);
}

/* Writes a batch and waits for its acknowledgement. */
static void send_batch(struct agent *agent, size_t size)
{
	char *batch = calloc(1, sizeof(size) + size);
	size_t written = 0;
	char ok;

	memcpy(batch, &size, sizeof(size));
	while (written < sizeof(size) + size) {
		ssize_t now = write(agent->socket, batch + written, sizeof(size) + size - written);

		if (now <= 0)
			exit(1);
		written += (size_t)now;
	}
	if (read(agent->socket, &ok, 1) != 1)
		exit(1);
	free(batch);
}

static void *agent_main(void *data)
{
	struct agent *agent = data;
	struct timespec hour = begin;

	for (int i = 0; i < 6; i++) {
		send_batch(agent, 900);
		usleep(10000);
	}
	/* At the full hour both send what they have collected. */
	hour.tv_sec++;
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &hour, NULL);
	send_batch(agent, 1200000);
	for (unsigned i = 0; i < 40; i++) {
		send_batch(agent, 900);
		usleep(20000);
	}
	close(agent->socket);
	return NULL;
}

/* Stores lines. A full segment is written to the disk, which takes a while. */
static void *store_main(void *data)
{
	int socket = *(int *)data;
	static char lines[16384];
	size_t in_segment = 0;
	ssize_t size;

	while ((size = read(socket, lines, sizeof(lines))) > 0) {
		in_segment += (size_t)size;
		if (in_segment >= SEGMENT) {
			in_segment = 0;
			usleep(60000);
		}
	}
	return NULL;
}

static void on_statistics(uv_timer_t *timer)
{
	(void)timer;
	if (queued > most_queued)
		most_queued = queued;
}

static void make_pair(int ends[2])
{
	int size = 32768;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	for (int i = 0; i < 2; i++)
		setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

int main(int argc, char **argv)
{
	pthread_t threads[AGENTS + 1];
	uv_loop_t *loop = uv_default_loop();
	int ends[2], stored[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	make_pair(stored);
	uv_pipe_init(loop, &store, 0);
	uv_pipe_open(&store, stored[0]);
	pthread_create(&threads[AGENTS], NULL, store_main, &stored[1]);
	for (int i = 0; i < AGENTS; i++) {
		struct agent *agent = &agents[i];

		make_pair(ends);
		agent->socket = ends[1];
		uv_pipe_init(loop, &agent->pipe, 0);
		uv_pipe_open(&agent->pipe, ends[0]);
		agent->pipe.data = agent;
		open_agents++;
		uv_read_start((uv_stream_t *)&agent->pipe, on_room, on_lines);
		pthread_create(&threads[i], NULL, agent_main, agent);
	}
	uv_timer_init(loop, &statistics);
	uv_timer_start(&statistics, on_statistics, 50, 50);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < AGENTS + 1; i++)
		pthread_join(threads[i], NULL);
	puts("relay: done");
	return 0;
}
