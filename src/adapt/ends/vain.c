/* SPDX-License-Identifier: ISC */
/*
 * For what other processes wait: one after the other, until one is found that waits for this process, that
 * may go on, or that can't. That is told by the system call in which a process is.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/ends/ends.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

/* ---- The wait of a process ------------------------------------------------------------------- */

/* Returns the looker that waits in a call; 0: none does. */
static uintptr_t find_looker(const _Atomic uintptr_t lookers[LOOKERS],
	const struct process_call *call)
{
	for (int i = 0; i < LOOKERS && call->arguments[0]; i++)
		if ((atomic_load(&lookers[i]) & ~(uintptr_t)1) == call->arguments[0])
			return atomic_load(&lookers[i]);
	return 0;
}

bool thrum__adapt_vain_looker(const struct look *look, pid_t process,
	const struct process_call *call, int *fd)
{
	_Atomic uintptr_t lookers[LOOKERS];
	struct pollfd one;
	uintptr_t looker;

	if (!thrum__adapt_call_is_poll(call) ||
		!thrum__adapt_process_is_copy(look->self, process) ||
		!thrum__adapt_process_copy(process, (uintptr_t)thrum__adapt_lookers, lookers,
			sizeof lookers) ||
		!(looker = find_looker(lookers, call)) ||
		!thrum__adapt_process_copy(process, call->arguments[0], &one, sizeof one))
		return false;
	if (fd)
		*fd = looker & 1 ? -1 : one.fd;
	return true;
}

/* Whether it waits in poll() as long as it takes, which a look does, too. */
static bool polls_endlessly(const struct look *look, pid_t process, const struct process_call *call)
{
	return thrum__adapt_call_is_poll(call) &&
		(thrum__adapt_call_is_endless(call) ||
			thrum__adapt_vain_looker(look, process, call, NULL));
}

int thrum__adapt_vain_descriptor(const struct look *look, pid_t process,
	const struct process_call *call, bool *writes)
{
	struct pollfd one;

	switch (call->number) {
	case SYS_read:
	case SYS_recvfrom:
	case SYS_recvmsg: *writes = false; return (int)call->arguments[0];
	case SYS_write:
	case SYS_sendto:
	case SYS_sendmsg: *writes = true; return (int)call->arguments[0];
	default: break;
	}
	if (call->arguments[1] != 1 || !polls_endlessly(look, process, call) ||
		!thrum__adapt_process_copy(process, call->arguments[0], &one, sizeof one))
		return -1;
	*writes = one.events == POLLOUT;
	return one.events == POLLOUT || one.events == POLLIN ? one.fd : -1;
}

unsigned thrum__adapt_vain_polled(const struct look *look, pid_t process,
	const struct process_call *call, struct pollfd *polled)
{
	unsigned long count = call->arguments[1];

	return count > 1 && count <= POLLED && polls_endlessly(look, process, call) &&
			thrum__adapt_process_copy(process, call->arguments[0], polled,
				count * sizeof *polled)
		? (unsigned)count
		: 0;
}

struct sleepers {
	uint32_t self;
	const struct naps *naps;
	bool is_any_awake;
};

static void look_at_thread(void *context, int directory, const char *name)
{
	struct sleepers *sleepers = context;
	struct process_call call;
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	bool is_seen;

	if (tid == sleepers->self || sleepers->is_any_awake)
		return;
	is_seen = thrum__adapt_process_call(own_pid(), tid, &call);
	sleepers->is_any_awake = !(is_seen &&
					 (thrum__adapt_call_is_endless(&call) ||
						 find_looker(thrum__adapt_lookers, &call))) &&
		!thrum__adapt_naps_goes_round(sleepers->naps, tid, is_seen ? &call : NULL);
}

/* Whether all other threads of this process wait for as long as it takes, or only nap. */
static bool others_sleep(const struct look *look)
{
	struct sleepers sleepers = {own_tid(), look->naps, false};

	return look->threads == 1 ||
		(thrum__adapt_process_each(look->self, "/task", look_at_thread, &sleepers) &&
			!sleepers.is_any_awake);
}

bool thrum__adapt_others_nap(const struct naps *naps)
{
	struct look look = {.self = own_pid(), .naps = naps};

	return others_sleep(&look);
}

int thrum__adapt_vain_duplicate(const struct look *look, pid_t process, int fd)
{
	bool is_single = thrum__adapt_process_is_single(look->self);
	int of, copy = -1;

	if (!is_single && !others_sleep(look))
		return -1;
	of = thrum__adapt_hide(syscall(SYS_pidfd_open, process, 0), is_single);
	if (of >= 0) {
		copy = thrum__adapt_hide(syscall(SYS_pidfd_getfd, of, fd, 0), is_single);
		syscall(SYS_close, of);
	}
	return copy;
}

