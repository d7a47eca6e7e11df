/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_step reads the step's standard output to its end before it reads the step's standard error. The linter writes more warnings than the pipe for standard error holds, so sh blocks in that write, and its standard output never ends.
 *   culprit: run_step|read_to_end|\bsh\b
 *   victim: \bmain\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* A CI runner: each step is a shell command, its output and its warnings are kept apart. */

struct output {
	char *text;
	size_t size;
};

struct step {
	const char *name, *command;
	struct output out, err;
	int status;
};

static bool broken;

static struct step steps[] = {
	{.name = "fetch", .command = "echo cloned; echo 'warning: shallow clone' >&2"},
	{.name = "lint",
		.command =
			"i=0; while [ $i -lt 3000 ]; do"
			" echo \"main.c:$i: warning: unused parameter\" >&2; i=$((i+1)); done; echo linted"},
	{.name = "pack", .command = "echo packed"},
};

/* Adds what can be read now. Returns false at the end. */
static bool read_some(int fd, struct output *output)
{
	char buffer[4096];
	ssize_t got = read(fd, buffer, sizeof(buffer));

	if (got <= 0)
		return false;
	output->text = realloc(output->text, output->size + (size_t)got);
	if (!output->text)
		abort();
	memcpy(output->text + output->size, buffer, (size_t)got);
	output->size += (size_t)got;
	return true;
}

static void read_to_end(int fd, struct output *output)
{
	while (read_some(fd, output))
		continue;
}

static void read_both(int out, int err, struct step *step)
{
	struct pollfd fds[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents && !read_some(out, &step->out))
			fds[0].fd = -1;
		if (fds[1].revents && !read_some(err, &step->err))
			fds[1].fd = -1;
	}
}

static void run_step(struct step *step)
{
	int out[2], err[2];
	pid_t child;

	if (pipe(out) || pipe(err))
		abort();
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		close(out[0]);
		close(out[1]);
		close(err[0]);
		close(err[1]);
		execl("/bin/sh", "sh", "-c", step->command, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	if (broken) {
		read_to_end(out[0], &step->out);
		read_to_end(err[0], &step->err);
	} else {
		read_both(out[0], err[0], step);
	}
	close(out[0]);
	close(err[0]);
	waitpid(child, &step->status, 0);
}

static void *run_job(void *unused)
{
	(void)unused;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		run_step(&steps[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t job;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	pthread_create(&job, NULL, run_job, NULL);
	pthread_setname_np(job, "job");
	pthread_join(job, NULL);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		printf("%s: status %d, %zu bytes, %zu bytes of warnings\n", steps[i].name,
			steps[i].status, steps[i].out.size, steps[i].err.size);
	return 0;
}
