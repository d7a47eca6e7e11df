/* SPDX-License-Identifier: ISC */
/*
 * Threads that miss what they wait for. It knows nothing of thrum. Where it hangs, SIGALRM ends it: without
 * a handler, as threads whose calls a handler might end don't look what they missed.
 *
 * missed children	two children end, their signals become one, and one of them is taken
 * missed signalfd	as children, but the thread reads the signals from a descriptor
 * missed early		a child ends before its signal is waited for, by the only thread
 * missed suspend	as children, but a handler takes them
 * missed handler	the same, and another handler might run between two parts of the wait
 * missed late		a child ends before the handler of its signal is set, by the only thread
 * missed loop		as children, but the thread waits for other events meanwhile
 * missed watch		a descriptor's one-shot watch is not armed again in one case, and data comes
 * missed answer	the same; threads are busy with other events, and one waits for the answer
 * missed edge		an edge-triggered watch tells of two bytes once, and one of them is read
 * missed door		the same, of two connections, and one of them is accepted
 * missed rounds		a signal of a child is awaited after all were taken; another thread naps
 * missed thief		a wait for one child takes the ends of others, of which signals are awaited
 *
 * With `fine`: all children are taken, all watches armed. Then these end:
 *
 * missed owner	a child that ended is taken later, by the thread that started it
 * missed counted	ends of children are counted, and nobody takes them
 * missed handed	a worker arms the watches again, and is slow once
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define TURNS 6
#define GUESTS 2
#define SLOW 400000 /* us: long enough to be looked at */

static bool is_fine, has_handler;

static void *wait_a_moment(void *unused)
{
	usleep(1000);
	return unused;
}

/* Makes it a program with threads, which is recorded. */
static void start_recording(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_a_moment, NULL);
	pthread_join(thread, NULL);
}

/* ---- Children ------------------------------------------------------------------------------ */

static sigset_t block_signal(int number)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, number);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signals;
}

static pid_t start_child(int us)
{
	pid_t child = fork();

	if (child == 0) {
		usleep((useconds_t)us);
		_exit(0);
	}
	return child;
}

/* Waits until a child has ended, and leaves it. */
static void watch_end(pid_t child)
{
	siginfo_t told;

	waitid(P_PID, (id_t)child, &told, WEXITED | WNOWAIT);
}

static int take_children(void)
{
	int taken = 0;

	while (waitpid(-1, NULL, WNOHANG) > 0) {
		taken++;
		if (!is_fine)
			break; /* and leaves the others */
	}
	return taken;
}

static int children(void)
{
	sigset_t signals = block_signal(SIGCHLD);
	int number, taken = 0;

	start_recording();
	for (int i = 0; i < 2; i++)
		watch_end(start_child(1000));
	while (taken < 2 && sigwait(&signals, &number) == 0)
		taken += take_children();
	return 0;
}

static int read_signals(void)
{
	sigset_t signals = block_signal(SIGCHLD);
	int fd = signalfd(-1, &signals, SFD_CLOEXEC), taken = 0;
	struct signalfd_siginfo told;

	start_recording();
	for (int i = 0; i < 2; i++)
		watch_end(start_child(1000));
	while (taken < 2 && read(fd, &told, sizeof told) == sizeof told)
		taken += take_children();
	return 0;
}

static volatile sig_atomic_t handled;

static void take_in_handler(int number)
{
	(void)number;
	handled += take_children();
}

static void count_in_handler(int number)
{
	(void)number;
	handled++;
}

static int suspend(void)
{
	struct sigaction action = {.sa_handler = take_in_handler};
	sigset_t before;

	start_recording();
	sigaction(SIGCHLD, &action, NULL);
	if (has_handler)
		sigaction(SIGUSR1, &action, NULL);
	block_signal(SIGCHLD);
	sigprocmask(SIG_SETMASK, NULL, &before);
	sigdelset(&before, SIGCHLD);
	for (int i = 0; i < 2; i++)
		watch_end(start_child(1000));
	while (handled < 2)
		sigsuspend(&before);
	return 0;
}

static int early(void)
{
	sigset_t signals;
	siginfo_t told;
	pid_t child;

	if (is_fine)
		signals = block_signal(SIGCHLD);
	child = start_child(1000);
	if (!is_fine) {
		watch_end(child);
		signals = block_signal(SIGCHLD);
	}
	sigwaitinfo(&signals, &told); /* waits for ever */
	waitpid(child, NULL, 0);
	return 0;
}

