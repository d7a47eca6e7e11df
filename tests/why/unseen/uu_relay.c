/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The relay stops reading the origin when the viewer's queue is above the high mark. flush_queue()
 *     should watch the origin for reading again once the queue is below the low mark, but if one call empties
 *     the whole queue it goes back to an idle viewer first and skips that. So the viewer waits for the rest.
 *   culprit: flush_queue|pause_origin|watch_for
 *   victim: run_viewer|run_origin
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Relays streams from origins to viewers with epoll, and bounds the queue of each viewer by two marks. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define STREAMS 3
#define LENGTH (1 << 20)
#define HIGH_MARK (96 * 1024)
#define LOW_MARK (32 * 1024)
#define QUEUE_SIZE (HIGH_MARK + 16 * 1024)

struct stream;

struct side {
	struct stream *stream;
	int fd;
	uint32_t events;
};

struct stream {
	struct side origin, viewer;
	char queue[QUEUE_SIZE];
	size_t first, queued;
	bool paused, ended;
	int origin_end, viewer_end;
	useconds_t nap;
};

static int poller, pauses, open_streams;
static bool fixed;

static void watch_for(struct side *side, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = side};
	if (side->events == events)
		return;
	side->events = events;
	if (epoll_ctl(poller, EPOLL_CTL_MOD, side->fd, &event))
		exit(1);
}

static void add_side(struct side *side, struct stream *stream, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = side};
	*side = (struct side){.stream = stream, .fd = fd, .events = events};
	fcntl(fd, F_SETFL, O_NONBLOCK);
	if (epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event))
		exit(1);
}

static void pause_origin(struct stream *stream)
{
	stream->paused = true;
	pauses++;
	epoll_ctl(poller, EPOLL_CTL_DEL, stream->origin.fd, NULL);
}

static void resume_origin(struct stream *stream)
{
	stream->paused = false;
	add_side(&stream->origin, stream, stream->origin.fd, EPOLLIN);
}

static void end_stream(struct stream *stream)
{
	if (stream->viewer.fd < 0)
		return;
	close(stream->viewer.fd);
	stream->viewer.fd = -1;
	open_streams--;
}

static void flush_queue(struct stream *stream)
{
	while (stream->queued) {
		ssize_t sent = write(stream->viewer.fd, stream->queue + stream->first,
			stream->queued);
		if (sent < 0 && errno == EAGAIN)
			break;
		if (sent < 0)
			exit(1);
		stream->first += (size_t)sent;
		stream->queued -= (size_t)sent;
	}
	if (stream->queued == 0) {
		stream->first = 0;
		watch_for(&stream->viewer, 0);
		if (stream->ended)
			end_stream(stream);
		if (!fixed)
			return;
	} else {
		watch_for(&stream->viewer, EPOLLOUT);
	}
	if (stream->paused && stream->queued < LOW_MARK)
		resume_origin(stream);
}

static void read_origin(struct stream *stream)
{
	memmove(stream->queue, stream->queue + stream->first, stream->queued);
	stream->first = 0;
	ssize_t length = read(stream->origin.fd, stream->queue + stream->queued,
		QUEUE_SIZE - stream->queued);
	if (length < 0 && errno == EAGAIN)
		return;
	if (length <= 0) {
		stream->ended = true;
		epoll_ctl(poller, EPOLL_CTL_DEL, stream->origin.fd, NULL);
		close(stream->origin.fd);
	} else {
		stream->queued += (size_t)length;
	}
	flush_queue(stream);
	if (stream->queued > HIGH_MARK && !stream->paused && !stream->ended)
		pause_origin(stream);
}

static void run_relay(void)
{
	while (open_streams) {
		struct epoll_event events[8];
		int count = epoll_wait(poller, events, 8, -1);
		for (int i = 0; i < count; i++) {
			struct side *side = events[i].data.ptr;
			if (side == &side->stream->viewer)
				flush_queue(side->stream);
			else
				read_origin(side->stream);
		}
	}
}

/* An origin writes its whole stream as fast as it can. */
static void *run_origin(void *argument)
{
	struct stream *stream = argument;
	char *data = calloc(1, LENGTH);
	for (size_t written = 0; written < LENGTH;) {
		ssize_t length = write(stream->origin_end, data + written, LENGTH - written);
		if (length < 0)
			exit(1);
		written += (size_t)length;
	}
	close(stream->origin_end);
	free(data);
	return NULL;
}

/* A viewer reads a frame and shows it, which takes the slow one longer. */
static void *run_viewer(void *argument)
{
	struct stream *stream = argument;
	static _Thread_local char frame[256 * 1024];
	size_t seen = 0;
	ssize_t length;
	while ((length = read(stream->viewer_end, frame, sizeof frame)) > 0) {
		seen += (size_t)length;
		usleep(stream->nap);
	}
	if (seen != LENGTH)
		exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	fixed = argc > 1 && strcmp(argv[1], "healthy") == 0;
	static const useconds_t naps[STREAMS] = {0, 6000, 500};
	struct stream *streams = calloc(STREAMS, sizeof *streams);
	pthread_t origins[STREAMS], viewers[STREAMS];
	poller = epoll_create1(EPOLL_CLOEXEC);
	open_streams = STREAMS;
	for (int i = 0; i < STREAMS; i++) {
		int origin[2], viewer[2];
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, origin))
			return 1;
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, viewer))
			return 1;
		streams[i].origin_end = origin[1];
		streams[i].viewer_end = viewer[1];
		streams[i].nap = naps[i];
		add_side(&streams[i].origin, &streams[i], origin[0], EPOLLIN);
		add_side(&streams[i].viewer, &streams[i], viewer[0], 0);
		pthread_create(&origins[i], NULL, run_origin, &streams[i]);
		pthread_create(&viewers[i], NULL, run_viewer, &streams[i]);
	}
	run_relay();
	for (int i = 0; i < STREAMS; i++) {
		pthread_join(origins[i], NULL);
		pthread_join(viewers[i], NULL);
	}
	printf("relayed %d streams, paused %d times\n", STREAMS, pauses);
	return 0;
}
