/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: The counter of district 2 (a child process from start_counter) meets a damaged ballot in count_batch; spoil calls
 *     _exit while the process holds the shared mutex tally->lock. Nobody unlocks it any more: main hangs in show_result,
 *     the other counters in count_batch.
 *   culprit: spoil|count_batch|start_counter
 *   victim: main\b|show_result
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* An election office: a process for each district counts ballots into shared memory, and the office shows the result. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DISTRICTS 3
#define PARTIES 4
#define BATCHES 20
#define BATCH 50

struct tally {
	pthread_mutex_t lock; /* shared by all processes */
	long votes[PARTIES];
	long spoilt;
	int batches;
	int finished;
};

static struct tally *tally;
static bool broken;

static void make_batch(int district, int number, int *ballots)
{
	unsigned seed = (unsigned)(district * 100 + number);

	for (int i = 0; i < BATCH; i++) {
		seed = seed * 1103515245 + 12345;
		ballots[i] = (int)(seed >> 16) % PARTIES;
	}
	if (district == 2 && number == 7)
		ballots[31] = 9;
}

/* A ballot that no one can read ends the count of the district: people have to look at the paper. */
static void spoil(int district)
{
	tally->spoilt++;
	tally->finished++;
	if (!broken)
		pthread_mutex_unlock(&tally->lock);
	printf("district %d is counted by hand\n", district);
	fflush(stdout);
	_exit(3);
}

static void count_batch(int district, const int *ballots)
{
	pthread_mutex_lock(&tally->lock);
	for (int i = 0; i < BATCH; i++) {
		if (ballots[i] >= PARTIES)
			spoil(district);
		tally->votes[ballots[i]]++;
	}
	tally->batches++;
	usleep(1000);
	pthread_mutex_unlock(&tally->lock);
}

static void count_district(int district)
{
	int ballots[BATCH];

	for (int number = 0; number < BATCHES; number++) {
		make_batch(district, number, ballots);
		usleep(15000); /* the scanner */
		count_batch(district, ballots);
	}
	pthread_mutex_lock(&tally->lock);
	tally->finished++;
	pthread_mutex_unlock(&tally->lock);
}

static pid_t start_counter(int district)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* no count without the office */
		count_district(district);
		_exit(0);
	}
	return child;
}

/* Shows how it stands, and returns whether all is counted. */
static bool show_result(void)
{
	bool finished;

	pthread_mutex_lock(&tally->lock);
	printf("%2d batches: %ld %ld %ld %ld\n", tally->batches, tally->votes[0], tally->votes[1],
		tally->votes[2], tally->votes[3]);
	finished = tally->finished == DISTRICTS;
	pthread_mutex_unlock(&tally->lock);
	fflush(stdout);
	return finished;
}

/* The clock in the hall. */
static void *run_clock(void *data)
{
	unsigned *seconds = data;

	for (;;) {
		usleep(100000);
		++*seconds;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;
	pthread_t clock;
	pid_t counters[DISTRICTS];
	static unsigned seconds;
	int by_hand = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (tally == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&tally->lock, &attributes);
	for (int district = 0; district < DISTRICTS; district++)
		counters[district] = start_counter(district + 1);
	pthread_create(&clock, NULL, run_clock, &seconds);
	pthread_setname_np(clock, "clock");
	while (!show_result())
		usleep(30000);
	for (int district = 0; district < DISTRICTS; district++) {
		int status = 0;

		waitpid(counters[district], &status, 0);
		by_hand += WIFEXITED(status) && WEXITSTATUS(status) == 3;
	}
	printf("closed; %d by hand\n", by_hand);
	return 0;
}
