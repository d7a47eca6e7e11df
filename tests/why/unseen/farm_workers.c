/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 800
 *   ask: why
 *   truth: the process behind "worker 2" crashes while it compiles codec.c; the master closes the connection but
 *          forgets to fail or repeat what was under way there. "compile codec.c" waits for a worker that is gone,
 *          and the link step for it.
 *   culprit: worker 2
 *   victim: (compile codec|link|build)
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 4,
	JOBS = 7
};
static const char *sources[JOBS] = {"main.c", "util.c", "codec.c", "net.c", "huge_tables.c",
	"log.c", "ui.c"};

struct message {
	int job, attempt;
	unsigned number;
};

static struct {
	int socket, job;
	pid_t pid;
	thrum_task handle;
} workers[WORKERS]; /* the fourth is a spare: it gets no job */

static struct {
	thrum_task task;
	int done, attempt, worker;
} jobs[JOBS];

static thrum_task link_step;
static int repeat;
static unsigned numbers;

static void work(int socket, int number)
{
	struct message m;
	char name[32];

	if (thrum_start(NULL) == 0) {
		snprintf(name, sizeof(name), "cc worker %d", number + 1);
		thrum_lane_name(name);
	}
	for (;;) {
		thrum_task compile;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		if (recv(socket, &m, sizeof(m), 0) != sizeof(m))
			break;
		thrum_resume();
		compile = thrum_task_createf(THRUM_KIND_TASK, "cc -c %s", sources[m.job]);
		THRUM_RUN (compile) {
			thrum_link_receive(&m.number, sizeof(m.number));
			usleep(m.job == 4 ? 250000 : 30000);
			if (m.job == 2 && m.attempt == 1)
				_exit(139); /* internal compiler error */
			m.number |= 0x80000000u;
			thrum_link_send(&m.number, sizeof(m.number));
			if (send(socket, &m, sizeof(m), 0) == sizeof(m))
				thrum_task_resolve(compile);
		}
	}
	_exit(0);
}

static void start_worker(int i)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		exit(1);
	workers[i].pid = fork();
	if (!workers[i].pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		for (int k = 0; k < WORKERS; k++)
			if (k != i && workers[k].pid > 0)
				close(workers[k].socket);
		work(pair[1], i);
	}
	close(pair[1]);
	workers[i].socket = pair[0];
	workers[i].job = -1;
	workers[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "worker %d", i + 1);
}

static void give(int i, int job)
{
	struct message m = {job, ++jobs[job].attempt, ++numbers};

	workers[i].job = job;
	jobs[job].worker = i;
	thrum_task_wait(jobs[job].task, workers[i].handle);
	THRUM_RUN (jobs[job].task)
		thrum_link_send(&m.number, sizeof(m.number));
	if (send(workers[i].socket, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
		thrum_task_fail(jobs[job].task, "send");
}

static void give_next(int i)
{
	if (i == 3)
		return;
	for (int j = 0; j < JOBS; j++)
		if (!jobs[j].attempt) {
			give(i, j);
			return;
		}
}

static void on_worker(int i)
{
	struct message m;

	if (recv(workers[i].socket, &m, sizeof(m), 0) == sizeof(m)) {
		THRUM_RUN (jobs[m.job].task) {
			thrum_link_receive(&m.number, sizeof(m.number));
			thrum_task_read(jobs[m.job].task, workers[i].handle);
			jobs[m.job].done = 1;
			thrum_task_resolve(jobs[m.job].task);
		}
		workers[i].job = -1;
		give_next(i);
	} else {
		int job = workers[i].job;

		thrum_logf("worker %d has gone", i + 1);
		close(workers[i].socket);
		waitpid(workers[i].pid, NULL, 0);
		thrum_task_fail(workers[i].handle, "exit status 139");
		workers[i].socket = -1;
		workers[i].pid = 0;
		if (repeat) {
			start_worker(i);
			if (job >= 0)
				give(i, job);
		}
	}
}

static int all_done(void)
{
	for (int j = 0; j < JOBS; j++)
		if (!jobs[j].done)
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	repeat = !(argc > 1 && !strcmp(argv[1], "broken"));
	link_step = thrum_task_create(THRUM_KIND_TASK, "link player");
	thrum_task_should_resolve(link_step);
	for (int j = 0; j < JOBS; j++) {
		jobs[j].task = thrum_task_createf(THRUM_KIND_TASK, "compile %s", sources[j]);
		thrum_task_wait(link_step, jobs[j].task);
	}
	for (int i = 0; i < WORKERS; i++)
		start_worker(i);
	/* worker 2 gets codec.c */
	give(0, 0);
	give(1, 2);
	give(2, 1);
	while (!all_done()) {
		struct pollfd p[WORKERS];

		for (int i = 0; i < WORKERS; i++)
			p[i] = (struct pollfd){workers[i].socket, POLLIN, 0};
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(p, WORKERS, -1);
		thrum_resume();
		for (int i = 0; i < WORKERS; i++)
			if (p[i].revents)
				on_worker(i);
	}
	THRUM_RUN (link_step) {
		for (int j = 0; j < JOBS; j++)
			thrum_task_read(link_step, jobs[j].task);
		usleep(20000);
		thrum_task_resolve(link_step);
	}
	for (int i = 0; i < WORKERS; i++) {
		close(workers[i].socket);
		waitpid(workers[i].pid, NULL, 0);
		thrum_task_resolve(workers[i].handle);
	}
	return 0;
}
