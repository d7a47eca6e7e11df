/* SPDX-License-Identifier: ISC */
/*
 * cpus FILE: tries libthrum-core.a. Threads are processors, and signals are interrupts, which come
 * in the middle of calls and of each other. Writes the memory to FILE, with something before and behind it,
 * and prints the number of tasks that it created, and the number of rounds in interrupts.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/core.h>
#include <time.h>

#define CPUS 4
#define ROUNDS 600 /* of each processor */
#define SIZE ((size_t)8 << 20)

static uint8_t memory[SIZE] __attribute__((aligned(4096)));
static __thread unsigned cpu, depth, readings;
static __thread bool is_cpu; /* else the thread isn't interrupted */
static _Atomic unsigned created, interrupts;

THRUM_CATEGORY(net, "net");
THRUM_TAG(packet, &net, "net/packet", 1);

static uint64_t read_clock(void *context)
{
	struct timespec t;

	(void)context;
	/* The recorder reads the clock in the middle of each call. */
	if (is_cpu && depth < 2 && ++readings % 7 == 0)
		raise(depth == 0 ? SIGUSR1 : SIGUSR2);
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 4;
}

static unsigned this_cpu(void)
{
	return cpu;
}

/* Each task is created, waits for another, and both end. Two numbers have more bits than is printed. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
static void round_of_calls(const char *label)
{
	thrum_task first = thrum_task_create(THRUM_KIND_REQUEST, label);
	thrum_task second = thrum_task_createf(THRUM_KIND_PROMISE, "%s %u/%05d %lx %hd %hhu", "cpu",
		cpu, -7, 255ul, 65533, 456u);

	thrum_task_wait(first, second);
	THRUM_RUN (second) {
		thrum_tag_value(&packet, 17);
		thrum_task_resolve(second);
	}
	thrum_task_read(first, second);
	thrum_task_resolve(first);
	created += 2;
}
#pragma GCC diagnostic pop

static void interrupt(int number)
{
	interrupts++;
	depth++;
	round_of_calls(number == SIGUSR1 ? "interrupt" : "interrupt in an interrupt");
	depth--;
}

static void *run_cpu(void *number)
{
	cpu = (unsigned)(uintptr_t)number;
	is_cpu = true;
	for (unsigned i = 0; i < ROUNDS; i++)
		round_of_calls("thread");
	return NULL;
}

static int write_memory(const char *name)
{
	FILE *file = fopen(name, "wb");
	/* The magic number alone is no recording. */
	static const char before[777] = "thrum\r\n\032", behind[333];
	bool is_written = file && fwrite(before, sizeof before, 1, file) == 1 &&
		fwrite(memory, sizeof memory, 1, file) == 1 &&
		fwrite(behind, sizeof behind, 1, file) == 1;

	return file && fclose(file) == 0 && is_written ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct thrum_core core = {.memory = memory,
		.size = sizeof memory,
		.clock = {.read = read_clock, .frequency = 250000000},
		.cpu = this_cpu,
		.realtime = 1700000000000000000,
		.program = "cpus"};
	struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
	struct thrum_core too_small = core;
	pthread_t threads[CPUS];

	too_small.size = 100 * 1024;
	if (argc != 2 || thrum_core_start(&too_small) != -THRUM_E_SIZE ||
		thrum_core_start(&(struct thrum_core){.memory = memory + 1}) != -THRUM_E_ARGUMENT ||
		thrum_start(NULL) == 0)
		return 2;
	int error = thrum_core_start(&core);

	if (error) {
		puts(thrum_error_message(error));
		return 2;
	}
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR2, &action, NULL);
	for (uintptr_t i = 0; i < CPUS; i++)
		if (pthread_create(&threads[i], NULL, run_cpu, (void *)i) != 0)
			return 2;
	for (unsigned i = 0; i < CPUS; i++)
		pthread_join(threads[i], NULL);
	printf("%u %u\n", created, interrupts);
	return write_memory(argv[1]);
}
