/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the supervisor holds SIGQUIT back, as it reads its own signals from a signalfd. start_worker
 *     doesn't restore the mask in the child, so a worker that was started since holds SIGQUIT back, too, and
 *     never ends. At the second renewal stop_worker waits for this worker for ever.
 *   culprit: start_worker|SIGQUIT
 *   victim: stop_worker|renew|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A supervisor of a worker process. It starts a new worker whenever the certificate was renewed. */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	RENEWALS = 4
};

static bool broken;

struct supervisor {
	pid_t worker;
	int link;    /* to the worker */
	int signals; /* a signalfd */
	int certificate;
	int requests;
	int renewal;
	unsigned asked;
	unsigned answered;
};

static struct supervisor supervisor;
static volatile sig_atomic_t is_stopped;

/* ---- The worker ---- */

static void on_quit(int number)
{
	(void)number;
	is_stopped = 1;
}

/* Answers requests until it is told to stop. */
static void serve(int link)
{
	struct pollfd input = {.fd = link, .events = POLLIN};
	unsigned idle = 0;

	while (!is_stopped) {
		char request;

		if (poll(&input, 1, 100) <= 0) {
			idle++; /* time to drop old sessions */
			continue;
		}
		if (read(link, &request, 1) != 1)
			break;
		request++;
		if (write(link, &request, 1) != 1)
			break;
	}
	_exit(0);
}

static void start_worker(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		exit(1);
	supervisor.worker = fork();
	if (supervisor.worker < 0)
		exit(1);
	if (supervisor.worker == 0) {
		struct sigaction action = {.sa_handler = on_quit};
		sigset_t none;

		close(ends[0]);
		if (supervisor.signals > 0)
			close(supervisor.signals);
		sigaction(SIGQUIT, &action, NULL);
		sigemptyset(&none);
		if (!broken)
			sigprocmask(SIG_SETMASK, &none, NULL);
		serve(ends[1]);
	}
	close(ends[1]);
	supervisor.link = ends[0];
}

/* ---- The supervisor ---- */

/* The worker may finish what it does. */
static void stop_worker(void)
{
	int status;

	kill(supervisor.worker, SIGQUIT);
	if (waitpid(supervisor.worker, &status, 0) != supervisor.worker)
		perror("waitpid");
	close(supervisor.link);
}

static void renew(void)
{
	supervisor.certificate++;
	stop_worker();
	start_worker();
}

static int make_timer(int ms)
{
	struct itimerspec times = {{0, ms * 1000000L}, {0, ms * 1000000L}};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);

	if (timer < 0 || timerfd_settime(timer, 0, &times, NULL))
		exit(1);
	return timer;
}

static void open_signals(void)
{
	sigset_t own;

	sigemptyset(&own);
	sigaddset(&own, SIGQUIT);
	sigaddset(&own, SIGHUP);
	sigprocmask(SIG_BLOCK, &own, NULL);
	supervisor.signals = signalfd(-1, &own, SFD_CLOEXEC);
}

static bool is_due(int timer)
{
	uint64_t count;

	return read(timer, &count, sizeof(count)) == sizeof(count);
}

static void ask_worker(void)
{
	char request = 'a';

	if (write(supervisor.link, &request, 1) == 1)
		supervisor.asked++;
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	start_worker();
	open_signals();
	supervisor.requests = make_timer(10);
	supervisor.renewal = make_timer(150);
	while (supervisor.certificate < RENEWALS) {
		struct pollfd inputs[] = {
			{.fd = supervisor.signals, .events = POLLIN},
			{.fd = supervisor.link, .events = POLLIN},
			{.fd = supervisor.requests, .events = POLLIN},
			{.fd = supervisor.renewal, .events = POLLIN},
		};
		char answer;

		if (poll(inputs, 4, -1) < 0)
			return 1;
		if (inputs[0].revents)
			break;
		if (inputs[1].revents && read(supervisor.link, &answer, 1) == 1)
			supervisor.answered++;
		if (inputs[2].revents && is_due(supervisor.requests))
			ask_worker();
		if (inputs[3].revents && is_due(supervisor.renewal))
			renew();
	}
	stop_worker();
	printf("%u requests, %u answers, certificate %d\n", supervisor.asked, supervisor.answered,
		supervisor.certificate);
	return 0;
}
