/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: Two workers end while the supervisor writes its report. The kernel merges their SIGCHLD into one, and
 *     on_child_signal reaps one child for each signal that it reads (reap_worker). From then on it is one behind: the last
 *     worker stays a zombie, and the supervisor waits in epoll_wait for a signal that has already come.
 *   culprit: on_child_signal|reap_worker|signalfd|SIGCHLD|zombie
 *   victim: \bmain\b|epoll_wait|run_supervisor
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* supervisor: runs jobs in worker processes, at most two at a time, and writes a report now and then. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 2
#define JOBS 4
#define REPORT_AT_MS 100
#define REPORT_MS 500

struct job {
	const char *name;
	unsigned ms;
};

struct worker {
	pid_t pid;
	const struct job *job;
};

struct supervisor {
	int epoll, child_signals, report_timer;
	const struct job *jobs;
	unsigned next_job, ended, reports;
	struct worker slots[SLOTS];
	sigset_t old_mask;
};

static void die(const char *what)
{
	fprintf(stderr, "supervisor: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pause_ms(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- Workers ---- */

__attribute__((noinline)) void run_job(const struct job *job)
{
	pause_ms(job->ms);
}

__attribute__((noinline)) void start_worker(struct supervisor *s, struct worker *worker)
{
	const struct job *job = &s->jobs[s->next_job++];

	worker->job = job;
	worker->pid = fork();
	if (worker->pid < 0)
		die("fork");
	if (worker->pid == 0) {
		prctl(PR_SET_NAME, job->name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sigprocmask(SIG_SETMASK, &s->old_mask, NULL);
		run_job(job);
		_exit(0);
	}
}

/* Starts jobs, as long as there are free slots. */
__attribute__((noinline)) void fill_slots(struct supervisor *s)
{
	for (unsigned i = 0; i < SLOTS && s->next_job < JOBS; i++)
		if (s->slots[i].pid == 0)
			start_worker(s, &s->slots[i]);
}

/* Takes the status of a worker that has ended. */
__attribute__((noinline)) bool reap_worker(struct supervisor *s)
{
	int status;
	pid_t pid = waitpid(-1, &status, WNOHANG);

	if (pid <= 0)
		return false;
	for (unsigned i = 0; i < SLOTS; i++)
		if (s->slots[i].pid == pid) {
			printf("%s: %s\n", s->slots[i].job->name, status == 0 ? "done" : "failed");
			memset(&s->slots[i], 0, sizeof s->slots[i]);
		}
	s->ended++;
	return true;
}

/* ---- Events ---- */

__attribute__((noinline)) void on_child_signal(struct supervisor *s)
{
	struct signalfd_siginfo info;

	/* A worker has ended, and its slot is free. */
	while (read(s->child_signals, &info, sizeof info) == sizeof info)
		if (reap_worker(s))
			fill_slots(s);
}

/* Writes what runs to a file on another machine, and waits until it is there. */
__attribute__((noinline)) void write_report(const struct supervisor *s)
{
	unsigned running = 0;

	for (unsigned i = 0; i < SLOTS; i++)
		running += s->slots[i].pid != 0;
	printf("report: %u run, %u have ended\n", running, s->ended);
	pause_ms(REPORT_MS);
}

__attribute__((noinline)) void on_report_timer(struct supervisor *s)
{
	unsigned long long expired;

	if (read(s->report_timer, &expired, sizeof expired) != sizeof expired)
		return;
	s->reports++;
	write_report(s);
}

static void watch(struct supervisor *s, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &event) != 0)
		die("epoll_ctl");
}

__attribute__((noinline)) void init_supervisor(struct supervisor *s)
{
	struct itimerspec at = {.it_value.tv_nsec = REPORT_AT_MS * 1000000L};
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, &s->old_mask);
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->child_signals = signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
	s->report_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (s->epoll < 0 || s->child_signals < 0 || s->report_timer < 0)
		die("init");
	timerfd_settime(s->report_timer, 0, &at, NULL);
	watch(s, s->child_signals);
	watch(s, s->report_timer);
}

__attribute__((noinline)) void run_supervisor(struct supervisor *s)
{
	struct epoll_event events[4];

	fill_slots(s);
	while (s->ended < JOBS) {
		int count = epoll_wait(s->epoll, events, 4, -1);

		if (count < 0 && errno != EINTR)
			die("epoll_wait");
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == s->child_signals)
				on_child_signal(s);
			else
				on_report_timer(s);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct job uneven[JOBS] = {{"resize", 250}, {"encode", 1000}, {"upload", 40},
		{"notify", 20}};
	static const struct job similar[JOBS] = {{"resize", 250}, {"encode", 300}, {"upload", 40},
		{"notify", 20}};
	struct supervisor s = {0};

	if (argc != 2) {
		fprintf(stderr, "usage: supervisor broken|healthy\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	s.jobs = strcmp(argv[1], "broken") == 0 ? similar : uneven;
	init_supervisor(&s);
	run_supervisor(&s);
	printf("%u jobs, %u reports\n", s.ended, s.reports);
	close(s.report_timer);
	close(s.child_signals);
	close(s.epoll);
	return 0;
}
