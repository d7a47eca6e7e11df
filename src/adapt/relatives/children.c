/* SPDX-License-Identifier: ISC */
/*
 * Children that ended, and that nobody waits for any more. Several signals SIGCHLD become one while a
 * thread is busy; a thread that then takes one child leaves the others, and waits for a signal that
 * never comes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/relatives/relatives.h"
#include "port/port.h"

#define LEFT 8 /* of which is told */

/* The thread that took a child last, and where. */
struct taker {
	_Atomic uint32_t tid; /* 0: none did */
	const void *_Atomic caller;
	/* NULL: it took any; else it asked for a certain child, which was started there. */
	const void *_Atomic started;
};
/* By any call, by a call that never waits, and by one that waits for any child. */
static struct taker last, last_quick, last_any;
/* The thread that waited last for a certain child, however long it takes; several threads: SEVERAL. */
static _Atomic uint32_t owner;

/* Children that ended and are left. One thread at a time looks. */
static struct left {
	_Atomic pid_t process; /* 0: it is free */
	int64_t since;         /* when it was seen first */
	_Atomic uint64_t task;
	bool is_marked; /* as one that should resolve: the others wait for the first */
} left[LEFT];

/* The children that were taken last by calls for any child, and these calls. */
#define TAKEN 64
static struct {
	_Atomic pid_t process; /* 0: it is free */
	const void *_Atomic caller;
} taken[TAKEN];
static _Atomic unsigned next_taken;

/* When a signal's handler took the last child; 0: other code did. */
static _Atomic int64_t handler_took;

/* It may take a child that was started there. */
static bool may_take(const struct taker *taker, pid_t child)
{
	const void *started = atomic_load(&taker->started);

	return !started || started == thrum__adapt_started_at(child);
}

static void note(struct taker *taker, uint32_t tid, const void *caller, const void *started)
{
	atomic_store_explicit(&taker->started, started, memory_order_relaxed);
	atomic_store_explicit(&taker->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&taker->caller, caller, memory_order_relaxed);
}

void thrum__adapt_children_divided(void)
{
	atomic_store(&owner, SEVERAL);
}

/* The calling thread took a child that had ended, there. is_quick: by a call that never waits; else the
 * call waited for `process` alone, or for any (-1). */
static void note_taken(pid_t child, pid_t process, bool is_quick, const void *caller)
{
	uint32_t tid = own_tid(), nobody = 0;
	const void *started = process > 0 ? thrum__adapt_started_at(child) : NULL;

	thrum__adapt_starters_took();
	for (unsigned i = 0; i < LEFT; i++)
		if (UNLIKELY(atomic_load_explicit(&left[i].process, memory_order_relaxed) == child))
			resolve_told(&left[i].task);
	if (process <= 0) {
		unsigned at = atomic_fetch_add(&next_taken, 1) % TAKEN;

		atomic_store(&taken[at].process, 0);
		atomic_store(&taken[at].caller, caller);
		atomic_store(&taken[at].process, child);
	}
	if (process > 0 && !started)
		started = caller; /* unknown: it takes no others */
	note(&last, tid, caller, started);
	atomic_store(&handler_took,
		is_quick && thrum__adapt_is_in_handler() ? (int64_t)thrum__port_monotonic() : 0);
	if (process <= 0 && !is_quick)
		note(&last_any, tid, caller, NULL);
	if (is_quick)
		note(&last_quick, tid, caller, started);
	else if (process > 0 && !atomic_compare_exchange_strong(&owner, &nobody, tid) &&
		nobody != tid)
		atomic_store(&owner, SEVERAL);
}

/* A call for this child found none. If a call for any child took it, elsewhere, records a request that
 * failed. Keeps errno. */
static void note_missing(pid_t process, const void *caller)
{
	char label[PLACE_MAX + 60];
	int error = errno;

	for (unsigned i = 0; i < TAKEN; i++) {
		pid_t found = process;
		const void *by = atomic_load(&taken[i].caller);

		if (by == caller || !atomic_compare_exchange_strong(&taken[i].process, &found, 0))
			continue;
		*thrum__adapt_put_number(stpcpy(label, "end of process "), (uint64_t)process) = 0;
		thrum__adapt_label(label + strlen(label), ", taken by", by);
		thrum_task task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_REQUEST,
			label);

		thrum_task_fail(task, "ECHILD");
		thrum_task_read(thrum_task_current(), task);
		break;
	}
	errno = error;
}