static int late(void)
{
	struct sigaction action = {.sa_handler = take_in_handler};
	sigset_t before;
	pid_t child;

	start_recording();
	sigprocmask(SIG_SETMASK, NULL, &before);
	if (is_fine) {
		block_signal(SIGCHLD);
		sigaction(SIGCHLD, &action, NULL);
	}
	child = start_child(1000);
	watch_end(child);
	block_signal(SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	while (handled < 1)
		sigsuspend(&before); /* waits for ever */
	return 0;
}

/* A handler counts the ends of children, which nobody takes. Then the program waits to be ended. */
static int counted(void)
{
	struct sigaction action = {.sa_handler = count_in_handler};
	sigset_t before;

	start_recording();
	sigprocmask(SIG_SETMASK, NULL, &before);
	block_signal(SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	watch_end(start_child(1000));
	alarm(2);
	while (handled >= 0)
		sigsuspend(&before);
	return 0;
}

static int loop(void)
{
	int pair[2], taken = 0;
	char byte = 0;
	struct pollfd in;

	start_recording();
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	in = (struct pollfd){.fd = pair[0], .events = POLLIN};
	for (int i = 0; i < 2; i++)
		watch_end(start_child(1000));
	/* As a signal's handler would. */
	if (write(pair[1], &byte, 1) != 1)
		return 1;
	while (taken < 2 && poll(&in, 1, -1) == 1)
		if (recv(pair[0], &byte, 1, MSG_DONTWAIT) == 1)
			taken += take_children();
	return 0;
}

static void *own_child(void *unused)
{
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	usleep(SLOW);
	waitpid(child, NULL, 0);
	kill(getpid(), SIGUSR1);
	return unused;
}

/* The thread that waits for signals has taken a child of its own before. */
static int owner(void)
{
	sigset_t signals = block_signal(SIGCHLD);
	pthread_t thread;
	pid_t child = start_child(0);
	int number;

	watch_end(child);
	sigwait(&signals, &number);
	waitpid(child, NULL, WNOHANG);
	block_signal(SIGUSR1);
	sigaddset(&signals, SIGUSR1);
	pthread_create(&thread, NULL, own_child, NULL);
	pthread_create(&thread, NULL, own_child, NULL);
	do
		sigwait(&signals, &number);
	while (number != SIGUSR1);
	pthread_join(thread, NULL);
	return 0;
}

/* ---- Watches ------------------------------------------------------------------------------- */

static int set, ends[2], tick = -1;
static bool is_answered, is_handed;
static int job_pipe[2];

static void arm(int operation, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = fd};

	epoll_ctl(set, operation, fd, &event);
}

/* Takes a byte, and answers it. Returns whether it was the last. */
static bool take_byte(void)
{
	char byte;

	if (read(ends[0], &byte, 1) != 1 || byte == 'q')
		return true;
	if (byte == 's')
		usleep(SLOW);
	if (is_answered && byte != 'x' && write(ends[0], &byte, 1) != 1)
		return true;
	if (byte == 'x' && !is_fine)
		return false; /* and doesn't arm it again */
	arm(EPOLL_CTL_MOD, ends[0]);
	return false;
}

static void *work(void *unused)
{
	char byte;

	while (read(job_pipe[0], &byte, 1) == 1 && !take_byte())
		;
	return unused;
}

static void *serve(void *unused)
{
	struct epoll_event event;
	uint64_t times;

	while (errno = 0, epoll_wait(set, &event, 1, -1) == 1) {
		if (errno)
			perror("after epoll_wait");
		if (event.data.fd == tick) {
			if (read(tick, &times, sizeof times) < 0)
				break;
			arm(EPOLL_CTL_MOD, tick);
		} else if (is_handed) {
			if (write(job_pipe[1], "j", 1) != 1)
				break;
		} else if (take_byte()) {
			break;
		}
	}
	return unused;
}

/* Asks by some bytes, of which the server forgets one, and then by one that it doesn't read. */
static void *ask(void *unused)
{
	const char *bytes = is_handed ? "aaaasaaq" : "aaaaxaaq";
	char byte;

	for (; *bytes; bytes++) {
		if (write(ends[1], bytes, 1) != 1)
			break;
		if (is_answered && *bytes != 'x' && *bytes != 'q' && read(ends[1], &byte, 1) != 1)
			break; /* waits for ever */
		usleep(2000);
	}
	return unused;
}

static int watch(void)
{
	struct itimerspec every = {{0, 10000000}, {0, 10000000}};
	pthread_t server, client, worker;

	set = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || pipe(job_pipe))
		return 1;
	arm(EPOLL_CTL_ADD, ends[0]);
	if (is_answered) {
		tick = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(tick, 0, &every, NULL);
		arm(EPOLL_CTL_ADD, tick);
	}
	pthread_create(&server, NULL, serve, NULL);
	pthread_create(&client, NULL, ask, NULL);
	if (is_handed) {
		pthread_create(&worker, NULL, work, NULL);
		pthread_join(worker, NULL);
		return 0;
	}
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	return 0;
}

