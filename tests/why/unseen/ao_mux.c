/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the client resets "GET /video". Its credits that come afterwards are dropped, as the stream is
 *     unknown (on_credit), so the reset stream keeps its share of the connection's window, and "GET /style"
 *     has no room to send.
 *   culprit: GET /video
 *   victim: GET /style
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
/* A server that sends several streams over one connection, with a window of frames for all of them, and its client in a thread. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define WINDOW 6
#define STREAMS 4

enum type {
	GET,
	DATA,
	CREDIT,
	RESET,
	END
};

struct frame {
	uint8_t type, stream, count;
};

struct stream {
	int id, left; /* frames that are still to be sent */
	bool is_blocked;
	thrum_task task;
	struct stream *next;
};

static const struct {
	const char *path;
	int frames;
} pages[STREAMS] = {{"GET /", 3}, {"GET /video", 40}, {"GET /style", 4}, {"GET /report", 12}};

static struct stream *streams;
static int ends[2], window = WINDOW;
static thrum_task window_task;
static bool impatient;

static void put(int socket, enum type type, int stream, int count)
{
	struct frame frame = {(uint8_t)type, (uint8_t)stream, (uint8_t)count};

	if (write(socket, &frame, sizeof(frame)) != sizeof(frame))
		exit(1);
}

static __attribute__((noinline)) struct stream *stream_find(int id)
{
	struct stream *stream = streams;

	while (stream && stream->id != id)
		stream = stream->next;
	return stream;
}

static __attribute__((noinline)) void stream_free(struct stream *stream)
{
	struct stream **link = &streams;

	while (*link != stream)
		link = &(*link)->next;
	*link = stream->next;
	free(stream);
}

/* Sends as much of the stream as there is room for. */
static __attribute__((noinline)) void stream_send(struct stream *stream)
{
	THRUM_RUN (stream->task) {
		for (; stream->left && window; stream->left--) {
			window--;
			thrum_lock_acquired(window_task);
			put(ends[0], DATA, stream->id, 1);
		}
		stream->is_blocked = stream->left > 0;
		if (stream->is_blocked)
			thrum_task_wait(stream->task, window_task);
	}
}

static __attribute__((noinline)) void on_get(int id)
{
	struct stream *stream = calloc(1, sizeof(*stream)), **link = &streams;

	stream->id = id;
	stream->left = pages[id].frames;
	stream->task = thrum_task_create(THRUM_KIND_TASK, pages[id].path);
	thrum_task_should_resolve(stream->task);
	while (*link)
		link = &(*link)->next;
	*link = stream;
	stream_send(stream);
}

/* The client has eaten some frames of the stream, so there is room for others. */
static __attribute__((noinline)) void on_credit(int id, int count)
{
	struct stream *stream = stream_find(id);

	if (!stream)
		return;
	window += count;
	THRUM_RUN (stream->task)
		for (int i = 0; i < count; i++)
			thrum_lock_released(window_task);
	for (struct stream *next = streams; next && window; next = next->next)
		if (next->is_blocked)
			stream_send(next);
}

/* The client has all that it wants. */
static __attribute__((noinline)) void on_end(int id)
{
	struct stream *stream = stream_find(id);

	if (!stream)
		return;
	THRUM_RUN (stream->task)
		thrum_task_resolve(stream->task);
	stream_free(stream);
}

static __attribute__((noinline)) void on_reset(int id)
{
	struct stream *stream = stream_find(id);

	if (!stream)
		return;
	thrum_task_cancel(stream->task);
	stream_free(stream);
}

static __attribute__((noinline)) void serve(void)
{
	int poller = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	struct frame frame;

	epoll_ctl(poller, EPOLL_CTL_ADD, ends[0], &event);
	for (;;) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		while (epoll_wait(poller, &event, 1, -1) < 0 && errno == EINTR)
			continue;
		thrum_resume();
		if (read(ends[0], &frame, sizeof(frame)) != sizeof(frame))
			break;
		if (frame.type == GET)
			on_get(frame.stream);
		else if (frame.type == CREDIT)
			on_credit(frame.stream, frame.count);
		else if (frame.type == RESET)
			on_reset(frame.stream);
		else
			on_end(frame.stream);
	}
	close(poller);
}

/* Asks for the pages one after the other. It is not recorded. An impatient user leaves the video after a few frames. */
static void *client(void *data)
{
	static const struct timespec bite = {0, 3000000};
	struct frame frame;

	for (int id = 0; id < STREAMS; id++) {
		int wanted = id == 1 ? 14 : pages[id].frames;

		put(ends[1], GET, id, 0);
		for (int got = 0; got < pages[id].frames;) {
			if (read(ends[1], &frame, sizeof(frame)) != sizeof(frame))
				return NULL;
			nanosleep(&bite, NULL);
			if (frame.stream == id && ++got == wanted && impatient) {
				put(ends[1], RESET, id, 0);
				put(ends[1], CREDIT, id, 1);
				break;
			}
			put(ends[1], CREDIT, frame.stream, 1);
		}
		put(ends[1], END, id, 0);
	}
	shutdown(ends[1], SHUT_WR);
	return data;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	impatient = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	window_task = thrum_task_create(THRUM_KIND_SEMAPHORE, "window");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) ||
		pthread_create(&thread, NULL, client, NULL))
		return 1;
	serve();
	thrum_stop();
	pthread_join(thread, NULL);
	printf("window %d of %d\n", window, WINDOW);
	return 0;
}
