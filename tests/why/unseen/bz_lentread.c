/* SPDX-License-Identifier: ISC */
/*
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A thread reads a page under a lock for reading and hands both to a printer, which releases the lock. Then it
 * wants the lock for writing, while a viewer reads for long. */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_rwlock_t page_lock = PTHREAD_RWLOCK_INITIALIZER;
static sem_t handed, printed;
static unsigned page, views;
static bool is_slow;

static void *view(void *unused)
{
	pthread_rwlock_rdlock(&page_lock);
	for (int i = 0; i < (is_slow ? 3000 : 50); i++) {
		usleep(1000);
		views += page;
	}
	pthread_rwlock_unlock(&page_lock);
	return unused;
}

static void *print_pages(void *unused)
{
	sem_wait(&handed);
	printf("page %u\n", page);
	pthread_rwlock_unlock(&page_lock);
	sem_post(&printed);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t viewer, printer;

	is_slow = argc > 1 && !strcmp(argv[1], "slow");
	sem_init(&handed, 0, 0);
	sem_init(&printed, 0, 0);
	pthread_create(&viewer, NULL, view, NULL);
	pthread_create(&printer, NULL, print_pages, NULL);
	usleep(20000);
	pthread_rwlock_rdlock(&page_lock);
	sem_post(&handed);
	sem_wait(&printed);
	pthread_rwlock_wrlock(&page_lock);
	page++;
	pthread_rwlock_unlock(&page_lock);
	pthread_join(viewer, NULL);
	pthread_join(printer, NULL);
	printf("%u\n", views);
	return 0;
}
