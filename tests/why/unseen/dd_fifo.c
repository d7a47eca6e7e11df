/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The runner opens the reply FIFO for reading before the request FIFO for writing, and the step does the
 *     same from its side the other way round: each open() waits for the other side.
 *   culprit: step|open_reply|open_step|reply
 *   victim: runner|\bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A CI runner talks with a step's process over two FIFOs. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char request_path[64], reply_path[64];
static atomic_bool finished;

static void run_step(void)
{
	char text[16];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "step");
	int request = open(request_path, O_RDONLY);
	int reply = open(reply_path, O_WRONLY);

	while (read(request, text, sizeof text) > 0)
		if (write(reply, "ok", 2) != 2)
			break;
	_exit(0);
}

static int open_reply(void)
{
	return open(reply_path, O_RDONLY);
}

static void open_step(int fds[2], bool broken)
{
	if (broken) {
		fds[0] = open_reply();
		fds[1] = open(request_path, O_WRONLY);
	} else {
		fds[1] = open(request_path, O_WRONLY);
		fds[0] = open_reply();
	}
}

static void *beat(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "heartbeat");
	while (!finished)
		usleep(20000);
	return NULL;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_t thread;
	int fds[2];
	char text[16];

	snprintf(request_path, sizeof request_path, "/tmp/dd-fifo-%d-request", getpid());
	snprintf(reply_path, sizeof reply_path, "/tmp/dd-fifo-%d-reply", getpid());
	if (mkfifo(request_path, 0600) || mkfifo(reply_path, 0600))
		return 1;
	pthread_create(&thread, NULL, beat, NULL);
	pid_t child = fork();

	if (child == 0)
		run_step();
	open_step(fds, broken);
	for (int i = 0; i < 5; i++)
		if (write(fds[1], "run", 3) != 3 || read(fds[0], text, sizeof text) <= 0)
			return 1;
	close(fds[1]);
	waitpid(child, NULL, 0);
	unlink(request_path);
	unlink(reply_path);
	finished = true;
	pthread_join(thread, NULL);
	return 0;
}