void thrum__adapt_vain_close(const int *copy)
{
	if (*copy >= 0)
		syscall(SYS_close, *copy);
}

/* Whether a call that waits for a socket has a time limit. */
static enum limit limit_of(const struct look *look, pid_t process, const struct process_call *call,
	int fd, bool writes)
{
	if (thrum__adapt_call_is_poll(call))
		return ENDLESS; /* as vain_descriptor saw */
	if (process == look->self)
		return thrum__adapt_socket_limit(fd, writes);
	int copy COPY = thrum__adapt_vain_duplicate(look, process, fd);

	return copy >= 0 ? thrum__adapt_socket_limit(copy, writes) : LIMIT_UNKNOWN;
}

/* Finds the other end of a process's TCP connection. */
static bool find_tcp(const struct look *look, pid_t process, int fd, uint64_t *inode)
{
	if (process == look->self)
		return thrum__adapt_tcp_other(fd, inode);
	int copy COPY = thrum__adapt_vain_duplicate(look, process, fd);

	return copy >= 0 && thrum__adapt_tcp_other(copy, inode);
}

bool thrum__adapt_vain_end(const struct look *look, pid_t process, const struct process_call *call,
	struct end *end)
{
	bool writes = false;
	int fd = thrum__adapt_vain_descriptor(look, process, call, &writes);

	return fd >= 0 && thrum__adapt_vain_end_of(look, process, call, fd, writes, end);
}

bool thrum__adapt_vain_end_of(const struct look *look, pid_t process,
	const struct process_call *call, int fd, bool writes, struct end *end)
{
	char path[64];
	struct statx file;
	struct stat other;
	enum limit limit;

	thrum__adapt_process_descriptor(path, process, fd);
	if (!thrum__adapt_find_file(AT_FDCWD, path, &file) ||
		(!S_ISFIFO(file.stx_mode) && !S_ISSOCK(file.stx_mode)))
		return false;
	*end = (struct end){.inode = file.stx_ino,
		.writes = !writes,
		.is_socket = S_ISSOCK(file.stx_mode)};
	if (!end->is_socket)
		return true;
	limit = limit_of(look, process, call, fd, writes);
	if (limit == LIMITED)
		return false;
	/* Each socket of a pair has its own. This process may have closed both, or it is no pair. */
	if (fstatat(thrum__adapt_pipe_to(file.stx_ino), "", &other, AT_EMPTY_PATH) != 0)
		return limit == ENDLESS &&
			(thrum__adapt_socket_other(file.stx_ino, &end->inode, &end->listens)
					? !(end->listens &&
						  process == look->self) /* is_asked() tells */
					: find_tcp(look, process, fd, &end->inode));
	end->inode = other.st_ino;
	return true;
}

/* The child that a process waits for: that one, or its only one; 0: none. */
static pid_t find_child(pid_t process, const struct process_call *call)
{
	pid_t children[2], wanted = (pid_t)call->arguments[0];
	struct found_processes found = {children, 0, 2, true};

	if (call->number == SYS_waitid)
		wanted = call->arguments[0] == P_PID ? (pid_t)call->arguments[1] : -1;
	else if (call->number != SYS_wait4)
		return 0;
	if (wanted > 0)
		return wanted;
	return thrum__adapt_process_children(process, &found) == 1 && found.is_whole &&
			found.count == 1
		? children[0]
		: 0;
}

/* ---- Whether it comes -------------------------------------------------------------------------- */

/* Whether a process can do nothing by itself: its only thread waits for a signal, and has no handler. Then
 * one that it holds back never comes. */
static bool is_idle(pid_t process)
{
	struct process_call call;

	if (!thrum__adapt_process_call(process, 0, &call))
		return false;
	/* An adapter waits in ppoll() instead of sigsuspend(). */
	return (thrum__adapt_call_is_pause(&call) ||
		       (call.number == SYS_ppoll && call.arguments[1] == 0 &&
			       call.arguments[2] == 0)) &&
		thrum__adapt_process_is_single(process) &&
		!thrum__adapt_process_has_handlers(process);
}

bool thrum__adapt_ends_is_own(const struct look *look, const struct end *end,
	const struct holder *holder)
{
	return holder->process == look->self && end->writes && !end->is_socket &&
		!thrum__adapt_has_handlers() && thrum__adapt_pipe_is_of_self(holder->at);
}

/* Whether this process won't use an end that it has: as it has never used it, and nobody here is about to, or
 * as all that it does is to wait, or as only the thread that waits has. */
static bool is_left_alone(const struct look *look, const struct end *end,
	const struct holder *holder)
{
	if (holder->is_meant)
		return thrum__adapt_ends_is_own(look, end, holder) && others_sleep(look);
	return end->writes ? look->is_vain : others_sleep(look);
}

