/* SPDX-License-Identifier: ISC */
/*
 * Processes and threads that all wait for each other. A process is stuck if each of its threads waits as long
 * as it takes, and only those could end that which are stuck, too. So all relatives of this process are
 * looked at, and those left out, one after the other, that something else may wake. Each process is seen at
 * another moment: only if no thread has run from one look to the next were all of them so at once. Threads
 * that only nap are left out (tickers.c).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/ends/stuck.h"
#include "adapt/shared/sets.h"
#include "port/port.h"

/* The process that uses it; a fork's child has its parent's. */
static _Atomic pid_t user;

struct stuck *thrum__adapt_stuck_take(void)
{
	static struct stuck stuck;
	pid_t self = own_pid(), before = atomic_load(&user);

	return before != self && atomic_compare_exchange_strong(&user, &before, self) ? &stuck
										      : NULL;
}

void thrum__adapt_stuck_release(void)
{
	atomic_store(&user, 0);
}

/* ---- Relatives ------------------------------------------------------------------------------- */

_Atomic unsigned thrum__adapt_stuck_count;

bool thrum__adapt_stuck_relatives(struct look *look, pid_t *oldest)
{
	struct found_processes found = {look->processes, 1, PROCESSES, true};
	unsigned at = 0;

	look->self = look->processes[0] = own_pid();
	for (int i = 0; i < ANCESTORS; i++) {
		pid_t parent = thrum__adapt_process_parent(look->processes[0]);

		if (parent <= 1 || !thrum__adapt_process_is_copy(look->self, parent))
			break;
		look->processes[0] = parent;
	}
	for (unsigned i = 0; i < found.count && found.is_whole; i++) {
		unsigned threads = thrum__adapt_process_children(look->processes[i], &found);

		if (look->processes[i] == look->self) {
			look->threads = threads;
			at = i;
		}
		if (i + 1 == found.count && found.is_whole)
			thrum__adapt_fork_add_left(&found);
	}
	atomic_store(&thrum__adapt_stuck_count, found.count);
	look->count = found.count;
	look->is_whole = found.is_whole;
	*oldest = look->processes[0];
	look->processes[at] = look->processes[0];
	look->processes[0] = look->self;
	return found.is_whole && look->threads > 0;
}

/* ---- Those who could end a wait ---------------------------------------------------------------- */

static void add_need(struct relative *relative, enum need_sort sort, uint32_t wakers)
{
	relative->wakers |= wakers;
	relative->is_open |= wakers == 0;
	if (relative->sort != NEEDS_NOTHING)
		return;
	relative->sort = sort;
	relative->by = wakers;
}

static void need_end(struct stuck *stuck, struct relative *relative, const struct end *end)
{
	struct holder holders[PROCESSES];
	unsigned count = stuck->end_count < PROCESSES
		? thrum__adapt_ends_holders(&stuck->look, end, holders)
		: 0;
	uint32_t wakers = 0;

	for (unsigned i = 0; i < count; i++) {
		wakers |= thrum__adapt_relatives_bit(&stuck->look, holders[i].process);
		if (relative->sort == NEEDS_NOTHING && holders[i].process == stuck->look.self)
			relative->at[0] = holders[i].at;
		if (relative->sort == NEEDS_NOTHING && holders[i].process == relative->process)
			relative->at[1] = holders[i].at;
	}
	if (relative->sort == NEEDS_NOTHING)
		relative->end = *end;
	if (count > 0) {
		stuck->ends[stuck->end_count].end = *end;
		stuck->ends[stuck->end_count++].waiter = thrum__adapt_relatives_bit(&stuck->look,
			relative->process);
	}
	add_need(relative, NEEDS_END, wakers);
}

/* For a process's child, or for any if that isn't positive. */
static void need_child(const struct stuck *stuck, struct relative *relative, pid_t child)
{
	pid_t children[PROCESSES];
	struct found_processes found = {children, 0, PROCESSES, true};
	uint32_t wakers = thrum__adapt_relatives_bit(&stuck->look, child);

	if (child <= 0)
		thrum__adapt_process_children(relative->process, &found);
	for (unsigned i = 0; i < found.count; i++)
		wakers |= thrum__adapt_relatives_bit(&stuck->look, children[i]);
	add_need(relative, NEEDS_CHILD, found.is_whole ? wakers : 0);
}

