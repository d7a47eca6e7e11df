/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the processes share a ring of jobs. take_job of the printer takes ring_lock first and then
 *     waits for the semaphore jobs_filled, with the lock held. When the ring is empty, add_job can't get
 *     the lock, so no job comes.
 *   culprit: take_job|run_printer
 *   victim: add_job
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A printer spooler: two processes accept jobs, and one prints them. They share memory and semaphores. */
#define _GNU_SOURCE
#include <semaphore.h>
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

#define PLACES 8
#define CLIENTS 2

struct job {
	int client, number, pages;
};

struct spool {
	sem_t ring_lock, jobs_filled, places_empty;
	struct job ring[PLACES];
	unsigned first, last;
	long pages;
};

static struct spool *spool;
static bool lock_first;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void down(sem_t *semaphore)
{
	while (sem_wait(semaphore))
		continue;
}

static void add_job(const struct job *job)
{
	down(&spool->places_empty);
	down(&spool->ring_lock);
	spool->ring[spool->last++ % PLACES] = *job;
	sem_post(&spool->ring_lock);
	sem_post(&spool->jobs_filled);
}

static struct job take_job(void)
{
	struct job job;

	if (lock_first) {
		down(&spool->ring_lock);
		down(&spool->jobs_filled);
	} else {
		down(&spool->jobs_filled);
		down(&spool->ring_lock);
	}
	job = spool->ring[spool->first++ % PLACES];
	sem_post(&spool->ring_lock);
	sem_post(&spool->places_empty);
	return job;
}

static _Noreturn void run_printer(void)
{
	pause_ms(100); /* warms up */
	for (;;) {
		struct job job = take_job();

		pause_ms(2 * job.pages);
		spool->pages += job.pages;
	}
}

static _Noreturn void run_client(int client)
{
	for (int number = 1;; number++) {
		struct job job = {client, number, 1 + number % 4};

		add_job(&job);
		pause_ms(number < 6 ? 5 : 25);
	}
}

static pid_t start(int client)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (client)
			run_client(client);
		run_printer();
	}
	return pid;
}

/* Tells now and then how much was printed, and starts processes anew that have ended. */
static void supervise(pid_t *pids, int count)
{
	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		for (int i = 0; i < count && pid > 0; i++)
			if (pids[i] == pid)
				pids[i] = start(i);
		printf("%ld pages\n", spool->pages);
		fflush(stdout);
		pause_ms(250);
	}
}

int main(int argc, char **argv)
{
	pid_t pids[CLIENTS + 1];

	lock_first = argc > 1 && !strcmp(argv[1], "broken");
	spool = mmap(NULL, sizeof(*spool), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (spool == MAP_FAILED)
		return 1;
	sem_init(&spool->ring_lock, 1, 1);
	sem_init(&spool->jobs_filled, 1, 0);
	sem_init(&spool->places_empty, 1, PLACES);
	for (int i = 0; i <= CLIENTS; i++) {
		pids[i] = start(i);
		if (pids[i] < 0)
			return 1;
	}
	supervise(pids, CLIENTS + 1);
}
