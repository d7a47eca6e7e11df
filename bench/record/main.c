/* SPDX-License-Identifier: ISC */
/*
 * record: the cost of recording an event, beside that of the floor and of rivals. README.md in the
 * folder above explains the method and the tables.
 *
 *   record [--events N] [--repetitions N] [--instructions] [--no-lttng]
 *   record --sizes RECORDING
 */
#include "bench.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REPETITIONS_MAX 100
#define CASES_MAX 64

static struct {
	unsigned events, repetitions;
	bool instructions_only, no_lttng;
} options = {.events = 1000000, .repetitions = 15};

static char directory[64], recording[128];
static bool clock_is_tsc;
static const char *lttng_missing; /* the reason why LTTng is left out, or NULL */
static struct runner runners[THREADS_MAX];

/* ns an event, by case, threads - 1 and repetition. */
static double ns[CASES_MAX][THREADS_MAX][REPETITIONS_MAX];
static double instructions[CASES_MAX];
static double start_ns[GROUPS][REPETITIONS_MAX];
static double first_pass_ns[GROUPS][REPETITIONS_MAX];

static void give_up(const char *what)
{
	fprintf(stderr, "record: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void set_up(void)
{
	char file[128];

	snprintf(directory, sizeof directory, "%s/thrum-bench-XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(directory))
		give_up(directory);
	snprintf(recording, sizeof recording, "%s/recording.thrum", directory);
	for (unsigned i = 0; i < THREADS_MAX; i++) {
		struct runner *runner = &runners[i];

		runner->number = i;
		runner->ring = mmap(NULL, RING_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		snprintf(file, sizeof file, "%s/mirage-%u.ctf", directory, i);
		runner->mirage = mirage_create(file);
		if (runner->ring == MAP_FAILED || !runner->mirage)
			give_up("setting up");
		snprintf(file, sizeof file, "bench/%u", i);
		runner->counter = thrum_counter_create(file, THRUM_COUNTER_GAUGE);
		runner->shared = thrum_counter_create("bench/shared", THRUM_COUNTER_CUMULATIVE);
		runner->sizes = thrum_counter_create("bench/sizes", THRUM_COUNTER_DISTRIBUTION);
	}
	recording_start(recording, true);
	clock_is_tsc = recording_clock_is_tsc();
	bench_floor_init(clock_is_tsc);
	recording_stop();
}

static void clean_up(void)
{
	char command[128];

	lttng_end();
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	if (system(command) != 0)
		fprintf(stderr, "record: %s is left behind\n", directory);
}

static bool is_floor(unsigned index)
{
	return index < 2;
}

/* Measures one repetition of a group's cases. The floors are measured again with each. */
static void measure_group(enum group group, unsigned repetition)
{
	bool thrum = group == THRUM || group == THRUM_LIVE;

	if (thrum) {
		start_ns[group][repetition] = recording_start(recording, group == THRUM_LIVE);
		first_pass_ns[group][repetition] = bench_first_pass(&runners[0]);
	}
	for (unsigned i = 0; i < bench_case_count; i++) {
		const struct bench_case *what = &bench_cases[i];

		if (what->group != group && !(is_floor(i) && thrum))
			continue;
		for (unsigned threads = 1; threads <= THREADS_MAX; threads++) {
			double *to = &ns[i][threads - 1][repetition];
			double value = bench_measure(what, runners, threads, options.events);

			if (what->group == group || value < *to)
				*to = value;
		}
	}
	if (thrum)
		recording_stop();
}

static void count_instructions(void)
{
	for (unsigned i = 0; i < bench_case_count; i++)
		instructions[i] = bench_instructions(&bench_cases[i], &runners[0], recording);
}

static void measure_all(void)
{
	for (unsigned r = 0; r < options.repetitions; r++) {
		for (int group = 0; group < GROUPS; group++) {
			if (group != LTTNG || !lttng_missing)
				measure_group((enum group)group, r);
		}
		if (isatty(STDERR_FILENO))
			fprintf(stderr, "\r%u of %u repetitions", r + 1, options.repetitions);
	}
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* ---- Results --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(double *values)
{
	qsort(values, options.repetitions, sizeof *values, compare);
}

static unsigned find_case(const char *name)
{
	for (unsigned i = 0; i < bench_case_count; i++) {
		if (strcmp(bench_cases[i].name, name) == 0)
			return i;
	}
	abort();
}

static const char *mark(bool within)
{
	return within ? "ok" : "OVER";
}

static void print_instructions(unsigned index)
{
	const struct bench_case *what = &bench_cases[index];
	double limit = what->payload == TEXT ? 75 : 50;

	if (instructions[index] <= 0)
		printf(" %5s %-8s", "-", "");
	else if (what->group == THRUM)
		printf(" %5.1f <=%.0f %-4s", instructions[index], limit,
			mark(instructions[index] <= limit));
	else
		printf(" %5.1f %-8s", instructions[index], "");
}

/* Prints the ratio of a rival's cost, with the same payload, to ours. */
static void print_rival(const char *name, double own, double least, unsigned threads)
{
	double rival = ns[find_case(name)][threads - 1][0];

	if (rival > 0)
		printf("  %4.1f >=%.3g %-4s", rival / own, least, mark(rival / own >= least));
	else
		printf("  %15s", "");
}

static void print_case(unsigned index, unsigned threads)
{
	const struct bench_case *what = &bench_cases[index];
	bool text = what->payload == TEXT;
	const double *values = ns[index][threads - 1];
	double least = values[0], median = values[options.repetitions / 2];
	double floor = ns[text ? 1 : 0][threads - 1][0];

	printf("%-31s %7.2f %7.2f", what->name, least, median);
	if (what->factor > 1)
		printf(" %6s", "");
	else
		printf(" %6.2f", least / floor);
	if (what->base) {
		double limit = what->limit > 0 ? what->limit : what->factor > 1 ? 0.2 : 3;
		double added = least - ns[find_case(what->base)][threads - 1][0];

		printf("  %+5.2f ns <=%.1f %-4s", added, limit, mark(added <= limit));
	} else if (what->limit > 0) {
		printf(" <=%.2f %-4s", what->limit, mark(least / floor <= what->limit));
		print_instructions(index);
		print_rival(text ? "mirage's layout, 12 characters" : "mirage's layout, two ids",
			least, 1.7, threads);
		print_rival(text ? "LTTng-UST, 12 characters" : "LTTng-UST, two ids", least,
			text ? 6 : 7, threads);
	} else {
		printf(" %11s", "");
		print_instructions(index);
	}
	putchar('\n');
}

static void print_table(unsigned threads)
{
	printf("\n%-31s %7s %7s %6s %11s %14s  %15s  %15s\n",
		threads == 1 ? "1 thread" : "2 threads", "min", "median", "x A", "limit",
		"instructions", "mirage's, x", "LTTng's, x");
	for (unsigned i = 0; i < bench_case_count; i++) {
		if (bench_cases[i].group != LTTNG || !lttng_missing)
			print_case(i, threads);
	}
}

static void print_start(void)
{
	for (int group = THRUM; group <= THRUM_LIVE; group++) {
		double *values = start_ns[group];

		sort(values);
		printf("start of a 16 MiB recording %s: min %.2f ms, median %.2f ms  <=10 ms %s\n",
			group == THRUM ? "without live tasks" : "with live tasks", values[0] / 1e6,
			values[options.repetitions / 2] / 1e6,
			mark(values[options.repetitions / 2] <= 10e6));
	}
	sort(first_pass_ns[THRUM]);
	printf("wait, the first time that pages are written: min %.2f ns, median %.2f ns\n",
		first_pass_ns[THRUM][0], first_pass_ns[THRUM][options.repetitions / 2]);
}

static void print_packet_switch(void)
{
	double least = 0;

	for (int i = 0; i < 5; i++) {
		double value;

		recording_start(recording, true);
		value = bench_packet_switch();
		recording_stop();
		if (i == 0 || value < least)
			least = value;
	}
	printf("packet switch on warm pages: %.0f ns  <=100 ns %s\n", least, mark(least <= 100));
}

/* Prints the processor's name and the load. */
static void print_machine(void)
{
	char line[256], model[256] = "unknown processor";
	double load = 0;
	FILE *file = fopen("/proc/cpuinfo", "r");

	while (file && fgets(line, sizeof line, file)) {
		if (sscanf(line, "model name : %255[^\n]", model) == 1)
			break;
	}
	if (file)
		fclose(file);
	file = fopen("/proc/loadavg", "r");
	if (file && fscanf(file, "%lf", &load) != 1)
		load = 0;
	if (file)
		fclose(file);
	printf("%s, %ld processors, clock: %s, load at the end: %.1f\n", model,
		sysconf(_SC_NPROCESSORS_ONLN), clock_is_tsc ? "tsc" : "clock_gettime", load);
}

static void tell_all(void)
{
	for (unsigned i = 0; i < bench_case_count; i++) {
		for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
			sort(ns[i][threads - 1]);
	}
	print_machine();
	printf("ns of thread CPU time an event; %u times %u events. x A: the minimum over floor A's, "
	       "which is one\nreading of the clock and 24 bytes of stores. "
	       "mirage's, LTTng's: their cost divided by ours.\n",
		options.repetitions, options.events);
	if (lttng_missing)
		printf("LTTng-UST is left out: %s\n", lttng_missing);
	for (unsigned threads = 1; threads <= THREADS_MAX; threads++)
		print_table(threads);
	putchar('\n');
	print_start();
	print_packet_switch();
}

static void tell_instructions(void)
{
	for (unsigned i = 0; i < bench_case_count; i++) {
		if (instructions[i] <= 0)
			continue;
		printf("%-31s", bench_cases[i].name);
		print_instructions(i);
		putchar('\n');
	}
}

/* ---- Options --------------------------------------------------------------------------------- */

static void usage(void)
{
	fputs("usage: record [--events N] [--repetitions N] [--instructions] [--no-lttng]\n"
	      "       record --sizes RECORDING\n"
	      "  --events N       in each measurement (1000000)\n"
	      "  --repetitions N  of every measurement, at most 100 (15)\n"
	      "  --instructions   only count instructions\n"
	      "  --no-lttng       don't compare with LTTng-UST\n"
	      "  --sizes FILE     print the bytes that a recording's events take, by type\n",
		stderr);
	exit(64);
}

static unsigned number(const char *text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (end == text || *end || *text == '-' || value < 1 || value > most)
		usage();
	return (unsigned)value;
}

static void parse_options(int count, char **arguments)
{
	static const struct option known[] = {
		{"events", required_argument, NULL, 'e'},
		{"repetitions", required_argument, NULL, 'r'},
		{"instructions", no_argument, NULL, 'i'},
		{"no-lttng", no_argument, NULL, 'l'},
		{"sizes", required_argument, NULL, 's'},
		{0},
	};
	int option;

	while ((option = getopt_long(count, arguments, "", known, NULL)) != -1) {
		switch (option) {
		case 'e': options.events = number(optarg, 100000000); break;
		case 'r': options.repetitions = number(optarg, REPETITIONS_MAX); break;
		case 'i': options.instructions_only = true; break;
		case 'l': options.no_lttng = true; break;
		case 's': exit(bench_sizes(optarg));
		default: usage();
		}
	}
	if (optind < count)
		usage();
}

int main(int count, char **arguments)
{
	parse_options(count, arguments);
	set_up();
	atexit(clean_up);
	count_instructions();
	if (options.instructions_only) {
		tell_instructions();
		return 0;
	}
	lttng_missing = options.no_lttng ? "--no-lttng" : lttng_begin(directory);
	measure_all();
	tell_all();
	return 0;
}
