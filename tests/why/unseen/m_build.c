/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 900
 *   ask: why
 *   truth: The compiler process "worker 2" crashes on shader.c. The coordinator sees the end of its socket and closes it, but forgets the job that the worker had: "cc shader.c" is never given to another one, and the link waits.
 *   culprit: worker 2\b|on_worker_gone
 *   victim: cc shader\.c|link app
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A parallel build: the parent hands source files to three compiler processes over socketpairs. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thrum.h>
#include <unistd.h>

enum {
	WORKERS = 3
};

struct message {
	int key, file;
	bool careful; /* without the optimizer */
};

static const char *const files[] = {"main.c", "window.c", "input.c", "mesh.c", "shader.c",
	"audio.c", "font.c", "level.c", "save.c", "menu.c"};
enum {
	FILES = sizeof(files) / sizeof(*files)
};

static struct worker {
	int number, fd, job; /* job: a file or -1 */
	pid_t pid;
	thrum_task handle;
} workers[WORKERS];

static thrum_task jobs[FILES], link_app;
static int todo[FILES + 1], todo_count, left = FILES;
static bool careful[FILES], broken;

static void compile(int fd)
{
	struct message message;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		usleep(15000 + message.file * 9000);
		if (!strcmp(files[message.file], "shader.c") && !message.careful)
			_exit(4); /* internal compiler error */
		if (write(fd, &message, sizeof(message)) < 0)
			break;
	}
	_exit(0);
}

static void give_job(struct worker *worker)
{
	static int key;

	worker->job = -1;
	if (!todo_count)
		return;
	struct message message = {++key, todo[0], careful[todo[0]]};

	memmove(todo, todo + 1, --todo_count * sizeof(*todo));
	worker->job = message.file;
	thrum_task_wait(jobs[message.file], worker->handle);
	THRUM_RUN (jobs[message.file])
		thrum_link_send(&message.key, sizeof(message.key));
	if (write(worker->fd, &message, sizeof(message)) < 0)
		perror("write");
}

static void on_object(struct worker *worker, const struct message *message)
{
	THRUM_RUN (jobs[message->file]) {
		thrum_task_read(jobs[message->file], worker->handle);
		thrum_task_resolve(jobs[message->file]);
	}
	thrum_task_read(link_app, jobs[message->file]);
	left--;
	give_job(worker);
}

static void on_worker_gone(struct worker *worker)
{
	int status;

	waitpid(worker->pid, &status, 0);
	fprintf(stderr, "worker %d ended with status %d\n", worker->number, WEXITSTATUS(status));
	close(worker->fd);
	worker->fd = -1;
	thrum_task_resolve(worker->handle);
	if (broken || worker->job < 0)
		return;
	careful[worker->job] = true;
	todo[todo_count++] = worker->job;
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fd >= 0 && workers[i].job < 0) {
			give_job(&workers[i]);
			break;
		}
}

int main(int argc, char **argv)
{
	int ends[WORKERS][2], epoll = epoll_create1(EPOLL_CLOEXEC);

	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (int i = 0; i < WORKERS; i++)
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends[i]))
			return 1;
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){i + 1, ends[i][0], -1, fork(), THRUM_TASK_NONE};
		if (workers[i].pid == 0) {
			for (int k = 0; k < WORKERS; k++) {
				close(ends[k][0]);
				if (k != i)
					close(ends[k][1]);
			}
			compile(ends[i][1]);
		}
	}
	link_app = thrum_task_create(THRUM_KIND_JOIN, "link app");
	thrum_task_should_resolve(link_app);
	for (int i = 0; i < FILES; i++) {
		char label[32];

		snprintf(label, sizeof(label), "cc %s", files[i]);
		jobs[i] = thrum_task_create(THRUM_KIND_REQUEST, label);
		thrum_task_should_resolve(jobs[i]);
		thrum_task_wait(link_app, jobs[i]);
		todo[todo_count++] = i;
	}
	/* worker 2 is the first that is free for shader.c, the fifth file */
	for (int i = 0; i < WORKERS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &workers[i]};

		close(ends[i][1]);
		workers[i].handle = thrum_task_createf(THRUM_KIND_HANDLE, "worker %d", i + 1);
		epoll_ctl(epoll, EPOLL_CTL_ADD, workers[i].fd, &event);
		give_job(&workers[i]);
	}
	while (left) {
		struct epoll_event event;
		struct message message;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		int n = epoll_wait(epoll, &event, 1, -1);
		thrum_resume();
		if (n < 1)
			continue;
		struct worker *worker = event.data.ptr;

		if (read(worker->fd, &message, sizeof(message)) == sizeof(message))
			on_object(worker, &message);
		else
			on_worker_gone(worker);
	}
	THRUM_RUN (link_app)
		thrum_task_resolve(link_app);
	puts("built");
	thrum_stop();
	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fd >= 0)
			close(workers[i].fd);
	return 0;
}
