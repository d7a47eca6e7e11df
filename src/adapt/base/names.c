/* SPDX-License-Identifier: ISC */
/* Names of processes and signals, and how processes ended. */
#define _GNU_SOURCE
#include <signal.h>

#include "adapt/base/base.h"
#include "adapt/base/process.h"

char *thrum__adapt_put_starter(char *to, pid_t process)
{
	const void *place = thrum__adapt_started_by_copy(process);
	char started[PLACE_MAX];

	if (!place)
		return to;
	thrum__adapt_label(started, ", started by", place);
	return stpcpy(to, started);
}

/* How a process ended itself, unless a signal did that. */
static bool find_ending(pid_t process, int signal, struct ending *ending)
{
	return thrum__adapt_ended_itself(process, ending) &&
		(signal == 0 || (signal == SIGABRT && ending->status == ENDING_ABORT));
}

static char *put_own_ending(char *to, const struct ending *ending)
{
	bool is_abort = ending->status == ENDING_ABORT;
	char how[40], place[2 * PLACE_MAX];
	char *end = stpcpy(how, is_abort ? ", aborted" : ", ended with status ");

	if (!is_abort)
		end = thrum__adapt_put_number(end, (uint64_t)ending->status);
	*end = '\0';
	if (!ending->at)
		return stpcpy(to, how);
	strcpy(end, " in");
	thrum__adapt_label_place(place, how, (struct place){ending->at, ending->above});
	return stpcpy(to, place);
}

char *thrum__adapt_put_ending(char *to, pid_t process)
{
	const void *caller;
	int number = thrum__adapt_killed_by(process, &caller);
	struct ending ending;
	char killer[PLACE_MAX];

	if (find_ending(process, number, &ending))
		return put_own_ending(to, &ending);
	if (number == 0)
		return to;
	if (!caller)
		return thrum__adapt_put_signal(stpcpy(to, ", killed by "), number);
	thrum__adapt_label(killer, ", killed by", caller);
	return stpcpy(to, killer);
}

const void *thrum__adapt_place_of_ended(pid_t process)
{
	const void *caller;
	int number = thrum__adapt_killed_by(process, &caller);
	struct ending ending;

	return find_ending(process, number, &ending) && ending.at
		? ending.at
		: thrum__adapt_started_by_copy(process);
}

char *thrum__adapt_put_process_name(char *to, pid_t process)
{
	char name[PROCESS_TEXT];

	to = stpcpy(to, "process ");
	if (thrum__adapt_process_read(process, "/comm", name) > 0)
		name[strcspn(name, "\n")] = '\0';
	else if (!thrum__adapt_was_named(process, name))
		return thrum__adapt_put_number(to, (uint64_t)process);
	return thrum__adapt_put_named(to, process, name);
}

char *thrum__adapt_put_process(char *to, pid_t process)
{
	return thrum__adapt_put_starter(thrum__adapt_put_process_name(to, process), process);
}

char *thrum__adapt_put_signal(char *to, int number)
{
	if (number >= SIGRTMIN && number <= SIGRTMAX)
		return thrum__adapt_put_number(stpcpy(to, "SIGRTMIN+"),
			(uint64_t)(number - SIGRTMIN));
	switch (number) {
	case SIGHUP: return stpcpy(to, "SIGHUP");
	case SIGINT: return stpcpy(to, "SIGINT");
	case SIGQUIT: return stpcpy(to, "SIGQUIT");
	case SIGUSR1: return stpcpy(to, "SIGUSR1");
	case SIGUSR2: return stpcpy(to, "SIGUSR2");
	case SIGTERM: return stpcpy(to, "SIGTERM");
	case SIGKILL: return stpcpy(to, "SIGKILL");
	case SIGABRT: return stpcpy(to, "SIGABRT");
	case SIGSEGV: return stpcpy(to, "SIGSEGV");
	case SIGPIPE: return stpcpy(to, "SIGPIPE");
	default: return thrum__adapt_put_number(stpcpy(to, "signal "), (uint64_t)number);
	}
}