/* Those who may end a step. */
struct judged {
	bool is_single;                   /* the process that waits has one thread */
	const struct holder *left, *able; /* one that won't end it, and one that may */
	unsigned ables;
	pid_t able_processes[PROCESSES]; /* all that may */
};

static void judge(struct judged *judged, const struct step *step, const struct holder *holder,
	bool is_vain)
{
	/* Another one that holds it says more than the process that waits. */
	if (is_vain && (!judged->left || judged->left->process == step->process))
		judged->left = holder;
	if (is_vain)
		return;
	if (judged->ables == 0)
		judged->able = holder;
	judged->able_processes[judged->ables++] = holder->process;
}

/* The relatives, by bit, about which the calling thread asks whether they wait in vain, and those that do:
 * each is asked about once. One that is asked about already may go on, as far as is known. */
static __thread struct {
	uint32_t asked, vain;
} asking __attribute__((tls_model("initial-exec")));

static bool is_asked_vain(const struct look *look, pid_t process)
{
	uint32_t bit = thrum__adapt_relatives_bit(look, process);

	if (!(asking.asked & bit)) {
		asking.asked |= bit;
		if (thrum__adapt_waits_in_vain(look, process))
			asking.vain |= bit;
	}
	return asking.vain & bit;
}

/* The process that was started last, of several that may end a step, if all of them wait in vain; else 0.
 * The later one is started, the more ends it may have got from this process. */
static pid_t last_in_vain(const struct look *look, const struct step *step,
	const struct judged *judged)
{
	bool is_first = asking.asked == 0;
	pid_t last = 0;

	asking.asked |= thrum__adapt_relatives_bit(look, step->process);
	for (unsigned i = 0; i < judged->ables; i++) {
		pid_t process = judged->able_processes[i];

		if (process == look->self || !is_asked_vain(look, process)) {
			last = 0;
			break;
		}
		last = process;
	}
	if (is_first)
		asking.asked = asking.vain = 0;
	return last;
}

/* Returns the process that should end the step: the only one that may, unless it is this one; else 0. */
static pid_t end_judging(const struct look *look, struct step *step, const struct judged *judged)
{
	step->is_vain = judged->left && !judged->able;
	if (judged->left || judged->able)
		step->holder = step->is_vain ? *judged->left : *judged->able;
	if (judged->ables == 0 || judged->able->process == look->self || !judged->is_single)
		return 0;
	return judged->ables == 1 ? judged->able->process : last_in_vain(look, step, judged);
}

/* Judges the end for which a process waits. */
static pid_t judge_end(const struct look *look, struct step *step)
{
	struct holder holders[PROCESSES];
	unsigned count = thrum__adapt_ends_holders(look, &step->end, holders);
	struct judged judged = {.is_single = thrum__adapt_process_is_single(step->process)};

	step->sort = END;
	/* It has told itself why it waits. */
	if (thrum__adapt_set_is_told(set_thread(step->process, (uint32_t)step->process)))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		struct holder *holder = &holders[i];
		bool is_vain = holder->process == look->self
			? is_left_alone(look, &step->end, holder)
			: holder->process == step->process || !holder->is_meant ||
				is_idle(holder->process) ||
				thrum__adapt_left_is(look, step->process, step->fd, &step->end,
					holder);

		/* Another thread of the process may do what others wait for. */
		is_vain &= judged.is_single;
		judge(&judged, step, holder, is_vain);
	}
	return end_judging(look, step, &judged);
}

/* Judges the file's lock for which a process waits. One of this process is in vain if the thread that waits
 * has to release it. */
static pid_t judge_file(const struct look *look, struct step *step)
{
	struct holder holders[PROCESSES];
	unsigned count = thrum__adapt_file_holders(look, &step->file, holders);
	struct judged judged = {.is_single = thrum__adapt_process_is_single(step->process)};

	step->sort = FILE_LOCK;
	for (unsigned i = 0; i < count; i++) {
		struct holder *holder = &holders[i];
		bool is_vain = holder->process == step->process;

		if (holder->process == look->self)
			is_vain = look->is_alone ||
				(step->file.is_flock && !thrum__adapt_has_handlers() &&
					thrum__adapt_files_are_own(holder->at));
		is_vain &= judged.is_single;
		judge(&judged, step, holder, is_vain);
	}
	return end_judging(look, step, &judged);
}

/* Whether a process, whose only thread waits for an answer from a socket, asks the calling thread, and no one
 * else can answer. */
