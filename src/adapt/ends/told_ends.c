/* SPDX-License-Identifier: ISC */
/*
 * Records for whom a thread waits, as a look has found it: tasks of processes, of ends of pipes, of locks and
 * of signals that don't come. Nothing here waits.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sys/stat.h>

#include "adapt/ends/ends.h"

char *thrum__adapt_ends_put_holder(char *to, const struct look *look, pid_t process)
{
	return process == look->self ? stpcpy(to, "this process")
				     : thrum__adapt_put_process(to, process);
}

char *thrum__adapt_ends_put_writer(char *to, pid_t process, uint64_t inode, const char *role)
{
	int fd;
	size_t size = thrum__adapt_stream_holds_back(process, inode, &fd);

	to = stpcpy(thrum__adapt_put_process_name(to, process), role);
	if (size > 0) {
		to = thrum__adapt_put_number(stpcpy(to, ", which has "), size);
		to = stpcpy(to, size == 1 ? " unflushed byte" : " unflushed bytes");
		to = thrum__adapt_put_number(stpcpy(to, " for its descriptor "), (uint64_t)fd);
	}
	return thrum__adapt_put_starter(to, process);
}

thrum_task thrum__adapt_ends_make(struct wait *wait, enum thrum_kind kind, const char *label,
	const void *caller)
{
	thrum_task task;

	if (wait->also_count == WAIT_ALSO)
		return THRUM_TASK_NONE;
	task = thrum__create(thrum__adapt_site(caller), (int)kind, label);
	wait->also[wait->also_count++] = task;
	return task;
}

thrum_task thrum__adapt_ends_missing(struct wait *wait, const char *label, const void *caller)
{
	thrum_task task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, caller);

	thrum_task_should_resolve(task);
	return task;
}

thrum_task thrum__adapt_ends_make_end(struct wait *wait, const struct look *look,
	const struct end *end, const struct holder *holder, int fd)
{
	char label[CALL_MAX + PROCESS_TEXT + 2 * PLACE_MAX + 20], *to;
	const void *maker = end->is_socket && holder->process != look->self
		? thrum__adapt_limit_maker(holder->process, holder->at)
		: NULL;
	thrum_task task;

	to = stpcpy(label,
		end->listens             ? "accept from socket "
			: end->is_socket ? "other end of socket "
			: end->writes    ? "writing end of pipe "
					 : "reading end of pipe ");
	to = stpcpy(thrum__adapt_put_number(to, (uint64_t)fd), " in ");
	to = thrum__adapt_ends_put_holder(to, look, holder->process);
	*to = '\0';
	if (maker)
		thrum__adapt_label(to, ", which accepted it in", maker);
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	if (holder->process != look->self || look->threads == 1 || !end->writes ||
		thrum__adapt_ends_is_own(look, end, holder))
		thrum_task_should_resolve(task);
	if (holder->process == look->self && look->is_alone)
		thrum_task_wait(task, wait->task);
	return task;
}

static thrum_task make_lock(struct wait *wait, const struct look *look,
	const struct forked_wait *lock)
{
	char label[FORKED_TEXT];

	thrum__adapt_forked_label(label, look->self, lock);
	return thrum__adapt_ends_missing(wait, label, lock->caller ? lock->caller : wait->caller);
}

thrum_task thrum__adapt_ends_make_stop(struct wait *wait, pid_t process)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40];

	*thrum__adapt_put_process(stpcpy(label, "SIGCONT for stopped "), process) = '\0';
	return thrum__adapt_ends_missing(wait, label, wait->caller);
}

static thrum_task make_signal(struct wait *wait, const struct step *step)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40];
	char *to = thrum__adapt_put_signal(label, step->signal);

	*thrum__adapt_put_process(stpcpy(to, " held back by "), step->process) = '\0';
	return thrum__adapt_ends_missing(wait, label, wait->caller);
}

#define PLACES 10 /* tasks of a wait after which no more are made for places */

thrum_task thrum__adapt_ends_make_place(struct wait *wait, const struct look *look, pid_t process,
	uint32_t tid, const char *verb)
{
	char label[2 * PLACE_MAX + 80], text[2 * PLACE_MAX];
	struct place place = {NULL, NULL};

	if (process != look->self && wait->also_count < PLACES)
		place = thrum__adapt_waits_in(look->self, process, tid);
	if (!place.at)
		return THRUM_TASK_NONE;
	thrum__adapt_label_place(text, " at", place);
	strcpy(thrum__adapt_put_number(stpcpy(stpcpy(label, verb), " of process "),
		       (uint64_t)process),
		text);
	return thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, place.at);
}

