/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: run_hook waits for any child until its own ends, so it swallows the ends of jobs; reap_jobs fails.
 *   culprit: run_hook
 *   victim: run_jobs|child_pipe
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * This program runs nightly jobs, three at a time, in a loop on poll. A pipe of its own tells the loop that a
 * child ended. When a job prints "changed", a hook runs at once.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS 7
#define AT_ONCE 3

extern char **environ;

struct job {
	const char *script;
	pid_t pid;
	int output;
	bool has_ended;
	char text[64];
	size_t length;
};

static struct job jobs[JOBS] = {
	{.script = "sleep 0.02; echo rotated"},
	{.script = "echo changed; sleep 0.05; echo index"},
	{.script = "sleep 0.04; echo backup"},
	{.script = "sleep 0.01; echo purge"},
	{.script = "echo changed; sleep 0.03; echo mirror"},
	{.script = "sleep 0.03; echo statistics"},
	{.script = "echo report"},
};

static bool broken;
static unsigned int started;
static unsigned int ended;
static unsigned int hooks;
static int child_pipe[2];

static void note_child(int number)
{
	int error = errno;

	(void)number;
	if (write(child_pipe[1], "c", 1) < 0 && errno != EAGAIN)
		abort();
	errno = error;
}

static pid_t start_shell(const char *script, int output)
{
	char *arguments[] = {"sh", "-c", (char *)script, NULL};
	posix_spawn_file_actions_t actions;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&actions);
	if (output >= 0)
		posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (posix_spawnp(&pid, "sh", &actions, NULL, arguments, environ) != 0)
		abort();
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void run_hook(const char *script)
{
	pid_t hook = start_shell(script, -1);
	int status;

	hooks++;
	if (!broken) {
		waitpid(hook, &status, 0);
		return;
	}
	while (waitpid(-1, &status, 0) != hook)
		if (errno == ECHILD)
			break;
}

static void start_jobs(void)
{
	while (started < JOBS && started - ended < AT_ONCE) {
		struct job *job = &jobs[started++];
		int ends[2];

		if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
			abort();
		job->output = ends[0];
		job->pid = start_shell(job->script, ends[1]);
		close(ends[1]);
	}
}

static void reap_jobs(void)
{
	char notes[16];

	while (read(child_pipe[0], notes, sizeof(notes)) > 0)
		;
	for (unsigned int i = 0; i < started; i++) {
		int status;

		if (jobs[i].has_ended || waitpid(jobs[i].pid, &status, WNOHANG) != jobs[i].pid)
			continue;
		jobs[i].has_ended = true;
		ended++;
	}
	start_jobs();
}

static void read_output(struct job *job)
{
	size_t before = job->length;
	ssize_t got = read(job->output, job->text + before, sizeof(job->text) - 1 - before);

	if (got <= 0) {
		close(job->output);
		job->output = -1;
		return;
	}
	job->length += (size_t)got;
	if (strstr(job->text + before, "changed"))
		run_hook("sleep 0.06");
}

static void run_jobs(void)
{
	start_jobs();
	while (ended < JOBS) {
		struct pollfd fds[JOBS + 1] = {{.fd = child_pipe[0], .events = POLLIN}};
		struct job *watched[JOBS + 1];
		nfds_t n = 1;

		for (unsigned int i = 0; i < started; i++) {
			if (jobs[i].output < 0)
				continue;
			watched[n] = &jobs[i];
			fds[n++] = (struct pollfd){.fd = jobs[i].output, .events = POLLIN};
		}
		if (poll(fds, n, -1) < 0)
			continue;
		for (nfds_t i = 1; i < n; i++)
			if (fds[i].revents)
				read_output(watched[i]);
		if (fds[0].revents)
			reap_jobs();
	}
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = note_child, .sa_flags = SA_RESTART | SA_NOCLDSTOP};

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (pipe2(child_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return 1;
	sigaction(SIGCHLD, &action, NULL);
	run_jobs();
	for (unsigned int i = 0; i < JOBS; i++)
		printf("%u: %s", i, jobs[i].text);
	printf("%u hooks\n", hooks);
	return 0;
}