/* For a lock of a file: those who have it, or may release it. */
static void need_lock(const struct stuck *stuck, struct relative *relative,
	const struct file_lock *lock)
{
	struct holder holders[PROCESSES];
	unsigned count = thrum__adapt_file_holders(&stuck->look, lock, holders);
	uint32_t wakers = 0;

	for (unsigned i = 0; i < count; i++)
		wakers |= thrum__adapt_relatives_bit(&stuck->look, holders[i].process);
	add_need(relative, NEEDS_LOCK, wakers);
}

/* For a semaphore or a queue of the kernel's: returns false if the call is for none. */
static bool need_ipc(struct stuck *stuck, struct relative *relative, uint32_t tid,
	const struct process_call *call)
{
	struct ipc_need need;

	if (!thrum__adapt_ipc_need(&stuck->look, relative->process, tid, call, &need))
		return false;
	stuck->has_ipc = true;
	if (relative->sort == NEEDS_NOTHING)
		relative->ipc = need;
	if (relative->sort == NEEDS_NOTHING && need.wakers) {
		relative->sort = NEEDS_IPC;
		relative->by = need.by;
	}
	add_need(relative, NEEDS_IPC, need.wakers);
	return true;
}

/* Whether a futex is one of the process's own, or of a thread that is to end. */
static bool is_own_futex(pid_t process, const struct process_call *call)
{
	char path[64];

	switch (call->arguments[1] & ~(unsigned long)FUTEX_CLOCK_REALTIME) {
	case FUTEX_WAIT_PRIVATE:
	case FUTEX_WAIT_BITSET_PRIVATE:
	case FUTEX_LOCK_PI_PRIVATE: return true;
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET: break;
	default: return false;
	}
	*thrum__adapt_put_number(stpcpy(thrum__adapt_process_path(path, process), "/task/"),
		call->arguments[2] & 0x7fffffff) = '\0';
	return (call->arguments[2] & 0x7fffffff) != 0 && access(path, F_OK) == 0;
}

/* Whether nothing but this process writes to an eventfd. */
static bool is_inside(const struct stuck *stuck, int fd)
{
	return is_of_pipe(fd) && thrum__adapt_pipe_other(fd, true) == fd &&
		(!thrum__adapt_pipe_is_shared(fd, false) ||
			thrum__adapt_polled_is_own(&stuck->look, fd)) &&
		!thrum__adapt_process_has_kernel_writes(stuck->look.self);
}

pid_t thrum__adapt_stuck_told(pid_t process, int fd)
{
	char text[PROCESS_TEXT];
	bool is_of_any;

	thrum__adapt_process_read_info(process, fd, text, sizeof text);
	/* An epoll, or a signalfd for the ends of children and nothing else. */
	is_of_any = strstr(text, "\ntfd:") ||
		thrum__adapt_number_behind(text, "\nsigmask:", 16) == UINT64_C(1) << (SIGCHLD - 1);
	return is_of_any ? -1 : (pid_t)thrum__adapt_number_behind(text, "\nPid:", 10);
}

/* Whether one waits for data, or for the end, which always counts. */
static bool is_for_data(const struct pollfd *one)
{
	return (one->events & ~(POLLHUP | POLLERR | POLLPRI)) == POLLIN;
}

/* Whether a descriptor is of a pipe that any process may open, by its name. */
static bool has_name(pid_t process, int fd)
{
	char path[64], target[2];

	thrum__adapt_process_descriptor(path, process, fd);
	return readlink(path, target, sizeof target) < 1 || *target == '/';
}

