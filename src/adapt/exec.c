/* SPDX-License-Identifier: ISC */
/*
 * A process that runs another program in its own place, as scripts and shells do with the program
 * that they are written for: that program loads the adapters, too. A child that was made by fork or
 * vfork does so only if children are followed. Then it knows who started it.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <errno.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapt/base/forked.h"
#include "adapt/pthread/pthread.h"
#include "adapt/relatives/relatives.h"

REAL(execve)
REAL(execvpe)
REAL(fexecve)
REAL(posix_spawn)
REAL(posix_spawnp)
REAL(fork)

static size_t count_of(char *const list[])
{
	size_t count = 0;

	while (list && list[count])
		count++;
	return count;
}

/* Whether an entry of an environment sets the same variable as another entry. */
static bool is_same_variable(const char *entry, const char *other)
{
	size_t size = strcspn(other, "=") + 1;

	return strncmp(entry, other, size) == 0;
}

/* Copies an environment and adds the adapters' variables. `to` has room for them. */
static void add_variables(char **to, char *const environment[], const struct variables *variables)
{
	for (; environment && *environment; environment++) {
		bool is_ours = false;

		for (int i = 0; i < variables->count; i++)
			is_ours = is_ours || is_same_variable(*environment, variables->entry[i]);
		if (!is_ours)
			*to++ = *environment;
	}
	for (int i = 0; i < variables->count; i++)
		*to++ = variables->entry[i];
	*to = NULL;
}

/* The environment for the new program: `environment`, or a copy with the adapters' variables. On the
 * stack, since a child of vfork must not allocate. */
#define WITH_ADAPTERS(environment) \
	struct variables variables; \
\
	thrum__adapt_variables(&variables); \
	if (variables.count > 0) { \
		char **copy = alloca((count_of(environment) + VARIABLES + 1) * sizeof *copy); \
\
		add_variables(copy, environment, &variables); \
		environment = copy; \
	}

STAND_IN int execve(const char *path, char *const arguments[], char *const environment[])
{
	WITH_ADAPTERS(environment)
	return real_execve(CALLER)(path, arguments, environment);
}

STAND_IN int fexecve(int fd, char *const arguments[], char *const environment[])
{
	WITH_ADAPTERS(environment)
	return real_fexecve(CALLER)(fd, arguments, environment);
}

STAND_IN int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	WITH_ADAPTERS(environment)
	return real_execvpe(CALLER)(file, arguments, environment);
}

STAND_IN int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

STAND_IN int execvp(const char *file, char *const arguments[])
{
	return execvpe(file, arguments, environ);
}

/* ---- Arguments one by one ------------------------------------------------------------------- */

/* Makes `arguments`, an array of the arguments from `first` on up to NULL, and leaves `list` behind
 * them. */
#define COLLECT(first) \
	va_list list; \
	size_t count = 1; \
\
	va_start(list, first); \
	while (va_arg(list, char *)) \
		count++; \
	va_end(list); \
	char **arguments = alloca((count + 1) * sizeof *arguments); \
\
	va_start(list, first); \
	arguments[0] = (char *)(uintptr_t)first; \
	for (size_t i = 1; i <= count; i++) \
		arguments[i] = va_arg(list, char *);

STAND_IN int execl(const char *path, const char *first, ...)
{
	COLLECT(first)
	va_end(list);
	return execve(path, arguments, environ);
}

STAND_IN int execlp(const char *file, const char *first, ...)
{
	COLLECT(first)
	va_end(list);
	return execvpe(file, arguments, environ);
}

STAND_IN int execle(const char *path, const char *first, ...)
{
	COLLECT(first)
	char *const *environment = va_arg(list, char *const *);

	va_end(list);
	return execve(path, arguments, environment);
}

/* ---- Children ------------------------------------------------------------------------------- */

#define CHILDREN 64 /* of which it is known where they were started */

/* By process number. */
static struct {
	_Atomic pid_t process;
	const void *_Atomic caller;
	_Atomic bool got_held;
} children[CHILDREN];

static void note_child(pid_t process, const void *caller, bool got_held)
{
	caller = thrum__adapt_spawns_at(caller);
	atomic_store(&children[process % CHILDREN].process, 0);
	atomic_store(&children[process % CHILDREN].caller, caller);
	atomic_store(&children[process % CHILDREN].got_held, got_held);
	atomic_store(&children[process % CHILDREN].process, process);
	thrum__adapt_fork_started(process, caller);
	thrum__adapt_children_started();
}

const void *thrum__adapt_started_at(pid_t process)
{
	const void *caller = atomic_load(&children[process % CHILDREN].caller);

	return atomic_load(&children[process % CHILDREN].process) == process ? caller : NULL;
}

bool thrum__adapt_got_held(pid_t process)
{
	bool got_held = atomic_load(&children[process % CHILDREN].got_held);

	return got_held && atomic_load(&children[process % CHILDREN].process) == process;
}

STAND_IN pid_t fork(void)
{
	const void *caller = CALLER;
	bool are_held = thrum__adapt_has_held();

	thrum__adapt_fork();
	pid_t child = real_fork(caller)();

	/* One that only computes must be known to live, too. */
	if (child == 0 && thrum__adapt_shares_conditions()) {
		thrum__adapt_start();
		(void)thrum_task_current();
	}
	if (child > 0)
		note_child(child, caller, are_held || thrum__adapt_has_held());
	return child;
}

#define SPAWN(name) \
	STAND_IN int name(pid_t *restrict child, const char *restrict file, \
		const posix_spawn_file_actions_t *restrict actions, \
		const posix_spawnattr_t *restrict attributes, char *const *restrict arguments, \
		char *const *restrict environment) \
	{ \
		const void *caller = CALLER; \
		struct variables variables; \
		bool is_here = false; \
		pid_t process; \
\
		thrum__adapt_variables(&variables); \
		for (int i = 0; i < variables.count; i++) \
			is_here = is_here || variables.entry[i] == variables.link; \
		/* A child that isn't followed gets the environment as it is. */ \
		if (is_here) { \
			char **copy = alloca( \
				(count_of(environment) + VARIABLES + 1) * sizeof *copy); \
\
			add_variables(copy, environment, &variables); \
			environment = copy; \
		} \
		int error = real_##name( \
			caller)(&process, file, actions, attributes, arguments, environment); \
		if (error == 0) \
			note_child(process, caller, false); \
		if (error == 0 && child) \
			*child = process; \
		return error; \
	}
SPAWN(posix_spawn)
SPAWN(posix_spawnp)