/* The same for a step that closes a circle: only those are told whole. */
static thrum_task make_place(struct wait *wait, const struct look *look, const struct step *step)
{
	if (!step->is_vain || !look->is_alone || step->holder.process != look->self)
		return THRUM_TASK_NONE;
	if (step->sort == END)
		return thrum__adapt_ends_make_place(wait, look, step->process, 0,
			step->end.writes ? "read" : "write");
	return step->sort == FILE_LOCK
		? thrum__adapt_ends_make_place(wait, look, step->process, 0, "lock")
		: THRUM_TASK_NONE;
}

/* The processes that one telling has named. */
struct named {
	pid_t processes[WAIT_ALSO];
	thrum_task tasks[WAIT_ALSO];
	unsigned count;
};

static thrum_task find_named(const struct named *named, pid_t process)
{
	for (unsigned i = 0; i < named->count; i++)
		if (named->processes[i] == process)
			return named->tasks[i];
	return THRUM_TASK_NONE;
}

/* The inode that the other end of what the calling thread reads has; 0: it isn't known. */
static uint64_t read_inode(const struct look *look)
{
	struct stat file;

	if (look->events != POLLIN || fstat(look->fd, &file) != 0)
		return 0;
	return S_ISSOCK(file.st_mode) ? thrum__adapt_pipe_peer(look->fd) : file.st_ino;
}

/* Names the descriptor for whose end a process waits; nothing if it waits for something else. */
static void put_end(char to[80], const struct step *waiter, pid_t holder)
{
	if (!waiter || waiter->holder.process != holder || !waiter->end.inode) {
		*to = '\0';
		return;
	}
	to = thrum__adapt_put_number(stpcpy(to, ", whose descriptor "),
		(uint64_t)waiter->holder.at);
	strcpy(to,
		waiter->end.is_socket        ? " is the other end"
			: waiter->end.writes ? " writes to its pipe"
					     : " reads from its pipe");
}

/* Makes the task of a process, at the place where it waits, if it does so in vain and that is known. waiter:
 * the process that waits for it; NULL: this one. */
static thrum_task make_process(struct wait *wait, const struct look *look, const struct step *step,
	const struct step *waiter)
{
	char label[PROCESS_TEXT + PLACE_MAX + 160], role[80];
	bool is_other = step->is_vain && step->process != look->self;
	const void *caller = is_other ? thrum__adapt_waits_in(look->self, step->process, 0).at
				      : NULL;

	put_end(role, waiter, step->process);
	if (is_other)
		*thrum__adapt_ends_put_writer(label, step->process, read_inode(look), role) = '\0';
	else
		*thrum__adapt_ends_put_holder(label, look, step->process) = '\0';
	return thrum__adapt_ends_make(wait, step->is_vain ? THRUM_KIND_TASK : THRUM_KIND_HANDLE,
		label, caller ? caller : wait->caller);
}

/* Makes that of the answer to a process which asks the thread that waits. */
static thrum_task make_answer(struct wait *wait, const struct step *step)
{
	char label[PROCESS_TEXT + CALL_MAX + 40], *to;
	thrum_task task;

	to = stpcpy(label, step->sort == QUEUE ? "accept from socket " : "answer by socket ");
	to = stpcpy(thrum__adapt_put_number(to, (uint64_t)step->holder.at), " for ");
	*thrum__adapt_put_process_name(to, step->process) = '\0';
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	thrum_task_wait(task, wait->task);
	return task;
}

/* Makes the task of what a process waits for in vain; NONE: that is another process, or it may come. */
static thrum_task make_awaited(struct wait *wait, const struct look *look, const struct step *step)
{
	if (!step->is_vain)
		return THRUM_TASK_NONE;
	switch (step->sort) {
	case LOCK: return make_lock(wait, look, &step->lock);
	case STOP: return thrum__adapt_ends_make_stop(wait, step->process);
	case SIGNAL: return make_signal(wait, step);
	case QUEUE:
	case ANSWER: return make_answer(wait, step);
	case END:
		return thrum__adapt_ends_make_end(wait, look, &step->end, &step->holder,
			step->holder.at);
	case FILE_LOCK:
		return thrum__adapt_file_make(wait, look, &step->file, step->holder.process);
	default: return THRUM_TASK_NONE;
	}
}

