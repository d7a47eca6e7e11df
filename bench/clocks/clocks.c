/* SPDX-License-Identifier: ISC */
/*
 * Tells how long it takes to find the common time of 64 machines: with their wall clocks alone, with some
 * messages of one direction that contradict these, and with many messages. A table of CPU times, the least of
 * three runs.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "program.h"
#include "read/read.h"
#include "world/parts.h"

#define HOSTS 64
#define MESSAGES 40000
#define ROUNDS 3
#define S INT64_C(1000000000) /* ns */

static struct thrum_trace traces[HOSTS];
static struct thrum__world_part parts[HOSTS];
static struct thrum__world_link ends[2 * MESSAGES];
static struct thrum__world_message messages[MESSAGES];
static struct thrum__world_times times;

/* Machines that were started a second after each other. Their times of day are wrong by up to 1.5 s. */
static void make_hosts(unsigned hours)
{
	for (uint32_t i = 0; i < HOSTS; i++) {
		struct thrum_trace_info *info = &traces[i].info;

		info->clock = "tsc";
		info->host = "";
		info->boot = i + 1;
		info->clock_frequency = S;
		info->clock_first = (uint64_t)(1000 + i) * S;
		info->monotonic = (int64_t)info->clock_first;
		info->end = hours * 3600 * S;
		info->start = 1700000000 * S + (int64_t)(rand() % 3000 - 1500) * 1000000;
		parts[i].trace = &traces[i];
	}
}

/* Each takes 100 us, from any machine to any other one. */
static void send(struct thrum__world_links *links, uint32_t count, unsigned hours)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = (uint32_t)rand() % HOSTS;
		uint32_t to = (from + 1 + (uint32_t)rand() % (HOSTS - 1)) % HOSTS;
		uint64_t at = (uint64_t)((double)rand() / RAND_MAX * hours * 3600 * (double)S);

		messages[i] = (struct thrum__world_message){2 * i, 2 * i + 1};
		ends[2 * i] = (struct thrum__world_link){.clock = traces[from].info.clock_first +
				at,
			.part = from,
			.is_send = true};
		ends[2 * i + 1] = (struct thrum__world_link){.clock = traces[to].info.clock_first +
				at + 100000,
			.part = to};
	}
	*links = (struct thrum__world_links){.all = ends,
		.messages = messages,
		.count = 2 * count,
		.message_count = count};
}

static double measure(uint32_t count, unsigned hours)
{
	struct thrum__world_links links;
	struct rusage before, after;

	srand(1);
	make_hosts(hours);
	send(&links, count, hours);
	getrusage(RUSAGE_SELF, &before);
	if (thrum__world_times_make(&times, parts, HOSTS, &links, NULL, 0))
		exit(1);
	getrusage(RUSAGE_SELF, &after);
	thrum__world_times_finish(&times);
	return bench_seconds(&after) - bench_seconds(&before);
}

int main(void)
{
	static const uint32_t counts[] = {0, 60, 300, MESSAGES};
	static const unsigned hours[] = {1, 8, 64};

	printf("64 machines, s of CPU time\n%10s", "messages");
	for (size_t k = 0; k < 3; k++)
		printf("%7u h", hours[k]);
	printf("\n");
	for (size_t i = 0; i < 4; i++) {
		printf("%10u", (unsigned)counts[i]);
		for (size_t k = 0; k < 3; k++) {
			double least = measure(counts[i], hours[k]);

			for (int round = 1; round < ROUNDS && least < 2; round++) {
				double again = measure(counts[i], hours[k]);

				least = again < least ? again : least;
			}
			printf("%9.2f", least);
		}
		printf("\n");
	}
	return 0;
}
