/* SPDX-License-Identifier: ISC */
/*
 * Waits for children. A long one may begin a program's recording, and one that is recorded looks whether
 * the child waits for this process, or all do. The only thread holds signals with handlers back meanwhile,
 * so that none is missed that ends its call.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/ends/looked.h"
#include "port/port.h"

#define HANDLED 100 /* signals that are handled between looks */

static _Atomic bool is_tracer; /* this process stopped a child by ptrace() */

bool thrum__adapt_child_may_return(pid_t child)
{
	siginfo_t told;
	int ended = thrum__adapt_child_ended(child, &told);

	if (ended == 1 && told.si_code == CLD_TRAPPED)
		atomic_store(&is_tracer, true);
	return ended != 0;
}

/* ---- Before it is recorded ---------------------------------------------------------------------- */

bool thrum__adapt_children_begin(void)
{
	pid_t children[PROCESSES];
	struct found_processes found = {children, 0, PROCESSES, true};
	int error = errno;
	bool is_any = false;

	if (!thrum__adapt_has_forked())
		return false;
	thrum__adapt_process_children(own_pid(), &found);
	for (unsigned i = 0; i < found.count && !is_any; i++)
		is_any = thrum__adapt_process_is_copy(own_pid(), children[i]) ||
			thrum__adapt_has_sent_to(children[i]);
	if (is_any)
		thrum__adapt_start();
	errno = error;
	return is_any;
}

/* Takes signals out of a set. */
static void take_out(sigset_t *from, const sigset_t *signals)
{
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(signals, number) == 1)
			sigdelset(from, number);
}

/* Whether of these signals only that of a child has come, which has not ended: so it has stopped. */
static bool is_of_stop(pid_t process, const sigset_t *signals)
{
	sigset_t pending;
	bool has_child;

	sigpending(&pending);
	sigandset(&pending, &pending, signals);
	has_child = sigismember(&pending, SIGCHLD) == 1;
	sigdelset(&pending, SIGCHLD);
	return has_child && sigisemptyset(&pending) && !thrum__adapt_child_may_return(process);
}

/* Waits until a child ends, one of these signals comes, or the time of a first look has passed. All these
 * signals are held back. Returns whether the time has passed, or a child has stopped. */
static bool wait_shortly(pid_t process, const sigset_t *signals)
{
	struct timespec limit = {0, LOOK_FIRST * 1000000};
	struct pollfd one = {.events = POLLIN};
	bool is_over = false;

	/* It may have ended before. */
	if (thrum__adapt_child_may_return(process))
		return false;
	one.fd = (int)syscall(SYS_signalfd4, -1, signals, SIGRTMAX / 8, O_CLOEXEC);
	if (one.fd < 0)
		return false;
	is_over = syscall(SYS_ppoll, &one, 1, &limit, NULL, 0) == 0 || is_of_stop(process, signals);
	syscall(SYS_close, one.fd);
	return is_over;
}

/* Whether a signal has come whose handler ends a call that waits, besides those that were held back
 * before. */
static bool is_to_end(const sigset_t *before)
{
	sigset_t handled, ending, pending;

	sigpending(&pending);
	take_out(&pending, before);
	/* To find handlers takes a call for each signal. */
	if (sigisemptyset(&pending))
		return false;
	thrum__adapt_find_handlers(&handled, &ending);
	sigandset(&ending, &ending, &pending);
	return !sigisemptyset(&ending);
}

bool thrum__adapt_children_interrupt(pid_t process)
{
	sigset_t signals, before;
	int error = errno;
	bool is_ended = false;

	if (!thrum__adapt_has_forked())
		return false;
	if (thrum__adapt_child_may_return(process)) {
		errno = error;
		return false;
	}
	sigfillset(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &before);
	take_out(&signals, &before);
	sigaddset(&signals, SIGCHLD);
	if (wait_shortly(process, &signals))
		thrum__adapt_children_begin();
	/* A child that has ended comes first, as in the call itself: its own signal ends no wait for it. */
	is_ended = !thrum__adapt_child_may_return(process) && is_to_end(&before);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = is_ended ? EINTR : error;
	return is_ended;
}

/* ---- Handlers during a look --------------------------------------------------------------------- */

/* Signals with handlers that the only thread holds back while it looks, so that none is missed that ends its
 * call. `fd` tells when one comes. */
struct told_signals {
	sigset_t before, signals;
	int fd; /* -1: there is none */
};

static void hold(struct told_signals *held)
{
	sigset_t ending;

	thrum__adapt_find_handlers(&held->signals, &ending);
	pthread_sigmask(SIG_BLOCK, &held->signals, &held->before);
	take_out(&held->signals, &held->before);
	held->fd = (int)syscall(SYS_signalfd4, -1, &held->signals, SIGRTMAX / 8, O_CLOEXEC);
}

enum came {
	CAME_NONE,
	CAME_ONE,
	CAME_ENDING /* its handler ends a call */
};

