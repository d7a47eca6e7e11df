/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: the dispatcher's table of pending jobs has 8 slots; job 10 overwrites the slot of job 2, which still runs in
 *     the slow worker. The reply for job 2 is then thrown away as unknown (logged), and the batch waits for job 2 for ever.
 *   culprit: job 2\b|reply for 2\b|render 2\b|\bsubmit\b
 *   victim: batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define JOBS 24

/* A dispatcher and two worker processes. A message is the number of a job; the key of the link is made of it. */
struct key {
	char what[8];
	int number;
};
static int to_worker[2], slots, sent, in_flight, ended;
static struct pending {
	int number;
	bool used;
	thrum_task task;
} pending[64];
static thrum_task batch;

static void worker(int fd, int which)
{
	int number;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getenv("THRUM_TRACE"))
		thrum_start(NULL);
	thrum_lane_name(which ? "worker B" : "worker A");
	while (read(fd, &number, sizeof number) == sizeof number) {
		struct key key = {"job", number}, back = {"done", number};
		thrum_task work = thrum_task_createf(THRUM_KIND_TASK, "render %d", number);

		THRUM_RUN (work) {
			thrum_link_receive(&key, sizeof key);
			usleep(number == 2 ? 90000 : 5000);
			thrum_link_send(&back, sizeof back);
			if (write(fd, &number, sizeof number) == sizeof number)
				thrum_task_resolve(work);
		}
	}
	thrum_stop();
	_exit(0);
}

static void submit(int number)
{
	struct pending *slot = &pending[number % slots];
	struct key key = {"job", number};

	slot->number = number;
	slot->used = true;
	slot->task = thrum_task_createf(THRUM_KIND_REQUEST, "job %d", number);
	thrum_task_should_resolve(slot->task);
	thrum_task_wait(batch, slot->task);
	THRUM_RUN (slot->task) {
		thrum_link_send(&key, sizeof key);
		/* job 2 and the like are big: worker A gets them */
		if (write(to_worker[number != 2], &number, sizeof number) != sizeof number)
			thrum_task_fail(slot->task, strerror(errno));
	}
	in_flight++;
}

static void on_reply(int number)
{
	struct pending *slot = &pending[number % slots];
	struct key key = {"done", number};

	if (!slot->used || slot->number != number) {
		thrum_logf("reply for %d: no such job", number);
		return;
	}
	THRUM_RUN (slot->task) {
		thrum_link_receive(&key, sizeof key);
		thrum_task_resolve(slot->task);
	}
	slot->used = false;
	in_flight--;
	ended++;
}

int main(int argc, char **argv)
{
	struct pollfd fds[2];

	slots = argc > 1 && !strcmp(argv[1], "healthy") ? 64 : 8;
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 2; i++) {
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
			return 2;
		if (fork() == 0) {
			close(ends[0]);
			if (i)
				close(to_worker[0]);
			worker(ends[1], i);
		}
		close(ends[1]);
		to_worker[i] = ends[0];
		fds[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	}
	batch = thrum_task_create(THRUM_KIND_JOIN, "batch of frames");
	thrum_task_should_resolve(batch);
	while (ended < JOBS) {
		while (sent < JOBS && in_flight < 4)
			submit(sent++);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(fds, 2, -1);
		thrum_resume();
		for (int i = 0; i < 2; i++) {
			int number;

			if (fds[i].revents &&
				read(fds[i].fd, &number, sizeof number) == sizeof number)
				on_reply(number);
		}
	}
	thrum_task_resolve(batch);
	thrum_stop();
	close(to_worker[0]);
	close(to_worker[1]);
	while (wait(NULL) > 0)
		continue;
	puts("batch: done");
	return 0;
}
