/* SPDX-License-Identifier: ISC */
/*
 * Two bytes of the file are locked, for the open file: byte 0 by its one writer for as long as it
 * has the file open; byte 1 by the writer while it writes, and by readers while they read.
 */
#define _GNU_SOURCE
#include "live/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "line/command.h"
#include "trace/load.h"

enum {
	LOCK_WRITER,
	LOCK_BYTES
};

/* Returns 0, or -1 with errno. */
static int lock(int fd, int byte, int type, int how)
{
	struct flock range = {.l_type = (short)type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1};

	return fcntl(fd, how, &range);
}

static int failed(const char *path, const char *why)
{
	complain("%s: %s", path, why);
	return STATUS_FAILED;
}

/* Reads a file whose bytes don't change meanwhile. An empty file is an empty history if it may be. */
static int load(int fd, const char *path, bool may_be_empty, struct thrum__monitor_history *history)
{
	struct stat about;
	char *bytes;
	size_t size = 0;
	int error;

	if (fstat(fd, &about) < 0)
		return failed(path, strerror(errno));
	if (!S_ISREG(about.st_mode) || about.st_size > (off_t)THRUM__HISTORY_FILE_MAX)
		return failed(path, "not a history of counters");
	if (about.st_size == 0 && may_be_empty)
		return STATUS_OK;
	bytes = malloc((size_t)about.st_size + 1);
	if (!bytes)
		return load_no_memory();
	while (size < (size_t)about.st_size) {
		ssize_t got = pread(fd, bytes + size, (size_t)about.st_size - size, (off_t)size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		size += (size_t)got;
	}
	error = thrum__monitor_history_load(history, bytes, size);
	free(bytes);
	if (error == -THRUM_E_FORMAT)
		return failed(path, "not a history of counters");
	return error < 0 ? failed(path, thrum_error_message(error)) : STATUS_OK;
}

int history_file_read(const char *path, struct thrum__monitor_history *history)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), status;

	if (fd < 0)
		return failed(path, strerror(errno));
	/* A file system without locks is read without. */
	while (lock(fd, LOCK_BYTES, F_RDLCK, F_OFD_SETLKW) < 0 && errno == EINTR)
		;
	status = load(fd, path, false, history);
	close(fd);
	return status;
}

int history_file_open(const char *path, struct thrum__monitor_history *history)
{
	int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	int status = STATUS_OK;

	if (fd < 0) {
		failed(path,
			errno == ELOOP ? "a symbolic link is not written to" : strerror(errno));
		return -1;
	}
	if (lock(fd, LOCK_WRITER, F_WRLCK, F_OFD_SETLK) < 0)
		status = failed(path,
			errno == EAGAIN || errno == EACCES
				? "another thrum writes to it; choose another file"
				: strerror(errno));
	if (status == STATUS_OK)
		status = load(fd, path, true, history);
	/* A writer that was killed may have left bytes of a counter that the header doesn't have. */
	if (status == STATUS_OK && history->count > 0 && ftruncate(fd, (off_t)history->size) < 0) {
		status = failed(path, strerror(errno));
		thrum__monitor_history_finish(history);
	}
	if (status == STATUS_OK)
		return fd;
	close(fd);
	return -1;
}

/* Returns 0, or -1 with errno. */
static int write_bytes(int fd, uint64_t offset, const void *from, size_t size)
{
	const char *bytes = from;

	while (size > 0) {
		ssize_t done = pwrite(fd, bytes, size, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		bytes += done;
		offset += (uint64_t)done;
		size -= (size_t)done;
	}
	return 0;
}

static int write_changes(int fd, const struct thrum__monitor_history *history)
{
	struct thrum__monitor_history_header header = thrum__monitor_history_header(history);
	struct thrum__monitor_history_piece pieces[THRUM__HISTORY_PIECES];
	struct stat about;

	if (fstat(fd, &about) < 0)
		return -1;
	if (about.st_size < (off_t)history->size && ftruncate(fd, (off_t)history->size) < 0)
		return -1;
	for (uint32_t i = 0; i < history->count; i++) {
		unsigned count = thrum__monitor_history_pieces(history, i, pieces);

		for (unsigned k = 0; k < count; k++)
			if (write_bytes(fd, pieces[k].offset, pieces[k].bytes, pieces[k].size) < 0)
				return -1;
	}
	return write_bytes(fd, 0, &header, sizeof(header));
}

int history_file_write(int fd, const char *path, const struct thrum__monitor_history *history)
{
	int status = STATUS_OK;

	while (lock(fd, LOCK_BYTES, F_WRLCK, F_OFD_SETLKW) < 0 && errno == EINTR)
		;
	if (write_changes(fd, history) < 0)
		status = failed(path, strerror(errno));
	lock(fd, LOCK_BYTES, F_UNLCK, F_OFD_SETLK);
	return status;
}
