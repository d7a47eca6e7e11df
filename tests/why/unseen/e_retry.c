/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 900
 *   ask: why
 *   truth: the answer to "commit 4" is lost; its second retransmission timer is set in the wrong unit (60 s
 *     instead of 60 ms), so nothing is sent again in time.
 *   culprit: retransmit|arm_retransmit
 *   victim: commit|replicate
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

/* replica: sends commits to a follower, one datagram each, and again until it is acknowledged. */
static int fd, follower;
static bool milliseconds;
static int64_t due;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The follower. It loses the first two datagrams of commit 4, and the first one of commits 1 and 6. */
static void *simulate_follower(void *data)
{
	int seen[10] = {0}, commit;

	while (read(follower, &commit, sizeof commit) == sizeof commit) {
		int lost = commit == 4 ? 2 : commit == 1 || commit == 6 ? 1 : 0;

		usleep(2000);
		if (seen[commit]++ < lost)
			continue;
		if (write(follower, &commit, sizeof commit) < 0)
			break;
	}
	return NULL;
}

static thrum_task arm_retransmit(int commit, int attempt)
{
	thrum_task timer = thrum_task_createf(THRUM_KIND_TIMER, "retransmit %d, attempt %d", commit,
		attempt);
	int64_t delay = 30 << attempt;

	if (attempt > 0 && !milliseconds)
		delay *= 1000; /* the back-off was written for microseconds */
	due = now_ms() + delay;
	thrum_task_due(timer, delay * 1000000);
	return timer;
}

static void commit_send(int commit)
{
	if (write(fd, &commit, sizeof commit) < 0)
		thrum_log("send failed");
}

int main(int argc, char **argv)
{
	thrum_task main_task, idle;
	pthread_t thread;
	int ends[2];

	milliseconds = argc > 1 && !strcmp(argv[1], "healthy");
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		return 2;
	fd = ends[0];
	follower = ends[1];
	pthread_create(&thread, NULL, simulate_follower, NULL);
	idle = thrum_task_create(THRUM_KIND_TIMER, "snapshot every hour");
	thrum_task_due(idle, 3600 * INT64_C(1000000000));
	main_task = thrum_task_create(THRUM_KIND_TASK, "replicate");
	thrum_task_should_resolve(main_task);
	thrum_task_switch(main_task);
	for (int commit = 0; commit < 8; commit++) {
		thrum_task request = thrum_task_createf(THRUM_KIND_TASK, "commit %d", commit);
		thrum_task timer;
		int attempt = 0, answer = -1;

		thrum_task_should_resolve(request);
		thrum_task_wait(main_task, request);
		commit_send(commit);
		timer = arm_retransmit(commit, attempt);
		thrum_task_wait(request, timer);
		while (answer != commit) {
			struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
			int64_t rest = due - now_ms();
			int n;

			thrum_suspend(THRUM_WAIT_FOR_WORK);
			n = poll(&poll_fd, 1, rest < 0 ? 0 : (int)rest);
			thrum_resume();
			if (n == 1) {
				if (read(fd, &answer, sizeof answer) < 0)
					return 2;
			} else if (n == 0) {
				thrum_task_resolve(timer);
				THRUM_RUN (request) {
					thrum_task_read(request, timer);
					commit_send(commit);
					timer = arm_retransmit(commit, ++attempt);
					thrum_task_wait(request, timer);
				}
			}
		}
		thrum_task_cancel(timer);
		THRUM_RUN (request)
			thrum_task_resolve(request);
		thrum_task_read(main_task, request);
	}
	thrum_task_resolve(main_task);
	thrum_task_switch(THRUM_TASK_NONE);
	thrum_stop();
	puts("replica: all committed");
	return 0;
}
