/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3500
 *   ask: why
 *   truth: fluent-bit issue #2661 ("stops processing logs under high load, locks writing in ch_manager pipe"): each
 *     output tells the engine of its end by a message in the pipe ch_manager, and runs in the engine's own thread.
 *     When a backlog is flushed at once, the pipe is full before the loop comes back to read it: output_return
 *     blocks in write, and on_manager, the only reader, belongs to the same thread.
 *   culprit: output_return|engine
 *   victim: tail_main|tail\b
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Ships logs: "tail" reads chunks, the engine flushes them to an output every 40 ms, and "http" tells how it goes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define LIMIT 1500 /* chunks in memory */
#define TOTAL 2400

struct message {
	uint32_t task;
	uint32_t result;
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t room;
	uint32_t waiting;   /* chunks to be flushed */
	uint32_t in_memory; /* and those that are under way */
} chunks = {.mutex = PTHREAD_MUTEX_INITIALIZER, .room = PTHREAD_COND_INITIALIZER};

static int ch_manager[2];
static struct message later[LIMIT];
static size_t later_count;
static bool nonblocking;
static int sink;
static atomic_uint shipped;

/* ---- outputs ---- */

static void output_return(uint32_t task, uint32_t result)
{
	struct message message = {task, result};

	if (write(ch_manager[1], &message, sizeof(message)) == sizeof(message))
		return;
	if (errno != EAGAIN)
		exit(1);
	later[later_count++] = message;
}

static void output_flush(uint32_t task)
{
	static const char record[100] = "{\"log\": \"…\"}";

	output_return(task, write(sink, record, sizeof(record)) == sizeof(record));
}

/* ---- engine ---- */

static void on_flush(int timer)
{
	uint64_t expired;
	uint32_t count, i;

	if (read(timer, &expired, sizeof(expired)) != sizeof(expired))
		return;
	pthread_mutex_lock(&chunks.mutex);
	count = chunks.waiting;
	chunks.waiting = 0;
	pthread_mutex_unlock(&chunks.mutex);
	for (i = 0; i < count; i++)
		output_flush(i);
}

static void task_ended(const struct message *message)
{
	shipped += message->result;
	pthread_mutex_lock(&chunks.mutex);
	chunks.in_memory--;
	pthread_cond_signal(&chunks.room);
	pthread_mutex_unlock(&chunks.mutex);
}

static void on_manager(void)
{
	struct message messages[64];
	ssize_t size = read(ch_manager[0], messages, sizeof(messages));
	size_t i;

	for (i = 0; size > 0 && i < (size_t)size / sizeof(*messages); i++)
		task_ended(&messages[i]);
	for (i = 0; i < later_count; i++)
		task_ended(&later[i]);
	later_count = 0;
}

static void *engine(void *data)
{
	struct itimerspec every = {{0, 40000000}, {0, 40000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	int poll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};

	(void)data;
	event.data.fd = timer;
	epoll_ctl(poll, EPOLL_CTL_ADD, timer, &event);
	event.data.fd = ch_manager[0];
	epoll_ctl(poll, EPOLL_CTL_ADD, ch_manager[0], &event);
	timerfd_settime(timer, 0, &every, NULL);
	while (shipped < TOTAL) {
		if (epoll_wait(poll, &event, 1, -1) != 1)
			continue;
		if (event.data.fd == timer)
			on_flush(timer);
		else
			on_manager();
	}
	return NULL;
}

/* ---- input and monitoring ---- */

static void append_chunk(void)
{
	pthread_mutex_lock(&chunks.mutex);
	while (chunks.in_memory == LIMIT)
		pthread_cond_wait(&chunks.room, &chunks.mutex);
	chunks.in_memory++;
	chunks.waiting++;
	pthread_mutex_unlock(&chunks.mutex);
}

static void *tail_main(void *data)
{
	int round, i;

	(void)data;
	for (round = 0; round < 12; round++) {
		usleep(50000);
		for (i = 0; i < 50; i++)
			append_chunk();
	}
	/* Files that were rotated meanwhile. */
	for (i = 0; i < TOTAL - 600; i++)
		append_chunk();
	return NULL;
}

static void *http_main(void *data)
{
	(void)data;
	while (shipped < TOTAL) {
		usleep(100000);
		printf("output_proc_records_total %u\n", atomic_load(&shipped));
		fflush(stdout);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	int i;

	nonblocking = argc > 1 && !strcmp(argv[1], "healthy");
	sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (sink < 0 || pipe2(ch_manager, O_CLOEXEC) ||
		fcntl(ch_manager[1], F_SETPIPE_SZ, 4096) < 0)
		return 1;
	if (nonblocking && fcntl(ch_manager[1], F_SETFL, O_NONBLOCK))
		return 1;
	if (pthread_create(&threads[0], NULL, engine, NULL) ||
		pthread_create(&threads[1], NULL, tail_main, NULL) ||
		pthread_create(&threads[2], NULL, http_main, NULL))
		return 1;
	pthread_setname_np(threads[0], "engine");
	pthread_setname_np(threads[1], "tail");
	pthread_setname_np(threads[2], "http");
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("%u chunks shipped\n", shipped);
	return 0;
}
