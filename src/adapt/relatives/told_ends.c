/* SPDX-License-Identifier: ISC */
/*
 * Records for whom a thread waits, as a look has found it: tasks of processes, of ends of pipes, of locks and
 * of signals that don't come. Nothing here waits.
 */
#define _GNU_SOURCE
#include "adapt/relatives/ends.h"

char *thrum__adapt_put_starter(char *to, pid_t process)
{
	const void *place = thrum__adapt_started_at(process);
	char started[PLACE_MAX];

	if (!place)
		return to;
	thrum__adapt_label(started, ", started by", place);
	return stpcpy(to, started);
}

char *thrum__adapt_put_process(char *to, pid_t process)
{
	char name[PROCESS_TEXT];

	to = thrum__adapt_put_number(stpcpy(to, "process "), (uint64_t)process);
	if (thrum__adapt_process_read(process, "/comm", name) > 0) {
		name[strcspn(name, "\n")] = '\0';
		to = stpcpy(stpcpy(stpcpy(to, " ("), name), ")");
	}
	return thrum__adapt_put_starter(to, process);
}

char *thrum__adapt_ends_put_holder(char *to, const struct look *look, pid_t process)
{
	return process == look->self ? stpcpy(to, "this process")
				     : thrum__adapt_put_process(to, process);
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

thrum_task thrum__adapt_ends_make_end(struct wait *wait, const struct look *look,
	const struct end *end, const struct holder *holder, int fd)
{
	char label[CALL_MAX + PROCESS_TEXT + PLACE_MAX], *to;
	thrum_task task;

	to = stpcpy(label,
		end->is_socket        ? "other end of socket "
			: end->writes ? "writing end of pipe "
				      : "reading end of pipe ");
	to = stpcpy(thrum__adapt_put_number(to, (uint64_t)fd), " in ");
	thrum__adapt_ends_put_holder(to, look, holder->process);
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	if (holder->process != look->self || look->threads == 1 || !end->writes)
		thrum_task_should_resolve(task);
	if (holder->process == look->self && look->is_alone)
		thrum_task_wait(task, wait->task);
	return task;
}

static thrum_task make_lock(struct wait *wait, const struct look *look,
	const struct forked_wait *lock)
{
	char label[FORKED_TEXT];
	thrum_task task;

	thrum__adapt_forked_label(label, look->self, lock);
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label,
		lock->caller ? lock->caller : wait->caller);
	thrum_task_should_resolve(task);
	return task;
}

thrum_task thrum__adapt_ends_make_stop(struct wait *wait, pid_t process)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40];
	thrum_task task;

	*thrum__adapt_put_process(stpcpy(label, "SIGCONT for stopped "), process) = '\0';
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	thrum_task_should_resolve(task);
	return task;
}

char *thrum__adapt_put_signal(char *to, int number)
{
	if (number >= SIGRTMIN && number <= SIGRTMAX)
		return thrum__adapt_put_number(stpcpy(to, "SIGRTMIN+"),
			(uint64_t)(number - SIGRTMIN));
	switch (number) {
	case SIGHUP: return stpcpy(to, "SIGHUP");
	case SIGINT: return stpcpy(to, "SIGINT");
	case SIGUSR1: return stpcpy(to, "SIGUSR1");
	case SIGUSR2: return stpcpy(to, "SIGUSR2");
	case SIGTERM: return stpcpy(to, "SIGTERM");
	default: return thrum__adapt_put_number(stpcpy(to, "signal "), (uint64_t)number);
	}
}

static thrum_task make_signal(struct wait *wait, const struct step *step)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40];
	char *to = thrum__adapt_put_signal(label, step->signal);
	thrum_task task;

	*thrum__adapt_put_process(stpcpy(to, " held back by "), step->process) = '\0';
	task = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	thrum_task_should_resolve(task);
	return task;
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
		char label[PROCESS_TEXT + PLACE_MAX + 40];
		const struct step *step = &steps[i];

		*thrum__adapt_ends_put_holder(label, look, step->process) = '\0';
		task = thrum__adapt_ends_make(wait,
			step->is_vain ? THRUM_KIND_TASK : THRUM_KIND_HANDLE, label, wait->caller);
		if (step->is_vain && step->sort == LOCK)
			next = make_lock(wait, look, &step->lock);
		else if (step->is_vain && step->sort == STOP)
			next = thrum__adapt_ends_make_stop(wait, step->process);
		else if (step->is_vain && step->sort == SIGNAL)
			next = make_signal(wait, step);
		else if (step->is_vain && step->sort == END)
			next = thrum__adapt_ends_make_end(wait, look, &step->end, &step->holder,
				step->holder.at);
		else if (step->is_vain && step->sort == FILE_LOCK)
			next = thrum__adapt_file_make(wait, look, &step->file,
				step->holder.process);
		if (next)
			thrum_task_wait(task, next);
		if (named->count < WAIT_ALSO) {
			named->processes[named->count] = step->process;
			named->tasks[named->count++] = task;
		}
	}
	return task;
}

/* Records that the wait's source waits for a process, and, if that can't do anything for it, why. Returns
 * whether it can't. */
static bool tell_process(struct wait *wait, const struct look *look, struct named *named,
	pid_t process)
{
	struct step steps[STEPS];
	unsigned count = thrum__adapt_vain_steps(look, process, steps);

	for (unsigned i = 0; i < count; i++)
		if (steps[i].sort == END && thrum__adapt_ends_elsewhere(look, &steps[i].end))
			steps[0].is_vain = false;
	if (!steps[0].is_vain)
		count = 1;
	thrum_task_wait(wait->source, make_steps(wait, look, named, steps, count));
	return steps[0].is_vain;
}

void thrum__adapt_ends_tell(struct wait *wait, const struct look *look, pid_t process)
{
	struct named named = {.count = 0};

	tell_process(wait, look, &named, process);
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
				is_vain &= tell_process(wait, look, &named, holders[i].process);
	for (unsigned i = 0; i < count && !has_meant && !is_somewhere; i++)
		thrum_task_wait(wait->source,
			thrum__adapt_ends_make_end(wait, look, end, &holders[i], fd));
	return is_vain && !is_somewhere;
}

bool thrum__adapt_ends_tell_children(struct wait *wait, const struct look *look,
	const pid_t *children, unsigned count)
{
	struct named named = {.count = 0};
	bool is_vain = true;

	for (unsigned i = 0; i < count; i++)
		is_vain &= tell_process(wait, look, &named, children[i]);
	return is_vain;
}
