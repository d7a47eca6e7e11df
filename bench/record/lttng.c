/* SPDX-License-Identifier: ISC */
/*
 * A rival: LTTng-UST as a flight recorder, with one session in snapshot mode, and buffers that the
 * user's processes share, of which the oldest is overwritten. Starts a session daemon unless one
 * runs already, and ends the daemon that it started.
 */
#include "bench.h"

#ifdef HAVE_LTTNG_UST

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wundef"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_tp.h"
#pragma GCC diagnostic pop

static pid_t daemon_pid;
static char session[64];

static bool lttng(const char *arguments)
{
	char command[512];

	snprintf(command, sizeof command, "lttng --no-sessiond --quiet %s >/dev/null 2>&1",
		arguments);
	return system(command) == 0;
}

static bool wait_for(bool (*condition)(void))
{
	for (int i = 0; i < 100; i++) {
		if (condition())
			return true;
		usleep(50000);
	}
	return false;
}

static bool daemon_answers(void)
{
	return lttng("list");
}

static bool events_are_enabled(void)
{
	return lttng_ust_tracepoint_enabled(thrum_bench, two_ids) &&
		lttng_ust_tracepoint_enabled(thrum_bench, text);
}

static bool daemon_start(void)
{
	daemon_pid = fork();
	if (daemon_pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (freopen("/dev/null", "w", stdout) && freopen("/dev/null", "w", stderr))
			execlp("lttng-sessiond", "lttng-sessiond", "--no-kernel", (char *)NULL);
		_exit(127);
	}
	return daemon_pid > 0 && wait_for(daemon_answers);
}

static bool session_start(const char *directory)
{
	char arguments[400];
	const char *commands[] = {
		"create %s --snapshot --output=%s/lttng",
		"enable-channel -s %s -u --buffers-uid --overwrite --subbuf-size=512K --num-subbuf=8 all",
		"enable-event -s %s -u -c all thrum_bench:two_ids,thrum_bench:text",
		"start %s",
	};

	snprintf(session, sizeof session, "thrum-bench-%d", (int)getpid());
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
		snprintf(arguments, sizeof arguments, commands[i], session, directory);
		if (!lttng(arguments))
			return false;
	}
	return true;
}

const char *lttng_begin(const char *directory)
{
	if (system("command -v lttng >/dev/null && command -v lttng-sessiond >/dev/null") != 0)
		return "lttng-tools is not installed";
	if (!daemon_answers() && !daemon_start()) {
		lttng_end();
		return "no session daemon could be started";
	}
	if (!session_start(directory)) {
		lttng_end();
		return "the session daemon gave no session";
	}
	if (!wait_for(events_are_enabled)) {
		lttng_end();
		return "the session daemon didn't enable the events";
	}
	return NULL;
}

void lttng_end(void)
{
	char arguments[128];

	if (session[0]) {
		snprintf(arguments, sizeof arguments, "destroy --no-wait %s", session);
		lttng(arguments);
		session[0] = 0;
	}
	if (daemon_pid > 0) {
		kill(daemon_pid, SIGTERM);
		waitpid(daemon_pid, NULL, 0);
		daemon_pid = 0;
	}
}

void lttng_two_ids(struct runner *runner, unsigned events)
{
	(void)runner;
	for (unsigned i = 0; i < events; i++)
		lttng_ust_tracepoint(thrum_bench, two_ids, i, i ^ 1);
}

void lttng_text(struct runner *runner, unsigned events)
{
	(void)runner;
	for (unsigned i = 0; i < events; i++)
		lttng_ust_tracepoint(thrum_bench, text, bench_text12[i & 3]);
}

#else

const char *lttng_begin(const char *directory)
{
	(void)directory;
	return "it was not installed when the benchmark was built";
}

void lttng_end(void)
{
}

void lttng_two_ids(struct runner *runner, unsigned events)
{
	(void)runner, (void)events;
}

void lttng_text(struct runner *runner, unsigned events)
{
	(void)runner, (void)events;
}

#endif
