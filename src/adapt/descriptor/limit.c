/* SPDX-License-Identifier: ISC */
/*
 * A program that has as many descriptors as it may have accepts nobody any more. So a call that fails for
 * that makes a task, which ends once a descriptor is closed. Its name tells who made most of those that
 * are open.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/resource.h>

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"

#define MAKERS 16 /* that are told apart */

/* By descriptor: the call that made it; NULL: not known. */
static const void *_Atomic makers[DESCRIPTORS];
_Atomic uint64_t thrum__adapt_limit_task;
static _Atomic uint32_t recording; /* to which the task belongs */

void thrum__adapt_limit_made(int fd, const void *maker)
{
	if ((unsigned)fd < DESCRIPTORS)
		atomic_store_explicit(&makers[fd], maker, memory_order_relaxed);
}

const void *thrum__adapt_limit_maker(pid_t process, int fd)
{
	const void *maker = NULL;

	if ((unsigned)fd >= DESCRIPTORS || !thrum__adapt_process_is_copy(own_pid(), process) ||
		thrum__adapt_user_of(process, fd) == USE_UNKNOWN ||
		!thrum__adapt_process_copy(process, (uintptr_t)&makers[fd], &maker, sizeof maker))
		return NULL;
	return maker;
}

/* Finds the call that made most of the open descriptors; NULL: none is known. Sets their number. */
static const void *find_maker(unsigned *most)
{
	struct {
		const void *maker;
		unsigned count;
	} found[MAKERS] = {{NULL, 0}};
	unsigned best = 0;

	for (unsigned fd = 0; fd < DESCRIPTORS; fd++) {
		const void *maker = atomic_load_explicit(&makers[fd], memory_order_relaxed);
		unsigned i = 0;

		while (maker && i < MAKERS && found[i].maker && found[i].maker != maker)
			i++;
		if (!maker || i == MAKERS)
			continue;
		found[i].maker = maker;
		found[i].count++;
		if (found[i].count > found[best].count)
			best = i;
	}
	*most = found[best].count;
	return found[best].maker;
}

void thrum__adapt_limit_hit(const void *caller)
{
	char label[CALL_MAX + PLACE_MAX] = "a free descriptor to accept with", place[PLACE_MAX],
			      *to;
	uint64_t before = atomic_load(&thrum__adapt_limit_task), task;
	const void *maker;
	struct rlimit limit;
	int error = errno;
	unsigned most;

	if (!is_on(ADAPTER_BLOCK) || (before && atomic_load(&recording) == thrum__recording()))
		return;
	if (error == EMFILE && getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		to = stpcpy(strchr(label, '\0'), " (EMFILE: all ");
		to = stpcpy(thrum__adapt_put_number(to, limit.rlim_cur), " are open)");
		maker = find_maker(&most);
		if (maker) {
			to = thrum__adapt_put_number(stpcpy(to, "; "), most);
			thrum__adapt_label(place, " made by", maker);
			strcpy(to, place);
		}
	} else {
		strcat(label, " (ENFILE: the system has none)");
	}
	task = thrum__adapt_missing(label, caller);
	atomic_store(&recording, thrum__recording());
	if (!atomic_compare_exchange_strong(&thrum__adapt_limit_task, &before, task))
		thrum_task_resolve(task); /* another thread was first */
	errno = error;
}

void thrum__adapt_limit_left(void)
{
	uint64_t task = atomic_exchange(&thrum__adapt_limit_task, 0);

	if (task && atomic_load(&recording) == thrum__recording())
		thrum_task_resolve(task);
}
