/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: the receiver gives credit back only when it has consumed half of the window that was agreed at first (16 chunks,
 *     stored). After congestion the sender's window is only 12, so it waits for credit, and the receiver for chunks.
 *   culprit: \bstored\b|grant_credit|credit photos
 *   victim: all uploads|ping
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* Uploads to a backup server over channels with a credit for so many chunks, as HTTP/2 has it. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define WINDOW 32

struct channel {
	const char *name;
	unsigned chunks, sent, received;
	unsigned window, credit;
	unsigned agreed;       /* the window as the receiver knows it */
	unsigned consumed;     /* since credit was last given */
	unsigned congested_at; /* a chunk that is lost on the way and sent again; 0: none */
	struct thrum_condition *granted;
	struct thrum_stream *wire;
};

static bool announce;
static bool finished;

static struct thrum_promise *send_chunks(struct thrum_loop *loop, void *value, void *data);
static struct thrum_promise *receive_chunks(struct thrum_loop *loop, void *data);

/* A chunk was lost, so the line has less room than we thought. */
static void channel_congested(struct channel *channel)
{
	channel->window = 12;
	if (channel->credit > channel->window)
		channel->credit = channel->window;
	if (announce)
		channel->agreed = channel->window;
	printf("%s: window %u\n", channel->name, channel->window);
}

static void grant_credit(struct channel *channel, unsigned chunks)
{
	channel->credit += chunks;
	if (channel->credit > channel->window)
		channel->credit = channel->window;
	thrum_condition_broadcast(channel->granted, thrum_value_none());
}

static struct thrum_promise *send_chunks(struct thrum_loop *loop, void *value, void *data)
{
	struct channel *channel = data;
	struct thrum_promise *next;

	(void)value;
	if (channel->sent == channel->chunks) {
		thrum_stream_close(channel->wire);
		return thrum_promise_return(loop, thrum_value_none());
	}
	if (channel->credit == 0) {
		next = thrum_condition_wait(channel->granted, NULL);
	} else {
		channel->credit--;
		channel->sent++;
		if (channel->sent == channel->congested_at)
			channel_congested(channel);
		next = thrum_stream_push(channel->wire, thrum_value_int(channel->sent));
	}
	return thrum_promise_bind(next, send_chunks, channel, NULL);
}

static struct thrum_promise *stored(struct thrum_loop *loop, void *value, void *data)
{
	struct channel *channel = data;

	(void)value;
	channel->received++;
	if (++channel->consumed >= channel->agreed / 2) {
		unsigned consumed = channel->consumed;

		channel->consumed = 0;
		grant_credit(channel, consumed);
	}
	return receive_chunks(loop, channel);
}

static struct thrum_promise *receive_chunk(struct thrum_loop *loop, void *value, void *data)
{
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_sleep(loop, 1), stored, data, NULL);
}

static struct thrum_promise *receive_chunks(struct thrum_loop *loop, void *data)
{
	struct channel *channel = data;

	(void)loop;
	return thrum_promise_bind(thrum_stream_next(channel->wire), receive_chunk, channel, NULL);
}

static struct thrum_promise *upload(struct thrum_loop *loop, struct channel *channel)
{
	struct thrum_promise *ends[2];
	char label[48];

	channel->credit = channel->window = channel->agreed = WINDOW;
	snprintf(label, sizeof(label), "credit %s", channel->name);
	channel->granted = thrum_condition_create(loop, label);
	snprintf(label, sizeof(label), "wire %s", channel->name);
	channel->wire = thrum_stream_create(loop, label, 64);
	if (!channel->granted || !channel->wire)
		abort();
	ends[0] = thrum_promise_bind(thrum_promise_pause(loop), send_chunks, channel, NULL);
	ends[0] = thrum_promise_labelf(ends[0], "send %s", channel->name);
	ends[1] = thrum_promise_labelf(receive_chunks(loop, channel), "store %s", channel->name);
	return thrum_promise_labelf(thrum_promise_join(loop, ends, 2), "upload %s", channel->name);
}

static struct thrum_promise *pong(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *ping(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 40), pong, data, NULL);
}

static struct thrum_promise *pong(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return finished ? thrum_promise_return(loop, thrum_value_none()) : ping(loop, data);
}

int main(int argc, char **argv)
{
	static struct channel channels[] = {
		{.name = "notes", .chunks = 40},
		{.name = "photos", .chunks = 300, .congested_at = 90},
		{.name = "mail", .chunks = 220},
	};
	enum {
		COUNT = sizeof(channels) / sizeof(*channels)
	};
	struct thrum_promise *uploads[COUNT], *all;
	struct thrum_loop *loop;
	int result;

	if (argc < 2)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	announce = strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	thrum_promise_async(loop, "ping", ping, NULL, NULL);
	for (unsigned i = 0; i < COUNT; i++)
		uploads[i] = upload(loop, &channels[i]);
	all = thrum_promise_label(thrum_promise_join(loop, uploads, COUNT), "all uploads");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	finished = true;
	thrum_stop();
	for (unsigned i = 0; i < COUNT; i++) {
		printf("%s: %u of %u chunks\n", channels[i].name, channels[i].received,
			channels[i].chunks);
		thrum_condition_destroy(channels[i].granted);
		thrum_stream_destroy(channels[i].wire);
	}
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_NOWAIT);
	return result ? 1 : 0;
}
