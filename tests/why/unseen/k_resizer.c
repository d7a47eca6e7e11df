/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 900
 *   ask: why
 *   truth: The process of worker 2 crashes while it resizes a picture. The supervisor sees the end of its socket and closes the handle "worker 2", but forgets to give its job to another worker or to fail it, so that "resize 5" and the batch wait for ever.
 *   culprit: worker 2|on_worker_exit
 *   victim: resize 5|batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define WORKERS 3
#define JOBS 10

struct message {
	uint32_t serial, job;
};

struct worker {
	pid_t pid;
	int fd, job; /* job 0: idle */
	thrum_task handle;
};

static struct worker workers[WORKERS + 1];
static thrum_task jobs[JOBS + 1];
static int todo[JOBS + 1], todos, left = JOBS;
static uint32_t serial;
static bool careless;

static void worker_main(int fd, int number)
{
	struct message message;

	thrum_start(NULL);
	while (recv(fd, &message, sizeof message, 0) == sizeof message) {
		thrum_task work = thrum_task_createf(THRUM_KIND_TASK, "scale %u", message.job);

		THRUM_RUN (work) {
			thrum_link_receive(&message.serial, sizeof message.serial);
			usleep(15000 + 4000 * (useconds_t)number);
			if (number == 2 && message.job == 5)
				raise(SIGKILL); /* out of memory */
			thrum_link_send(&message.serial, sizeof message.serial);
			send(fd, &message, sizeof message, 0);
			thrum_task_resolve(work);
		}
	}
	_exit(0);
}

static void assign(void)
{
	for (int i = 1; i <= WORKERS && todos; i++) {
		struct worker *w = &workers[i];
		struct message message;

		if (w->fd < 0 || w->job)
			continue;
		/* job 5 is big, and goes to worker 2 at first */
		if (todo[todos] == 5 && workers[2].fd >= 0 && i != 2)
			continue;
		w->job = todo[todos--];
		message = (struct message){++serial, (uint32_t)w->job};
		thrum_task_wait(jobs[w->job], w->handle);
		THRUM_RUN (jobs[w->job])
			thrum_link_send(&message.serial, sizeof message.serial);
		send(w->fd, &message, sizeof message, MSG_NOSIGNAL);
	}
}

static void on_worker_exit(struct worker *w)
{
	waitpid(w->pid, NULL, 0);
	close(w->fd);
	w->fd = -1;
	thrum_task_fail(w->handle, "worker exited");
	if (!careless && w->job)
		todo[++todos] = w->job;
	w->job = 0;
}

static void on_reply(struct worker *w)
{
	struct message message;

	if (recv(w->fd, &message, sizeof message, 0) != sizeof message) {
		on_worker_exit(w);
		return;
	}
	THRUM_RUN (jobs[message.job]) {
		thrum_link_receive(&message.serial, sizeof message.serial);
		thrum_task_read(jobs[message.job], w->handle);
		thrum_task_resolve(jobs[message.job]);
	}
	left--;
	w->job = 0;
}

int main(int argc, char **argv)
{
	thrum_task batch;

	careless = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 1; i <= WORKERS; i++) {
		int ends[2];

		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
		workers[i].pid = fork();
		if (!workers[i].pid) {
			for (int j = 1; j < i; j++)
				close(workers[j].fd);
			close(ends[0]);
			worker_main(ends[1], i);
		}
		close(ends[1]);
		workers[i].fd = ends[0];
	}
	thrum_start(NULL);
	batch = thrum_task_create(THRUM_KIND_TASK, "batch");
	thrum_task_should_resolve(batch);
	for (int i = 1; i <= WORKERS; i++)
		workers[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "worker %d", i);
	for (int i = JOBS; i >= 1; i--) {
		jobs[i] = thrum_task_createf(THRUM_KIND_REQUEST, "resize %d", i);
		thrum_task_should_resolve(jobs[i]);
		thrum_task_wait(batch, jobs[i]);
		todo[++todos] = i;
	}
	while (left) {
		struct pollfd fds[WORKERS];

		assign();
		for (int i = 0; i < WORKERS; i++)
			fds[i] = (struct pollfd){.fd = workers[i + 1].fd, .events = POLLIN};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(fds, WORKERS, -1);
		thrum_resume();
		for (int i = 0; i < WORKERS; i++)
			if (fds[i].revents)
				on_reply(&workers[i + 1]);
	}
	thrum_task_resolve(batch);
	for (int i = 1; i <= WORKERS; i++) {
		if (workers[i].fd < 0)
			continue;
		close(workers[i].fd);
		thrum_task_resolve(workers[i].handle);
		waitpid(workers[i].pid, NULL, 0);
	}
	printf("%d pictures\n", JOBS);
	return 0;
}
