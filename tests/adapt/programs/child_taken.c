/* SPDX-License-Identifier: ISC */
/*
 * A loop that counts the ends of its jobs. A hook of each job is waited for, and that takes the ends of jobs,
 * too: so the loop waits for ever, and a signal ends it. With `fine` it waits for the hook alone. So it does
 * with `killed`, where each hook is killed by a signal that no stand-in sees. It knows nothing of thrum.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS 4

static bool is_fine, is_killed;

static void *end_at_once(void *unused)
{
	return unused;
}

/* Returns once it has ended; no stand-in sees that, and its end is still to be taken. */
static pid_t start_child(unsigned ms)
{
	pid_t child = fork();
	siginfo_t end;

	if (child == 0) {
		usleep(ms * 1000);
		_exit(0);
	}
	syscall(SYS_waitid, P_PID, child, &end, WEXITED | WNOWAIT, NULL);
	return child;
}

static void __attribute__((noinline)) run_hook(void)
{
	pid_t hook = fork(), ended;

	if (hook == 0) {
		usleep(8000);
		if (is_killed)
			syscall(SYS_kill, getpid(), SIGKILL);
		_exit(0);
	}
	do
		ended = waitpid(is_fine ? hook : -1, NULL, 0);
	while (ended > 0 && ended != hook);
}

/* Whether the job has ended. */
static bool __attribute__((noinline)) count_job(pid_t job)
{
	struct pollfd none = {.fd = -1, .events = POLLIN};

	poll(&none, 1, 10);
	return waitpid(job, NULL, WNOHANG) == job;
}

int main(int argc, char **argv)
{
	struct sigevent told = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	struct itimerspec limit = {.it_value.tv_nsec = 200000000};
	struct pollfd wake = {.events = POLLIN};
	pid_t jobs[JOBS];
	int counted = 0, ends[2];
	pthread_t thread;
	timer_t timer;

	is_killed = argc > 1 && strcmp(argv[1], "killed") == 0;
	is_fine = is_killed || (argc > 1 && strcmp(argv[1], "fine") == 0);
	if (pipe(ends) != 0 || timer_create(CLOCK_MONOTONIC, &told, &timer) != 0)
		return 1;
	pthread_create(&thread, NULL, end_at_once, NULL);
	pthread_join(thread, NULL);
	for (int i = 0; i < JOBS; i++) {
		jobs[i] = start_child(1);
		run_hook();
		counted += count_job(jobs[i]);
	}
	/* A busy machine may hold up one that ends by itself. */
	limit.it_value.tv_sec = is_fine ? 5 : 0;
	timer_settime(timer, 0, &limit, NULL);
	wake.fd = ends[0];
	while (counted < JOBS)
		poll(&wake, 1, -1);
	return 0;
}
