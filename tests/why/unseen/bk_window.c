/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: receive_frame throws frames of the reset "stream 2" away without giving their bytes to the window of
 *     the connection. Soon the window is used up, and the other streams wait for room in it for ever.
 *   culprit: receive_frame|give_credit|connection window|receiver
 *   victim: stream [1345]|main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

/* Streams share a connection. The sum of the bytes that are under way is limited by a window. */
enum {
	STREAMS = 5,
	FRAMES = 14,
	FRAME = 4,
	WINDOW = 32,
	WIRE = 64
};

struct stream {
	int number, sent;
	bool is_ready, waits, ended, reset;
	int received;
	thrum_task task;
};

struct frame {
	int stream, size;
};

static struct stream streams[STREAMS + 1];
static struct frame wire[WIRE];
static unsigned wire_first, wire_count;
static int window = WINDOW, window_waiters, discarded, pings;
static bool receiver_ready, receiver_waits, fair;
static thrum_task window_task, wire_task, receiver_task, all_task;

static void make_ready(struct stream *stream)
{
	thrum_task_ready(stream->task);
	stream->is_ready = true;
}

static void receiver_wake(void)
{
	receiver_waits = false;
	receiver_ready = true;
	thrum_task_ready(receiver_task);
}

static void give_credit(int bytes)
{
	window += bytes;
	thrum_task_signal(window_task, (unsigned)window_waiters);
	window_waiters = 0;
	for (int i = 1; i <= STREAMS; i++) {
		if (!streams[i].waits)
			continue;
		streams[i].waits = false;
		make_ready(&streams[i]);
	}
}

static void wire_put(int stream, int size)
{
	wire[(wire_first + wire_count++) % WIRE] = (struct frame){stream, size};
	thrum_task_signal(wire_task, receiver_waits);
	if (receiver_waits)
		receiver_wake();
}

static void wait_for_window(struct stream *stream)
{
	stream->waits = true;
	window_waiters++;
	thrum_task_wait(stream->task, window_task);
}

/* A turn of a stream: sends a frame if the window has room. */
static void send_frame(struct stream *stream)
{
	if (window < FRAME) {
		wait_for_window(stream);
		return;
	}
	thrum_task_read(stream->task, window_task);
	window -= FRAME;
	wire_put(stream->number, FRAME);
	if (++stream->sent < FRAMES) {
		make_ready(stream);
		return;
	}
	stream->ended = true;
	thrum_task_resolve(stream->task);
}

static void deliver(struct stream *stream, int size)
{
	stream->received += size;
	/* The reader of the second stream gives up early. */
	if (stream->number == 2 && stream->received == 2 * FRAME) {
		thrum_logf("stream %d is reset", stream->number);
		stream->reset = true;
	}
}

static void receive_frame(struct frame frame)
{
	struct stream *stream = &streams[frame.stream];

	if (stream->reset) {
		discarded++;
		if (fair)
			give_credit(frame.size);
		return;
	}
	deliver(stream, frame.size);
	give_credit(frame.size);
}

/* A turn of the receiver: takes what lies on the wire. */
static void receive(void)
{
	while (wire_count > 0) {
		struct frame frame = wire[wire_first++ % WIRE];

		wire_count--;
		thrum_task_read(receiver_task, wire_task);
		receive_frame(frame);
	}
	receiver_waits = true;
	thrum_task_wait(receiver_task, wire_task);
}

static bool run_ready(void)
{
	bool ran = false;

	for (int i = 1; i <= STREAMS; i++) {
		if (!streams[i].is_ready)
			continue;
		streams[i].is_ready = false;
		ran = true;
		THRUM_RUN (streams[i].task)
			send_frame(&streams[i]);
	}
	if (receiver_ready) {
		receiver_ready = false;
		ran = true;
		THRUM_RUN (receiver_task)
			receive();
	}
	return ran;
}

static bool all_ended(void)
{
	for (int i = 1; i <= STREAMS; i++)
		if (!streams[i].ended)
			return false;
	return true;
}

/* The loop sleeps while nothing is ready, but for a ping now and then. */
static void run_loop(void)
{
	while (!all_ended()) {
		int delay = run_ready() ? 1 : 100;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(NULL, 0, delay);
		thrum_resume();
		if (delay > 1)
			pings++;
	}
}

int main(int argc, char **argv)
{
	fair = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_lane_name("loop");
	window_task = thrum_task_create(THRUM_KIND_CONDITION, "connection window");
	wire_task = thrum_task_create(THRUM_KIND_MAILBOX, "wire");
	receiver_task = thrum_task_create(THRUM_KIND_FIBER, "receiver");
	all_task = thrum_task_create(THRUM_KIND_JOIN, "all streams");
	thrum_task_should_resolve(all_task);
	for (int i = 1; i <= STREAMS; i++) {
		streams[i].number = i;
		streams[i].task = thrum_task_createf(THRUM_KIND_TASK, "stream %d", i);
		thrum_task_wait(all_task, streams[i].task);
		make_ready(&streams[i]);
	}
	receiver_wake();
	run_loop();
	thrum_task_resolve(all_task);
	printf("%d frames thrown away, %d pings\n", discarded, pings);
	thrum_stop();
	return 0;
}
