/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: why --slow=GET #
 *   truth: the loop serves requests, and now and then it rotates its log. It compresses the old log in
 *     the same callback, which takes the loop for 150 ms; the requests of that time are slow.
 *   culprit: rotate log
 *   victim: main\b
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	REQUESTS = 300,
	ROTATE = 120,
	BLOCKS = 150
};

struct request {
	uint32_t number;
	thrum_task task;
};

static struct request requests[REQUESTS];
static uint32_t checksum, served, rotations, blocks_left;
static bool in_slices;
static int ends[2];

static int64_t now_us(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000) + time.tv_nsec / 1000;
}

/* Compresses one block of the old log: 1 ms of work. */
static void compress_block(void)
{
	int64_t end = now_us() + 1000;

	while (now_us() < end)
		for (unsigned i = 0; i < 500; i++)
			checksum = checksum * 1664525 + i;
	blocks_left--;
}

static void log_rotate(void)
{
	static thrum_task task;

	if (!blocks_left) {
		blocks_left = in_slices ? 20 : BLOCKS;
		rotations++;
		task = thrum_task_create(THRUM_KIND_TASK, "rotate log");
	}
	THRUM_RUN (task) {
		do
			compress_block();
		while (blocks_left && !in_slices);
		if (!blocks_left)
			thrum_task_resolve(task);
	}
}

static void request_serve(struct request *request)
{
	THRUM_RUN (request->task) {
		uint32_t answer = request->number * 31;

		for (unsigned i = 0; i < 20000; i++)
			checksum = checksum * 69069 + i;
		if (write(ends[1], &answer, sizeof answer) != sizeof answer)
			thrum_task_fail(request->task, "write");
		else
			thrum_task_resolve(request->task);
	}
	served++;
}

/* The task of a request begins where the browser sends it. */
static void *browse(void *data)
{
	uint32_t answer;

	(void)data;
	for (uint32_t i = 0; i < REQUESTS; i++) {
		struct timespec pause = {0, 3000000};

		requests[i].number = i;
		requests[i].task = thrum_task_createf(THRUM_KIND_TASK, "GET %u", i);
		thrum_task_should_resolve(requests[i].task);
		if (write(ends[0], &i, sizeof i) != sizeof i)
			abort();
		nanosleep(&pause, NULL);
		while (recv(ends[0], &answer, sizeof answer, MSG_DONTWAIT) == sizeof answer)
			continue;
	}
	shutdown(ends[0], SHUT_WR);
	while (read(ends[0], &answer, sizeof answer) == sizeof answer)
		continue;
	return NULL;
}

/* Returns false at the end. */
static bool on_readable(void)
{
	uint32_t number;
	ssize_t size = recv(ends[1], &number, sizeof number, MSG_DONTWAIT);

	if (size == sizeof number && number < REQUESTS) {
		request_serve(&requests[number]);
		return true;
	}
	return size < 0 && (errno == EAGAIN || errno == EINTR);
}

int main(int count, char **arguments)
{
	struct epoll_event event = {.events = EPOLLIN};
	bool goes_on = true;
	uint32_t rotated = 0;
	pthread_t browser;
	int epoll;

	in_slices = count < 2 || strcmp(arguments[1], "broken");
	thrum_lane_name("loop");
	epoll = epoll_create1(0);
	if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	event.data.fd = ends[1];
	if (epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event) ||
		pthread_create(&browser, NULL, browse, NULL))
		return 1;
	while (goes_on) {
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(epoll, &event, 1, blocks_left ? 0 : -1);
		thrum_resume();
		if (count > 0)
			goes_on = on_readable();
		if (blocks_left || served / ROTATE > rotated) {
			rotated = served / ROTATE;
			log_rotate();
		}
	}
	shutdown(ends[1], SHUT_RDWR);
	pthread_join(browser, NULL);
	fprintf(stderr, "%u served, %u rotations, checksum %u\n", served, rotations, checksum);
	thrum_stop();
	return 0;
}
