/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2500
 *   ask: why
 *   truth: each turn of the loop runs posted jobs first, then timers, and then sleeps. flush_digest, the
 *     callback of the digest timer, posts the job "digest 5" after the posted jobs of this turn, and nothing
 *     tells loop_run not to sleep. No message comes any more, so the loop sleeps, the job stays ready, and
 *     the client waits for it.
 *   culprit: digest 5|\bloop\b
 *   victim: client
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mail relay: urgent messages are delivered at once, the others as a digest after a while. */
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
	ROUNDS = 5,
	DIGEST_MS = 50
};

static bool broken;

struct job {
	thrum_task task;
	void (*run)(struct job *job);
	int messages;
	struct job *next;
};

struct loop {
	int epoll;
	int input;
	struct job *posted;
	struct job **posted_end;
	thrum_task timer; /* of the digest */
	int64_t due;      /* ms; 0: not set */
	int waiting;      /* messages for the next digest */
	int digests;
	int urgent;
	bool is_closed;
};

static struct loop loop = {.posted_end = &loop.posted};
static int client_socket;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* ---- The loop ---- */

static void loop_post(thrum_task task, void (*run)(struct job *job), int messages)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	job->task = task;
	job->run = run;
	job->messages = messages;
	*loop.posted_end = job;
	loop.posted_end = &job->next;
	thrum_task_should_resolve(task);
	thrum_task_ready(task);
}

static void run_posted(void)
{
	struct job *job;

	while ((job = loop.posted)) {
		loop.posted = job->next;
		if (!loop.posted)
			loop.posted_end = &loop.posted;
		THRUM_RUN (job->task) {
			job->run(job);
			thrum_task_resolve(job->task);
		}
		free(job);
	}
}

static void deliver(struct job *job)
{
	for (int i = 0; i < job->messages; i++)
		if (write(loop.input, "R", 1) != 1)
			loop.is_closed = true;
}

static void flush_digest(void)
{
	loop.digests++;
	loop_post(thrum_task_createf(THRUM_KIND_TASK, "digest %d", loop.digests), deliver,
		loop.waiting);
	loop.waiting = 0;
}

static void run_timers(void)
{
	if (!loop.due || now_ms() < loop.due)
		return;
	loop.due = 0;
	THRUM_RUN (loop.timer) {
		flush_digest();
		thrum_task_resolve(loop.timer);
	}
}

static void on_input(void)
{
	char message;

	if (read(loop.input, &message, 1) != 1) {
		loop.is_closed = true;
		return;
	}
	if (message == 'u') {
		loop.urgent++;
		loop_post(thrum_task_createf(THRUM_KIND_TASK, "urgent %d", loop.urgent), deliver,
			1);
		return;
	}
	if (!loop.waiting++) {
		loop.due = now_ms() + DIGEST_MS;
		loop.timer = thrum_task_create(THRUM_KIND_TIMER, "digest timer");
		thrum_task_due(loop.timer, DIGEST_MS * 1000000LL);
	}
}

static int time_to_sleep(void)
{
	int64_t left;

	if (!broken && loop.posted)
		return 0;
	if (!loop.due)
		return -1;
	left = loop.due - now_ms();
	return left > 0 ? (int)left : 0;
}

static void *loop_run(void *data)
{
	thrum_lane_name("loop");
	while (!loop.is_closed) {
		struct epoll_event event;
		int count;

		run_posted();
		run_timers();
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(loop.epoll, &event, 1, time_to_sleep());
		thrum_resume();
		if (count == 1)
			on_input();
	}
	return data;
}

/* ---- The client ---- */

static void await_receipts(thrum_task client, int number, int count)
{
	thrum_task receipts = thrum_task_createf(THRUM_KIND_REQUEST, "receipts %d", number);
	char receipt;

	thrum_task_should_resolve(receipts);
	thrum_task_wait(client, receipts);
	while (count--) {
		thrum_suspend(THRUM_BLOCKED);
		if (read(client_socket, &receipt, 1) != 1)
			exit(1);
		thrum_resume();
	}
	thrum_task_resolve(receipts);
	thrum_task_read(client, receipts);
}

static void send_mail(const char *messages)
{
	for (; *messages; messages++) {
		if (write(client_socket, messages, 1) != 1)
			exit(1);
		thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
		usleep(80000);
		thrum_resume();
	}
}

int main(int argc, char **argv)
{
	struct epoll_event event = {.events = EPOLLIN};
	thrum_task client;
	pthread_t thread;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	loop.input = ends[0];
	client_socket = ends[1];
	loop.epoll = epoll_create1(0);
	epoll_ctl(loop.epoll, EPOLL_CTL_ADD, loop.input, &event);
	client = thrum_task_create(THRUM_KIND_TASK, "client");
	thrum_task_should_resolve(client);
	if (pthread_create(&thread, NULL, loop_run, NULL))
		return 1;
	THRUM_RUN (client) {
		for (int round = 1; round <= ROUNDS; round++) {
			bool is_last = round == ROUNDS;

			send_mail(is_last ? "n" : "nu");
			await_receipts(client, round, is_last ? 1 : 2);
		}
		thrum_task_resolve(client);
	}
	close(client_socket);
	pthread_join(thread, NULL);
	thrum_stop();
	printf("%d digests, %d urgent messages\n", loop.digests, loop.urgent);
	return 0;
}
