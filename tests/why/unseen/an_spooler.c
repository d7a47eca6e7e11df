/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The spool process spool-b ended at its first start, and restart_spool started it again while the supervisor
 *     had SIGTERM blocked to change its table. The new spool-b inherited the mask, so the SIGTERM by which it is asked
 *     to end stays pending; it waits for jobs for ever, and the supervisor for it, in waitpid.
 *   culprit: spool-b|restart_spool
 *   victim: supervisor|stop_spools
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A print spooler: a supervisor, and two processes that print jobs from a socket until they are told to end. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SPOOLS 2
#define EXIT_STALE 3 /* cleaned up, please start me again */

struct slot {
	int stale; /* a lock that an earlier run left */
	int printed;
};

struct spool {
	const char *name;
	pid_t pid;
	int jobs; /* the supervisor's end of the socket */
	struct slot *slot;
	int starts;
};

static struct spool spools[SPOOLS];
static volatile sig_atomic_t terminating;

static void on_sigterm(int signal)
{
	(void)signal;
	terminating = 1;
}

static __attribute__((noinline)) void print_job(struct slot *slot, const char *job, ssize_t size)
{
	(void)job;
	usleep(5000);
	if (size > 0)
		slot->printed++;
}

/* The child: prints jobs until SIGTERM. */
static __attribute__((noinline)) void run_spool(struct spool *spool, int fd)
{
	const struct sigaction action = {.sa_handler = on_sigterm};
	char job[128];

	prctl(PR_SET_NAME, spool->name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGTERM, &action, NULL);
	if (spool->slot->stale) {
		spool->slot->stale = 0;
		_exit(EXIT_STALE);
	}
	if (send(fd, "ready", 5, 0) < 0)
		_exit(1);
	while (!terminating) {
		const ssize_t n = recv(fd, job, sizeof job, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		print_job(spool->slot, job, n);
	}
	_exit(0);
}

static __attribute__((noinline)) int start_spool(struct spool *spool)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	spool->pid = fork();
	if (spool->pid < 0)
		return -1;
	if (spool->pid == 0) {
		close(fds[0]);
		run_spool(spool, fds[1]);
	}
	close(fds[1]);
	spool->jobs = fds[0];
	spool->starts++;
	return 0;
}

/* The handler of SIGTERM walks the table, so it must not come while an entry is changed. */
static __attribute__((noinline)) int restart_spool(struct spool *spool)
{
	sigset_t block, before;
	int r;

	sigemptyset(&block);
	sigaddset(&block, SIGTERM);
	sigprocmask(SIG_BLOCK, &block, &before);
	close(spool->jobs);
	waitpid(spool->pid, NULL, 0);
	r = start_spool(spool);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

/* Waits until it is ready; if it ended instead, it is started again, once. */
static __attribute__((noinline)) int await_spool(struct spool *spool)
{
	char text[8];

	while (recv(spool->jobs, text, sizeof text, 0) <= 0)
		if (spool->starts > 1 || restart_spool(spool) < 0)
			return -1;
	return 0;
}

static __attribute__((noinline)) void distribute_jobs(int n)
{
	for (int i = 0; i < n; i++) {
		char job[32];
		const int size = snprintf(job, sizeof job, "page %d", i);

		if (send(spools[i % SPOOLS].jobs, job, (size_t)size, MSG_NOSIGNAL) < 0)
			perror("send");
	}
}

static __attribute__((noinline)) int stop_spools(void)
{
	int bad = 0;

	for (int i = 0; i < SPOOLS; i++)
		kill(spools[i].pid, SIGTERM);
	for (int i = 0; i < SPOOLS; i++) {
		int status;

		if (waitpid(spools[i].pid, &status, 0) < 0 || !WIFEXITED(status) ||
			WEXITSTATUS(status))
			bad++;
		close(spools[i].jobs);
	}
	return bad;
}

static void on_supervisor_sigterm(int signal)
{
	for (int i = 0; i < SPOOLS; i++)
		if (spools[i].pid > 0)
			kill(spools[i].pid, signal);
	_exit(0);
}

int main(int argc, char **argv)
{
	const struct sigaction action = {.sa_handler = on_supervisor_sigterm};
	struct slot *slots;
	int bad, printed = 0;

	if (argc != 2)
		return 2;
	prctl(PR_SET_NAME, "supervisor");
	slots = mmap(NULL, SPOOLS * sizeof *slots, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (slots == MAP_FAILED)
		return 1;
	slots[1].stale = !strcmp(argv[1], "broken");
	sigaction(SIGTERM, &action, NULL);
	for (int i = 0; i < SPOOLS; i++) {
		spools[i].name = i ? "spool-b" : "spool-a";
		spools[i].slot = &slots[i];
		if (start_spool(&spools[i]) < 0)
			return 1;
	}
	for (int i = 0; i < SPOOLS; i++)
		if (await_spool(&spools[i]) < 0)
			return 1;
	distribute_jobs(10);
	usleep(400 * 1000);
	bad = stop_spools();
	for (int i = 0; i < SPOOLS; i++)
		printed += slots[i].printed;
	printf("%d pages printed, %d spools failed\n", printed, bad);
	return bad || printed != 10 ? 1 : 0;
}
