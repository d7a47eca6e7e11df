/* SPDX-License-Identifier: ISC */
/* Names of processes and signals. */
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

char *thrum__adapt_put_killer(char *to, pid_t process)
{
	const void *caller;
	int number = thrum__adapt_killed_by(process, &caller);
	char killer[PLACE_MAX];

	if (number == 0)
		return to;
	if (!caller)
		return thrum__adapt_put_signal(stpcpy(to, ", killed by "), number);
	thrum__adapt_label(killer, ", killed by", caller);
	return stpcpy(to, killer);
}

char *thrum__adapt_put_process_name(char *to, pid_t process)
{
	char name[PROCESS_TEXT];

	to = thrum__adapt_put_number(stpcpy(to, "process "), (uint64_t)process);
	if (thrum__adapt_process_read(process, "/comm", name) > 0) {
		name[strcspn(name, "\n")] = '\0';
		to = stpcpy(stpcpy(stpcpy(to, " ("), name), ")");
	}
	return to;
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
