/* SPDX-License-Identifier: ISC */
/*
 * Processes that end themselves. Others may go on to wait for what such a process had, and can't ask it any
 * more. So it notes how and where it ends, and its name, in the memory that all processes under one
 * `thrum record` share. A return from main and a failed assertion aren't seen. A fork's child notes its name
 * when it begins to record, too: a signal may kill it.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapt/base/base.h"
#include "adapt/base/process.h"
#include "adapt/forks.h"

REAL(_exit)
REAL(_Exit)
REAL(exit)
REAL(quick_exit)
REAL(abort)

#define LIVES (-2)

/* In the child of a vfork, which shares its parent's memory, only the kernel knows the number. */
static void note_end(const void *caller, int status)
{
	const struct thrum__site_chain *chain = thrum__adapt_chain_at(caller);
	pid_t process = is_limited() ? 0 : getpid();
	struct thrum__adapt_ended *ended = &thrum__adapt_forks()->ended[process % FORKS_STARTED];

	if (process == 0)
		return;
	atomic_store(&ended->process, 0);
	atomic_store(&ended->status, status);
	atomic_store(&ended->caller, (uintptr_t)address_of_caller(caller));
	atomic_store(&ended->above, chain && chain->site.line ? (uintptr_t)chain->above[0] : 0);
	atomic_store(&ended->image, thrum__adapt_image());
	thrum__adapt_note_name(ended->name);
	atomic_store(&ended->process, process);
}

void thrum__adapt_endings_begin(void)
{
	note_end(NULL, LIVES);
}

#define EXIT(name) \
	STAND_IN _Noreturn void name(int status) \
	{ \
		note_end(CHAIN, status & 0xff); \
		thrum__adapt_exits(status); \
		real_##name(CALLER)(status); \
		__builtin_unreachable(); \
	}
EXIT(_exit)
EXIT(_Exit)

/* The C library calls functions of the program before it ends. */
#define EXIT_LATER(name) \
	STAND_IN _Noreturn void name(int status) \
	{ \
		note_end(CHAIN, status & 0xff); \
		real_##name(CALLER)(status); \
		__builtin_unreachable(); \
	}
EXIT_LATER(exit)
EXIT_LATER(quick_exit)

STAND_IN _Noreturn void abort(void)
{
	note_end(CHAIN, ENDING_ABORT);
	real_abort(CALLER)();
	__builtin_unreachable();
}

/* Finds the note of a process; false: there is none. */
static bool find_note(pid_t process, struct ending *ending)
{
	const struct thrum__adapt_ended *ended =
		&thrum__adapt_forks()->ended[process % FORKS_STARTED];
	bool is_same = atomic_load(&ended->image) == thrum__adapt_image();

	if (atomic_load(&ended->process) != process)
		return false;
	*ending = (struct ending){.status = atomic_load(&ended->status)};
	if (is_same) {
		ending->at = (const void *)(uintptr_t)atomic_load(&ended->caller);
		ending->above = (const void *)(uintptr_t)atomic_load(&ended->above);
	}
	thrum__adapt_copy_name(ending->name, ended->name);
	return atomic_load(&ended->process) == process;
}

bool thrum__adapt_ended_itself(pid_t process, struct ending *ending)
{
	return find_note(process, ending) && ending->status != LIVES;
}

bool thrum__adapt_was_named(pid_t process, char name[16])
{
	struct ending ending;

	if (!find_note(process, &ending))
		return false;
	memcpy(name, ending.name, sizeof ending.name);
	return true;
}