/* A child has ended. Logs it if a signal killed it that nobody here has sent. */
static void tell_ended(pid_t child, int status)
{
	char text[PLACE_MAX + ENDING_TEXT + 40], *to;
	const void *killer;

	thrum__adapt_fork_ended(child, status);
	if (!WIFSIGNALED(status) || !is_on(ADAPTER_BLOCK) ||
		!thrum__adapt_killed_by(child, &killer) || killer)
		return;
	to = thrum__adapt_put_number(stpcpy(text, "process "), (uint64_t)child);
	to = thrum__adapt_put_ending(to, child);
	*thrum__adapt_put_starter(to, child) = '\0';
	thrum_log(text);
}

pid_t thrum__adapt_child_waited(const void *caller, pid_t process, const int *status, int options,
	pid_t result)
{
	if (UNLIKELY(result < 0 && errno == ECHILD && process > 0) && is_on(ADAPTER_BLOCK))
		note_missing(process, caller);
	if (result <= 0)
		return result;
	if (WIFEXITED(*status) || WIFSIGNALED(*status))
		tell_ended(result, *status);
	if (is_chosen(ADAPTER_BLOCK))
		note_taken(result, process, options & WNOHANG, caller);
	return result;
}

void thrum__adapt_child_learned(int result, const siginfo_t *info)
{
	if (result != 0 || info->si_pid <= 0)
		return;
	if (info->si_code == CLD_EXITED)
		tell_ended(info->si_pid, W_EXITCODE(info->si_status & 0xff, 0));
	else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		tell_ended(info->si_pid, W_EXITCODE(0, info->si_status));
}

void thrum__adapt_children_left(void)
{
	memset(taken, 0, sizeof taken);
	memset(&last, 0, sizeof last);
	memset(&last_quick, 0, sizeof last_quick);
	memset(&last_any, 0, sizeof last_any);
	memset(left, 0, sizeof left);
	atomic_store(&owner, 0);
	thrum__adapt_starters_left();
}

/* Returns who took children last, if that was the calling thread. Else the others are the business of
 * another. */
static const struct taker *taker_of(bool is_told, uint32_t tid)
{
	const struct taker *taker = is_told ? &last : &last_quick;
	uint32_t waits = atomic_load_explicit(&owner, memory_order_relaxed);

	return atomic_load_explicit(&taker->tid, memory_order_relaxed) == tid &&
			(waits == 0 || waits == tid)
		? taker
		: NULL;
}

bool thrum__adapt_takes_children(bool is_told)
{
	return is_told ||
		(atomic_load_explicit(&last_quick.tid, memory_order_relaxed) != 0 &&
			taker_of(false, own_tid()));
}

/* ---- Looking ----------------------------------------------------------------------------------- */

static _Atomic bool is_busy;

int thrum__adapt_child_ended(pid_t process, siginfo_t *told)
{
	told->si_pid = 0;
	return syscall(SYS_waitid, process > 0 ? P_PID : P_ALL, process, told,
		       WEXITED | WNOHANG | WNOWAIT, NULL) != 0
		? -1
		: told->si_pid != 0;
}

bool thrum__adapt_children_untaken(void)
{
	siginfo_t told;

	return !atomic_load(&last.tid) && thrum__adapt_child_ended(-1, &told) == 1;
}

/* Finds the children that ended, if the calling thread should take them. Returns how many. */
static unsigned find_ended(pid_t ended[PROCESSES], bool is_told)
{
	struct found_processes found = {ended, 0, PROCESSES, true};
	siginfo_t told;
	const struct taker *taker = taker_of(is_told, own_tid());
	unsigned count = 0, threads;
	sigset_t pending;

	/* Its signal comes yet. */
	if (sigpending(&pending) == 0 && sigismember(&pending, SIGCHLD) == 1)
		return 0;
	if (thrum__adapt_child_ended(-1, &told) != 1)
		return 0;
	threads = thrum__adapt_process_children(own_pid(), &found);
	for (unsigned i = 0; i < found.count; i++)
		if ((!taker || may_take(taker, ended[i])) && thrum__adapt_process_is_over(ended[i]))
			ended[count++] = ended[i];
	/* If none was ever taken, all signals may have come too early. A child that lives may bring
	 * another. */
	return taker ||
			(is_told && threads == 1 && count == found.count && found.is_whole &&
				!atomic_load(&last.tid))
		? count
		: 0;
}

