/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="GET /status"
 *   truth: The coroutine of GET /report resolves a name with a blocking call (resolve_blocking, 230 ms) on the only scheduler
 *     thread. The slow GET /status had only a short timer to wait for, and no turn meanwhile.
 *   culprit: GET /report|resolve_blocking
 *   victim: GET /status
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* A web server with a coroutine for each request. Time comes from a list of sleeping coroutines. */
#define REQUESTS 24

struct request {
	ucontext_t context;
	const char *path;
	int64_t arrives, wake;
	int state; /* 0: not here yet, 1: sleeps, 2: done */
	thrum_task task, timer;
};

static ucontext_t scheduler;
static struct request requests[REQUESTS], *current;
static int broken;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void co_sleep(int ms)
{
	current->wake = now_us() + ms * 1000;
	current->timer = thrum_task_create(THRUM_KIND_TIMER, "sleep");
	thrum_task_due(current->timer, ms * 1000000ll);
	thrum_task_wait(current->task, current->timer);
	swapcontext(&current->context, &scheduler);
}

static __attribute__((noinline)) void resolve_blocking(void)
{
	usleep(230 * 1000); /* getaddrinfo of a dead name server */
}

static void handle(void)
{
	if (!strcmp(current->path, "GET /report")) {
		co_sleep(12);
		if (broken)
			resolve_blocking();
		else
			co_sleep(230); /* the asynchronous resolver */
		co_sleep(5);
	} else {
		co_sleep(12);
		co_sleep(12);
	}
	thrum_task_resolve(current->task);
	current->state = 2;
	swapcontext(&current->context, &scheduler);
}

static void accept_request(struct request *request)
{
	getcontext(&request->context);
	request->context.uc_stack.ss_sp = malloc(64 << 10);
	request->context.uc_stack.ss_size = 64 << 10;
	makecontext(&request->context, handle, 0);
	request->task = thrum_task_create(THRUM_KIND_FIBER, request->path);
	request->state = 1;
	request->wake = 0;
}

int main(int argc, char **argv)
{
	int64_t start = now_us();
	int done = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < REQUESTS; i++) {
		requests[i].path = i == 13 ? "GET /report" : "GET /status";
		/* One request arrives shortly before the report does its worst. */
		requests[i].arrives = start + (i == 14 ? 13 * 15 + 4 : i * 15) * 1000;
	}
	while (done < REQUESTS) {
		int64_t now = now_us();

		for (int i = 0; i < REQUESTS; i++) {
			struct request *request = &requests[i];
			thrum_task before;

			if (request->state == 0 && now >= request->arrives)
				accept_request(request);
			if (request->state != 1 || now < request->wake)
				continue;
			current = request;
			if (request->timer) {
				thrum_task_resolve(request->timer);
				thrum_task_read(request->task, request->timer);
			}
			before = thrum_task_enter(request->task);
			swapcontext(&scheduler, &request->context);
			thrum_task_leave(before);
			done += request->state == 2;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		usleep(500);
		thrum_resume();
	}
	printf("%d requests\n", done);
	return 0;
}
