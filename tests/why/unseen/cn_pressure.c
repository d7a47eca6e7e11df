/* SPDX-License-Identifier: ISC */
/*
 * After cockpit-project/cockpit #14079.
 *
 * case: broken
 *   args: broken
 *   run: self kill 3000
 *   ask: why
 *   truth: A channel stops under pressure until the browser has acknowledged enough, by its answers to the pings. A ping
 *     carries the sequence number before its block. After a block of "find" that is larger than the window, all pings are
 *     answered, but the last number is too small to lift the pressure, and a channel that stands still sends no ping.
 *     So nobody signals "pressure of find" any more. The fix sends one more ping when the pressure begins.
 *   culprit: pressure of find|channel_send|channel_pong|on_pong
 *   victim: session|main\b|journal
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A bridge between programs and a browser: each channel sends a program's output, no faster than it is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	KIB = 1024,
	PING = 16 * KIB,
	WINDOW = 32 * KIB,
	CHANNELS = 2
};

struct frame {
	bool is_ping;
	long number; /* the sequence number of a ping, or the size of a block */
};

struct channel {
	const char *name;
	int blocks;      /* that the program writes */
	int large_block; /* the one that is large; 0: none */
	int written;
	long out_sequence, out_window;
	bool pressure;
	struct thrum_condition *lifted;
	struct thrum_stream *transport;
	long received;
};

static bool broken;
static struct thrum_loop *loop;
static struct channel channels[CHANNELS] = {
	{.name = "find", .blocks = 60, .large_block = 37},
	{.name = "journal", .blocks = 90},
};
static int open_channels = CHANNELS, heartbeats;

/* ---- The bridge ----------------------------------------------------------------------------- */

static void transport_send(struct channel *channel, bool is_ping, long number)
{
	struct frame *frame = malloc(sizeof(*frame));

	if (!frame)
		exit(2);
	*frame = (struct frame){is_ping, number};
	if (!thrum_stream_try_push(channel->transport, thrum_value_own(frame, free)))
		exit(2);
}

static void channel_send(struct channel *channel, long size)
{
	long before = channel->out_sequence;
	long after = before + size;

	if (before / PING != after / PING)
		transport_send(channel, true, before);
	transport_send(channel, false, size);
	channel->out_sequence = after;
	if (after > channel->out_window && !channel->pressure) {
		channel->pressure = true;
		if (!broken)
			transport_send(channel, true, after);
	}
}

/* The browser has got everything up to this number. */
static void channel_pong(struct channel *channel, long sequence)
{
	if (sequence + WINDOW > channel->out_window)
		channel->out_window = sequence + WINDOW;
	if (!channel->pressure || channel->out_sequence > channel->out_window)
		return;
	channel->pressure = false;
	thrum_condition_broadcast(channel->lifted, thrum_value_none());
}

static struct thrum_promise *channel_next(struct thrum_loop *own, void *value, void *data);

static struct thrum_promise *on_block(struct thrum_loop *own, void *value, void *data)
{
	struct channel *channel = data;

	channel_send(channel, ++channel->written == channel->large_block ? 50 * KIB : 4 * KIB);
	return channel_next(own, value, channel);
}

static struct thrum_promise *channel_next(struct thrum_loop *own, void *value, void *data)
{
	struct channel *channel = data;

	(void)value;
	if (channel->pressure)
		return thrum_promise_bind(thrum_condition_wait(channel->lifted, NULL), channel_next,
			channel, NULL);
	if (channel->written == channel->blocks) {
		thrum_stream_close(channel->transport);
		return thrum_promise_return(own, thrum_value_none());
	}
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(own, 1), "read %s",
					  channel->name),
		on_block, channel, NULL);
}

/* ---- The browser ---------------------------------------------------------------------------- */

static struct thrum_promise *browser_next(struct thrum_loop *own, void *value, void *data);

struct pong {
	struct channel *channel;
	long sequence;
};

static struct thrum_promise *on_pong(struct thrum_loop *own, void *value, void *data)
{
	struct pong *pong = data;

	channel_pong(pong->channel, pong->sequence);
	return browser_next(own, value, pong->channel);
}

static struct thrum_promise *on_frame(struct thrum_loop *own, void *value, void *data)
{
	struct channel *channel = data;
	const struct frame *frame = value;
	struct pong *pong;

	if (!frame) {
		open_channels--;
		return thrum_promise_return(own, thrum_value_none());
	}
	if (!frame->is_ping) {
		channel->received += frame->number;
		return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(own, 3), "show %s",
						  channel->name),
			browser_next, channel, NULL);
	}
	pong = malloc(sizeof(*pong));
	if (!pong)
		exit(2);
	*pong = (struct pong){channel, frame->number};
	return thrum_promise_bind(thrum_promise_labelf(thrum_sleep(own, 1), "pong to %s",
					  channel->name),
		on_pong, pong, free);
}

static struct thrum_promise *browser_next(struct thrum_loop *own, void *value, void *data)
{
	struct channel *channel = data;

	(void)own;
	(void)value;
	return thrum_promise_bind(thrum_stream_next(channel->transport), on_frame, channel, NULL);
}

/* ---- The session ---------------------------------------------------------------------------- */

static struct thrum_promise *spawn(struct channel *channel)
{
	struct thrum_promise *sides[2], *both;
	char label[32];

	snprintf(label, sizeof(label), "pressure of %s", channel->name);
	channel->lifted = thrum_condition_create(loop, label);
	snprintf(label, sizeof(label), "frames of %s", channel->name);
	channel->transport = thrum_stream_create(loop, label, 512);
	channel->out_window = WINDOW;
	sides[0] = thrum_promise_labelf(channel_next(loop, NULL, channel), "channel %s",
		channel->name);
	sides[1] = thrum_promise_labelf(browser_next(loop, NULL, channel), "browser of %s",
		channel->name);
	both = thrum_promise_labelf(thrum_promise_join(loop, sides, 2), "spawn %s", channel->name);
	thrum_promise_should_resolve(both);
	return both;
}

/* The browser tells now and then that it is still there. */
static struct thrum_promise *heartbeat(struct thrum_loop *own, void *value, void *data)
{
	(void)value;
	if (!open_channels)
		return thrum_promise_return(own, thrum_value_none());
	heartbeats++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(own, 50), "heartbeat"), heartbeat,
		data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[CHANNELS + 1], *session;
	int code;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	for (int i = 0; i < CHANNELS; i++)
		all[i] = spawn(&channels[i]);
	all[CHANNELS] = heartbeat(loop, NULL, NULL);
	session = thrum_promise_label(thrum_promise_join(loop, all, CHANNELS + 1), "session");
	code = thrum_promise_run(session);
	thrum_stop();
	for (int i = 0; i < CHANNELS; i++) {
		printf("%s: %ld of %ld bytes\n", channels[i].name, channels[i].received,
			channels[i].out_sequence);
		thrum_condition_destroy(channels[i].lifted);
		thrum_stream_destroy(channels[i].transport);
	}
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code ? 1 : 0;
}
