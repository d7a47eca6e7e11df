/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: The server was busy, so the timer "retry chunk 3" is set. timer_start should have moved the loop's
 *     next wake-up to it, but the loop sleeps until the idle timer in 60 s and never runs the retry.
 *   culprit: retry chunk 3
 *   victim: PUT chunk 3|upload
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/*
 * Uploads a backup in chunks over a connection, with an event loop of its own: timers in a list, and the time
 * of the earliest one at hand. A busy server is asked again a little later.
 */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define CHUNKS 7
#define MS 1000000LL

struct timer {
	thrum_task task;
	int64_t due; /* 0: not set */
	void (*run)(struct timer *);
	int chunk;
};

static void give_up(struct timer *), send_again(struct timer *);
static struct timer idle = {.run = give_up}, retry = {.run = send_again};
static struct timer *const timers[] = {&idle, &retry};
static int64_t wake_at; /* the loop's next wake-up; 0: none */
static int connection;
static thrum_task upload, socket_task, request;
static bool broken, is_done;
static int retries;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 * MS + time.tv_nsec;
}

static void find_wake_up(void)
{
	wake_at = 0;
	for (int i = 0; i < 2; i++)
		if (timers[i]->due && (!wake_at || timers[i]->due < wake_at))
			wake_at = timers[i]->due;
}

static void timer_start(struct timer *timer, const char *label, int64_t ns)
{
	timer->due = now() + ns;
	timer->task = thrum_task_create(THRUM_KIND_TIMER, label);
	thrum_task_due(timer->task, ns);
	/* The bug: an earlier time than that at hand goes unnoticed. */
	if (!wake_at)
		wake_at = timer->due;
	if (!broken)
		find_wake_up();
}

static void run_timers(void)
{
	for (int i = 0; i < 2; i++) {
		if (!timers[i]->due || timers[i]->due > now())
			continue;
		timers[i]->due = 0;
		THRUM_RUN (timers[i]->task) {
			timers[i]->run(timers[i]);
			thrum_task_resolve(timers[i]->task);
		}
	}
	find_wake_up();
}

static void give_up(struct timer *timer)
{
	(void)timer;
	fprintf(stderr, "the server is silent\n");
	is_done = true;
}

static void send_chunk(int chunk)
{
	char byte = (char)chunk;

	thrum_task_wait(request, socket_task);
	if (write(connection, &byte, 1) != 1)
		thrum_task_fail(request, "write");
}

static void next_chunk(int chunk)
{
	if (chunk == CHUNKS) {
		thrum_task_cancel(idle.task);
		thrum_task_resolve(upload);
		is_done = true;
		return;
	}
	request = thrum_task_createf(THRUM_KIND_TASK, "PUT chunk %d", chunk);
	thrum_task_should_resolve(request);
	thrum_task_wait(upload, request);
	send_chunk(chunk);
}

static void send_again(struct timer *timer)
{
	retries++;
	THRUM_RUN (request) {
		thrum_task_read(request, timer->task);
		send_chunk(timer->chunk);
	}
}

static void on_answer(void)
{
	char answer[2], label[32];

	if (read(connection, answer, 2) != 2)
		return;
	THRUM_RUN (request) {
		thrum_task_read(request, socket_task);
		if (answer[1] == 'b') { /* busy */
			snprintf(label, sizeof(label), "retry chunk %d", answer[0]);
			retry.chunk = answer[0];
			timer_start(&retry, label, 15 * MS);
			thrum_task_wait(request, retry.task);
			break;
		}
		thrum_task_resolve(request);
		next_chunk(answer[0] + 1);
	}
}

/* The server stores chunks, and is busy once. */
static void *serve(void *data)
{
	int end = *(int *)data;
	char answer[2];
	bool was_busy = false;

	while (read(end, answer, 1) == 1) {
		struct timespec work = {0, 4 * MS + answer[0] * MS / 4};

		nanosleep(&work, NULL);
		answer[1] = answer[0] == 3 && !was_busy ? 'b' : 'k';
		was_busy = was_busy || answer[1] == 'b';
		if (write(end, answer, 2) != 2)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server;
	int ends[2];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
		pthread_create(&server, NULL, serve, &ends[1]))
		return 1;
	connection = ends[0];
	socket_task = thrum_task_create(THRUM_KIND_HANDLE, "connection");
	upload = thrum_task_create(THRUM_KIND_TASK, "upload");
	thrum_task_should_resolve(upload);
	timer_start(&idle, "idle timeout", 60000 * MS);
	THRUM_RUN (upload)
		next_chunk(0);
	while (!is_done) {
		struct pollfd ready = {connection, POLLIN, 0};
		int64_t left = wake_at ? (wake_at - now()) / MS + 1 : -1;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&ready, 1, wake_at && left < 0 ? 0 : (int)left);
		thrum_resume();
		if (ready.revents)
			on_answer();
		else
			run_timers();
	}
	thrum_stop();
	printf("%d chunks stored, %d retries\n", CHUNKS, retries);
	return 0;
}
