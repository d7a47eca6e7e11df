/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: run_backup locks the repository's lock file (flock) and starts prune_snapshots in a thread
 *     when a backup is done. That thread opened the lock file by itself and locks it, too; so it waits for
 *     run_backup, which joins it before it unlocks. The uploaders get no more files.
 *   culprit: prune|run_backup
 *   victim: uploader
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
/* A backup tool: rounds of uploads of changed files, and then old snapshots are removed. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define UPLOADERS 2
#define FILES 24

struct repository {
	int lock_file;
};

static pthread_mutex_t files_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t files_added = PTHREAD_COND_INITIALIZER, round_done = PTHREAD_COND_INITIALIZER;
static int files_waiting, files_under_way, snapshots;
static struct repository for_backup, for_prune;
static bool prune_locks;
static uint64_t checksum;

static void pause_ms(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

static void repository_lock(struct repository *repository)
{
	while (flock(repository->lock_file, LOCK_EX))
		continue;
}

static void repository_unlock(struct repository *repository)
{
	flock(repository->lock_file, LOCK_UN);
}

static uint64_t upload_file(int number)
{
	uint64_t sum = (uint64_t)number;

	for (int i = 0; i < 20000; i++)
		sum = sum * 6364136223846793005u + 1442695040888963407u;
	pause_ms(3);
	return sum;
}

static void *run_uploader(void *data)
{
	char name[16];

	snprintf(name, sizeof(name), "uploader %d", (int)(long)data);
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&files_lock);
	for (;;) {
		uint64_t sum;
		int number;

		while (files_waiting == 0)
			pthread_cond_wait(&files_added, &files_lock);
		number = files_waiting--;
		files_under_way++;
		pthread_mutex_unlock(&files_lock);
		sum = upload_file(number);
		pthread_mutex_lock(&files_lock);
		checksum ^= sum;
		if (--files_under_way == 0 && files_waiting == 0)
			pthread_cond_signal(&round_done);
	}
	return NULL;
}

/* Keeps the last seven snapshots. */
static void *prune_snapshots(void *data)
{
	struct repository *repository = data;

	pthread_setname_np(pthread_self(), "prune");
	if (prune_locks)
		repository_lock(repository);
	while (snapshots > 7) {
		pause_ms(4);
		snapshots--;
	}
	if (prune_locks)
		repository_unlock(repository);
	return NULL;
}

static void upload_round(void)
{
	pthread_mutex_lock(&files_lock);
	files_waiting = FILES;
	pthread_cond_broadcast(&files_added);
	while (files_waiting > 0 || files_under_way > 0)
		pthread_cond_wait(&round_done, &files_lock);
	pthread_mutex_unlock(&files_lock);
	snapshots++;
}

static int run_backup(int round)
{
	pthread_t prune;

	repository_lock(&for_backup);
	upload_round();
	if (round % 3 == 2) {
		if (pthread_create(&prune, NULL, prune_snapshots, &for_prune))
			return -1;
		pthread_join(prune, NULL);
	}
	repository_unlock(&for_backup);
	return 0;
}

/* Each part of the program has a handle of its own. */
static int repository_open(struct repository *repository, const char *path)
{
	repository->lock_file = open(path, O_RDWR | O_CLOEXEC);
	return repository->lock_file < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/bi_backup.XXXXXX";
	int file = mkstemp(path), failed;
	pthread_t threads[UPLOADERS];

	prune_locks = argc > 1 && !strcmp(argv[1], "broken");
	if (file < 0)
		return 1;
	failed = repository_open(&for_backup, path) || repository_open(&for_prune, path);
	unlink(path);
	close(file);
	if (failed)
		return 1;
	for (long i = 0; i < UPLOADERS; i++)
		if (pthread_create(&threads[i], NULL, run_uploader, (void *)(i + 1)))
			return 1;
	for (int round = 0;; round++) {
		if (run_backup(round))
			return 1;
		printf("snapshot %d, %d kept, %016llx\n", round, snapshots,
			(unsigned long long)checksum);
		fflush(stdout);
	}
}
