/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: batch_append sets the flush timer anew for each line, and on_heartbeat appends a line every 25
 *     ms, so that the timer of 60 ms is put off for ever: on_flush_due never runs, the batch is never sent,
 *     and the reporter thread waits for the collector's answer.
 *   culprit: batch_append|on_flush_due|flush|on_heartbeat
 *   victim: reporter|report_round|collector|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A metrics agent: takes lines from a reporter, adds its own, and forwards them in batches to a collector. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 8
#define LINES 6

static const struct timeval flush_delay = {0, 60000};
static const struct timeval heartbeat_interval = {0, 25000};

struct batch {
	struct evbuffer *lines;
	unsigned count;
	struct event *flush;
	int keep_pending; /* the delay counts from the first line, not from the last */
};

struct agent {
	struct event_base *base;
	struct bufferevent *input;    /* from the reporter */
	struct bufferevent *upstream; /* to the collector */
	struct event *heartbeat;
	struct batch batch;
	unsigned batches, beats;
};

struct collector {
	struct bufferevent *connection;
	unsigned long stored;
};

static void batch_append(struct batch *batch, const char *line)
{
	evbuffer_add_printf(batch->lines, "%s\n", line);
	batch->count++;
	if (batch->keep_pending && evtimer_pending(batch->flush, NULL))
		return;
	evtimer_add(batch->flush, &flush_delay);
}

static void on_flush_due(evutil_socket_t fd, short what, void *data)
{
	struct agent *agent = data;
	struct batch *batch = &agent->batch;

	(void)fd, (void)what;
	if (!batch->count)
		return;
	evbuffer_add_printf(batch->lines, ".\n");
	bufferevent_write_buffer(agent->upstream, batch->lines);
	batch->count = 0;
	agent->batches++;
}

static void on_heartbeat(evutil_socket_t fd, short what, void *data)
{
	struct agent *agent = data;
	char line[64];

	(void)fd, (void)what;
	snprintf(line, sizeof(line), "agent.uptime %u", ++agent->beats);
	batch_append(&agent->batch, line);
}

static void on_input(struct bufferevent *input, void *data)
{
	struct agent *agent = data;
	char *line;

	while ((line = evbuffer_readln(bufferevent_get_input(input), NULL, EVBUFFER_EOL_LF))) {
		batch_append(&agent->batch, line);
		free(line);
	}
}

static void on_input_event(struct bufferevent *input, short what, void *data)
{
	struct agent *agent = data;

	(void)input;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		event_base_loopbreak(agent->base);
}

/* The collector tells how many lines it has stored; that goes back to the reporter. */
static void on_stored(struct bufferevent *upstream, void *data)
{
	struct agent *agent = data;

	bufferevent_read_buffer(upstream, bufferevent_get_output(agent->input));
}

static void collector_read(struct bufferevent *connection, void *data)
{
	struct collector *collector = data;
	char *line;

	while ((line = evbuffer_readln(bufferevent_get_input(connection), NULL, EVBUFFER_EOL_LF))) {
		if (strcmp(line, "."))
			collector->stored++;
		else
			evbuffer_add_printf(bufferevent_get_output(connection), "stored %lu\n",
				collector->stored);
		free(line);
	}
}

/* Sends some lines and waits until they are stored. */
static int report_round(int fd, int round)
{
	char line[64], answer[128];

	for (int i = 0; i < LINES; i++) {
		int size = snprintf(line, sizeof(line), "requests.%d %d\n", i, round * 10 + i);

		if (write(fd, line, size) != size)
			return -1;
	}
	return read(fd, answer, sizeof(answer)) > 0 ? 0 : -1;
}

static void *reporter_run(void *data)
{
	int fd = *(int *)data;

	pthread_setname_np(pthread_self(), "reporter");
	for (int round = 0; round < ROUNDS; round++) {
		if (report_round(fd, round))
			break;
		nanosleep(&(struct timespec){0, 5000000}, NULL);
	}
	close(fd);
	return NULL;
}

static struct bufferevent *connection_new(struct event_base *base, int fd,
	bufferevent_data_cb on_read, bufferevent_event_cb on_event, void *data)
{
	struct bufferevent *connection;

	evutil_make_socket_nonblocking(fd);
	connection = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!connection)
		exit(1);
	bufferevent_setcb(connection, on_read, NULL, on_event, data);
	bufferevent_enable(connection, EV_READ | EV_WRITE);
	return connection;
}

int main(int argc, char **argv)
{
	struct agent agent = {0};
	struct collector collector = {0};
	int reports[2], uplink[2];
	pthread_t reporter;

	if (argc != 2)
		return 2;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, reports) ||
		socketpair(AF_UNIX, SOCK_STREAM, 0, uplink))
		return 1;
	evthread_use_pthreads();
	agent.base = event_base_new();
	agent.input = connection_new(agent.base, reports[0], on_input, on_input_event, &agent);
	agent.upstream = connection_new(agent.base, uplink[0], on_stored, NULL, &agent);
	collector.connection = connection_new(agent.base, uplink[1], collector_read, NULL,
		&collector);
	agent.batch.lines = evbuffer_new();
	agent.batch.flush = evtimer_new(agent.base, on_flush_due, &agent);
	agent.batch.keep_pending = strcmp(argv[1], "broken") != 0;
	agent.heartbeat = event_new(agent.base, -1, EV_PERSIST, on_heartbeat, &agent);
	evtimer_add(agent.heartbeat, &heartbeat_interval);
	pthread_create(&reporter, NULL, reporter_run, &reports[1]);
	event_base_dispatch(agent.base);
	pthread_join(reporter, NULL);
	printf("%u batches, %lu lines stored\n", agent.batches, collector.stored);
	event_free(agent.heartbeat);
	event_free(agent.batch.flush);
	evbuffer_free(agent.batch.lines);
	bufferevent_free(agent.input);
	bufferevent_free(agent.upstream);
	bufferevent_free(collector.connection);
	event_base_free(agent.base);
	return collector.stored < ROUNDS * LINES;
}
