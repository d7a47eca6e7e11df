/* SPDX-License-Identifier: ISC */
/*
 * The program's own locks and conditions: words for which its threads wait by the futex calls of libc's
 * syscall(), as those of Rust's library and of std::atomic do. A word is a condition, and a call that wakes
 * is a signal. glibc's own calls don't come here; those of other libraries are not recorded.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>

#include "adapt/pthread/pthread.h"
#include "adapt/relatives/needs.h"

/* Bits in `arrived` of a word's object. */
enum {
	OWN = 1,    /* only this process can wake those who wait; 0: not known yet */
	SHARED = 2, /* it lies in memory that others may share */
	WOKEN = 4,  /* a thread's own code has woken some of them */
};

/* Whether others may wake those who wait for a word. Keeps errno. */
static bool is_shared(struct object *object, const void *word, unsigned long operation)
{
	uint32_t known = atomic_load_explicit(&object->arrived, memory_order_relaxed);
	char name[IPC_MEMORY];
	int error = errno;

	if (operation & FUTEX_PRIVATE_FLAG)
		return false;
	if (!(known & (OWN | SHARED))) {
		known = thrum__adapt_ipc_put_address(name, word) ? SHARED : OWN;
		atomic_fetch_or(&object->arrived, known);
	}
	errno = error;
	return known & SHARED;
}

/* Whether a thread's own code woke those who wait for a word before. If not, it may be left to a signal's
 * handler. */
static bool was_woken(const struct object *object)
{
	return atomic_load_explicit(&object->arrived, memory_order_relaxed) & WOKEN;
}

void thrum__adapt_futex_wait(struct wait *wait, const long p[6], const void *caller)
{
	unsigned long operation = (unsigned long)p[1];
	const void *word = (const void *)p[0];
	struct object *object;

	clear_wait(wait);
	/* In this order: nothing is sought once the process has limited its system calls. */
	if (((operation & FUTEX_CMD_MASK) != FUTEX_WAIT &&
		    (operation & FUTEX_CMD_MASK) != FUTEX_WAIT_BITSET) ||
		!word || !may_record(ADAPTER_PTHREAD) || thrum__adapt_is_paused() ||
		!thrum__adapt_is_of_program(caller) || !records_wait(ADAPTER_PTHREAD))
		return;
	object = thrum__adapt_object_make(word, THRUM_KIND_CONDITION, "futex", caller);
	if (object && p[3] == 0 &&
		(is_shared(object, word, operation) ||
			(!was_woken(object) && thrum__adapt_may_handle())))
		thrum__adapt_wait_with_others(wait, object, word, caller);
	else
		thrum__adapt_wait_begin(wait, object, word, caller, p[3] != 0);
}

void thrum__adapt_futex_wake(const long p[6], const void *caller)
{
	struct object *object;

	switch ((unsigned long)p[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
	case FUTEX_WAKE_OP:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE: break;
	default: return;
	}
	if (!is_on(ADAPTER_PTHREAD) || thrum__adapt_is_paused())
		return;
	/* NULL: nobody ever waited for it. A handler interrupted the thread's own code, which may wake
	 * nobody. */
	object = thrum__adapt_object((uintptr_t)p[0]);
	if (!object || (!was_woken(object) && thrum__adapt_is_in_handler()))
		return;
	if (!was_woken(object))
		atomic_fetch_or(&object->arrived, WOKEN);
	thrum__adapt_tell_signal_of(object, atomic_load(&object->waiters), caller);
}
