/* SPDX-License-Identifier: ISC */
/*
 * FIFOs that only this program knows: they lie in a folder whose name mkdtemp() chose for it. So nobody else
 * opens them, unless the program tells the name: a child that runs another program may have been told.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/call/call.h"
#include "adapt/relatives/processes.h"

REAL(mkdtemp)

#define FOLDERS 16 /* the latest */

/* By a hash of the path. A fork's child has copies, which are its parent's. */
static struct folder {
	_Atomic uint64_t path;
	_Atomic pid_t process;
} folders[FOLDERS];
static _Atomic uint32_t made;

static uint64_t hash_of(const char *path, size_t size)
{
	uint64_t hash = 1;

	for (size_t i = 0; i < size; i++)
		hash = mix_key(hash, (unsigned char)path[i]);
	return hash;
}

STAND_IN char *mkdtemp(char *name)
{
	char *path = real_mkdtemp(CALLER)(name);

	if (path) {
		struct folder *folder = &folders[atomic_fetch_add(&made, 1) % FOLDERS];

		atomic_store(&folder->process, 0);
		atomic_store(&folder->path, hash_of(path, strlen(path)));
		atomic_store(&folder->process, own_pid());
	}
	return path;
}

static bool is_in_own_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	uint64_t hash;

	if (!slash || atomic_load(&made) == 0)
		return false;
	hash = hash_of(path, (size_t)(slash - path));
	for (int i = 0; i < FOLDERS; i++)
		if (atomic_load(&folders[i].path) == hash &&
			atomic_load(&folders[i].process) == own_pid())
			return true;
	return false;
}

bool thrum__adapt_fifo_is_own(const char *path)
{
	int error = errno, before;
	struct look look = {.fd = -1};

	if (!is_in_own_folder(path))
		return false;
	/* The thread must not be cancelled while files are open. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	thrum__adapt_relatives_look(&look);
	pthread_setcancelstate(before, NULL);
	errno = error;
	return look.count == 1 && look.is_whole;
}
