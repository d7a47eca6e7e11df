/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: on_child reads one signalfd_siginfo and takes one child by waitpid. Three jobs of a batch ended
 *     while the loop wrote a report; their SIGCHLD came as one. Two children are never taken (zombies),
 *     `running` stays 2, and the next batch never begins: the submitter waits in read for the answer.
 *   culprit: on_child|waitpid|child
 *   victim: submitter_main|submitter
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A runner of nightly jobs: batches come over a socket; each job is a process; a batch is answered when all its
 * jobs have ended. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static bool broken;
static int epoll, children, clock_ticks, requests;
static unsigned running;
static unsigned ended;
static unsigned failed;
static unsigned minutes;
static bool is_over;

static void job_run(unsigned number)
{
	unsigned long sum = 0;

	for (unsigned i = 0; i < 200000; i++)
		sum += i ^ number;
	_exit(sum == 1);
}

static void job_start(unsigned number)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid == 0)
		job_run(number);
	running++;
}

/* Writes the list of the batch's jobs for the operator. */
static void write_report(unsigned jobs)
{
	usleep(30000 * jobs);
}

static void job_end(int status)
{
	running--;
	ended++;
	if (status != 0)
		failed++;
	if (running == 0 && write(requests, "+", 1) != 1)
		exit(1);
}

static void on_child(void)
{
	struct signalfd_siginfo info;
	int status;

	if (read(children, &info, sizeof(info)) != sizeof(info))
		return;
	while (waitpid(-1, &status, WNOHANG) > 0) {
		job_end(status);
		if (broken)
			break;
	}
}

static void on_request(void)
{
	char jobs;

	if (read(requests, &jobs, 1) != 1) {
		is_over = true;
		return;
	}
	for (char i = 0; i < jobs; i++)
		job_start((unsigned)i);
	write_report((unsigned)jobs);
}

static void on_tick(void)
{
	uint64_t ticks;

	if (read(clock_ticks, &ticks, sizeof(ticks)) == sizeof(ticks))
		minutes += (unsigned)ticks;
}

static void watch(int descriptor, void (*callback)(void))
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = (void *)callback};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event))
		exit(1);
}

static void *submitter_main(void *data)
{
	static const char batches[] = {1, 1, 1, 1, 1, 3, 1, 2};
	int socket = *(int *)data;
	char answer;

	for (size_t i = 0; i < sizeof(batches); i++) {
		if (write(socket, &batches[i], 1) != 1 || read(socket, &answer, 1) != 1)
			break;
		usleep(20000);
	}
	close(socket);
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerspec period = {{0, 50000000}, {0, 50000000}};
	pthread_t submitter;
	sigset_t signals;
	int ends[2];

	broken = argc > 1 && !strcmp(argv[1], "broken");
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return 1;
	requests = ends[0];
	epoll = epoll_create1(EPOLL_CLOEXEC);
	children = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	clock_ticks = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	timerfd_settime(clock_ticks, 0, &period, NULL);
	watch(requests, on_request);
	watch(children, on_child);
	watch(clock_ticks, on_tick);
	pthread_create(&submitter, NULL, submitter_main, &ends[1]);
	while (!is_over) {
		struct epoll_event event;

		if (epoll_wait(epoll, &event, 1, -1) == 1)
			((void (*)(void))event.data.ptr)();
	}
	pthread_join(submitter, NULL);
	printf("%u jobs, %u failed, %u ticks\n", ended, failed, minutes);
	return 0;
}
