/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: worker 2 dies in the middle of "resize 5". The master keeps a copy of the worker's end of the socket open, so it never sees the end of the input of worker 2, and the batch waits for ever.
 *   culprit: worker 2
 *   victim: resize 5|batch
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* resized: a master gives jobs to two forked workers; no should_resolve */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

#define JOBS 10

struct worker {
	pid_t pid;
	int fd, job;
	bool dead;
	thrum_task handle;
};

static struct worker workers[2];
static thrum_task jobs[JOBS + 1];

static void work(int fd, int number, bool recorded)
{
	int job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (recorded && thrum_start(NULL))
		fprintf(stderr, "worker %d isn't recorded\n", number);
	while (read(fd, &job, sizeof(job)) == sizeof(job)) {
		thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "worker resizes %d", job);

		THRUM_RUN (task) {
			thrum_link_receive(&job, sizeof(job));
			usleep(15000);
			if (job == 5 && number == 2)
				_exit(3); /* a broken image: the decoder aborts */
			if (write(fd, &job, sizeof(job)) == sizeof(job))
				thrum_task_resolve(task);
		}
	}
	thrum_stop();
	_exit(0);
}

static void give(struct worker *worker, int job)
{
	jobs[job] = thrum_task_createf(THRUM_KIND_REQUEST, "resize %d", job);
	thrum_task_wait(jobs[job], worker->handle);
	worker->job = job;
	THRUM_RUN (jobs[job])
		thrum_link_send(&job, sizeof(job));
	if (write(worker->fd, &job, sizeof(job)) != sizeof(job))
		thrum_task_fail(jobs[job], "write");
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken"), recorded = thrum_enabled();
	int next = 1, ends[2], done = 0, again = 0;
	thrum_task batch;

	for (int i = 0; i < 2; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		workers[i].pid = fork();
		if (!workers[i].pid) {
			close(ends[0]);
			work(ends[1], i + 1, recorded);
		}
		workers[i].fd = ends[0];
		if (!broken)
			close(ends[1]);
		workers[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "worker %d", i + 1);
	}
	batch = thrum_task_create(THRUM_KIND_TASK, "batch");
	give(&workers[0], next++);
	/* worker 2 gets the odd ones from 3 on: the sizes differ */
	give(&workers[1], 5);
	while (done < JOBS) {
		struct pollfd polled[2] = {{workers[0].fd, POLLIN}, {workers[1].fd, POLLIN}};

		for (int i = 0; i < 2; i++)
			if (workers[i].dead || !workers[i].job)
				polled[i].fd = -1;
			else
				thrum_task_wait(batch, jobs[workers[i].job]);
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, 2, -1);
		thrum_resume();
		for (int i = 0; i < 2; i++) {
			struct worker *worker = &workers[i];
			int job = worker->job, answer;

			if (polled[i].fd < 0 || !polled[i].revents)
				continue;
			worker->job = 0;
			THRUM_RUN (jobs[job]) {
				if (read(worker->fd, &answer, sizeof(answer)) == sizeof(answer)) {
					thrum_task_read(jobs[job], worker->handle);
					thrum_task_resolve(jobs[job]);
					done++;
				} else {
					thrum_task_fail(jobs[job], "the worker died");
					worker->dead = true;
					thrum_task_resolve(worker->handle);
					again = job;
				}
			}
			thrum_task_read(batch, jobs[job]);
			if (next == 5)
				next++;
			if (!worker->dead && next <= JOBS) {
				give(worker, next++);
			} else if (!worker->dead && again) {
				give(worker, again);
				again = 0;
			}
		}
		if (!workers[0].job && !workers[0].dead && again) {
			give(&workers[0], again);
			again = 0;
		}
	}
	thrum_task_resolve(batch);
	for (int i = 0; i < 2; i++) {
		close(workers[i].fd);
		waitpid(workers[i].pid, NULL, 0);
	}
	printf("resized: %d jobs\n", done);
	return 0;
}