/* For one of several descriptors. Returns false if the call is for no such. */
static bool need_polled(struct stuck *stuck, struct relative *relative, uint32_t tid,
	const struct process_call *call)
{
	struct pollfd polled[POLLED];
	unsigned count = thrum__adapt_vain_polled(&stuck->look, relative->process, call, polled);
	struct end end;
	pid_t told;

	for (unsigned i = 0; i < count && !relative->is_open; i++) {
		if (polled[i].fd < 0)
			continue;
		if (!is_for_data(&polled[i]) ||
			thrum__adapt_set_is_told(set_thread(relative->process, tid)))
			relative->is_open = true;
		else if (relative->process == stuck->look.self && is_inside(stuck, polled[i].fd))
			relative->wakers |= 1;
		else if (thrum__adapt_vain_end_of(&stuck->look, relative->process, call,
				 polled[i].fd, false, &end) &&
			!has_name(relative->process, polled[i].fd))
			need_end(stuck, relative, &end);
		else if ((told = thrum__adapt_stuck_told(relative->process, polled[i].fd)) != 0)
			need_child(stuck, relative, told);
		else
			relative->is_open = true;
	}
	return count > 0;
}

/* Whether a thread of this process waits in epoll, or for an eventfd, and only the process itself can end
 * that. */
static bool waits_inside(const struct stuck *stuck, uint32_t tid, const struct process_call *call)
{
	struct epoll_need need;
	bool writes = false;
	int fd = thrum__adapt_epoll_of(tid, call);

	if (fd >= 0)
		return thrum__adapt_epoll_need(fd, &need);
	fd = thrum__adapt_vain_descriptor(&stuck->look, stuck->look.self, call, &writes);
	return fd >= 0 && !writes && is_inside(stuck, fd);
}

static void need_of_call(struct stuck *stuck, struct relative *relative, uint32_t tid,
	const struct process_call *call)
{
	struct file_lock lock;
	struct end end;
	pid_t told;
	int fd;

	if (call->number == SYS_futex && !is_own_futex(relative->process, call) &&
		need_ipc(stuck, relative, tid, call)) {
		return;
	} else if (call->number == SYS_futex) {
		relative->is_open |= !thrum__adapt_call_is_endless(call) ||
			!is_own_futex(relative->process, call);
	} else if (need_ipc(stuck, relative, tid, call)) {
		return;
	} else if (thrum__adapt_file_lock(relative->process, call, &lock)) {
		need_lock(stuck, relative, &lock);
	} else if (call->number == SYS_wait4 || call->number == SYS_waitid) {
		bool is_four = call->number == SYS_wait4;
		unsigned long options = call->arguments[is_four ? 2 : 3];

		if (options & ~(unsigned long)(__WALL | WEXITED))
			relative->is_open = true;
		else if (is_four || call->arguments[0] == P_ALL)
			need_child(stuck, relative, is_four ? (pid_t)call->arguments[0] : -1);
		else
			need_child(stuck, relative, (pid_t)call->arguments[1]);
	} else if (thrum__adapt_vain_end(&stuck->look, relative->process, call, &end)) {
		/* It may have told itself why it waits. */
		if (thrum__adapt_set_is_told(set_thread(relative->process, tid)))
			relative->is_open = true;
		else
			need_end(stuck, relative, &end);
	} else if (relative->process == stuck->look.self && waits_inside(stuck, tid, call)) {
		relative->wakers |= 1;
	} else if (thrum__adapt_vain_looker(&stuck->look, relative->process, call, &fd) &&
		(told = thrum__adapt_stuck_told(relative->process, fd)) != 0) {
		need_child(stuck, relative, told);
	} else if (!need_polled(stuck, relative, tid, call)) {
		relative->is_open = true;
	}
}

/* ---- Threads ----------------------------------------------------------------------------------- */

struct visit {
	struct stuck *stuck;
	struct relative *relative;
};

