/* SPDX-License-Identifier: ISC */
/*
 * Measures the cost of an event: as CPU time of the thread, which a busy machine disturbs least; as
 * instructions, by single-stepping; and, for a packet switch, one call at a time.
 */
#include "bench.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- CPU time -------------------------------------------------------------------------------- */

struct job {
	const struct bench_case *what;
	struct runner *runner;
	uint64_t events;
	pthread_barrier_t *ready;
	double ns;
};

static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns the cost of two readings of the CPU time themselves. */
static uint64_t cpu_time_cost(void)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 100; i++) {
		uint64_t begin = cpu_time(), cost = cpu_time() - begin;

		least = cost < least ? cost : least;
	}
	return least;
}

static uint64_t run_batch(const struct bench_case *what, struct runner *runner, unsigned events)
{
	uint64_t begin, spent;

	if (what->prepare)
		what->prepare(runner);
	begin = cpu_time();
	what->run(runner, events);
	spent = cpu_time() - begin;
	if (what->finish)
		what->finish(runner);
	return spent;
}

/* Pins the thread to the n-th of the processors that we may use. */
static void pin(unsigned n)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof allowed, &allowed))
		return;
	n %= (unsigned)CPU_COUNT(&allowed);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && n-- == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof one, &one);
			return;
		}
	}
}

static void *job_run(void *argument)
{
	struct job *job = argument;
	const struct bench_case *what = job->what;
	bool batches = what->prepare || what->finish;
	uint64_t batch = batches ? BATCH : job->events, cost, spent = 0, done;

	pin(job->runner->number);
	cost = cpu_time_cost();
	run_batch(what, job->runner, BATCH);
	pthread_barrier_wait(job->ready);
	for (done = 0; done < job->events; done += batch)
		spent += run_batch(what, job->runner, (unsigned)batch) - cost;
	job->ns = (double)spent / (double)done;
	return NULL;
}

double bench_measure(const struct bench_case *what, struct runner *runners, unsigned threads,
	uint64_t events)
{
	pthread_t ids[THREADS_MAX];
	struct job jobs[THREADS_MAX];
	pthread_barrier_t ready;
	double slowest = 0;

	pthread_barrier_init(&ready, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		jobs[i] = (struct job){what, &runners[i], events * what->factor, &ready, 0};
		if (pthread_create(&ids[i], NULL, job_run, &jobs[i])) {
			fputs("record: no thread could be started\n", stderr);
			exit(2);
		}
	}
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(ids[i], NULL);
		slowest = jobs[i].ns > slowest ? jobs[i].ns : slowest;
	}
	pthread_barrier_destroy(&ready);
	return slowest;
}

static void first_pass(struct runner *runner, unsigned events)
{
	thrum_task task = thrum_task_current();

	(void)runner;
	for (unsigned i = 0; i < events; i++) {
		thrum_task_wait(task, task);
		BARRIER();
	}
}

#define FIRST_PASS 1200000 /* events: 14 of 16 MiB */

double bench_first_pass(struct runner *runner)
{
	const struct bench_case pass = {"first pass", THRUM, FIXED, 0, 1, first_pass, NULL, NULL,
		NULL};
	double ns = bench_measure(&pass, runner, 1, FIRST_PASS);

	bench_measure(&pass, runner, 1, FIRST_PASS);
	return ns;
}

/* ---- Instructions ---------------------------------------------------------------------------- */

/* The child's work. All instructions between SIGSTOP and SIGUSR1 are counted. */
static void step_child(const struct bench_case *what, struct runner *runner, const char *file,
	unsigned events)
{
	if (what->group == THRUM || what->group == THRUM_LIVE)
		recording_start(file, what->group == THRUM_LIVE);
	run_batch(what, runner, BATCH);
	if (what->prepare)
		what->prepare(runner);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	what->run(runner, events);
	raise(SIGUSR1);
}

/* Returns the instructions of `events` events and of the code around them, or -1 if they can't be
 * counted. */
static long step(const struct bench_case *what, struct runner *runner, const char *file,
	unsigned events)
{
	long steps = 0;
	int status;
	pid_t child = fork();

	if (child == 0) {
		step_child(what, runner, file, events);
		_exit(0);
	}
	if (child < 0)
		return -1;
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return -1;
	while (ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0 &&
		waitpid(child, &status, 0) == child && WIFSTOPPED(status) &&
		WSTOPSIG(status) == SIGTRAP)
		steps++;
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	unlink(file);
	return steps;
}

#define STEPPED 20 /* events at a time; single-stepping is slow */

/* Takes the median of three series of events, because one of them may change the packet. */
double bench_instructions(const struct bench_case *what, struct runner *runner, const char *file)
{
	long steps[4], stretch[3], least, most;

	if (what->group == LTTNG || what->factor > 1)
		return 0;
	for (unsigned i = 0; i < 4; i++) {
		steps[i] = step(what, runner, file, i * STEPPED);
		if (steps[i] < 0)
			return 0;
	}
	for (unsigned i = 0; i < 3; i++)
		stretch[i] = steps[i + 1] - steps[i];
	least = stretch[0] < stretch[1] ? stretch[0] : stretch[1];
	most = stretch[0] < stretch[1] ? stretch[1] : stretch[0];
	return (double)(stretch[2] < least         ? least
			       : stretch[2] > most ? most
						   : stretch[2]) /
		STEPPED;
}

/* ---- Packet switches ------------------------------------------------------------------------- */

#define CYCLES_MAX 16384
#define CALLS 3000000

/* Times single calls; histogram[n] counts those that took n units of the clock. */
static void time_calls(uint32_t *histogram, unsigned calls)
{
	thrum_task task = thrum_task_current();

	for (unsigned i = 0; i < calls; i++) {
		uint64_t begin = bench_clock(), spent;

		thrum_task_wait(task, task);
		spent = bench_clock() - begin;
		histogram[spent < CYCLES_MAX ? spent : CYCLES_MAX - 1]++;
	}
}

/* Returns the duration that `rank` calls exceed. */
static unsigned slower_than(const uint32_t *histogram, uint64_t rank)
{
	unsigned i = CYCLES_MAX - 1;

	for (uint64_t sum = histogram[i]; sum <= rank && i > 0; sum += histogram[i])
		i--;
	return i;
}

/* The slowest calls are those that changed the packet, and their number is known. */
double bench_packet_switch(void)
{
	static uint32_t histogram[CYCLES_MAX];
	uint64_t changes = (uint64_t)(CALLS / recording_packet_waits());

	time_calls(histogram, CALLS); /* all pages are warm now */
	memset(histogram, 0, sizeof histogram);
	time_calls(histogram, CALLS);
	return (double)(slower_than(histogram, changes / 2) - slower_than(histogram, CALLS / 2)) /
		bench_clock_rate();
}
