/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1200
 *   ask: why
 *   truth: scan_folder runs in libuv's pool of four threads and waits there for the checksums of its files, which
 *     hash_file computes in the same pool. Four folders are scanned at once, so each thread of the pool waits in
 *     scan_folder, and none is left for a hash_file.
 *   culprit: scan_folder
 *   victim: hash_file|folder_scanned
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Makes an index of folders: scans them, and computes a checksum of each file, in libuv's pool. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define FOLDERS 6
#define FILES 3

struct folder;

struct file {
	uv_work_t work;
	struct folder *folder;
	struct file *next; /* among those that the loop has to start */
	unsigned sum;
};

struct folder {
	uv_work_t work;
	int number;
	struct file files[FILES];
	uv_sem_t hashed;
	int open;
	unsigned sum;
};

static bool broken;
static struct folder folders[FOLDERS];
static uv_async_t wanted;
static uv_mutex_t mutex;
static struct file *first_wanted;
static int folders_done;

static void hash_file(uv_work_t *work)
{
	struct file *file = work->data;
	unsigned sum = (unsigned)(file - file->folder->files) + 10 * (unsigned)file->folder->number;

	for (int i = 0; i < 200000; i++)
		sum = sum * 1664525 + 1013904223;
	file->sum = sum;
	if (broken)
		uv_sem_post(&file->folder->hashed);
}

static void folder_complete(struct folder *folder)
{
	for (int i = 0; i < FILES; i++)
		folder->sum += folder->files[i].sum;
	if (++folders_done == FOLDERS)
		uv_close((uv_handle_t *)&wanted, NULL);
}

static void file_hashed(uv_work_t *work, int status)
{
	struct file *file = work->data;

	(void)status;
	if (!broken && --file->folder->open == 0)
		folder_complete(file->folder);
}

static void file_start(struct file *file)
{
	file->work.data = file;
	uv_queue_work(uv_default_loop(), &file->work, hash_file, file_hashed);
}

/* Runs in the loop: starts what the threads want. */
static void start_wanted(uv_async_t *async)
{
	struct file *file;

	(void)async;
	uv_mutex_lock(&mutex);
	file = first_wanted;
	first_wanted = NULL;
	uv_mutex_unlock(&mutex);
	while (file) {
		struct file *next = file->next;

		file_start(file);
		file = next;
	}
}

/* Only the loop may queue work, so a thread asks it to. */
static void want(struct file *file)
{
	uv_mutex_lock(&mutex);
	file->next = first_wanted;
	first_wanted = file;
	uv_mutex_unlock(&mutex);
	uv_async_send(&wanted);
}

static void scan_folder(uv_work_t *work)
{
	struct folder *folder = work->data;

	uv_sleep(5); /* reads the folder */
	for (int i = 0; i < FILES; i++)
		folder->files[i].folder = folder;
	if (!broken)
		return;
	for (int i = 0; i < FILES; i++)
		want(&folder->files[i]);
	for (int i = 0; i < FILES; i++)
		uv_sem_wait(&folder->hashed);
}

static void folder_scanned(uv_work_t *work, int status)
{
	struct folder *folder = work->data;

	(void)status;
	if (broken) {
		folder_complete(folder);
		return;
	}
	folder->open = FILES;
	for (int i = 0; i < FILES; i++)
		file_start(&folder->files[i]);
}

int main(int argc, char **argv)
{
	unsigned sum = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	setenv("UV_THREADPOOL_SIZE", "4", 1);
	uv_mutex_init(&mutex);
	uv_async_init(uv_default_loop(), &wanted, start_wanted);
	for (int i = 0; i < FOLDERS; i++) {
		folders[i].number = i;
		folders[i].work.data = &folders[i];
		uv_sem_init(&folders[i].hashed, 0);
		uv_queue_work(uv_default_loop(), &folders[i].work, scan_folder, folder_scanned);
	}
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	for (int i = 0; i < FOLDERS; i++)
		sum += folders[i].sum;
	printf("index %08x\n", sum);
	return 0;
}