static bool is_asked(const struct look *look, struct step *step, const struct process_call *call)
{
	char path[64];
	struct holder holders[PROCESSES];
	struct statx file;
	struct stat own;
	unsigned count;
	bool writes = false, is_queued;
	int fd = thrum__adapt_vain_descriptor(look, step->process, call, &writes), at;

	if (fd < 0 || writes || !thrum__adapt_accepts_alone() ||
		!thrum__adapt_process_is_single(step->process))
		return false;
	thrum__adapt_process_descriptor(path, step->process, fd);
	if (!thrum__adapt_find_file(AT_FDCWD, path, &file) || !S_ISSOCK(file.stx_mode))
		return false;
	at = thrum__adapt_asked_by(file.stx_ino, &is_queued);
	if (at < 0 || fstat(at, &own) != 0 || !(is_queued || others_sleep(look)) ||
		limit_of(look, step->process, call, fd, false) != ENDLESS)
		return false;
	step->end = (struct end){.inode = own.st_ino, .is_socket = true};
	step->holder = (struct holder){look->self, at, true};
	step->sort = is_queued ? QUEUE : ANSWER;
	count = thrum__adapt_ends_holders(look, &step->end, holders);
	for (unsigned i = 0; i < count; i++)
		if (holders[i].process != look->self && holders[i].process != step->process &&
			holders[i].is_meant)
			return false;
	return count > 0;
}

/* Whether a process has handlers for other signals than a shell has, while it waits for a command: that of
 * the command's end, and that of a user who ends both. */
static bool has_more_handlers(pid_t process)
{
	const uint64_t usual = UINT64_C(1) << (SIGCHLD - 1) | UINT64_C(1) << (SIGINT - 1);
	struct process_signals signals;

	return thrum__adapt_process_has_handlers(process) &&
		(!thrum__adapt_process_signals(process, &signals) || signals.handled & ~usual);
}

/* ---- Steps ------------------------------------------------------------------------------------- */

/* Finds for what a process waits. Returns the process that should end that; 0: none, or it isn't known. */
static pid_t find_step(const struct look *look, struct step *step)
{
	struct process_call call;

	step->ran = thrum__adapt_process_ran(step->process, 0);
	if (thrum__adapt_process_is_stopped(step->process)) {
		step->sort = STOP;
		step->is_vain = true;
	} else if (look->is_alone && is_idle(step->process) &&
		(step->signal = thrum__adapt_process_held_signal(step->process))) {
		step->sort = SIGNAL;
		step->is_vain = true;
	} else if (thrum__adapt_forked_wait(look->self, step->process, &step->lock)) {
		step->sort = LOCK;
		step->is_vain = true;
	} else if (!thrum__adapt_process_call(step->process, 0, &call)) {
		return 0; /* it runs */
	} else if (is_asked(look, step, &call)) {
		step->is_vain = true;
	} else if (thrum__adapt_vain_end(look, step->process, &call, &step->end)) {
		bool writes;

		step->fd = thrum__adapt_vain_descriptor(look, step->process, &call, &writes);
		return judge_end(look, step);
	} else if (thrum__adapt_file_lock(step->process, &call, &step->file)) {
		return judge_file(look, step);
	} else if (thrum__adapt_process_is_single(step->process) &&
		!has_more_handlers(step->process)) {
		return find_child(step->process, &call);
	}
	return 0;
}

/* Whether processes that wait for each other did so all at once, since none has run meanwhile. Where
 * no handler can end that, it is told by stuck.c: here, or in the copies of this process. */
static bool is_circle(const struct look *look, const struct step *steps, unsigned count)
{
	bool has_handlers = false, are_copies = true;

	for (unsigned i = 0; i < count; i++) {
		has_handlers |= thrum__adapt_process_has_handlers(steps[i].process);
		are_copies &= thrum__adapt_process_is_copy(look->self, steps[i].process);
	}
	if (!has_handlers && (are_copies || look->is_alone))
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!steps[i].ran || thrum__adapt_process_ran(steps[i].process, 0) != steps[i].ran)
			return false;
	return true;
}

unsigned thrum__adapt_vain_steps(const struct look *look, pid_t process, struct step steps[STEPS])
{
	unsigned count = 0;
	bool is_vain = false;

	while (process && count < STEPS) {
		struct step *step = &steps[count++];

		*step = (struct step){.process = process};
		process = find_step(look, step);
		is_vain = step->is_vain;
		for (unsigned i = 0; i < count && process; i++)
			if (steps[i].process == process) {
				is_vain = is_circle(look, steps + i, count - i);
				process = 0;
			}
		if (process && count < STEPS)
			step->sort = PROCESS;
	}
	for (unsigned i = 0; i < count; i++)
		steps[i].is_vain = is_vain;
	return count;
}

bool thrum__adapt_waits_in_vain(const struct look *look, pid_t process)
{
	struct step steps[STEPS];

	thrum__adapt_vain_steps(look, process, steps);
	return steps[0].is_vain;
}
