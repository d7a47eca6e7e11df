/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: save_positions forks while it holds positions_lock; the number library's handler for fork, crew_stop, joins
 *     its threads, and these first want positions_lock to publish the results that are still in their queue.
 *   culprit: save_positions|positions_lock|crew_stop|\bmain\b
 *   victim: publish|calc
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about numeric libraries that stop their threads before a fork. A risk calculator values
 * positions in the threads of a small library, and now and then lets a child write all positions to disk.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The number library ---- */

#define CREW 2
#define JOBS 32

struct job {
	void (*run)(int position);
	int position;
};

static pthread_mutex_t crew_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t crew_work = PTHREAD_COND_INITIALIZER;
static pthread_t crew[CREW];
static struct job jobs[JOBS];
static int first_job, last_job;
static bool crew_ending;

static void *calc(void *unused)
{
	struct job job;

	(void)unused;
	pthread_mutex_lock(&crew_lock);
	for (;;) {
		while (first_job == last_job && !crew_ending)
			pthread_cond_wait(&crew_work, &crew_lock);
		if (first_job == last_job)
			break;
		job = jobs[first_job++ % JOBS];
		pthread_mutex_unlock(&crew_lock);
		job.run(job.position);
		pthread_mutex_lock(&crew_lock);
	}
	pthread_mutex_unlock(&crew_lock);
	return NULL;
}

static void crew_start(void)
{
	crew_ending = false;
	for (int i = 0; i < CREW; i++) {
		pthread_create(&crew[i], NULL, calc, NULL);
		pthread_setname_np(crew[i], "calc");
	}
}

/* Threads don't survive a fork. So the library ends them before, when they have done all jobs. */
static void crew_stop(void)
{
	pthread_mutex_lock(&crew_lock);
	crew_ending = true;
	pthread_cond_broadcast(&crew_work);
	pthread_mutex_unlock(&crew_lock);
	for (int i = 0; i < CREW; i++)
		pthread_join(crew[i], NULL);
}

static void crew_submit(void (*run)(int), int position)
{
	pthread_mutex_lock(&crew_lock);
	jobs[last_job++ % JOBS] = (struct job){run, position};
	pthread_cond_signal(&crew_work);
	pthread_mutex_unlock(&crew_lock);
}

static void crew_init(void)
{
	pthread_atfork(crew_stop, crew_start, NULL);
	crew_start();
}

/* ---- The program ---- */

#define POSITIONS 8

static pthread_mutex_t positions_lock = PTHREAD_MUTEX_INITIALIZER;
static double price[POSITIONS], risk[POSITIONS];

static void publish(int position)
{
	double value = 0;

	for (int i = 1; i < 2000; i++)
		value += 1.0 / i / (position + 1);
	pthread_mutex_lock(&positions_lock);
	risk[position] = price[position] * value;
	pthread_mutex_unlock(&positions_lock);
}

/* New prices arrive; each changed position is valued anew. The caller holds the lock. */
static void take_prices(int round)
{
	for (int i = 0; i < POSITIONS; i++)
		if ((i + round) % 2 == 0) {
			price[i] = 100 + round + i;
			crew_submit(publish, i);
		}
}

static void write_table(const double *table)
{
	int file = open("/dev/null", O_WRONLY);

	for (int i = 0; i < POSITIONS; i++)
		dprintf(file, "%d %.2f\n", i, table[i]);
	close(file);
}

static pid_t fork_writer(const double *table)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		write_table(table);
		_exit(0);
	}
	return child;
}

/* The prices and what is saved belong together, so all happens under one lock. */
static void save_positions(int round, bool copy)
{
	double table[POSITIONS];
	pid_t child;

	pthread_mutex_lock(&positions_lock);
	take_prices(round);
	if (copy) {
		memcpy(table, risk, sizeof(table));
		pthread_mutex_unlock(&positions_lock);
		child = fork_writer(table);
	} else {
		child = fork_writer(risk);
		pthread_mutex_unlock(&positions_lock);
	}
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	crew_init();
	for (int round = 0; round < 6; round++) {
		pthread_mutex_lock(&positions_lock);
		take_prices(round);
		pthread_mutex_unlock(&positions_lock);
		if (round % 3 == 2)
			save_positions(round, !broken);
	}
	crew_stop();
	printf("risk of position 0: %.2f\n", risk[0]);
	return 0;
}
