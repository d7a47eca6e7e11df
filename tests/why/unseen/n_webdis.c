/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET *"
 *   truth: the loop writes the log to the disk with fsync after each request, 15 ms each time; requests wait
 *     for that, their own and those of the requests before them.
 *   culprit: fsync|sync_log
 *   victim: redis
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about webdis: it calls fsync after every message of its log, which costs three quarters of
 * the throughput; its author measured 20,000 instead of 92,000 requests a second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define BURSTS 3
#define CLIENTS 10

struct request {
	thrum_task task;
	int client;
};

static int log_fd = -1;
static int lines;
static bool healthy;

static void sync_log(void)
{
	thrum_task sync = thrum_task_create(THRUM_KIND_REQUEST, "fsync log");

	thrum_task_wait(thrum_task_current(), sync);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	/* The disk is an old one. */
	if (fdatasync(log_fd))
		perror("fsync");
	usleep(15000);
	thrum_resume();
	thrum_task_resolve(sync);
	thrum_task_read(thrum_task_current(), sync);
}

static void write_log(const struct request *request)
{
	lines++;
	dprintf(log_fd, "GET /key%d 200\n", request->client);
	if (!healthy)
		sync_log();
}

/* Asks redis, on the same machine, and sends the answer. */
static void ask_redis(int client)
{
	struct timespec begin, now;
	volatile unsigned hash = (unsigned)client;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		for (int i = 0; i < 2000; i++)
			hash = hash * 33 + (unsigned)i;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 500000);
}

static void serve(struct request *request)
{
	THRUM_RUN (request->task) {
		ask_redis(request->client);
		write_log(request);
	}
	thrum_task_resolve(request->task);
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/webdis-log-XXXXXX";

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	log_fd = mkstemp(path);
	if (log_fd < 0)
		return 1;
	unlink(path);
	thrum_start(NULL);
	thrum_lane_name("event loop");
	for (int burst = 0; burst < BURSTS; burst++) {
		struct request requests[CLIENTS];

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(10000);
		thrum_resume();
		/* The clients' requests come together, and run one after the other. */
		for (int i = 0; i < CLIENTS; i++) {
			requests[i].client = i;
			requests[i].task = thrum_task_createf(THRUM_KIND_TASK, "GET /key%d", i);
			thrum_task_should_resolve(requests[i].task);
			thrum_task_ready(requests[i].task);
		}
		for (int i = 0; i < CLIENTS; i++)
			serve(&requests[i]);
		if (healthy)
			sync_log();
	}
	thrum_stop();
	printf("%d lines\n", lines);
	close(log_fd);
	return 0;
}