static uint64_t mixed(uint64_t sum, uint64_t value)
{
	return (sum ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

/* Differs once the thread has run. One that looks from time to time runs: as long as its wait lasts, the
 * process's count of such waits stays. */
static uint64_t sum_of(const struct stuck *stuck, pid_t process, uint32_t tid,
	const struct process_call *call)
{
	uint64_t sum = mixed(set_thread(process, tid), call->number), ran;
	uint32_t turn = thrum__adapt_ipc_turn(process, tid);
	uint32_t waits;
	int fd;

	if (thrum__adapt_vain_looker(&stuck->look, process, call, &fd) ||
		(process == stuck->look.self && thrum__adapt_epoll_of(tid, call) >= 0))
		return thrum__adapt_process_copy(process, (uintptr_t)&thrum__adapt_looker_waits,
			       &waits, sizeof waits)
			? mixed(sum, waits)
			: 0;
	if (turn)
		return mixed(sum, turn) | 1;
	ran = thrum__adapt_process_ran(process, tid);
	return ran ? mixed(sum, ran) | 1 : 0;
}

/* A thread of this process that waits for a child, or a lock, without looking. */
static void note_other(struct stuck *stuck, uint32_t tid, enum need_sort sort, uint32_t by)
{
	const struct thread *thread = thrum__adapt_thread_of(tid);

	if (thread && stuck->other_count < OTHERS)
		stuck->others[stuck->other_count++] = (struct other_wait){atomic_load(
										  &thread->outside),
			sort, by};
}

static void look_at_thread(void *context, int directory, const char *name)
{
	const struct visit *visit = context;
	struct stuck *stuck = visit->stuck;
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	struct relative *relative = visit->relative,
			own = {.process = relative->process, .tid = tid};
	bool is_self = relative->process == stuck->look.self, is_seen;
	struct process_call call;
	uint64_t sum;
	int fd;

	if (relative->is_open && !stuck->naps)
		return;
	relative->is_open |= thrum__adapt_process_may_handle(relative->process, tid);
	if (is_self && tid == own_tid())
		return;
	is_seen = thrum__adapt_process_call(relative->process, tid, &call);
	if (thrum__adapt_ticker_is(stuck->naps, relative->process, tid, is_seen ? &call : NULL)) {
		relative->ticks = true;
		return;
	}
	relative->is_open |= !is_seen;
	if (relative->is_open)
		return;
	own.ticks = relative->ticks;
	own.looks = relative->looks ||
		(thrum__adapt_vain_looker(&stuck->look, relative->process, &call, &fd) &&
			fd >= 0) ||
		thrum__adapt_set_wait_is_looked(set_thread(relative->process, tid));
	need_of_call(stuck, &own, tid, &call);
	sum = sum_of(stuck, relative->process, tid, &call);
	own.is_open |= sum == 0;
	own.wakers |= relative->wakers;
	own.sum = mixed(relative->sum, sum);
	if (is_self && !thrum__adapt_vain_looker(&stuck->look, relative->process, &call, NULL) &&
		(own.sort == NEEDS_CHILD || own.sort == NEEDS_LOCK))
		note_other(stuck, tid, own.sort, own.by);
	/* The first wait is that which is told. */
	if (relative->sort != NEEDS_NOTHING) {
		relative->is_open = own.is_open;
		relative->looks = own.looks;
		relative->wakers = own.wakers;
		relative->sum = own.sum;
	} else {
		*relative = own;
	}
}

static void look_at_relative(struct stuck *stuck, struct relative *relative)
{
	struct visit visit = {stuck, relative};

	if (thrum__adapt_process_is_stopped(relative->process))
		relative->sort = NEEDS_CONTINUE;
	else if (!thrum__adapt_process_each(relative->process, "/task", look_at_thread, &visit))
		relative->is_open = true;
}

/* ---- All together ------------------------------------------------------------------------------ */

/* Leaves out those that may go on, until there are none. */
static void leave_out_able(struct stuck *stuck)
{
	uint32_t before;

	do {
		before = stuck->bits;
		for (unsigned i = 0; i < stuck->look.count; i++)
			if (stuck->relatives[i].is_open ||
				stuck->relatives[i].wakers & ~stuck->bits)
				stuck->bits &= ~(UINT32_C(1) << i);
	} while (stuck->bits != before);
}

bool thrum__adapt_stuck_has_stranger(const struct stuck *stuck)
{
	bool has = stuck->has_ipc && thrum__adapt_ipc_has_orphans(&stuck->look);

	for (unsigned i = 0; i < stuck->end_count && !has; i++)
		has = stuck->bits & stuck->ends[i].waiter &&
			thrum__adapt_ends_elsewhere(&stuck->look, &stuck->ends[i].end);
	return has;
}

static void add_own(struct stuck *stuck, const struct own_need *need)
{
	struct relative *self = &stuck->relatives[0];

	if (need->end)
		need_end(stuck, self, need->end);
	for (unsigned i = 0; i < need->count; i++)
		add_need(self, NEEDS_CHILD,
			thrum__adapt_relatives_bit(&stuck->look, need->children[i]));
	if (need->count > 0)
		self->by = self->wakers;
}

/* Returns false if not all relatives can be seen. */
static bool begin(struct stuck *stuck, int fd, short events)
{
	stuck->look = (struct look){.fd = fd, .events = events};
	stuck->end_count = stuck->other_count = 0;
	stuck->has_ipc = stuck->is_blurred = stuck->ticks = false;
	stuck->naps = NULL;
	if (!thrum__adapt_stuck_relatives(&stuck->look, &stuck->oldest))
		return false;
	stuck->bits = UINT32_MAX >> (32 - stuck->look.count);
	for (unsigned i = 0; i < stuck->look.count; i++)
		stuck->relatives[i] = (struct relative){.process = stuck->look.processes[i]};
	return true;
}

static bool looks_now(const struct stuck *stuck, pid_t process)
{
	uint32_t looks[2];

	return thrum__adapt_ends_looks(&stuck->look, process, looks) && looks[0] > 0;
}

/* The need of the calling thread is known. */
static bool find_all(struct stuck *stuck)
{
	struct relative *self = &stuck->relatives[0];

	for (unsigned i = 0; i < stuck->look.count && (!self->is_open || stuck->naps); i++) {
		look_at_relative(stuck, &stuck->relatives[i]);
		stuck->is_blurred |= i > 0 && stuck->relatives[i].is_open &&
			looks_now(stuck, stuck->relatives[i].process);
	}
	thrum__adapt_tickers_judge(stuck);
	leave_out_able(stuck);
	if (!(stuck->bits & 1))
		return false;
	if (!thrum__adapt_tickers_narrow(stuck))
		return false;
	stuck->sum = 0;
	for (unsigned i = 0; i < stuck->look.count; i++)
		if (stuck->bits >> i & 1)
			stuck->sum = mixed(stuck->sum, stuck->relatives[i].sum | 1);
	return true;
}

bool thrum__adapt_stuck_find(struct stuck *stuck, const struct own_need *need)
{
	if (!begin(stuck, need->fd, need->events))
		return false;
	stuck->naps = need->naps;
	add_own(stuck, need);
	return find_all(stuck);
}

bool thrum__adapt_stuck_find_call(struct stuck *stuck, const struct process_call *call)
{
	if (!begin(stuck, -1, 0))
		return false;
	need_of_call(stuck, &stuck->relatives[0], own_tid(), call);
	return find_all(stuck);
}

bool thrum__adapt_stuck_leads(const struct stuck *stuck)
{
	for (unsigned i = 1; i < stuck->look.count; i++) {
		const struct relative *relative = &stuck->relatives[i];

		/* Those that were started later come later, but for this process. */
		if (stuck->bits >> i & 1 && relative->looks &&
			(relative->process == stuck->oldest ||
				relative->process < stuck->look.self))
			return false;
	}
	return true;
}

bool thrum__adapt_stuck_is_teller(const struct stuck *stuck)
{
	static _Atomic pid_t told; /* a fork's child has its parent's */
	pid_t before = atomic_load(&told);

	return thrum__adapt_stuck_leads(stuck) && before != stuck->look.self &&
		atomic_compare_exchange_strong(&told, &before, stuck->look.self);
}

/* ---- Telling ----------------------------------------------------------------------------------- */

struct telling {
	struct wait *wait;
	const struct stuck *stuck;
	struct look look; /* with a single thread, as all wait */
	thrum_task tasks[PROCESSES];
	uint32_t made; /* bits: of the tasks */
};

/* The thread of this process that should use an end: the one that did so last. */
static thrum_task user_of(const struct telling *telling, const struct end *end, int at)
{
	const struct thread *last = thrum__adapt_thread_of(thrum__adapt_pipe_user(at, end->writes));

	return last && atomic_load(&last->task) ? atomic_load(&last->task) : telling->wait->task;
}

/* Makes the task of what a process should do for `relative`, and doesn't: this one, or the relative
 * itself. */
static thrum_task make_deed(struct telling *telling, const struct relative *relative, pid_t process)
{
	char label[PROCESS_TEXT + PLACE_MAX + ENDING_TEXT + 40];
	bool is_self = process == telling->look.self;
	struct holder holder = {process, relative->at[!is_self], false};
	thrum_task task;

	if (relative->sort == NEEDS_END) {
		task = thrum__adapt_ends_make_end(telling->wait, &telling->look, &relative->end,
			&holder, holder.at);
		if (is_self)
			thrum_task_wait(task, user_of(telling, &relative->end, holder.at));
		return task;
	}
	if (relative->sort == NEEDS_IPC)
		*thrum__adapt_ipc_put(label, &relative->ipc) = '\0';
	else
		*thrum__adapt_put_process(stpcpy(label, "release of the file's lock for "),
			relative->process) = '\0';
	task = thrum__adapt_ends_missing(telling->wait, label, telling->wait->caller);
	if (is_self && relative->sort != NEEDS_IPC)
		thrum_task_wait(task, telling->wait->task);
	return task;
}

/* Records that a task waits for those who could end the wait. */
static void tell_by(struct telling *telling, thrum_task waits, const struct relative *relative)
{
	uint32_t own = thrum__adapt_relatives_bit(&telling->stuck->look, relative->process);
	/* If others could end the wait, too, it is told as a wait for them. */
	uint32_t by = relative->by & ~own ? relative->by & ~own : relative->by;

	for (unsigned i = 0; i < telling->stuck->look.count; i++) {
		char label[PROCESS_TEXT + PLACE_MAX + 110];
		pid_t process = telling->stuck->look.processes[i];
		bool reads = relative->sort == NEEDS_END && relative->end.writes;

		if (!(by >> i & 1))
			continue;
		if (i == 0 &&
			(relative->sort == NEEDS_CHILD ||
				(relative->sort == NEEDS_IPC && by != own))) {
			thrum_task_wait(waits, telling->wait->task);
			continue;
		}
		if (i == 0 || by == own) {
			thrum_task_wait(waits, make_deed(telling, relative, process));
			continue;
		}
		if (!(telling->made >> i & 1)) {
			*thrum__adapt_ends_put_writer(label, process,
				reads ? relative->end.inode : 0,
				telling->stuck->ticks ? ", while other threads nap" : "") = '\0';
			telling->tasks[i] = thrum__adapt_ends_make(telling->wait, THRUM_KIND_TASK,
				label, telling->wait->caller);
			telling->made |= UINT32_C(1) << i;
		}
		thrum_task_wait(waits, telling->tasks[i]);
	}
}

/* Returns the task that waits for others in a relative: that of its call, if that is known, else that of the
 * process. */
static thrum_task waiter_of(struct telling *telling, const struct relative *relative,
	thrum_task process)
{
	const char *verb = relative->sort == NEEDS_LOCK ? "lock"
		: relative->sort != NEEDS_END           ? "wait"
		: relative->end.writes                  ? "read"
							: "write";
	thrum_task place = thrum__adapt_ends_make_place(telling->wait, &telling->look,
		relative->process, relative->tid, verb);

	if (!place)
		return process;
	thrum_task_wait(process, place);
	return place;
}

void thrum__adapt_stuck_tell(struct wait *wait, const struct stuck *stuck)
{
	struct telling telling = {.wait = wait, .stuck = stuck, .look = stuck->look};
	uint32_t told = 0, left;

	telling.look.threads = 1;
	telling.look.is_alone = false;
	tell_by(&telling, wait->source, &stuck->relatives[0]);
	for (unsigned i = 0; i < stuck->other_count; i++) {
		struct relative other = stuck->relatives[0];

		other.sort = stuck->others[i].sort;
		other.by = stuck->others[i].by;
		tell_by(&telling, stuck->others[i].task, &other);
	}
	while ((left = telling.made & ~told) != 0) {
		unsigned i = (unsigned)__builtin_ctz(left);

		told |= UINT32_C(1) << i;
		if (stuck->relatives[i].sort == NEEDS_CONTINUE)
			thrum_task_wait(telling.tasks[i],
				thrum__adapt_ends_make_stop(wait, stuck->relatives[i].process));
		else if (stuck->relatives[i].by)
			tell_by(&telling,
				waiter_of(&telling, &stuck->relatives[i], telling.tasks[i]),
				&stuck->relatives[i]);
		else
			thrum_task_should_resolve(telling.tasks[i]);
	}
}
