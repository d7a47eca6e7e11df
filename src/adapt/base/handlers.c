/* SPDX-License-Identifier: ISC */
/* The program's handlers of signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/base.h"
#include "adapt/base/process.h"

#define SOUGHT 25000000 /* ns until handlers are sought again: less than from look to look */

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

enum handlers thrum__adapt_handlers(void)
{
	bool restarts = false, interrupts = false;
	sigset_t handled, ending;

	thrum__adapt_find_handlers(&handled, &ending);
	for (int number = 1; number <= SIGRTMAX; number++)
		if (sigismember(&ending, number) == 1)
			interrupts = true;
		else if (sigismember(&handled, number) == 1)
			restarts = true;
	return interrupts  ? (restarts ? HANDLERS_MIXED : HANDLERS_INTERRUPT)
		: restarts ? HANDLERS_RESTART
			   : HANDLERS_NONE;
}

/* Whether the C library was asked to call functions of the program in a thread of its own. */
static _Atomic bool calls_back;

bool thrum__adapt_has_handlers(void)
{
	return atomic_load(&calls_back) || thrum__adapt_handlers() != HANDLERS_NONE;
}

bool thrum__adapt_may_interrupt(void)
{
	return thrum__adapt_handlers() >= HANDLERS_INTERRUPT;
}

/* When handlers that may end a wait were sought last. 0: they have to be sought again. */
static _Atomic int64_t sought;

bool thrum__adapt_calls_back(void)
{
	return atomic_load_explicit(&calls_back, memory_order_relaxed);
}

void thrum__adapt_will_call_back(void)
{
	atomic_store(&calls_back, true);
	atomic_store(&sought, 0);
}

bool thrum__adapt_may_handle(void)
{
	static _Atomic bool may_handle;
	int64_t now = rough_time();
	int error = errno;

	if (!is_limited() && now - atomic_load(&sought) >= SOUGHT) {
		atomic_store(&may_handle, thrum__adapt_has_handlers());
		atomic_store(&sought, now);
		errno = error;
	}
	return atomic_load(&may_handle);
}

/* A result that is kept for a moment: to find out takes a call for each signal. */
struct memory {
	_Atomic bool has_handlers;
	_Atomic int64_t sought;
};

static bool had_handlers(struct memory *memory, bool (*has)(void))
{
	int64_t now = rough_time();
	int error = errno;

	if (is_limited())
		return true; /* so nobody looks */
	if (!atomic_load(&memory->has_handlers) && now - atomic_load(&memory->sought) >= SOUGHT) {
		if (has())
			atomic_store(&memory->has_handlers, true);
		atomic_store(&memory->sought, now);
		errno = error;
	}
	return atomic_load(&memory->has_handlers);
}

bool thrum__adapt_had_handlers(void)
{
	static struct memory memory;

	return had_handlers(&memory, thrum__adapt_has_handlers);
}

bool thrum__adapt_heeds_signals(void)
{
	sigset_t handled, ending;
	int error = errno;

	if (is_limited())
		return true;
	thrum__adapt_find_handlers(&handled, &ending);
	errno = error;
	sigdelset(&ending, SIGINT);
	return sigisemptyset(&ending) == 0;
}

/* ---- Handlers of loops -------------------------------------------------------------------------- */

#define LOOPS 4 /* libraries that have such loops */

static const void *_Atomic loop_handlers[LOOPS];

bool thrum__adapt_asks_to_end(int number)
{
	return number == SIGTERM || number == SIGINT || number == SIGQUIT || number == SIGHUP;
}

/* Whether a handler of a loop for this signal has no part in what is left. An end of a child comes only while
 * there is one. */
static bool is_aside(int number)
{
	return thrum__adapt_asks_to_end(number) || number == SIGCHLD;
}

void thrum__adapt_loop_handles(int number)
{
	const void *handler = is_aside(number) ? thrum__adapt_handler(number) : NULL;

	atomic_store(&sought, 0);
	for (int i = 0; handler && i < LOOPS; i++) {
		const void *before = NULL;

		if (atomic_compare_exchange_strong(&loop_handlers[i], &before, handler) ||
			before == handler)
			return;
	}
}

static bool is_of_loop(const void *handler)
{
	for (int i = 0; i < LOOPS; i++)
		if (atomic_load(&loop_handlers[i]) == handler)
			return true;
	return false;
}

static bool has_other_handlers(void)
{
	for (int number = 1; number <= SIGRTMAX; number++) {
		const void *handler = thrum__adapt_handler(number);

		if (handler && !(is_aside(number) && is_of_loop(handler)))
			return true;
	}
	return false;
}

bool thrum__adapt_had_other_handlers(void)
{
	static struct memory memory;

	return had_handlers(&memory, has_other_handlers);
}

/* ---- The handler that runs ---------------------------------------------------------------------- */

#define STACK_SEARCHED 65536  /* bytes of the thread's stack */
#define RESTORED 0x04000000ul /* SA_RESTORER, for the kernel */

/* As the kernel has it. */
struct action {
	const void *handler;
	unsigned long flags;
	uintptr_t restorer; /* where the handler returns to */
	uint64_t mask;
};

static bool find_action(int number, struct action *action)
{
	return syscall(SYS_rt_sigaction, number, NULL, action, sizeof action->mask) == 0 &&
		action->handler != (const void *)SIG_DFL &&
		action->handler != (const void *)SIG_IGN && action->flags & RESTORED;
}

/* Whether the calling thread's stack has such a return address. Its end may be anywhere. */
static bool has_on_stack(uintptr_t address)
{
	uintptr_t words[128], at = (uintptr_t)__builtin_frame_address(0) & ~(sizeof words - 1);

	for (uintptr_t end = at + STACK_SEARCHED; at < end; at += sizeof words) {
		if (!thrum__adapt_process_copy(own_pid(), at, words, sizeof words))
			return false;
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (words[i] == address)
				return true;
	}
	return false;
}

const void *thrum__adapt_handler_around(void)
{
	const void *found = NULL;
	struct action action;
	uintptr_t restorer = 0;
	sigset_t blocked;

	if (pthread_sigmask(SIG_SETMASK, NULL, &blocked) != 0)
		return NULL;
	for (int number = 1; number <= SIGRTMAX; number++) {
		if (sigismember(&blocked, number) != 1 || !find_action(number, &action))
			continue;
		if (found && found != action.handler)
			return NULL;
		found = action.handler;
		restorer = action.restorer;
	}
	return found && has_on_stack(restorer) ? found : NULL;
}

bool thrum__adapt_is_in_handler(void)
{
	int error = errno;
	bool is_in = !is_limited() && thrum__adapt_may_handle() &&
		thrum__adapt_handler_around() != NULL;

	errno = error;
	return is_in;
}
