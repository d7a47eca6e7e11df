/* SPDX-License-Identifier: ISC */
/*
 * Children for whose end a main loop waits, and that wait themselves until somebody reads from a pipe, which
 * this process alone has and never read. That is told once nothing happens any more but that timeouts come
 * round, and no other child works: see gone.c. A timeout may count its rounds, and read at last.
 */
#define _GNU_SOURCE
#include "adapt/ends/ends.h"
#include "adapt/glib/glib.h"

#define WATCHED 16        /* children; more are not noted */
#define LASTING 300000000 /* ns for which a child doesn't run */

static struct watched {
	struct cell *_Atomic cell;
	_Atomic uint64_t task; /* the source's; another one: it is gone, and the place is free */
	_Atomic pid_t process;
} watched[WATCHED];

/* The child that was seen last, and how it was then. */
static struct {
	pid_t process;
	uint64_t ran;
	int64_t since;
} seen;

static bool is_alive(const struct watched *one)
{
	const struct cell *cell = atomic_load(&one->cell);

	return cell && atomic_load(&cell->task) == atomic_load(&one->task);
}

void thrum__adapt_glib_watches(struct cell *cell, pid_t process)
{
	static _Atomic bool is_busy;

	if (!cell->task || atomic_exchange(&is_busy, true))
		return;
	for (int i = 0; i < WATCHED; i++) {
		if (is_alive(&watched[i]))
			continue;
		atomic_store(&watched[i].cell, NULL);
		atomic_store(&watched[i].task, cell->task);
		atomic_store(&watched[i].process, process);
		atomic_store(&watched[i].cell, cell);
		break;
	}
	atomic_store(&is_busy, false);
	thrum__adapt_glib_looks();
}

bool thrum__adapt_glib_has_watched(void)
{
	for (int i = 0; i < WATCHED; i++)
		if (is_alive(&watched[i]))
			return true;
	return false;
}

/* Whether a child's only thread waits until this process reads from a pipe. Sets that descriptor. */
static bool is_unread(const struct look *look, pid_t process, int *fd)
{
	struct holder holders[PROCESSES];
	struct process_call call;
	struct end end;

	if (!thrum__adapt_process_is_single(process) ||
		!thrum__adapt_process_call(process, 0, &call) ||
		!thrum__adapt_vain_end(look, process, &call, &end) || end.writes || end.is_socket ||
		thrum__adapt_ends_holders(look, &end, holders) != 1 ||
		holders[0].process != look->self)
		return false;
	*fd = holders[0].at;
	return !thrum__adapt_pipe_is_read(*fd) && !thrum__adapt_ends_elsewhere(look, &end);
}

/* Whether it hasn't run for long. */
static bool is_lasting(pid_t process)
{
	uint64_t ran = thrum__adapt_process_ran(process, 0);
	int64_t now = rough_time();

	if (seen.process != process || seen.ran != ran || !ran) {
		seen.process = process;
		seen.ran = ran;
		seen.since = now;
	}
	return now - seen.since >= LASTING;
}

static thrum_task tell(const struct watched *one, pid_t process, int fd)
{
	char label[CALL_MAX + PROCESS_TEXT + 40];
	thrum_task task;

	thrum__adapt_put_call(label, "data so far unread of", fd);
	thrum__adapt_put_process(stpcpy(strchr(label, '\0'), ", awaited by "), process);
	task = thrum__adapt_missing(label, thrum__adapt_started_at(process));
	thrum_task_wait(atomic_load(&one->task), task);
	return task;
}

thrum_task thrum__adapt_glib_tell_child(void)
{
	struct look look = {.fd = -1};
	pid_t first = 0;
	int fd = -1, other;

	thrum__adapt_relatives_look(&look);
	for (unsigned i = 1; i < look.count; i++) {
		if (thrum__adapt_process_is_over(look.processes[i]))
			continue;
		if (!is_unread(&look, look.processes[i], first ? &other : &fd))
			return THRUM_TASK_NONE;
		first = first ? first : look.processes[i];
	}
	if (!first || !look.is_whole || !is_lasting(first))
		return THRUM_TASK_NONE;
	for (int i = 0; i < WATCHED; i++)
		if (is_alive(&watched[i]) && atomic_load(&watched[i].process) == first)
			return tell(&watched[i], first, fd);
	return THRUM_TASK_NONE;
}
