/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: live 2500
 *   ask: why
 *   truth: on_metrics stops reading from an agent when its backlog is full. on_flush resumes reading only when the backlog is
 *     exactly LOW_MARK, but it takes several at a time and steps over that number. So the busy agent is never read again.
 *   culprit: on_flush|on_metrics|backlog|resume_reading
 *   victim: busy_agent|agent_main
 * case: healthy
 *   args: healthy
 *   run: live 2500
 *   ask: why
 *   culprit: nothing
 */
/* A metrics aggregator on libevent. Agents send samples of eight bytes; a timer writes them to the store. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HIGH_MARK 50
#define LOW_MARK 10
#define BATCH 7
#define AGENTS 3

struct sample {
	uint32_t metric, value;
};

struct agent {
	const char *name;
	unsigned burst;
	unsigned pause_us;
	int socket;
	struct bufferevent *stream;
	unsigned backlog; /* samples that aren't stored yet */
	bool paused;
	uint64_t sum;
	unsigned stored;
};

static bool fixed;
static struct agent agents[AGENTS] = {
	{.name = "idle_agent", .burst = 2, .pause_us = 50000},
	{.name = "busy_agent", .burst = 100, .pause_us = 30000},
	{.name = "cron_agent", .burst = 5, .pause_us = 200000},
};

static void on_metrics(struct bufferevent *stream, void *data)
{
	struct agent *agent = data;
	struct evbuffer *input = bufferevent_get_input(stream);

	while (evbuffer_get_length(input) >= sizeof(struct sample)) {
		struct sample sample;

		if (agent->backlog >= HIGH_MARK) {
			agent->paused = true;
			bufferevent_disable(stream, EV_READ);
			return;
		}
		evbuffer_remove(input, &sample, sizeof(sample));
		agent->sum += sample.value;
		agent->backlog++;
	}
}

static void resume_reading(struct agent *agent)
{
	agent->paused = false;
	bufferevent_enable(agent->stream, EV_READ);
	on_metrics(agent->stream, agent); /* what is in the buffer already */
}

static void on_flush(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	for (int i = 0; i < AGENTS; i++) {
		struct agent *agent = &agents[i];
		unsigned count = agent->backlog < BATCH ? agent->backlog : BATCH;

		agent->backlog -= count;
		agent->stored += count;
		if (!agent->paused)
			continue;
		if (fixed ? agent->backlog <= LOW_MARK : agent->backlog == LOW_MARK)
			resume_reading(agent);
	}
}

static void on_report(evutil_socket_t fd, short what, void *data)
{
	(void)fd;
	(void)what;
	(void)data;
	for (int i = 0; i < AGENTS; i++)
		printf("%s: %u stored, %u in the backlog\n", agents[i].name, agents[i].stored,
			agents[i].backlog);
	fflush(stdout);
}

static void on_gone(struct bufferevent *stream, short what, void *data)
{
	struct agent *agent = data;

	(void)stream;
	printf("%s is gone (%d)\n", agent->name, what);
}

static void *agent_main(void *data)
{
	struct agent *agent = data;
	struct sample sample = {0, 0};

	pthread_setname_np(pthread_self(), agent->name);
	for (;;) {
		for (unsigned i = 0; i < agent->burst; i++) {
			sample.metric = i % 16;
			sample.value++;
			if (write(agent->socket, &sample, sizeof(sample)) != sizeof(sample))
				return NULL;
		}
		usleep(agent->pause_us);
	}
}

int main(int argc, char **argv)
{
	struct event_base *base = event_base_new();
	struct timeval flush_time = {0, 1000}, report_time = {0, 500000};
	struct event *flush, *report;
	int small = 4096;

	fixed = argc > 1 && !strcmp(argv[1], "healthy");
	for (int i = 0; i < AGENTS; i++) {
		pthread_t thread;
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 1;
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
		agents[i].socket = ends[1];
		evutil_make_socket_nonblocking(ends[0]);
		agents[i].stream = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
		bufferevent_setcb(agents[i].stream, on_metrics, NULL, on_gone, &agents[i]);
		bufferevent_enable(agents[i].stream, EV_READ);
		pthread_create(&thread, NULL, agent_main, &agents[i]);
	}
	flush = event_new(base, -1, EV_PERSIST, on_flush, NULL);
	event_add(flush, &flush_time);
	report = event_new(base, -1, EV_PERSIST, on_report, NULL);
	event_add(report, &report_time);
	event_base_dispatch(base);
	return 0;
}