/* Their handlers run now, if any came. is_over: the call ends without them. */
static enum came release(struct told_signals *held, bool is_over)
{
	sigset_t pending;
	enum came came = CAME_NONE;

	sigpending(&pending);
	sigandset(&pending, &pending, &held->signals);
	if (!sigisemptyset(&pending))
		came = CAME_ONE;
	if (came && !is_over && is_to_end(&held->before))
		came = CAME_ENDING;
	if (held->fd >= 0)
		syscall(SYS_close, held->fd);
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
	return came;
}

/* ---- Once it is recorded ------------------------------------------------------------------------ */

/* Descriptors that tell of children's ends: `one` of any. */
struct told {
	int fds[CHILDREN], one;
	int signals; /* tells that a signal came; -1: none is held back */
};

/* Also when the thread is cancelled. */
static void close_told(const struct told *told)
{
	for (unsigned i = 0; i < CHILDREN; i++)
		if (told->fds[i] >= 0)
			syscall(SYS_close, told->fds[i]);
	if (told->one >= 0 && told->one != told->fds[0])
		syscall(SYS_close, told->one);
}

static bool add_told(const struct told *told, int fd)
{
	struct epoll_event event = {.events = EPOLLIN};

	return fd >= 0 && syscall(SYS_epoll_ctl, told->one, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Returns whether there are such descriptors. */
static bool open_told(struct told *told, const struct looked *looked, bool is_single)
{
	bool is_any = looked->count > 1 || told->signals >= 0;

	for (unsigned i = 0; i < looked->count; i++)
		told->fds[i] = thrum__adapt_hide(syscall(SYS_pidfd_open, looked->children[i], 0),
			is_single);
	told->one = is_any ? (int)syscall(SYS_epoll_create1, EPOLL_CLOEXEC) : told->fds[0];
	for (unsigned i = 0; i < looked->count && is_any; i++)
		if (!add_told(told, told->fds[i]))
			return false;
	return told->one >= 0 && (told->signals < 0 || add_told(told, told->signals));
}

/* Finds the children for which a wait is that any child ends. Returns false if they are too many, or if other
 * threads may start more. */
static bool find_children(struct looked *looked)
{
	struct found_processes found = {looked->children, 0, CHILDREN, true};

	if (thrum__adapt_process_children(own_pid(), &found) != 1 || !found.is_whole)
		return false;
	looked->count = found.count;
	return found.count > 0;
}

/* Whether a wait for this child, or for any (-1), is looked at. Descriptors are open meanwhile, which other
 * threads might see: so that has to be worth it where there are some. */
static bool is_worth_looking(struct looked *looked, pid_t child, bool is_single)
{
	if (child <= 0)
		return is_single && find_children(looked);
	return is_single || thrum__adapt_got_held(child) || thrum__adapt_has_unread() ||
		thrum__adapt_feeds_others() || thrum__adapt_files_are_own(-1) ||
		thrum__adapt_accepts_alone() || thrum__adapt_has_sent_to(child);
}

/* Looks until a child has ended, or the descriptor of signals tells that one came. */
static void look_for_end(struct looked *looked, bool is_single, int signals)
{
	struct told told
		__attribute__((cleanup(close_told))) = {.fds = {-1, -1, -1, -1, -1, -1, -1, -1},
			.one = -1,
			.signals = signals};

	if (!open_told(&told, looked, is_single))
		return;
	looked->one = (struct pollfd){told.one, POLLIN, 0};
	thrum__adapt_look_until(looked);
}

/* The same in a process whose handlers may end the call, and which has no other thread that a signal could go
 * to. Returns whether one did. */
static bool look_for_end_or_signal(struct looked *looked)
{
	pid_t child = looked->count == 1 ? looked->children[0] : 0;
	enum came came = CAME_ONE;

	for (int i = 0; i < HANDLED && came == CAME_ONE && !thrum__adapt_child_may_return(child);
		i++) {
		struct told_signals held;

		hold(&held);
		if (held.fd >= 0)
			look_for_end(looked, true, held.fd);
		came = release(&held, thrum__adapt_child_may_return(child));
	}
	return came == CAME_ENDING;
}

bool thrum__adapt_child_wait(struct wait *wait, const char *label, pid_t child)
{
	struct looked looked = {.wait = wait,
		.kind = THRUM_KIND_REQUEST,
		.label = label,
		.children = {child},
		.count = 1,
		.is_begun = true};
	int error = errno;
	bool is_single = thrum__adapt_process_is_single(own_pid());
	bool may_interrupt = thrum__adapt_may_interrupt(), is_interrupted = false;

	if ((is_single || !may_interrupt) && is_worth_looking(&looked, child, is_single) &&
		!atomic_load(&is_tracer) && !thrum__adapt_child_may_return(child > 0 ? child : 0)) {
		if (may_interrupt)
			is_interrupted = look_for_end_or_signal(&looked);
		else
			look_for_end(&looked, is_single, -1);
	}
	errno = is_interrupted ? EINTR : error;
	return is_interrupted;
}
