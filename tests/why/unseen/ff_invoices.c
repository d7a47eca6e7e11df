/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow=thread save_invoice
 *   truth: When the file is locked, busy_handler sleeps half a second before it tries again, though the backup holds the
 *     lock for some milliseconds only; the slow save_invoice slept nearly all of its time.
 *   culprit: busy_handler|sleep
 *   victim: copy_pages|write_invoice
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about SQLite built without usleep, whose busy handler sleeps whole seconds. A book-keeping program
 * whose threads save invoices into one file, while a backup copies it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define INVOICES 8

static int book;           /* the file, in memory */
static bool have_usleep;   /* what the build's configure script has found */
static sem_t backup_begun; /* the backup has the file */
static sem_t backup_wanted;

static void sleep_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- The library for files ---- */

/* Each user has a descriptor of its own, so that the locks are its own. */
static int book_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", book);
	return open(path, O_RDWR | O_CLOEXEC);
}

static bool busy_handler(int attempt)
{
	static const int delays[] = {1, 2, 5, 10, 15, 20, 25};

	if (attempt > 100)
		return false;
	if (have_usleep)
		sleep_ms(delays[attempt < 7 ? attempt : 6]);
	else
		sleep_ms(500);
	return true;
}

static bool book_lock(int file)
{
	for (int attempt = 0; flock(file, LOCK_EX | LOCK_NB); attempt++)
		if (errno != EWOULDBLOCK || !busy_handler(attempt))
			return false;
	return true;
}

static void book_close(int file)
{
	flock(file, LOCK_UN);
	close(file);
}

/* ---- The program ---- */

static void write_invoice(int file, int number)
{
	char page[512];
	int size = snprintf(page, sizeof(page), "invoice %d: %d.00\n", number, number * 37 % 400);

	if (pwrite(file, page, (size_t)size, number * 512) != size)
		perror("invoice");
}

static void *save_invoice(void *data)
{
	int number = *(int *)data;
	int file = book_open();

	if (file < 0 || !book_lock(file)) {
		fprintf(stderr, "invoice %d: the book is locked\n", number);
		return NULL;
	}
	write_invoice(file, number);
	book_close(file);
	return NULL;
}

static void copy_pages(int file)
{
	char page[512];

	for (int i = 0; i < INVOICES; i++) {
		if (pread(file, page, sizeof(page), i * 512) < 0)
			break;
		sleep_ms(2); /* the other disk is slow */
	}
}

static void *run_backup(void *unused)
{
	int file = book_open();

	(void)unused;
	sem_wait(&backup_wanted);
	if (file >= 0 && book_lock(file)) {
		sem_post(&backup_begun);
		copy_pages(file);
		book_close(file);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t backup, saver;

	have_usleep = !(argc > 1 && !strcmp(argv[1], "broken"));
	book = memfd_create("book", MFD_CLOEXEC);
	if (book < 0)
		return 1;
	sem_init(&backup_begun, 0, 0);
	sem_init(&backup_wanted, 0, 0);
	pthread_create(&backup, NULL, run_backup, NULL);
	for (int i = 0; i < INVOICES; i++) {
		if (i == 5) {
			sem_post(&backup_wanted);
			sem_wait(&backup_begun);
		}
		pthread_create(&saver, NULL, save_invoice, &i);
		pthread_join(saver, NULL);
	}
	pthread_join(backup, NULL);
	close(book);
	return 0;
}
