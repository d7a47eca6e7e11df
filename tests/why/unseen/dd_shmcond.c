/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The worker process crashed (abort) after it took the job and before it signalled the condition in shared
 *     memory. The master waits for that signal, and doesn't look after its child.
 *   culprit: crunch|start_worker|worker.*(ended|died|signal|abort)|process \d+.*(ended|died|signal)
 *   victim: \bmain\b|wait_for_result
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A master gives jobs to a worker process by shared memory. */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct board {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int job, done;
};

static void crunch(int job, bool broken)
{
	usleep(1000);
	if (broken && job == 6)
		kill(getpid(), SIGSEGV);
}

static void run_worker(struct board *board, bool broken)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "crunch");
	setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
	pthread_mutex_lock(&board->lock);
	while (board->job >= 0) {
		if (board->job == board->done) {
			pthread_cond_wait(&board->changed, &board->lock);
			continue;
		}
		int job = board->job;

		pthread_mutex_unlock(&board->lock);
		crunch(job, broken);
		pthread_mutex_lock(&board->lock);
		board->done = job;
		pthread_cond_broadcast(&board->changed);
	}
	pthread_mutex_unlock(&board->lock);
	_exit(0);
}

static void wait_for_result(struct board *board, int job)
{
	while (board->done != job)
		pthread_cond_wait(&board->changed, &board->lock);
}

static pid_t start_worker(struct board *board, bool broken)
{
	pid_t child = fork();

	if (child == 0)
		run_worker(board, broken);
	return child;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");
	struct board *board = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		-1, 0);
	pthread_mutexattr_t lock;
	pthread_condattr_t changed;
	pid_t child;

	pthread_mutexattr_init(&lock);
	pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&board->lock, &lock);
	pthread_condattr_init(&changed);
	pthread_condattr_setpshared(&changed, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&board->changed, &changed);
	child = start_worker(board, broken);
	pthread_mutex_lock(&board->lock);
	for (int job = 1; job <= 10; job++) {
		board->job = job;
		pthread_cond_broadcast(&board->changed);
		wait_for_result(board, job);
		printf("job %d\n", job);
	}
	board->job = -1;
	pthread_cond_broadcast(&board->changed);
	pthread_mutex_unlock(&board->lock);
	waitpid(child, NULL, 0);
	return 0;
}
