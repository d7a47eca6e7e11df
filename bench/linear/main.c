/* SPDX-License-Identifier: ISC */
/*
 * Tells what an event costs in recordings of different sizes: decoding it, what the model adds, finding
 * causes, and the whole commands `why` and `tasks`. Linear code takes the same in all of them.
 *
 *   linear [MILLIONS OF EVENTS...]
 *
 * The recordings are those of bench/large, whose four lanes take turns with nearly every event. Each figure
 * is CPU time, the system's included, and the least of three runs; each run has a process of its own, so
 * that each touches its memory for the first time. The commands `thrum` and `large` are those of the same
 * build.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/why/finding.h"
#include "model/model.h"
#include "program.h"

#define ROUNDS 3
#define EVENTS_A_MIB 105000 /* about */

enum {
	DECODING,
	MODEL,
	FINDING,
	WHY,
	TASKS,
	FIGURES,
};

static struct shared {
	double seconds[FIGURES];
	uint64_t events, bytes;
} * shared;

static _Noreturn void fail(const char *why)
{
	fprintf(stderr, "linear: %s\n", why);
	exit(1);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return bench_seconds(&usage);
}

static void note(int figure, double seconds)
{
	if (shared->seconds[figure] == 0 || seconds < shared->seconds[figure])
		shared->seconds[figure] = seconds;
}

/* ---- In this process ------------------------------------------------------------------------ */

static struct thrum_trace *open_trace(const char *file)
{
	struct thrum_trace *trace;

	if (thrum_trace_open(file, &trace, NULL))
		fail("the recording can't be read");
	return trace;
}

static void decode(const char *file)
{
	double before = cpu_seconds();
	struct thrum_trace *trace = open_trace(file);
	const struct thrum_event *events;
	size_t count;

	shared->events = 0;
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		shared->events += count;
	thrum_trace_close(trace);
	note(DECODING, cpu_seconds() - before);
}

static void load_and_find(const char *file)
{
	double before = cpu_seconds(), between;
	struct thrum_trace *trace = open_trace(file);
	struct thrum__findings findings;
	struct thrum__model *model;

	if (thrum__model_create(trace, &model) || thrum__model_load(model, trace, NULL, NULL, NULL))
		fail("out of memory");
	thrum_trace_close(trace);
	between = cpu_seconds();
	if (thrum__why_make(model, &findings))
		fail("out of memory");
	note(FINDING, cpu_seconds() - between);
	note(MODEL, between - before); /* and decoding */
	shared->bytes = thrum__model_memory(model);
}

/* ---- In others ------------------------------------------------------------------------------ */

/* Runs it in a process of its own, and returns the seconds that it takes. `most`: its highest exit status
 * that is no failure. */
static double run(void (*function)(const char *), const char *const *command, const char *file,
	int most)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (function) {
			function(file);
			_exit(0);
		}
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		dup2(null, STDOUT_FILENO);
		execv(command[0], (char *const *)command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || !WIFEXITED(status) ||
		WEXITSTATUS(status) > most)
		fail("a program fails");
	return bench_seconds(&usage);
}

static void measure(const char *file, double millions)
{
	char thrum[4096], large[4096], mib[24];
	const char *const make[] = {large, file, mib, NULL},
			  *const why[] = {thrum, "why", file, NULL},
			  *const tasks[] = {thrum, "tasks", file, NULL};

	bench_program(thrum, "thrum");
	bench_program(large, "bench/large/large");
	snprintf(mib, sizeof mib, "%.0f", millions * 1e6 / EVENTS_A_MIB);
	memset(shared, 0, sizeof *shared);
	run(NULL, make, file, 0);
	for (int i = 0; i < ROUNDS; i++) {
		run(decode, NULL, file, 0);
		run(load_and_find, NULL, file, 0);
		note(WHY, run(NULL, why, file, 1));
		note(TASKS, run(NULL, tasks, file, 0));
	}
	unlink(file);
	double events = (double)shared->events, each = 1e9 / events;

	shared->seconds[MODEL] -= shared->seconds[DECODING];
	printf("%8.1f", events / 1e6);
	for (int i = 0; i < FIGURES; i++)
		printf(" %10.1f", shared->seconds[i] * each);
	printf(" %12.1f\n", (double)shared->bytes / events);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static const double usual[] = {1, 5, 12.5, 25, 50};
	char file[] = "/dev/shm/linear.XXXXXX";
	int fd = mkstemp(file);

	if (fd < 0 || close(fd) != 0)
		fail("no place for recordings in /dev/shm");
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (shared == MAP_FAILED)
		fail("out of memory");
	printf("%8s %10s %10s %10s %10s %10s %12s\n", "events,", "decoding,", "the model,",
		"finding,", "`why`,", "`tasks`,", "the model,");
	printf("%8s %10s %10s %10s %10s %10s %12s\n", "millions", "ns each", "ns", "ns", "ns", "ns",
		"bytes each");
	for (int i = 1; i < argc; i++)
		measure(file, strtod(argv[i], NULL));
	for (size_t i = 0; argc < 2 && i < sizeof usual / sizeof *usual; i++)
		measure(file, usual[i]);
	return 0;
}
