/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: put_frames announces frames by the eventfd only if the ring was empty before. log_frames
 *     takes at most 16 frames and goes back to the loop, also if there are more. After the long message of
 *     24 frames the ring is never empty again, so nobody announces anything, and the loop sleeps though
 *     frames lie in the ring. The ring gets full, and the bus's thread waits for room for ever. The fix
 *     takes frames until the ring is empty.
 *   culprit: log_frames|announce
 *   victim: wait_for_room|drive\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A logger for a car's CAN bus: one thread reads the bus, the loop writes the frames to a file. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
	RING = 32,
	BLOCK = 16, /* frames in a block of the file */
	LONG_MESSAGE = 24,
	MESSAGES = 160
};

struct frame {
	uint16_t id;
	uint8_t data[8];
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t room;
	struct frame frames[RING];
	unsigned first, count;
	bool ended;
} ring = {.lock = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER};

static bool broken;
static int filled; /* eventfd */
static FILE *file;
static int written;

/* ---- The bus -------------------------------------------------------------------------------- */

static void __attribute__((noinline)) announce(void)
{
	uint64_t one = 1;

	if (write(filled, &one, sizeof(one)) != sizeof(one))
		exit(1);
}

static void __attribute__((noinline)) wait_for_room(unsigned count)
{
	while (ring.count + count > RING)
		pthread_cond_wait(&ring.room, &ring.lock);
}

/* The frames of a message are put together. */
static void put_frames(uint16_t id, unsigned count)
{
	bool was_empty;

	pthread_mutex_lock(&ring.lock);
	wait_for_room(count);
	was_empty = ring.count == 0;
	for (unsigned i = 0; i < count; i++) {
		struct frame *frame = &ring.frames[(ring.first + ring.count++) % RING];

		frame->id = id;
		memset(frame->data, (int)i, sizeof(frame->data));
	}
	pthread_mutex_unlock(&ring.lock);
	if (was_empty)
		announce();
}

static void *drive(void *data)
{
	(void)data;
	for (int i = 1; i <= MESSAGES; i++) {
		put_frames((uint16_t)(0x100 + i % 7), 1 + (unsigned)i % 3);
		usleep(6000);
		if (i == MESSAGES / 2)
			put_frames(0x7e8, LONG_MESSAGE); /* an answer of the diagnosis */
	}
	pthread_mutex_lock(&ring.lock);
	ring.ended = true;
	pthread_mutex_unlock(&ring.lock);
	announce();
	return NULL;
}

/* ---- The loop ------------------------------------------------------------------------------- */

static unsigned take_block(struct frame *block)
{
	unsigned taken = 0;

	pthread_mutex_lock(&ring.lock);
	while (taken < BLOCK && ring.count > 0) {
		block[taken++] = ring.frames[ring.first];
		ring.first = (ring.first + 1) % RING;
		ring.count--;
	}
	if (taken)
		pthread_cond_signal(&ring.room);
	pthread_mutex_unlock(&ring.lock);
	return taken;
}

static void __attribute__((noinline)) log_frames(void)
{
	struct frame block[BLOCK];
	uint64_t times;
	unsigned taken;

	if (read(filled, &times, sizeof(times)) != sizeof(times))
		return;
	do {
		taken = take_block(block);
		fwrite(block, sizeof(*block), taken, file);
		written += (int)taken;
	} while (!broken && taken > 0);
}

static void flush_file(int ticker)
{
	uint64_t times;

	if (read(ticker, &times, sizeof(times)) == sizeof(times))
		fflush(file);
}

static bool is_finished(void)
{
	bool finished;

	pthread_mutex_lock(&ring.lock);
	finished = ring.ended && ring.count == 0;
	pthread_mutex_unlock(&ring.lock);
	return finished;
}

int main(int argc, char **argv)
{
	struct itimerspec often = {{0, 200000000}, {0, 200000000}};
	int loop = epoll_create1(0), ticker = timerfd_create(CLOCK_MONOTONIC, 0);
	struct epoll_event event = {.events = EPOLLIN};
	pthread_t bus;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	file = tmpfile();
	filled = eventfd(0, 0);
	if (!file || loop < 0 || ticker < 0 || filled < 0)
		return 1;
	timerfd_settime(ticker, 0, &often, NULL);
	event.data.fd = filled;
	epoll_ctl(loop, EPOLL_CTL_ADD, filled, &event);
	event.data.fd = ticker;
	epoll_ctl(loop, EPOLL_CTL_ADD, ticker, &event);
	pthread_create(&bus, NULL, drive, NULL);
	pthread_setname_np(bus, "bus");
	while (!is_finished()) {
		if (epoll_wait(loop, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == filled)
			log_frames();
		else
			flush_file(ticker);
	}
	pthread_join(bus, NULL);
	printf("%d frames\n", written);
	return 0;
}
