/* SPDX-License-Identifier: ISC */
/*
 * Measures how fast recordings are read: decoded with a consumer that does nothing, and printed.
 * Runs in turn with babeltrace2. Time is CPU time: the thread's for code that runs here, user and
 * system time for commands.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <thrum/trace.h>

#include "program.h"
#include "read.h"

#define ROUNDS_MAX 50

/* One way to read, and the time it took in each round. */
struct way {
	const char *name;
	double limit; /* the most that it may take, in times of the rival; 0: no limit */
	const struct way *rival;
	const char *command[8]; /* command[0] NULL: decodes `file` here */
	const char *file;
	double seconds[ROUNDS_MAX];
	unsigned rounds, passes; /* passes in a round, of which the best counts */
	long memory;             /* the most KiB that a command has used */
	uint64_t events;
	bool is_missing;
};

static double cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- Running ------------------------------------------------------------------------------- */

/* Decodes the whole file. Uses each event, so that the compiler can't leave out the decoding. */
static bool decode(struct way *way)
{
	struct thrum_trace *trace;
	struct thrum_error_info info;
	const struct thrum_event *events;
	size_t count;
	int error = thrum_trace_open(way->file, &trace, &info);

	if (error) {
		fprintf(stderr, "%s: %s\n", way->file, info.message);
		return false;
	}
	while ((error = thrum_trace_next(trace, &events, &count, &info)) == 1)
		for (size_t i = 0; i < count; i++)
			__asm__ volatile("" : : "r"(&events[i]) : "memory");
	way->events = thrum_trace_info(trace)->records;
	if (thrum_trace_info(trace)->damaged || thrum_trace_info(trace)->gaps)
		fprintf(stderr, "%s: damaged\n", way->file);
	thrum_trace_close(trace);
	return error == 0;
}

static double run_here(struct way *way)
{
	double best = -1;

	for (unsigned i = 0; i < way->passes; i++) {
		double before = cpu_seconds();

		if (!decode(way))
			return -1;
		double seconds = cpu_seconds() - before;

		if (best < 0 || seconds < best)
			best = seconds;
	}
	return best;
}

static double run_command(struct way *way)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, STDOUT_FILENO);
		execvp(way->command[0], (char **)(void *)way->command);
		_exit(127);
	}
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || status != 0)
		return -1;
	way->memory = usage.ru_maxrss;
	return bench_seconds(&usage);
}

static void run(struct way *way)
{
	double seconds = way->command[0] ? run_command(way) : run_here(way);

	if (seconds < 0)
		way->is_missing = true;
	else
		way->seconds[way->rounds++] = seconds;
}

/* ---- Telling ------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static double speed(const struct way *way, unsigned rank)
{
	return (double)way->events / way->seconds[rank] / 1e6;
}

static void print_way(struct way *way)
{
	if (way->is_missing || way->rounds == 0) {
		printf("%-32s %s\n", way->name, "couldn't be run");
		return;
	}
	qsort(way->seconds, way->rounds, sizeof *way->seconds, compare);
	printf("%-32s %8.1f %8.1f", way->name, speed(way, 0), speed(way, way->rounds / 2));
	if (way->memory)
		printf(" %7ld MiB", way->memory / 1024);
	else
		printf(" %11s", "");
	const struct way *rival = way->rival;

	if (rival && !rival->is_missing && rival->rounds > 0) {
		double ratio = speed(way, way->rounds / 2) / speed(rival, rival->rounds / 2);

		printf(" %7.1f ×", ratio);
		if (way->limit > 0)
			printf("  (at least %.0f: %s)", way->limit,
				ratio >= way->limit ? "yes" : "NO");
	}
	putchar('\n');
}

/* ---- All of it ----------------------------------------------------------------------------- */

struct paths {
	char folder[64], recording[96], ctf[96], mirage_folder[96], mirage[128], metadata[128];
	char thrum[4096];
};

static bool make_files(struct paths *p, unsigned events)
{
	struct thrum_error_info info;

	snprintf(p->folder, sizeof p->folder, "%s/thrum-bench-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(p->folder))
		return false;
	snprintf(p->recording, sizeof p->recording, "%s/recording", p->folder);
	snprintf(p->ctf, sizeof p->ctf, "%s/ctf", p->folder);
	snprintf(p->mirage_folder, sizeof p->mirage_folder, "%s/mirage", p->folder);
	snprintf(p->mirage, sizeof p->mirage, "%s/stream", p->mirage_folder);
	snprintf(p->metadata, sizeof p->metadata, "%s/metadata", p->mirage_folder);
	bench_program(p->thrum, "thrum");
	if (!make_recording(p->recording, events) || mkdir(p->mirage_folder, 0700) != 0 ||
		!make_mirage(p->mirage, p->metadata, events))
		return false;
	if (thrum_trace_convert(p->recording, p->ctf, NULL, &info) != 0)
		fprintf(stderr, "convert: %s\n", info.message);
	return true;
}

static void remove_files(const struct paths *p)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf '%s'", p->folder);
	if (system(command) != 0)
		fprintf(stderr, "%s is left behind\n", p->folder);
}

static void compare_readers(struct paths *p, unsigned events, unsigned rounds)
{
	enum {
		BT,
		DECODE,
		BT_TEXT,
		DUMP,
		BT_MIRAGE,
		MIRAGE,
		WAYS
	};
	struct way ways[WAYS] = {
		[BT] = {.name = "babeltrace2, dummy sink",
			.command = {"babeltrace2", "--output-format=dummy", p->ctf}},
		[DECODE] = {.name = "thrum, no-op consumer",
			.file = p->recording,
			.passes = 3,
			.limit = 20,
			.rival = &ways[BT]},
		[BT_TEXT] = {.name = "babeltrace2, text", .command = {"babeltrace2", p->ctf}},
		[DUMP] = {.name = "thrum dump --format=tsv",
			.command = {p->thrum, "dump", "--format=tsv", p->recording},
			.limit = 12,
			.rival = &ways[BT_TEXT]},
		[BT_MIRAGE] = {.name = "babeltrace2, dummy, mirage file",
			.command = {"babeltrace2", "--output-format=dummy", p->mirage_folder}},
		[MIRAGE] = {.name = "thrum, no-op, mirage file",
			.file = p->mirage,
			.passes = 3,
			.limit = 20,
			.rival = &ways[BT_MIRAGE]},
	};

	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < WAYS; i++) {
			ways[i].events = events;
			run(&ways[i]);
		}
	}
	printf("%-32s %8s %8s %11s %9s\n", "M records/s of CPU time", "best", "median", "memory",
		"rival");
	for (unsigned i = 0; i < WAYS; i++)
		print_way(&ways[i]);
}

/* Returns the value of an option `--name N`, or 0. */
static unsigned number_of(char **argv, const char *name)
{
	for (; argv[0] && argv[1]; argv++)
		if (strcmp(argv[0], name) == 0)
			return (unsigned)strtoul(argv[1], NULL, 10);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned events = number_of(argv, "--events"), rounds = number_of(argv, "--rounds");
	struct paths paths;

	if (argc > 1 && events == 0 && rounds == 0) {
		fprintf(stderr, "usage: %s [--events N] [--rounds N]\n", argv[0]);
		return 64;
	}
	if (events == 0)
		events = 10000000;
	if (rounds == 0 || rounds > ROUNDS_MAX)
		rounds = 3;
	printf("%u records, %u rounds\n", events, rounds);
	fflush(stdout);
	if (!make_files(&paths, events)) {
		perror(paths.folder);
		return 1;
	}
	compare_readers(&paths, events, rounds);
	remove_files(&paths);
	return 0;
}