/* Answers each byte; the last one is a q. */
static void *serve_edges(void *unused)
{
	struct epoll_event event;
	char byte = 0;

	while (byte != 'q' && epoll_wait(set, &event, 1, -1) == 1)
		while (recv(ends[0], &byte, 1, MSG_DONTWAIT) == 1 && byte != 'q')
			if (write(ends[0], &byte, 1) != 1 || !is_fine)
				break;
	return unused;
}

static int edge(void)
{
	static const char *const questions[] = {"a", "a", "ab", "q"};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	pthread_t server;
	char byte;

	set = epoll_create1(0);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	event.data.fd = ends[0];
	if (epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event))
		return 1;
	pthread_create(&server, NULL, serve_edges, NULL);
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		size_t size = strlen(questions[i]);

		if (write(ends[1], questions[i], size) != (ssize_t)size)
			return 1;
		while (*questions[i] != 'q' && size-- > 0)
			if (read(ends[1], &byte, 1) != 1)
				return 1;
	}
	pthread_join(server, NULL);
	return 0;
}

static pid_t start_job(useconds_t us)
{
	pid_t child = fork();

	if (child == 0) {
		usleep(us);
		_exit(0);
	}
	return child;
}

/* The broken one takes whichever ends first. */
static void wait_for_child(pid_t child)
{
	if (is_fine)
		waitpid(child, NULL, 0);
	else
		while (wait(NULL) != child)
			continue;
}

static int thief(void)
{
	sigset_t ends_of_jobs;
	int left = 2;

	sigemptyset(&ends_of_jobs);
	sigaddset(&ends_of_jobs, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ends_of_jobs, NULL);
	start_job(20000);
	start_job(200000);
	wait_for_child(start_job(100000));
	while (waitpid(-1, NULL, WNOHANG) > 0)
		left--;
	while (left > 0) {
		sigwaitinfo(&ends_of_jobs, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			left--;
	}
	return 0;
}

static void *nap(void *unused)
{
	for (;;)
		usleep(20000);
	return unused;
}

/* The broken one waits for a signal once more. */
static int rounds(void)
{
	sigset_t signals = block_signal(SIGCHLD);
	pthread_t napper;

	pthread_create(&napper, NULL, nap, NULL);
	for (int i = 0; i < 4; i++) {
		start_child(20000);
		sigwaitinfo(&signals, NULL);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
	if (!is_fine)
		sigwaitinfo(&signals, NULL);
	return 0;
}

/* Greets all who come, or one at a time it is told. */
static void *open_door(void *unused)
{
	struct epoll_event event;
	int left = GUESTS;

	while (left > 0 && epoll_wait(set, &event, 1, -1) == 1)
		for (int guest; left > 0 && (guest = accept(ends[0], NULL, NULL)) >= 0;) {
			left -= write(guest, "x", 1) == 1;
			close(guest);
			if (!is_fine)
				break;
		}
	return unused;
}

static void *wait_at_door(void *guests)
{
	char byte;

	for (int i = 0; i < GUESTS; i++)
		if (read(((int *)guests)[i], &byte, 1) != 1)
			abort();
	return NULL;
}

static int door(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "missed.socket"};
	struct epoll_event event = {.events = EPOLLIN | EPOLLET};
	pthread_t server, client;
	int guests[GUESTS];

	set = epoll_create1(0);
	ends[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	unlink(address.sun_path);
	if (bind(ends[0], (struct sockaddr *)&address, sizeof address) || listen(ends[0], GUESTS) ||
		epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event))
		return 1;
	for (int i = 0; i < GUESTS; i++) {
		guests[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (connect(guests[i], (struct sockaddr *)&address, sizeof address))
			return 1;
	}
	pthread_create(&server, NULL, open_door, NULL);
	pthread_create(&client, NULL, wait_at_door, guests);
	pthread_join(client, NULL);
	pthread_join(server, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";

	is_fine = argc > 2;
	is_answered = strcmp(name, "answer") == 0;
	is_handed = strcmp(name, "handed") == 0;
	has_handler = strcmp(name, "handler") == 0;
	if (!is_fine)
		end_after(2);
	return strcmp(name, "children") == 0                  ? children()
		: strcmp(name, "suspend") == 0 || has_handler ? suspend()
		: strcmp(name, "signalfd") == 0               ? read_signals()
		: strcmp(name, "early") == 0                  ? early()
		: strcmp(name, "late") == 0                   ? late()
		: strcmp(name, "counted") == 0                ? counted()
		: strcmp(name, "loop") == 0                   ? loop()
		: strcmp(name, "owner") == 0                  ? owner()
		: strcmp(name, "edge") == 0                   ? edge()
		: strcmp(name, "door") == 0                   ? door()
		: strcmp(name, "rounds") == 0                 ? rounds()
		: strcmp(name, "thief") == 0                  ? thief()
							      : watch();
}
