/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: the far end gives credit back only when half of the channel's window has been used up (credit_return). A
 *     document that needs more than the credit which is left at that time waits, and the far end waits for more bytes.
 *   culprit: credit_return|credit of documents|channel_receive
 *   victim: document \d+|office|telemetry
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A tunnel: several channels over one connection, each with a window of its own, so that a slow one doesn't stop the others. */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	WINDOW = 16384,
	FRAME_DATA = 1,
	FRAME_CREDIT = 2,
	CHANNELS = 2,
	DOCUMENTS = 12
};

struct frame {
	uint8_t type;
	uint8_t channel;
	uint16_t reserved;
	uint32_t size;
};

struct message {
	uint32_t size;
	thrum_task task;
	struct message *next;
};

struct channel {
	const char *name;
	uint32_t credit; /* of the near end, to send */
	uint32_t used;   /* by the far end, and not returned */
	thrum_task credit_task;
	struct message *first;
	struct message **end;
	bool is_waiting;
	unsigned sent;
};

static struct channel channels[CHANNELS] = {{.name = "documents"}, {.name = "telemetry"}};
static const uint32_t document_sizes[DOCUMENTS] = {900, 1200, 9000, 500, 2100, 7000, 3000, 800,
	2600, 13500, 1700, 600};
static int near_end;
static int far_end;
static bool returns_all;
static int documents_queued;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void frame_write(int descriptor, uint8_t type, uint8_t channel, uint32_t size)
{
	static const char bytes[WINDOW];
	struct frame frame = {type, channel, 0, size};

	if (write(descriptor, &frame, sizeof(frame)) != sizeof(frame))
		exit(1);
	if (type == FRAME_DATA && write(descriptor, bytes, size) != (ssize_t)size)
		exit(1);
}

static bool frame_read(int descriptor, struct frame *frame)
{
	static char bytes[WINDOW];

	if (recv(descriptor, frame, sizeof(*frame), MSG_WAITALL) != sizeof(*frame))
		return false;
	if (frame->type == FRAME_DATA && frame->size)
		return recv(descriptor, bytes, frame->size, MSG_WAITALL) == (ssize_t)frame->size;
	return true;
}

/* ---- The near end: sends messages as far as there is credit ---- */

static void channel_flush(struct channel *channel)
{
	struct message *message;

	while ((message = channel->first)) {
		if (message->size > channel->credit) {
			thrum_task_wait(message->task, channel->credit_task);
			channel->is_waiting = true;
			return;
		}
		THRUM_RUN (message->task) {
			if (channel->is_waiting)
				thrum_task_read(message->task, channel->credit_task);
			channel->is_waiting = false;
			channel->credit -= message->size;
			frame_write(near_end, FRAME_DATA, (uint8_t)(channel - channels),
				message->size);
		}
		thrum_task_resolve(message->task);
		channel->sent++;
		channel->first = message->next;
		if (!channel->first)
			channel->end = &channel->first;
		free(message);
	}
}

static void channel_send(struct channel *channel, uint32_t size, thrum_task task)
{
	struct message *message = calloc(1, sizeof(*message));

	if (!message)
		abort();
	message->size = size;
	message->task = task;
	*channel->end = message;
	channel->end = &message->next;
	if (channel->first == message)
		channel_flush(channel);
}

static void on_near_end(void)
{
	struct frame frame;
	struct channel *channel;

	if (!frame_read(near_end, &frame))
		exit(1);
	channel = &channels[frame.channel];
	channel->credit += frame.size;
	thrum_task_signal(channel->credit_task, channel->is_waiting);
	channel_flush(channel);
}

/* ---- The far end: receives, and returns credit ---- */

/* Small returns would cost a frame each, so they are put together. */
static void credit_return(struct channel *channel)
{
	if (channel->used < WINDOW / 2 && !returns_all)
		return;
	frame_write(far_end, FRAME_CREDIT, (uint8_t)(channel - channels), channel->used);
	channel->used = 0;
}

static void channel_receive(struct channel *channel, uint32_t size)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "receive %s", channel->name);

	THRUM_RUN (task) {
		channel->used += size;
		credit_return(channel);
	}
	thrum_task_resolve(task);
}

static void on_far_end(void)
{
	struct frame frame;

	if (!frame_read(far_end, &frame))
		exit(1);
	channel_receive(&channels[frame.channel], frame.size);
}

/* ---- Those who use the tunnel ---- */

static void office_sends(void)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "document %d", documents_queued);

	thrum_task_should_resolve(task);
	channel_send(&channels[0], document_sizes[documents_queued++], task);
}

static void telemetry_sends(void)
{
	channel_send(&channels[1], 64, thrum_task_create(THRUM_KIND_TASK, "telemetry"));
}

int main(int count, char **arguments)
{
	int64_t next = now_ms() + 30;
	int ends[2];

	if (count < 2)
		return 2;
	returns_all = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	near_end = ends[0];
	far_end = ends[1];
	for (int i = 0; i < CHANNELS; i++) {
		char label[32];

		snprintf(label, sizeof(label), "credit of %s", channels[i].name);
		channels[i].credit = WINDOW;
		channels[i].credit_task = thrum_task_create(THRUM_KIND_CONDITION, label);
		channels[i].end = &channels[i].first;
	}
	while (channels[0].sent < DOCUMENTS) {
		struct pollfd watched[2] = {{near_end, POLLIN, 0}, {far_end, POLLIN, 0}};
		int64_t wait = next - now_ms();

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (poll(watched, 2, wait > 0 ? (int)wait : 0) < 0 && errno != EINTR)
			return 1;
		thrum_resume();
		if (watched[0].revents)
			on_near_end();
		if (watched[1].revents)
			on_far_end();
		if (now_ms() >= next) {
			next += 30;
			telemetry_sends();
			if (documents_queued < DOCUMENTS)
				office_sends();
			printf("%u documents, %u telemetry\n", channels[0].sent, channels[1].sent);
			fflush(stdout);
		}
	}
	thrum_stop();
	return 0;
}
