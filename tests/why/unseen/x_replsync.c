/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: "dial replica-b" is refused again and again (nothing listens there), and the retry has no limit; "push segment 12" and "checkpoint" wait behind it for ever, although the program is busy all the time.
 *   culprit: dial replica-b|redial replica-b
 *   victim: push segment 12|checkpoint
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 * case: stopped
 *   args: daemon
 *   run: stop 600
 *   ask: why
 *   culprit: nothing
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

struct push {
	const char *peer;
	struct sockaddr_in address;
	thrum_task task, dial, timer;
	int64_t due; /* 0: no timer */
	bool done;
};

static volatile sig_atomic_t stopped;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void on_signal(int signal)
{
	stopped = 1;
}

static void timer_set(struct push *push, const char *what, int64_t ns)
{
	push->due = now() + ns;
	push->timer = thrum_task_createf(THRUM_KIND_TIMER, "%s %s", what, push->peer);
	thrum_task_due(push->timer, ns);
	thrum_task_wait(push->task, push->timer);
}

static void dial(struct push *push)
{
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	THRUM_RUN (push->task) {
		push->dial = thrum_task_createf(THRUM_KIND_REQUEST, "dial %s", push->peer);
		thrum_task_wait(push->task, push->dial);
		if (connect(descriptor, (struct sockaddr *)&push->address, sizeof push->address)) {
			thrum_task_fail(push->dial, strerror(errno));
			thrum_task_read(push->task, push->dial);
			timer_set(push, "redial", 12000000);
		} else {
			thrum_task_resolve(push->dial);
			thrum_task_read(push->task, push->dial);
			thrum_task_resolve(push->task);
			push->done = true;
		}
	}
	close(descriptor);
}

/* Returns a socket that is bound, but refuses connections until it listens. */
static int bind_somewhere(struct sockaddr_in *address)
{
	int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof *address;

	address->sin_family = AF_INET;
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address->sin_port = 0;
	if (bind(descriptor, (struct sockaddr *)address, size) ||
		getsockname(descriptor, (struct sockaddr *)address, &size))
		exit(1);
	return descriptor;
}

static void loop_wait(int milliseconds)
{
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(NULL, 0, milliseconds);
	thrum_resume();
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	bool daemon = argc > 1 && strcmp(argv[1], "daemon") == 0;
	struct push pushes[2] = {{.peer = "replica-a"}, {.peer = "replica-b"}};
	int a = bind_somewhere(&pushes[0].address), b = bind_somewhere(&pushes[1].address);
	thrum_task checkpoint;
	int64_t begin = now();

	signal(SIGTERM, on_signal);
	listen(a, 16);
	checkpoint = thrum_task_create(THRUM_KIND_JOIN, "checkpoint");
	thrum_task_should_resolve(checkpoint);
	for (int i = 0; i < 2; i++) {
		pushes[i].task = thrum_task_createf(THRUM_KIND_TASK, "push segment %d", 11 + i);
		thrum_task_should_resolve(pushes[i].task);
		thrum_task_wait(checkpoint, pushes[i].task);
		dial(&pushes[i]);
	}
	while (!stopped && !(pushes[0].done && pushes[1].done)) {
		loop_wait(3);
		if (!broken && now() - begin > 90000000)
			listen(b, 16); /* the replica has started, at last */
		for (int i = 0; i < 2; i++) {
			struct push *push = &pushes[i];

			if (push->due == 0 || push->due > now())
				continue;
			push->due = 0;
			thrum_task_resolve(push->timer);
			thrum_task_read(push->task, push->timer);
			dial(push);
		}
	}
	thrum_task_resolve(checkpoint);
	if (daemon) {
		/* Waits for the next segment, with an idle timer. */
		struct push next = {.peer = "replicas"};
		thrum_task idle = thrum_task_create(THRUM_KIND_TASK, "next segment");

		next.task = idle;
		timer_set(&next, "heartbeat", 30000000000LL);
		while (!stopped)
			loop_wait(50);
		thrum_stop();
	}
	return 0;
}
