/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The memory guard killed the compactor, which held the shared lock; that lock isn't robust.
 *   culprit: compact|enforce_memory_limit
 *   victim: look_up|serve_lookups|lookup-[0-9]
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A key-value server of several processes: two look up, one compacts the shared table, the parent guards. */

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 1024
#define SERVERS 2
#define LOOKUPS 250
#define CHUNK 65536
#define SCRATCH_MAX (12 * CHUNK)

struct slot {
	unsigned key, value;
	bool is_deleted;
};

struct table {
	pthread_mutex_t lock;
	volatile size_t scratch_bytes; /* what the compactor uses now */
	unsigned used, repairs;
	unsigned long lookups;
	struct slot slots[SLOTS];
};

static struct table *table;

static void nap_us(long us)
{
	struct timespec time = {.tv_nsec = us * 1000};

	nanosleep(&time, NULL);
}

static void make_table(bool is_robust)
{
	pthread_mutexattr_t attributes;

	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (table == MAP_FAILED)
		abort();
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (is_robust)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&table->lock, &attributes);
	table->used = SLOTS;
	for (unsigned i = 0; i < SLOTS; i++)
		table->slots[i] = (struct slot){.key = i, .value = i * i, .is_deleted = i % 7 == 3};
}

static void lock_table(void)
{
	if (pthread_mutex_lock(&table->lock) == EOWNERDEAD) {
		/* The slots are replaced as a whole, so they are as they were. */
		table->repairs++;
		pthread_mutex_consistent(&table->lock);
	}
}

static bool look_up(unsigned key, unsigned *value)
{
	bool is_found = false;

	lock_table();
	for (unsigned i = 0; i < table->used && !is_found; i++) {
		is_found = table->slots[i].key == key && !table->slots[i].is_deleted;
		if (is_found)
			*value = table->slots[i].value;
	}
	table->lookups++;
	pthread_mutex_unlock(&table->lock);
	return is_found;
}

static void serve_lookups(int number)
{
	unsigned value = 0, misses = 0;
	char name[16];

	snprintf(name, sizeof(name), "lookup-%d", number);
	prctl(PR_SET_NAME, name);
	for (unsigned i = 0; i < LOOKUPS; i++) {
		misses += !look_up((i * 37 + value) % SLOTS, &value);
		nap_us(300);
	}
	_exit(misses > LOOKUPS);
}

/* Copies what is left to scratch memory, a chunk for each 32 slots, and puts it back. */
static void compact_table(void)
{
	struct slot *kept = malloc(sizeof(table->slots));
	unsigned count = 0;
	char *scratch = NULL;

	lock_table();
	for (unsigned i = 0; i < table->used; i++) {
		if (i % 32 == 0) {
			table->scratch_bytes += CHUNK;
			scratch = realloc(scratch, table->scratch_bytes);
			if (!scratch || !kept)
				abort();
			memset(scratch + table->scratch_bytes - CHUNK, 0xff, CHUNK);
			nap_us(2000);
		}
		if (!table->slots[i].is_deleted)
			kept[count++] = table->slots[i];
	}
	memcpy(table->slots, kept, count * sizeof(*kept));
	table->used = count;
	table->scratch_bytes = 0;
	pthread_mutex_unlock(&table->lock);
	free(scratch);
	free(kept);
}

static void run_compactor(void)
{
	prctl(PR_SET_NAME, "compactor");
	for (int rounds = 0; rounds < 3; rounds++) {
		nap_us(20000);
		compact_table();
	}
	_exit(0);
}

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static pid_t start_compactor(void)
{
	pid_t child = start_child();

	if (child == 0)
		run_compactor();
	return child;
}

/* Returns true once it has killed the compactor for its size, or that has ended. */
static bool enforce_memory_limit(pid_t compactor)
{
	if (table->scratch_bytes > SCRATCH_MAX) {
		kill(compactor, SIGKILL);
		return waitpid(compactor, NULL, 0) == compactor;
	}
	return waitpid(compactor, NULL, WNOHANG) == compactor;
}

int main(int argc, char **argv)
{
	pid_t servers[SERVERS], compactor;

	make_table(argc < 2 || strcmp(argv[1], "broken") != 0);
	for (int i = 0; i < SERVERS; i++) {
		servers[i] = start_child();
		if (servers[i] == 0)
			serve_lookups(i + 1);
	}
	compactor = start_compactor();
	while (!enforce_memory_limit(compactor))
		nap_us(3000);
	for (int i = 0; i < SERVERS; i++)
		waitpid(servers[i], NULL, 0);
	printf("%lu lookups, %u repairs, %u slots\n", table->lookups, table->repairs, table->used);
	return 0;
}
