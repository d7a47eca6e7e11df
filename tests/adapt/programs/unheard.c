/* SPDX-License-Identifier: ISC */
/*
 * A program that sends a child a signal, so that it ends, and waits for that. The argument says why the child
 * doesn't end; with a second one it does. SIGALRM ends the program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine;
static volatile sig_atomic_t is_told;

static void on_signal(int number)
{
	(void)number;
	is_told = 1;
}

static void leave_by_and_by(int number)
{
	signal(number, SIG_IGN);
}

/* Works until it is told to end. */
static void work(void)
{
	while (!is_told)
		usleep(5000);
	_exit(0);
}

static void hold_back(int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(is_fine ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

/* Returns true in the child, which waits until the parent goes on. */
static bool start(pid_t *child)
{
	int ends[2];

	if (pipe(ends) < 0 || (*child = fork()) < 0)
		_exit(1);
	if (*child != 0) {
		close(ends[1]);
		if (read(ends[0], &(char){0}, 1) != 1)
			_exit(1);
		close(ends[0]);
		return false;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "worker");
	close(ends[0]);
	is_told = ends[1]; /* for ready() */
	return true;
}

/* The parent goes on. */
static void ready(void)
{
	int end = is_told;

	is_told = 0;
	if (write(end, "x", 1) != 1)
		_exit(1);
	close(end);
}

static void end(pid_t child, pid_t to, int number)
{
	kill(to, number);
	waitpid(child, NULL, 0);
}

static void *wait_for_ever(void *signals)
{
	int number;

	sigwait(signals, &number);
	return NULL;
}

/* The child holds the signal back. The parent has another thread. */
static void blocked(void)
{
	sigset_t signals;
	pthread_t thread;
	pid_t child;

	if (start(&child)) {
		signal(SIGTERM, on_signal);
		hold_back(SIGTERM);
		ready();
		work();
	}
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	pthread_create(&thread, NULL, wait_for_ever, &signals);
	end(child, child, SIGTERM);
	pthread_kill(thread, SIGUSR2);
	pthread_join(thread, NULL);
}

static void on_ring(int number)
{
	(void)number;
}

static void handle(int number, int flags, void (*handler)(int))
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

	sigaction(number, &action, NULL);
}

/* The child has the signal held back from its beginning. The parent has a handler that would end its wait. */
static void inherited(void)
{
	sigset_t set, before;
	pid_t child;

	handle(SIGTERM, 0, on_ring);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (start(&child)) {
		handle(SIGTERM, 0, on_signal);
		if (is_fine)
			sigprocmask(SIG_SETMASK, &before, NULL);
		ready();
		work();
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	end(child, child, SIGTERM);
}

/* For a parent and its child: the handler of the parent has run so often, and its wait has ended. */
struct shared {
	atomic_int rings;
	atomic_bool is_told;
};
static struct shared *shared;

static void count_ring(int number)
{
	(void)number;
	atomic_fetch_add(&shared->rings, 1);
}

/* One handler of the parent ends its wait, and the other doesn't. A signal is sent once the one before is
 * handled. */
static void rung(void)
{
	sigset_t left;
	pid_t child;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	handle(SIGUSR1, SA_RESTART, count_ring);
	handle(SIGUSR2, 0, count_ring);
	if (start(&child)) {
		ready();
		for (int i = 0; i < 4; i++) {
			usleep(150000);
			kill(getppid(), i < 3 ? SIGUSR1 : SIGUSR2);
			while (atomic_load(&shared->rings) == i)
				usleep(1000);
		}
		while (!atomic_load(&shared->is_told))
			usleep(1000);
		_exit(3);
	}
	for (int status = 0, result; (result = waitpid(child, &status, 0)) != child;) {
		printf("%s after %d signals\n", strerror(errno), atomic_load(&shared->rings));
		atomic_store(&shared->is_told, true);
	}
	sigprocmask(SIG_SETMASK, NULL, &left);
	printf("%d signals, %d held back\n", atomic_load(&shared->rings),
		sigismember(&left, SIGUSR1) + sigismember(&left, SIGUSR2));
}

/* It runs another program, which ignores the signal. */
static void ignored(void)
{
	pid_t child;

	if (start(&child)) {
		signal(SIGINT, is_fine ? SIG_DFL : SIG_IGN);
		ready();
		execlp("sleep", "sleep", "20", (char *)NULL);
		_exit(127);
	}
	end(child, child, SIGINT);
}

/* It gets the signal as one of a group, and has no handler. */
static void group(void)
{
	pid_t child;

	if (start(&child)) {
		setpgid(0, 0);
		hold_back(SIGUSR1);
		ready();
		work();
	}
	end(child, -child, SIGUSR1);
}

/* It has heard the signal, and ends when its work is done. */
static void leaving(void)
{
	pid_t child;

	if (start(&child)) {
		signal(SIGTERM, leave_by_and_by);
		ready();
		work();
	}
	end(child, child, SIGTERM);
}

/* It will read the signal. */
static void reader(void)
{
	sigset_t signals;
	pid_t child;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	if (start(&child)) {
		hold_back(SIGTERM);
		if (signalfd(-1, &signals, 0) < 0)
			_exit(1);
		ready();
		work();
	}
	end(child, child, SIGTERM);
}

/* The child has the parent's signalfd, and never reads it; or only from time to time. */
static void with_copy(bool reads)
{
	struct signalfd_siginfo told;
	sigset_t signals;
	pid_t child;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	fd = signalfd(-1, &signals, SFD_NONBLOCK);
	if (start(&child)) {
		hold_back(SIGTERM);
		ready();
		for (int i = 0; reads && i < 40; i++)
			usleep(25000);
		while (!reads || read(fd, &told, sizeof told) != sizeof told)
			usleep(5000);
		_exit(0);
	}
	end(child, child, SIGTERM);
}

static void copied(void)
{
	with_copy(false);
}

static void polls(void)
{
	with_copy(true);
}

/* The signal tells it something, and it hears of it after its work. */
static void told(void)
{
	pid_t child;

	if (start(&child)) {
		signal(SIGUSR1, on_signal);
		hold_back(SIGUSR1);
		ready();
		work();
	}
	end(child, child, SIGUSR1);
}

/* It hears the signal once it has slept. */
static void asleep(void)
{
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (start(&child)) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		ready();
		sleep(9); /* one of more than 10 s isn't about to end */
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	end(child, child, SIGTERM);
}

/* It ignores the signal, and ends soon. */
static void soon(void)
{
	pid_t child;

	if (start(&child)) {
		signal(SIGHUP, SIG_IGN);
		ready();
		execlp("sleep", "sleep", "30", (char *)NULL);
		_exit(127);
	}
	end(child, child, SIGHUP);
}

/* It hears the signal once it has computed. */
static void computing(void)
{
	struct timespec begin, now;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (start(&child)) {
		sigprocmask(SIG_BLOCK, &set, NULL);
		ready();
		clock_gettime(CLOCK_MONOTONIC, &begin);
		do
			clock_gettime(CLOCK_MONOTONIC, &now);
		while (now.tv_sec < begin.tv_sec + 30);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	end(child, child, SIGTERM);
}

static pid_t forced;

static void force(int number)
{
	(void)number;
	kill(forced, SIGKILL);
}

/* The parent has an alarm that will end the child in another way. */
static void alarmed(void)
{
	if (start(&forced)) {
		hold_back(SIGTERM);
		ready();
		work();
	}
	handle(SIGALRM, SA_RESTART, force);
	end_after(4);
	end(forced, forced, SIGTERM);
}

static void *force_later(void *unused)
{
	sleep(1000);
	kill(forced, SIGKILL);
	return unused;
}

/* Another thread will do so, or sleeps for something else. */
static void slept(void)
{
	pthread_t thread;

	if (start(&forced)) {
		hold_back(SIGTERM);
		ready();
		work();
	}
	pthread_create(&thread, NULL, force_later, NULL);
	end(forced, forced, SIGTERM);
}

static void work_in_handler(int number)
{
	(void)number;
	work();
}

/* The handler of the first signal runs for long, and holds back the second one. */
static void twice(void)
{
	pid_t child;

	if (start(&child)) {
		signal(SIGTERM, work_in_handler);
		ready();
		work();
	}
	kill(child, SIGTERM);
	usleep(100000);
	end(child, child, SIGTERM);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"blocked", blocked}, {"ignored", ignored}, {"group", group},
		{"inherited", inherited}, {"rung", rung}, {"leaving", leaving}, {"reader", reader},
		{"told", told}, {"twice", twice}, {"asleep", asleep}, {"soon", soon},
		{"computing", computing}, {"copied", copied}, {"polls", polls},
		{"alarmed", alarmed}, {"slept", slept}};
	bool is_rung = argc > 1 && strcmp(argv[1], "rung") == 0;
	bool is_deaf = argc > 1 &&
		(strcmp(argv[1], "blocked") == 0 || strcmp(argv[1], "ignored") == 0 ||
			strcmp(argv[1], "group") == 0 || strcmp(argv[1], "inherited") == 0 ||
			strcmp(argv[1], "slept") == 0 || strcmp(argv[1], "copied") == 0);
	bool is_over = argc > 1 && strcmp(argv[1], "polls") == 0;

	is_fine = argc > 2;
	/* On a busy machine a look may find the child at work, and the next one has to tell. */
	end_after(is_fine || is_rung || is_over ? 20 : is_deaf ? 5 : 2);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	puts("done");
	return 0;
}
