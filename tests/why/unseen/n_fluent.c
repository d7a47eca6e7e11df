/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the engine's thread writes the result of each flush into the pipe ch_manager, which only it reads;
 *     a burst of results fills the pipe, and the thread blocks in write for ever. The inputs wait for room.
 *   culprit: run_engine|flb-engine|return_task|ch_manager
 *   victim: tail_input|in-tail|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After a report about Fluent Bit: under high load it stops processing logs with 0 % CPU, as the engine's
 * thread blocks in a write to the pipe ch_manager, whose only reader it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CHUNKS 3000
#define ROOM 1200

static int ch_manager[2];
static int new_chunks;
static pthread_mutex_t backlog_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t backlog_room = PTHREAD_COND_INITIALIZER;
static int backlog, finished;
static bool healthy;

static int read_results(void)
{
	uint64_t results[64];
	ssize_t size = read(ch_manager[0], results, sizeof(results));

	return size > 0 ? (int)(size / 8) : 0;
}

/* Tells the engine that a flush has ended. */
static void return_task(int task)
{
	uint64_t result = (uint64_t)task << 8 | 1;

	while (write(ch_manager[1], &result, sizeof(result)) < 0) {
		if (errno != EAGAIN)
			return;
		finished += read_results();
	}
}

static void flush_backlog(void)
{
	int count;

	pthread_mutex_lock(&backlog_lock);
	count = backlog;
	backlog = 0;
	pthread_cond_broadcast(&backlog_room);
	pthread_mutex_unlock(&backlog_lock);
	for (int i = 0; i < count; i++)
		return_task(i);
}

static void *run_engine(void *data)
{
	struct epoll_event event = {.events = EPOLLIN};
	int poll = epoll_create1(EPOLL_CLOEXEC);

	(void)data;
	pthread_setname_np(pthread_self(), "flb-engine");
	event.data.fd = ch_manager[0];
	epoll_ctl(poll, EPOLL_CTL_ADD, ch_manager[0], &event);
	event.data.fd = new_chunks;
	epoll_ctl(poll, EPOLL_CTL_ADD, new_chunks, &event);
	while (finished < CHUNKS) {
		uint64_t count;

		if (epoll_wait(poll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == ch_manager[0]) {
			finished += read_results();
		} else if (read(new_chunks, &count, sizeof(count)) > 0) {
			/* The upstream answers late, so that chunks gather. */
			if (count > 100)
				usleep(20000);
			flush_backlog();
		}
	}
	close(poll);
	return NULL;
}

static void *tail_input(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "in-tail");
	for (int done = 0; done < CHUNKS;) {
		/* The first files are short; then comes a burst. */
		int burst = done < 60 ? 20 : ROOM;
		uint64_t count;

		if (burst > CHUNKS - done)
			burst = CHUNKS - done;
		pthread_mutex_lock(&backlog_lock);
		while (backlog + burst > ROOM)
			pthread_cond_wait(&backlog_room, &backlog_lock);
		backlog += burst;
		pthread_mutex_unlock(&backlog_lock);
		done += burst;
		count = (uint64_t)burst;
		if (write(new_chunks, &count, sizeof(count)) < 0)
			perror("eventfd");
		usleep(2000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t engine, input;

	healthy = argc > 1 && !strcmp(argv[1], "healthy");
	if (pipe2(ch_manager, O_CLOEXEC))
		return 1;
	fcntl(ch_manager[1], F_SETPIPE_SZ, 4096);
	if (healthy)
		fcntl(ch_manager[1], F_SETFL, O_NONBLOCK);
	new_chunks = eventfd(0, EFD_CLOEXEC);
	pthread_create(&engine, NULL, run_engine, NULL);
	pthread_create(&input, NULL, tail_input, NULL);
	pthread_join(input, NULL);
	pthread_join(engine, NULL);
	printf("%d chunks\n", finished);
	return 0;
}
