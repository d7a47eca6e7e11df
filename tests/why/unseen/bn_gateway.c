/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: on_replies takes one reply out of the input buffer for each call, but two replies may come with one
 *     read. The second one stays in the buffer until more comes, and as nothing more comes, the command waits for ever.
 *   culprit: on_replies|valve
 *   victim: command_send|plc_serve|on_command
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A gateway to machine controllers, on libevent: it sends commands in pairs and counts what comes back. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	FRAME = 8,
	ROUNDS = 20
};

struct plc {
	const char *name;
	struct bufferevent *line;
	int far_end;
	int batch; /* commands that are sent at a time */
	int outstanding, rounds;
};

static bool broken;
static struct event_base *base;
static struct event *status_timer;
static int plcs_busy;

static void round_begin(struct plc *plc);

static void command_send(struct plc *plc, char code, int number)
{
	char frame[FRAME + 1];

	snprintf(frame, sizeof(frame), "%c%07d", code, number);
	plc->outstanding++;
	bufferevent_write(plc->line, frame, FRAME);
}

static void reply_take(struct plc *plc, const char *frame)
{
	if (frame[0] != 'A')
		fprintf(stderr, "%s: bad reply %.8s\n", plc->name, frame);
	if (--plc->outstanding == 0)
		round_begin(plc);
}

static void on_replies(struct bufferevent *line, void *data)
{
	struct plc *plc = data;
	struct evbuffer *input = bufferevent_get_input(line);
	char frame[FRAME];

	if (broken) {
		if (evbuffer_get_length(input) >= FRAME) {
			evbuffer_remove(input, frame, FRAME);
			reply_take(plc, frame);
		}
		return;
	}
	while (evbuffer_get_length(input) >= FRAME) {
		evbuffer_remove(input, frame, FRAME);
		reply_take(plc, frame);
	}
}

static void on_line_event(struct bufferevent *line, short events, void *data)
{
	struct plc *plc = data;

	(void)line;
	fprintf(stderr, "%s: line lost (%#x)\n", plc->name, (unsigned)events);
}

static void round_begin(struct plc *plc)
{
	if (plc->rounds++ == ROUNDS) {
		plcs_busy--;
		return;
	}
	for (int i = 0; i < plc->batch; i++)
		command_send(plc, 'C', plc->rounds * 10 + i);
}

/* A controller: it answers when it has done all that it was sent. */
static void *plc_serve(void *data)
{
	struct plc *plc = data;
	char frames[4 * FRAME];
	size_t have = 0;

	pthread_setname_np(pthread_self(), plc->name);
	for (;;) {
		ssize_t count = read(plc->far_end, frames + have,
			(size_t)plc->batch * FRAME - have);

		if (count <= 0)
			break;
		have += (size_t)count;
		if (have < (size_t)plc->batch * FRAME)
			continue;
		usleep(5000);
		for (int i = 0; i < plc->batch; i++)
			frames[i * FRAME] = 'A';
		if (write(plc->far_end, frames, have) != (ssize_t)have)
			break;
		have = 0;
	}
	close(plc->far_end);
	return NULL;
}

static void plc_open(struct plc *plc, const char *name, int batch, pthread_t *thread)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(1);
	plc->name = name;
	plc->batch = batch;
	plc->far_end = ends[1];
	evutil_make_socket_nonblocking(ends[0]);
	plc->line = bufferevent_socket_new(base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(plc->line, on_replies, NULL, on_line_event, plc);
	bufferevent_enable(plc->line, EV_READ | EV_WRITE);
	pthread_create(thread, NULL, plc_serve, plc);
	plcs_busy++;
	round_begin(plc);
}

static void on_status(evutil_socket_t socket, short events, void *data)
{
	struct plc *plcs = data;

	(void)socket;
	(void)events;
	for (int i = 0; i < 3; i++)
		printf("%s: round %d, %d outstanding\n", plcs[i].name, plcs[i].rounds,
			plcs[i].outstanding);
	if (plcs_busy == 0)
		event_base_loopexit(base, NULL);
}

int main(int argc, char **argv)
{
	static struct plc plcs[3];
	pthread_t threads[3];
	struct timeval interval = {0, 100000};

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	base = event_base_new();
	plc_open(&plcs[0], "pump", 1, &threads[0]);
	plc_open(&plcs[1], "valve", 2, &threads[1]);
	plc_open(&plcs[2], "heater", 1, &threads[2]);
	status_timer = event_new(base, -1, EV_PERSIST, on_status, plcs);
	event_add(status_timer, &interval);
	event_base_dispatch(base);
	event_free(status_timer);
	for (int i = 0; i < 3; i++)
		bufferevent_free(plcs[i].line);
	event_base_loop(base, EVLOOP_NONBLOCK); /* closes the lines */
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	event_base_free(base);
	return 0;
}
