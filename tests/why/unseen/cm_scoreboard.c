/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: a worker takes long in archive_week, in which it holds the board's lock. The parent takes it for stuck and
 *     kills it there (watch_workers, replace_worker). The lock in shared memory isn't robust: nobody releases it, and
 *     the other workers and the new one wait for it.
 *   culprit: archive_week|replace_worker|killed
 *   victim: add_score|run_worker
 * case: healthy
 *   args: healthy
 *   run: kill 4000
 *   ask: why
 *   culprit: nothing
 */

/* A league's scoreboard in shared memory: worker processes add scores, a parent watches them. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	WORKERS = 3,
	TEAMS = 12,
	IDLE = 0,
	BUSY = 1
};

struct board {
	pthread_mutex_t lock;
	unsigned score[TEAMS];
	unsigned games;
	unsigned archived;
	atomic_uint state[WORKERS]; /* what each worker does */
	atomic_uint beat[WORKERS];  /* games that it has finished */
};

static struct board *board;
static pid_t worker[WORKERS];
static bool broken;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void lock_board(void)
{
	int error = pthread_mutex_lock(&board->lock);

	if (error == EOWNERDEAD)
		pthread_mutex_consistent(&board->lock);
}

static void unlock_board(void)
{
	pthread_mutex_unlock(&board->lock);
}

static void add_score(unsigned self, unsigned game)
{
	lock_board();
	atomic_store(&board->state[self], BUSY);
	board->score[(self * 5 + game) % TEAMS] += game % 4;
	board->games++;
	atomic_store(&board->state[self], IDLE);
	unlock_board();
}

/* Writes the week's games to the archive, on a disk that is asleep the first time. */
static __attribute__((noinline)) void archive_week(unsigned self, bool disk_sleeps)
{
	lock_board();
	atomic_store(&board->state[self], BUSY);
	nap(disk_sleeps ? 900 : 3);
	board->archived = board->games;
	atomic_store(&board->state[self], IDLE);
	unlock_board();
}

static void run_worker(unsigned self, bool is_first)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned game = 1;; game++) {
		add_score(self, game);
		if (self == 1 && game % 12 == 0)
			archive_week(self, is_first && game == 36);
		atomic_fetch_add(&board->beat[self], 1);
		nap(20);
	}
}

static void start_worker(unsigned number, bool is_first)
{
	worker[number] = fork();
	if (worker[number] == 0) {
		run_worker(number, is_first);
		_exit(0);
	}
}

/* A worker that doesn't come back from a game is stuck. */
static void replace_worker(unsigned number)
{
	printf("worker %u is stuck\n", number);
	kill(worker[number], SIGKILL);
	waitpid(worker[number], NULL, 0);
	atomic_store(&board->state[number], IDLE);
	start_worker(number, false);
}

static void watch_workers(void)
{
	unsigned before[WORKERS] = {0};
	unsigned quiet[WORKERS] = {0};

	for (unsigned turn = 1;; turn++) {
		nap(50);
		for (unsigned i = 0; i < WORKERS; i++) {
			unsigned beat = atomic_load(&board->beat[i]);

			/* One that only waits for its turn is left alone. */
			if (beat != before[i] || atomic_load(&board->state[i]) == IDLE)
				quiet[i] = 0;
			else if (++quiet[i] == 6)
				replace_worker(i);
			before[i] = beat;
		}
		if (turn % 5 == 0) {
			printf("games of each: %u %u %u\n", before[0], before[1], before[2]);
			fflush(stdout);
		}
	}
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attributes;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (board == MAP_FAILED)
		return 1;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	if (!broken)
		pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&board->lock, &attributes);
	for (unsigned i = 0; i < WORKERS; i++)
		start_worker(i, true);
	watch_workers();
	return 0;
}
