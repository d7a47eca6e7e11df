/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: on_replies takes only one frame out of the input buffer for each read event; two replies that
 *     come together leave one behind, from then on each reply is seen only when the next one comes, and the
 *     last one, which lies in the client's buffer, never
 *   culprit: on_replies|connection ledger
 *   victim: \bcall [0-9]+|reply [0-9]+
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client that books transfers over one connection, with frames of a fixed size. */
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <unistd.h>

#define CALLS 24
#define BURST 9 /* this one and the next are sent together */

struct frame {
	unsigned number;
	int amount;
	char memo[24];
};

struct client {
	struct event_base *base;
	struct bufferevent *connection;
	struct event *tick, *report;
	thrum_task handle;
	thrum_task calls[CALLS + 1];
	unsigned sent, answered;
	long balance;
};

THRUM_TAG(reads, NULL, "on_replies", 0);

static int ends[2];
static bool drain_input;

static unsigned link_key(unsigned number, bool is_reply)
{
	return number | (is_reply ? 0x10000 : 0);
}

/* ---- The server ---- */

static void *server_run(void *data)
{
	struct frame frames[8];
	ssize_t size;

	(void)data;
	thrum_lane_name("ledger");
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		size = recv(ends[1], frames, sizeof(frames), 0);
		thrum_resume();
		if (size <= 0)
			return NULL;
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(2000);
		thrum_resume();
		for (size_t i = 0; i < (size_t)size / sizeof(*frames); i++) {
			unsigned key = link_key(frames[i].number, false);
			thrum_task work = thrum_task_createf(THRUM_KIND_TASK, "reply %u",
				frames[i].number);

			THRUM_RUN (work) {
				thrum_link_receive(&key, sizeof(key));
				frames[i].amount = -frames[i].amount;
				key = link_key(frames[i].number, true);
				thrum_link_send(&key, sizeof(key));
				thrum_task_resolve(work);
			}
		}
		if (send(ends[1], frames, (size_t)size, MSG_NOSIGNAL) != size)
			return NULL;
	}
}

/* ---- The client ---- */

static void call_send(struct client *client, unsigned number)
{
	struct frame frame = {.number = number, .amount = (int)number * 5};
	unsigned key = link_key(number, false);
	thrum_task call = thrum_task_createf(THRUM_KIND_REQUEST, "call %u", number);

	snprintf(frame.memo, sizeof(frame.memo), "transfer %u", number);
	thrum_task_should_resolve(call);
	THRUM_RUN (call)
		thrum_link_send(&key, sizeof(key));
	thrum_task_wait(call, client->handle);
	client->calls[number] = call;
	bufferevent_write(client->connection, &frame, sizeof(frame));
}

static void on_reply(struct client *client, const struct frame *frame)
{
	unsigned key = link_key(frame->number, true);
	thrum_task call = client->calls[frame->number];

	THRUM_RUN (call) {
		thrum_link_receive(&key, sizeof(key));
		thrum_task_read(call, client->handle);
		client->balance += frame->amount;
		thrum_task_resolve(call);
	}
	if (++client->answered == CALLS)
		event_base_loopbreak(client->base);
}

static void on_replies(struct bufferevent *connection, void *data)
{
	struct evbuffer *input = bufferevent_get_input(connection);
	struct client *client = data;
	struct frame frame;

	thrum_span_begin(&reads);
	while (evbuffer_get_length(input) >= sizeof(frame)) {
		evbuffer_remove(input, &frame, sizeof(frame));
		on_reply(client, &frame);
		if (!drain_input)
			break;
	}
	thrum_span_end(&reads);
}

static void on_event(struct bufferevent *connection, short what, void *data)
{
	struct client *client = data;

	(void)connection;
	thrum_task_fail(client->handle, what & BEV_EVENT_EOF ? "end of file" : "error");
	event_base_loopbreak(client->base);
}

static void on_tick(evutil_socket_t fd, short what, void *data)
{
	struct client *client = data;

	(void)fd;
	(void)what;
	if (client->sent == CALLS) {
		event_del(client->tick);
		return;
	}
	call_send(client, ++client->sent);
	if (client->sent == BURST)
		call_send(client, ++client->sent);
}

static void on_report(evutil_socket_t fd, short what, void *data)
{
	struct client *client = data;

	(void)fd;
	(void)what;
	fprintf(stderr, "%u of %u booked\n", client->answered, client->sent);
}

static void every(struct event *event, int ms)
{
	struct timeval interval = {.tv_sec = 0, .tv_usec = ms * 1000};

	event_add(event, &interval);
}

int main(int argc, char **argv)
{
	struct client client = {0};
	pthread_t server;

	drain_input = argc < 2 || strcmp(argv[1], "broken") != 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	thrum_start(NULL);
	pthread_create(&server, NULL, server_run, NULL);
	client.base = event_base_new();
	evutil_make_socket_nonblocking(ends[0]);
	client.connection = bufferevent_socket_new(client.base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	client.handle = thrum_task_create(THRUM_KIND_HANDLE, "connection ledger");
	bufferevent_setcb(client.connection, on_replies, NULL, on_event, &client);
	bufferevent_enable(client.connection, EV_READ | EV_WRITE);
	client.tick = event_new(client.base, -1, EV_PERSIST, on_tick, &client);
	client.report = event_new(client.base, -1, EV_PERSIST, on_report, &client);
	every(client.tick, 12);
	every(client.report, 400);
	event_base_dispatch(client.base);
	thrum_stop();
	event_free(client.tick);
	event_free(client.report);
	bufferevent_free(client.connection);
	event_base_free(client.base);
	pthread_join(server, NULL);
	close(ends[1]);
	printf("%u booked, balance %ld\n", client.answered, client.balance);
	return client.answered == CALLS ? 0 : 1;
}
