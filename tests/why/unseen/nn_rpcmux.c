/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: rpc_call puts a new call into the slot of the pending table where the slow call "reindex photos"
 *          still waits. The resolver of that call is lost, and its reply finds nobody.
 *   culprit: reindex photos
 *   victim: publish gallery|sync
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A gallery asks its index server: many calls share one connection, and replies carry a call's number. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	SLOTS = 8,
	ALBUMS = 5,
	PHOTOS = 9
};

struct frame {
	unsigned id, delay_ms;
};

static struct {
	struct thrum_loop *loop;
	struct thrum_connection *connection;
	unsigned last_id;
	struct thrum_resolver *slots[SLOTS];
	unsigned replies, strays;
} rpc;

static struct thrum_listener *listener;
static struct thrum_connection *server;
static bool skip_used;

static struct thrum_promise *succeed(struct thrum_loop *loop, void *value, void *data)
{
	(void)value, (void)data;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *send_frame(struct thrum_connection *to, struct frame frame)
{
	struct frame *copy = malloc(sizeof(*copy));

	*copy = frame;
	return thrum_connection_write(to, thrum_value_own(copy, free), sizeof(*copy));
}

/* ---- The index server ---- */

static struct thrum_promise *reply(struct thrum_loop *loop, void *value, void *data)
{
	struct frame frame = {(unsigned)thrum_int(data), 0};

	(void)loop, (void)value;
	return send_frame(server, frame);
}

static struct thrum_promise *serve(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	struct frame frame;

	(void)data;
	for (size_t at = 0; bytes && at + sizeof(frame) <= bytes->size; at += sizeof(frame)) {
		memcpy(&frame, bytes->data + at, sizeof(frame));
		thrum_promise_ignore_result(thrum_promise_bind(thrum_sleep(loop, frame.delay_ms),
			reply, thrum_value_int(frame.id).data, NULL));
	}
	return thrum_promise_bind(thrum_connection_read(server), serve, NULL, NULL);
}

static struct thrum_promise *accepted(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	(void)value, (void)data;
	if (thrum_loop_take(loop, &taken))
		server = taken.data;
	return thrum_promise_bind(thrum_connection_read(server), serve, NULL, NULL);
}

/* ---- The client's side of the connection ---- */

static struct thrum_promise *rpc_call(const char *what, unsigned delay_ms)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *answer = thrum_promise_wait(rpc.loop, what, &resolver);
	struct frame frame = {.delay_ms = delay_ms};

	do
		frame.id = ++rpc.last_id;
	while (skip_used && rpc.slots[frame.id % SLOTS]);
	rpc.slots[frame.id % SLOTS] = resolver;
	thrum_promise_ignore_result(send_frame(rpc.connection, frame));
	return answer;
}

static struct thrum_promise *on_replies(struct thrum_loop *loop, void *value, void *data)
{
	const struct thrum_bytes *bytes = value;
	struct thrum_resolver *resolver;
	struct frame frame;

	(void)loop, (void)data;
	for (size_t at = 0; bytes && at + sizeof(frame) <= bytes->size; at += sizeof(frame)) {
		memcpy(&frame, bytes->data + at, sizeof(frame));
		resolver = rpc.slots[frame.id % SLOTS];
		rpc.slots[frame.id % SLOTS] = NULL;
		rpc.replies++;
		rpc.strays += !resolver;
		thrum_resolver_resolve(resolver, thrum_value_none());
	}
	return thrum_promise_bind(thrum_connection_read(rpc.connection), on_replies, NULL, NULL);
}

/* ---- The job ---- */

static struct thrum_promise *sync_photo(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t left = thrum_int(data);

	(void)value;
	if (left == 0)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(rpc_call("stat photo", 3), sync_photo,
		thrum_value_int(left - 1).data, NULL);
}

static struct thrum_promise *publish(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *parts[ALBUMS];
	int count = 0;

	(void)value, (void)data;
	parts[count++] = thrum_promise_label(thrum_promise_bind(rpc_call("reindex photos", 120),
						     succeed, NULL, NULL),
		"sync index");
	while (count < ALBUMS) {
		parts[count] = sync_photo(loop, NULL, thrum_value_int(PHOTOS).data);
		thrum_promise_labelf(parts[count], "sync album %d", count);
		count++;
	}
	return thrum_promise_join(loop, parts, ALBUMS);
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_value taken;

	(void)value, (void)data;
	if (thrum_loop_take(loop, &taken))
		rpc.connection = taken.data;
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_promise_bind(thrum_connection_read(rpc.connection),
					    on_replies, NULL, NULL),
			"replies"));
	return publish(loop, NULL, NULL);
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct thrum_promise *job;
	uv_loop_t uv;
	int error;

	skip_used = argc > 1 && !strcmp(argv[1], "healthy");
	thrum_start(NULL);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &rpc.loop))
		return 1;
	if (thrum_tcp_listen(rpc.loop, (struct sockaddr *)&address, 4, &listener))
		return 1;
	address.sin_port = htons((uint16_t)thrum_listener_port(listener));
	thrum_promise_ignore_result(
		thrum_promise_label(thrum_promise_bind(thrum_listener_accept(listener), accepted,
					    NULL, NULL),
			"index server"));
	job = thrum_promise_bind(thrum_tcp_connect(rpc.loop, (struct sockaddr *)&address),
		connected, NULL, NULL);
	error = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(job, "publish gallery")));
	thrum_stop();
	printf("%u replies, %u without a call\n", rpc.replies, rpc.strays);
	return error || rpc.strays ? 1 : 0;
}
