/* SPDX-License-Identifier: ISC */
/* The program's handlers of signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>

#include "adapt/base/base.h"

#define SOUGHT 25000000 /* ns until handlers are sought again: less than from look to look */

/* The effect of signals while the thread waits. */
enum handlers {
	NO_HANDLER,
	RESTARTS,  /* each call goes on after them */
	INTERRUPTS /* it can't be told whether the call or poll() should end */
};

const void *thrum__adapt_handler(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
			action.sa_handler == SIG_IGN
		? NULL
		: (const void *)(uintptr_t)action.sa_handler;
}

void thrum__adapt_find_handlers(sigset_t *handled, sigset_t *ending)
{
	sigemptyset(handled);
	sigemptyset(ending);
	for (int number = 1; number <= SIGRTMAX; number++) {
		struct sigaction action;

		if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
			action.sa_handler == SIG_IGN)
			continue;
		sigaddset(handled, number);
		if (!(action.sa_flags & SA_RESTART))
			sigaddset(ending, number);
	}
}

static enum handlers handlers(void)
{
	sigset_t handled, ending;

	thrum__adapt_find_handlers(&handled, &ending);
	return !sigisemptyset(&ending)    ? INTERRUPTS
		: sigisemptyset(&handled) ? NO_HANDLER
					  : RESTARTS;
}

bool thrum__adapt_has_handlers(void)
{
	return handlers() != NO_HANDLER;
}

bool thrum__adapt_may_interrupt(void)
{
	return handlers() == INTERRUPTS;
}

bool thrum__adapt_may_handle(void)
{
	static _Atomic bool may_handle;
	static _Atomic int64_t sought;
	int64_t now = rough_time();
	int error = errno;

	if (!is_limited() && now - atomic_load(&sought) >= SOUGHT) {
		atomic_store(&may_handle, thrum__adapt_has_handlers());
		atomic_store(&sought, now);
		errno = error;
	}
	return atomic_load(&may_handle);
}

/* To find out takes a call for each signal, so short waits rely on what was found shortly before. */
bool thrum__adapt_had_handlers(void)
{
	static _Atomic bool has_handlers;
	static _Atomic int64_t sought;
	int64_t now = rough_time();
	int error = errno;

	if (is_limited())
		return true; /* so nobody looks */
	if (!atomic_load(&has_handlers) && now - atomic_load(&sought) >= SOUGHT) {
		if (thrum__adapt_has_handlers())
			atomic_store(&has_handlers, true);
		atomic_store(&sought, now);
		errno = error;
	}
	return atomic_load(&has_handlers);
}
