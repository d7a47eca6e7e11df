/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: a collector finds a sample that it can't read, and ends the process with an error while it
 *     holds the mutex of the board in shared memory. The parent, which shows the board, waits for that
 *     mutex for ever.
 *   culprit: collector
 *   victim: heartbeat
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
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

enum {
	COLLECTORS = 3,
	HOSTS = 16
};

struct board {
	pthread_mutex_t mutex;
	long total[HOSTS];
	unsigned samples, unreadable;
};

static struct board *board;
static bool checks_first;
static pid_t collector[COLLECTORS];
static volatile unsigned beats;

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void board_lock(void)
{
	if (pthread_mutex_lock(&board->mutex))
		_exit(3);
}

static void board_unlock(void)
{
	if (pthread_mutex_unlock(&board->mutex))
		_exit(3);
}

static bool board_make(void)
{
	pthread_mutexattr_t attributes;

	board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		0);
	if (board == MAP_FAILED)
		return false;
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&board->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return true;
}

/* ---- Collectors ---- */

static void next_sample(int number, int round, char *text, size_t size)
{
	if (number == 1 && round % 40 == 39)
		snprintf(text, size, "n/a");
	else
		snprintf(text, size, "%d", (number * 7919 + round * 104729) % 1000);
}

static bool parse(const char *text, long *value)
{
	char *end;

	*value = strtol(text, &end, 10);
	return end != text && !*end;
}

static void give_up(const char *text)
{
	fprintf(stderr, "sample \"%s\"?\n", text);
	_exit(2);
}

static void run_collector(int number)
{
	for (int round = 0;; round++) {
		char text[16];
		long value;

		next_sample(number, round, text, sizeof text);
		if (checks_first && !parse(text, &value)) {
			board_lock();
			board->unreadable++;
			board_unlock();
			continue;
		}
		board_lock();
		if (!parse(text, &value))
			give_up(text);
		board->total[(number + round) % HOSTS] += value;
		board->samples++;
		board_unlock();
		nap(10 + number);
	}
}

static void start_collector(int number)
{
	collector[number] = fork();
	if (collector[number] == 0) {
		char name[16];

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		snprintf(name, sizeof name, "collector %d", number);
		prctl(PR_SET_NAME, name);
		run_collector(number);
	}
}

/* ---- The parent ---- */

static void show_board(void)
{
	long total = 0;
	unsigned samples, unreadable;

	board_lock();
	for (int i = 0; i < HOSTS; i++)
		total += board->total[i];
	samples = board->samples;
	unreadable = board->unreadable;
	board_unlock();
	fprintf(stderr, "%u samples, total %ld, %u unreadable, %u beats\n", samples, total,
		unreadable, beats);
}

static void reap_collectors(void)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		for (int i = 0; i < COLLECTORS; i++)
			if (collector[i] == pid)
				start_collector(i);
}

static void *heartbeat(void *data)
{
	(void)data;
	for (;; nap(50))
		beats++;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	checks_first = argc > 1 && !strcmp(argv[1], "healthy");
	if (!board_make())
		return 1;
	for (int i = 0; i < COLLECTORS; i++)
		start_collector(i);
	if (pthread_create(&thread, NULL, heartbeat, NULL))
		return 1;
	for (;;) {
		nap(100);
		show_board();
		reap_collectors();
	}
}