/* Makes the tasks of steps, from the last back: each waits for the next. Those from the first one on that is
 * named already have theirs. Returns the first. */
static thrum_task make_steps(struct wait *wait, const struct look *look, struct named *named,
	const struct step *steps, unsigned count)
{
	thrum_task task = THRUM_TASK_NONE, next = THRUM_TASK_NONE;
	unsigned made = 0;

	while (made < count && !(next = find_named(named, steps[made].process)))
		made++;
	task = next;
	for (unsigned i = made; i-- > 0; next = task) {
		const struct step *step = &steps[i];
		thrum_task awaited, place;

		task = make_process(wait, look, step, i > 0 ? step - 1 : NULL);
		awaited = make_awaited(wait, look, step);
		if (awaited)
			next = awaited;
		place = make_place(wait, look, step);
		if (place)
			thrum_task_wait(task, place);
		if (next)
			thrum_task_wait(place ? place : task, next);
		if (named->count < WAIT_ALSO) {
			named->processes[named->count] = step->process;
			named->tasks[named->count++] = task;
		}
	}
	return task;
}

/* Makes the task of a process that doesn't hear a signal which should end it. */
static thrum_task make_deaf(struct wait *wait, pid_t process, const struct unheard *unheard)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40], *to;

	to = thrum__adapt_put_process_name(label, process);
	to = stpcpy(to, unheard->how == UNHEARD_BLOCKED ? ", which blocks " : ", which ignores ");
	to = thrum__adapt_put_signal(to, unheard->number);
	*thrum__adapt_put_starter(to, process) = '\0';
	return thrum__adapt_ends_missing(wait, label, wait->caller);
}

/* Records that the wait's source waits for a process, and, if that can't do anything for it, why. Returns
 * whether it can't. */
static bool tell_process(struct wait *wait, const struct look *look, struct named *named,
	pid_t process, const struct unheard *unheard)
{
	struct step steps[STEPS];
	unsigned count = thrum__adapt_vain_steps(look, process, steps);

	for (unsigned i = 0; i < count; i++)
		if ((steps[i].sort == END || steps[i].sort == QUEUE || steps[i].sort == ANSWER) &&
			thrum__adapt_ends_elsewhere(look, &steps[i].end))
			steps[0].is_vain = false;
	if (!steps[0].is_vain)
		count = 1;
	if (!steps[0].is_vain && unheard->how != UNHEARD_NOT)
		thrum_task_wait(wait->source, make_deaf(wait, process, unheard));
	else
		thrum_task_wait(wait->source, make_steps(wait, look, named, steps, count));
	return steps[0].is_vain;
}

void thrum__adapt_ends_tell(struct wait *wait, const struct look *look, pid_t process)
{
	struct named named = {.count = 0};

	tell_process(wait, look, &named, process, &UNHEARD_NONE);
}

bool thrum__adapt_ends_tell_holders(struct wait *wait, const struct look *look,
	const struct end *end, int fd, const struct holder *holders, unsigned count)
{
	bool has_meant = false, is_somewhere, is_vain = true;
	struct named named = {.count = 0};

	for (unsigned i = 0; i < count; i++) {
		has_meant |= holders[i].is_meant;
		/* Something came out of the pipe, and this process never wrote: it wants to read it only. */
		if (holders[i].process == look->self &&
			(holders[i].is_meant ||
				!(look->is_alone ||
					(end->writes && thrum__adapt_pipe_is_read(fd)))))
			return false;
	}
	is_somewhere = !has_meant && thrum__adapt_ends_elsewhere(look, end);
	for (int waits = 1; waits >= 0; waits--)
		for (unsigned i = 0; i < count; i++)
			if (holders[i].is_meant &&
				thrum__adapt_waits_in_vain(look, holders[i].process) == waits)
				is_vain &= tell_process(wait, look, &named, holders[i].process,
					&UNHEARD_NONE);
	for (unsigned i = 0; i < count && !has_meant && !is_somewhere; i++)
		thrum_task_wait(wait->source,
			thrum__adapt_ends_make_end(wait, look, end, &holders[i], fd));
	return is_vain && !is_somewhere;
}

bool thrum__adapt_ends_tell_children(struct wait *wait, const struct look *look,
	const pid_t *children, const struct unheard *unheard, unsigned count)
{
	struct named named = {.count = 0};
	bool is_vain = true;

	for (unsigned i = 0; i < count; i++)
		is_vain &= tell_process(wait, look, &named, children[i], &unheard[i]);
	return is_vain;
}
