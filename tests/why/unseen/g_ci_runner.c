/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The cache server that start_cache_server forks inherits the write end of the output pipe of the step “unit tests” (no close-on-exec). The step has exited, but the collector of its output (thread log-2) never gets to the end of the file, and main waits to join it.
 *   culprit: start_cache_server|cache-server|cache_server
 *   victim: log-2|collect_output
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A CI runner: runs the steps of a job as shell commands, and collects the output of each. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 4

struct step {
	const char *name, *command;
	bool uses_cache;
	int number, output;
	pid_t pid;
	pthread_t collector;
	size_t bytes;
	int status;
};

static struct step steps[STEPS] = {
	{"checkout", "echo fetching; sleep 0.05; echo HEAD is at 51ab3c"},
	{"configure", "for i in 1 2 3; do echo checking for header $i; done"},
	{"unit tests", "echo 1..2; sleep 0.1; echo ok 1; echo ok 2", true},
	{"package", "sleep 0.1; echo wrote runner.tar.gz", true},
};

static int pipe_flags;
static pid_t cache_pid;
static pthread_mutex_t status_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t status_changed = PTHREAD_COND_INITIALIZER;
static bool job_over;
static int steps_done;

static void die_with_runner(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(8);
}

/* The compiler cache is a process that stays for the whole job; the first step that needs it starts it. */
static void start_cache_server(void)
{
	if (cache_pid > 0)
		return;
	cache_pid = fork();
	if (cache_pid == 0) {
		die_with_runner();
		execl("/bin/sleep", "cache-server", "60", (char *)NULL);
		_exit(127);
	}
}

/* Reads what a step prints, until it has closed its output. */
static void *collect_output(void *data)
{
	struct step *step = data;
	char name[16], buffer[512];
	ssize_t size;

	snprintf(name, sizeof(name), "log-%d", step->number);
	pthread_setname_np(pthread_self(), name);
	while ((size = read(step->output, buffer, sizeof(buffer))) != 0) {
		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			break;
		step->bytes += size;
	}
	close(step->output);
	return NULL;
}

static bool step_start(struct step *step)
{
	int ends[2];

	if (pipe2(ends, pipe_flags))
		return false;
	if (step->uses_cache)
		start_cache_server();
	step->pid = fork();
	if (step->pid == 0) {
		die_with_runner();
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/sh", "sh", "-c", step->command, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	step->output = ends[0];
	return pthread_create(&step->collector, NULL, collect_output, step) == 0;
}

static void step_finish(struct step *step)
{
	waitpid(step->pid, &step->status, 0);
	pthread_join(step->collector, NULL);
	pthread_mutex_lock(&status_lock);
	steps_done++;
	pthread_cond_signal(&status_changed);
	pthread_mutex_unlock(&status_lock);
	fprintf(stderr, "%s: status %d, %zu bytes of output\n", step->name,
		WEXITSTATUS(step->status), step->bytes);
}

/* Tells the server now and then that the runner lives. */
static void *send_heartbeats(void *data)
{
	struct timespec until;
	int sent = 0;

	pthread_setname_np(pthread_self(), "heartbeat");
	pthread_mutex_lock(&status_lock);
	while (!job_over) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 40000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_nsec -= 1000000000;
			until.tv_sec++;
		}
		if (pthread_cond_timedwait(&status_changed, &status_lock, &until) == ETIMEDOUT)
			sent++;
	}
	pthread_mutex_unlock(&status_lock);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t heartbeat;
	bool failed = false;

	pipe_flags = argc > 1 && !strcmp(argv[1], "broken") ? 0 : O_CLOEXEC;
	pthread_create(&heartbeat, NULL, send_heartbeats, NULL);
	for (int i = 0; i < STEPS && !failed; i++) {
		steps[i].number = i;
		if (!step_start(&steps[i]))
			return 1;
		step_finish(&steps[i]);
		failed = steps[i].status != 0;
	}
	if (cache_pid > 0) {
		kill(cache_pid, SIGTERM);
		waitpid(cache_pid, NULL, 0);
	}
	pthread_mutex_lock(&status_lock);
	job_over = true;
	pthread_cond_signal(&status_changed);
	pthread_mutex_unlock(&status_lock);
	pthread_join(heartbeat, NULL);
	return failed;
}