static void tell(struct left *child)
{
	const void *caller = atomic_load(&last.caller);
	char label[PROCESS_TEXT + PLACE_MAX + 40];

	thrum__adapt_put_process(stpcpy(label, "wait for ended "), child->process);
	if (!caller)
		caller = thrum__adapt_started_at(child->process);
	atomic_store(&child->task,
		thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label));
}

static struct left *left_of(pid_t process)
{
	for (unsigned i = 0; i < LEFT; i++)
		if (left[i].process == process)
			return &left[i];
	return NULL;
}

/* Forgets those that don't count any more. */
static void sort_out(const pid_t *ended, unsigned count)
{
	for (unsigned i = 0; i < LEFT; i++) {
		unsigned at = 0;

		while (at < count && ended[at] != left[i].process)
			at++;
		if (at == count && left[i].process) {
			resolve_told(&left[i].task);
			left[i].process = 0;
		}
	}
}

/* Notes that a child ended. Returns whether it is told of. */
static bool note_ended(struct left *child, pid_t process)
{
	if (child->process != process) {
		child->since = rough_time();
		child->is_marked = false;
		atomic_store(&child->process, process);
	}
	if (!atomic_load(&child->task) && rough_time() - child->since >= LOOK_TWICE)
		tell(child);
	return atomic_load(&child->task) != 0;
}

static thrum_task look(bool is_told)
{
	pid_t ended[PROCESSES];
	unsigned count = find_ended(ended, is_told);
	struct left *first = NULL;

	sort_out(ended, count);
	for (unsigned i = 0; i < count; i++) {
		struct left *child = left_of(ended[i]);
		bool is_new = !child || !atomic_load(&child->task);

		if (!child)
			child = left_of(0);
		if (!child || !note_ended(child, ended[i]))
			continue;
		if (!first)
			first = child;
		else if (is_new)
			thrum_task_wait(atomic_load(&child->task), atomic_load(&first->task));
	}
	if (first && !first->is_marked) {
		first->is_marked = true;
		thrum_task_should_resolve(atomic_load(&first->task));
	}
	return first ? atomic_load(&first->task) : THRUM_TASK_NONE;
}

thrum_task thrum__adapt_children_look(bool is_told)
{
	thrum_task told;

	if (atomic_exchange(&is_busy, true))
		return THRUM_TASK_NONE;
	told = look(is_told);
	atomic_store(&is_busy, false);
	return told;
}

thrum_task thrum__adapt_children_none(bool is_alone, const void *caller)
{
	const struct taker *taker = atomic_load(&last_any.tid) ? &last_any : &last;
	char label[PLACE_MAX + 120] = "end of a child, though none is left";
	bool is_single = thrum__adapt_process_is_single(own_pid());
	siginfo_t ended;

	if (!atomic_load(&last.tid) || thrum__adapt_has_handlers() ||
		thrum__adapt_child_ended(-1, &ended) >= 0 || !(is_single || is_alone))
		return THRUM_TASK_NONE;
	if (!is_single)
		strcat(label, ", while other threads nap or wait");
	thrum__adapt_label(strchr(label, '\0'), "; some were taken by",
		atomic_load(&taker->caller));
	return thrum__adapt_missing(label, caller);
}

bool thrum__adapt_children_gone(int64_t since)
{
	siginfo_t ended;
	sigset_t pending;

	return atomic_load(&handler_took) > since && thrum__adapt_child_ended(-1, &ended) < 0 &&
		thrum__adapt_process_is_single(own_pid()) && sigpending(&pending) == 0 &&
		sigismember(&pending, SIGCHLD) == 0;
}

thrum_task thrum__adapt_children_tell_gone(const void *caller)
{
	char label[PLACE_MAX + 80] = "SIGCHLD that came before the wait";

	thrum__adapt_label(strchr(label, '\0'), ", as the last child was taken by",
		atomic_load(&last.caller));
	return thrum__adapt_missing(label, caller);
}
