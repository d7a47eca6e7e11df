/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 700
 *   ask: why
 *   truth: archive_worker meets a corrupt archive and returns from its thread without counting the file as done; main waits for scan_finished, which can't be signalled any more.
 *   culprit: archive_worker
 *   victim: scan_finished|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* avscan: an on-demand scanner. One walker, two workers for files, one for archives. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	FILES = 24
};

struct list {
	int entry[FILES];
	int first, last;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t file_queued = PTHREAD_COND_INITIALIZER;
static pthread_cond_t archive_queued = PTHREAD_COND_INITIALIZER;
static pthread_cond_t scan_finished = PTHREAD_COND_INITIALIZER;
static struct list files, archives;
static int outstanding;
static int infected;
static bool stopping;
static bool strict_unpack;

static void push(struct list *list, int entry)
{
	list->entry[list->last++] = entry;
}

static void scanned(int hits)
{
	pthread_mutex_lock(&list_lock);
	infected += hits;
	if (--outstanding == 0)
		pthread_cond_signal(&scan_finished);
	pthread_mutex_unlock(&list_lock);
}

static int next_of(struct list *list, pthread_cond_t *queued)
{
	int entry = -1;

	pthread_mutex_lock(&list_lock);
	while (list->first == list->last && !stopping)
		pthread_cond_wait(queued, &list_lock);
	if (list->first < list->last)
		entry = list->entry[list->first++];
	pthread_mutex_unlock(&list_lock);
	return entry;
}

static void *walker(void *unused)
{
	(void)unused;
	for (int i = 0; i < FILES; i++) {
		usleep(3000); /* readdir, stat */
		pthread_mutex_lock(&list_lock);
		if (i % 5 == 4) {
			push(&archives, i);
			pthread_cond_signal(&archive_queued);
		} else {
			push(&files, i);
			pthread_cond_signal(&file_queued);
		}
		pthread_mutex_unlock(&list_lock);
	}
	return NULL;
}

static void *file_worker(void *unused)
{
	int entry;

	(void)unused;
	while ((entry = next_of(&files, &file_queued)) >= 0) {
		usleep(4000);
		scanned(entry == 7);
	}
	return NULL;
}

static int unpack(int entry)
{
	usleep(9000);
	return entry == 14 ? -1 : 0;
}

static void *archive_worker(void *unused)
{
	int entry;

	(void)unused;
	while ((entry = next_of(&archives, &archive_queued)) >= 0) {
		if (unpack(entry)) {
			fprintf(stderr, "avscan: entry %d: corrupt archive\n", entry);
			if (strict_unpack)
				return NULL;
		}
		scanned(0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[4];

	strict_unpack = argc > 1 && !strcmp(argv[1], "broken");
	outstanding = FILES;
	pthread_create(&thread[0], NULL, file_worker, NULL);
	pthread_create(&thread[1], NULL, file_worker, NULL);
	pthread_create(&thread[2], NULL, archive_worker, NULL);
	pthread_create(&thread[3], NULL, walker, NULL);
	pthread_join(thread[3], NULL);

	pthread_mutex_lock(&list_lock);
	while (outstanding > 0)
		pthread_cond_wait(&scan_finished, &list_lock);
	stopping = true;
	pthread_cond_broadcast(&file_queued);
	pthread_cond_broadcast(&archive_queued);
	pthread_mutex_unlock(&list_lock);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("%d files, %d infected\n", FILES, infected);
	return 0;
}
