/* SPDX-License-Identifier: ISC */
/*
 * Waits of GLib's own locks and conditions, which are futexes: GLib calls them through libc's
 * syscall(). The lane is suspended meanwhile. All other calls jump on to libc's function with the same stack,
 * so that those that fork or change the stack work as ever (with optimisation). A wait of GLib's for a child
 * that it started, or for a thread, has the place of the program's call.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <gio/gio.h>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/glib/glib.h"
#include "adapt/pthread/pthread.h"

static struct code glib, gio;

REAL(syscall)

void thrum__adapt_glib_find(const void *function)
{
	if (UNLIKELY(!atomic_load_explicit(&glib.end, memory_order_relaxed)))
		thrum__adapt_is_within(&glib, function, NULL);
}

REAL(g_task_get_type)

bool thrum__adapt_glib_is_own(const void *function)
{
	const void *of_gio = NULL;

	if (!atomic_load_explicit(&gio.end, memory_order_relaxed))
		of_gio = (const void *)(uintptr_t)real_g_task_get_type(NULL);
	return thrum__adapt_is_within(&gio, of_gio, function) ||
		(atomic_load_explicit(&glib.end, memory_order_relaxed) &&
			thrum__adapt_is_within(&glib, NULL, function));
}

/* Not in a signal handler or a child, which must not search. */
__attribute__((constructor)) static void find_early(void)
{
	const void *function = dlsym(RTLD_DEFAULT, "g_main_depth");

	real_syscall(NULL);
	if (function)
		thrum__adapt_glib_find(function);
	else
		dlerror(); /* the program must not see that it is missing */
}

/* Whether GLib waits, as far as it is known where GLib is. */
static bool is_wait_of_glib(long operation, const void *caller)
{
	int command = (int)operation & FUTEX_CMD_MASK;

	return (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) && is_on(ADAPTER_GLIB) &&
		!thrum__adapt_is_paused() &&
		atomic_load_explicit(&glib.end, memory_order_relaxed) &&
		thrum__adapt_is_within(&glib, NULL, caller);
}

/* The type of a function with as many parameters as libc's reads. */
typedef long call(long number, long a, long b, long c, long d, long e, long f);

static NOINLINE long call_first(long number, long a, long b, long c, long d, long e, long f)
{
	return ((call *)(cell_function *)real_syscall(CALLER))(number, a, b, c, d, e, f);
}

static NOINLINE long call_futex(const void *caller, const long p[6])
{
	bool is_suspended = is_wait_of_glib(p[1], caller);
	/* GLib itself has a time limit where threads of its pools wait for work. */
	bool is_idle = is_suspended && p[3] != 0 && thrum__adapt_self;
	struct wait wait = {.pause.is_over = true};
	struct pause pause;
	int error = errno;

	if (is_suspended) {
		thrum__adapt_pause(&pause, THRUM_BLOCKED);
	} else {
		thrum__adapt_futex_wait(&wait, p, caller);
		thrum__adapt_futex_wake(p, caller);
	}
	if (is_idle)
		thrum__adapt_thread_is_idle(true);
	errno = error;
	long result = real_syscall(caller)(SYS_futex, p[0], p[1], p[2], p[3], p[4], p[5]);

	error = errno;
	if (is_idle)
		thrum__adapt_thread_is_idle(false);
	if (is_suspended)
		thrum__adapt_go_on(&pause);
	else
		thrum__adapt_wait_end(&wait);
	errno = error;
	return result;
}

STAND_IN long stand_in_for_syscall(long number, long a, long b, long c, long d, long e,
	long f) __asm__("syscall");

STAND_IN long stand_in_for_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	call *real = (call *)__atomic_load_n(&found_syscall.known, __ATOMIC_RELAXED);

	if (number == SYS_futex)
		return call_futex(CALLER, (long[]){a, b, c, d, e, f});
	if (UNLIKELY(number == SYS_seccomp))
		thrum__adapt_seccomp((unsigned long)a, (const void *)c);
	if (UNLIKELY(number == SYS_pivot_root))
		thrum__adapt_start();
	if (UNLIKELY(number == SYS_prctl && a == PR_SET_SECCOMP))
		thrum__adapt_prctl((unsigned long)b, (const void *)c);
	return LIKELY(real) ? real(number, a, b, c, d, e, f) : call_first(number, a, b, c, d, e, f);
}

/* ---- Children and threads ----------------------------------------------------------------------- */

REAL(g_thread_join)
REAL(g_spawn_sync)
REAL(g_spawn_command_line_sync)

static void end_spawn(const void *const *before)
{
	thrum__adapt_spawner = *before;
}

/* GLib starts the child and waits for it: the program does so where it calls GLib. */
#define SPAWNS(name, parameters, arguments) \
	STAND_IN gboolean name parameters \
	{ \
		const void *before \
			__attribute__((cleanup(end_spawn), unused)) = thrum__adapt_spawner; \
\
		thrum__adapt_spawner = thrum__adapt_spawns_at(CALLER); /* GLib may call itself */ \
		return real_##name(CALLER) arguments; \
	}

SPAWNS(g_spawn_sync,
	(const gchar *folder, gchar **words, gchar **environment, GSpawnFlags flags,
		GSpawnChildSetupFunc setup, gpointer data, gchar **output, gchar **errors,
		gint *status, GError **error),
	(folder, words, environment, flags, setup, data, output, errors, status, error))
SPAWNS(g_spawn_command_line_sync,
	(const gchar *line, gchar **output, gchar **errors, gint *status, GError **error),
	(line, output, errors, status, error))

STAND_IN gpointer g_thread_join(GThread *thread)
{
	const void *before __attribute__((cleanup(end_spawn), unused)) = thrum__adapt_spawner;

	thrum__adapt_spawner = CALLER;
	return real_g_thread_join(CALLER)(thread);
}
