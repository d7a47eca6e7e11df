/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: locks in two orders: the thread "handover" (lease_hand_over) takes journal_lock and then
 *     table_lock, while the thread "reaper" holds table_lock (leases_reap) and waits for journal_lock
 *   culprit: \bhandover\b|\blease_hand_over\b|\breaper\b|\bleases_reap\b
 *   victim: \bclient \d\b|\blease of client \d
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A manager of leases: clients take machines for some time, a reaper takes back what has expired, and an
 * administrator hands leases over. The author annotated the leases and left the threads to thrum record. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

enum {
	MACHINES = 4,
	CLIENTS = 3,
	ROUNDS = 12
};

struct lease {
	thrum_task task;
	int owner; /* 0: free */
	long expires;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static struct lease leases[MACHINES];
static char journal[4096];
static size_t journal_length;
static int granted, reaped;
static bool broken, is_closing;

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* The caller holds the journal's lock. */
static void journal_line(const char *what, int machine)
{
	if (journal_length > sizeof(journal) - 64)
		journal_length = 0;
	journal_length += (size_t)snprintf(journal + journal_length, 64, "%s %d\n", what, machine);
}

static __attribute__((noinline)) void journal_add(const char *what, int machine)
{
	pthread_mutex_lock(&journal_lock);
	journal_line(what, machine);
	pthread_mutex_unlock(&journal_lock);
}

/* Returns the machine, or -1. */
static __attribute__((noinline)) int lease_take(int client)
{
	int machine = -1;

	pthread_mutex_lock(&table_lock);
	for (int i = 0; i < MACHINES && machine < 0; i++)
		if (!leases[i].owner)
			machine = i;
	if (machine >= 0) {
		leases[machine].owner = client;
		leases[machine].expires = now_ms() + 2000;
		leases[machine].task = thrum_task_createf(THRUM_KIND_TASK, "lease of client %d",
			client);
		thrum_task_should_resolve(leases[machine].task);
		granted++;
	}
	pthread_mutex_unlock(&table_lock);
	return machine;
}

static __attribute__((noinline)) void lease_give_back(int machine)
{
	pthread_mutex_lock(&table_lock);
	leases[machine].owner = 0;
	thrum_task_resolve(leases[machine].task);
	pthread_mutex_unlock(&table_lock);
}

static __attribute__((noinline)) void leases_reap(void)
{
	pthread_mutex_lock(&table_lock);
	for (int i = 0; i < MACHINES; i++) {
		if (!leases[i].owner || leases[i].expires > now_ms())
			continue;
		leases[i].owner = 0;
		thrum_task_fail(leases[i].task, "expired");
		reaped++;
	}
	journal_add("reaped", reaped);
	pthread_mutex_unlock(&table_lock);
}

/* An entry that says who has the lease now, and who had it, must not be torn: so the journal comes first. */
static __attribute__((noinline)) void lease_hand_over(int machine, int client)
{
	pthread_mutex_lock(&journal_lock);
	journal_line("hand over", machine);
	usleep(300000); /* the disk */
	pthread_mutex_lock(&table_lock);
	leases[machine].owner = client;
	pthread_mutex_unlock(&table_lock);
	pthread_mutex_unlock(&journal_lock);
}

static void *run_client(void *data)
{
	int number = (int)(long)data;
	char name[16];

	snprintf(name, sizeof(name), "client %d", number);
	pthread_setname_np(pthread_self(), name);
	for (int round = 0; round < ROUNDS; round++) {
		int machine = lease_take(number);

		usleep(15000);
		if (machine >= 0)
			lease_give_back(machine);
		usleep(5000);
	}
	return NULL;
}

static void *run_reaper(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "reaper");
	while (!__atomic_load_n(&is_closing, __ATOMIC_RELAXED)) {
		usleep(20000);
		leases_reap();
	}
	return NULL;
}

static void *run_handover(void *data)
{
	(void)data;
	pthread_setname_np(pthread_self(), "handover");
	usleep(100000);
	if (broken)
		lease_hand_over(MACHINES - 1, CLIENTS + 1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t clients[CLIENTS], reaper, handover;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (pthread_create(&reaper, NULL, run_reaper, NULL) ||
		pthread_create(&handover, NULL, run_handover, NULL))
		return 1;
	for (long i = 0; i < CLIENTS; i++)
		if (pthread_create(&clients[i], NULL, run_client, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	pthread_join(handover, NULL);
	__atomic_store_n(&is_closing, true, __ATOMIC_RELAXED);
	pthread_join(reaper, NULL);
	printf("%d granted, %d reaped, %zu bytes\n", granted, reaped, journal_length);
	return 0;
}
