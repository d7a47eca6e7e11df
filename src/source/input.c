/* SPDX-License-Identifier: ISC */
/* Opens inputs. This file has those that are files; a pipe is copied to a temporary file first. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"
#include "source/zstd.h"

struct file {
	struct thrum__source_owner owner;
};

int thrum__source_error_of(int number)
{
	switch (number) {
	case ENOENT:
	case ENOTDIR: return -THRUM_E_NOT_FOUND;
	case EACCES:
	case EPERM:
	case EROFS: return -THRUM_E_ACCESS;
	case ELOOP: return -THRUM_E_SYMLINK;
	case EEXIST:
	case ENOTEMPTY: return -THRUM_E_EXISTS;
	case ENOSPC:
	case EDQUOT: return -THRUM_E_SPACE;
	case ENOMEM: return -THRUM_E_MEMORY;
	case ENAMETOOLONG: return -THRUM_E_ARGUMENT;
	default: return -THRUM_E_SYSTEM;
	}
}

/* Reads instead of mapping the file: a mapping that loses its file's end would kill the reader. */
static int64_t file_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct file *file = owner;
	size_t done = 0;
	while (done < size && offset + done <= INT64_MAX) {
		ssize_t got = pread(file->owner.fd, (uint8_t *)to + done, size - done,
			(off_t)(offset + done));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return thrum__source_error_of(errno);
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (int64_t)done;
}

static uint64_t file_size(void *owner)
{
	const struct file *file = owner;
	struct stat status;
	return fstat(file->owner.fd, &status) == 0 && status.st_size > 0 ? (uint64_t)status.st_size
									 : 0;
}

int thrum__source_temporary_file(void)
{
	const char *folder = getenv("TMPDIR");
	if (!folder || !*folder)
		folder = "/tmp";
	int fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	/* Some file systems don't support O_TMPFILE. */
	char name[4096];
	if (snprintf(name, sizeof name, "%s/thrum-XXXXXX", folder) >= (int)sizeof name)
		return -THRUM_E_ARGUMENT;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return thrum__source_error_of(errno);
	unlink(name);
	return fd;
}

int thrum__source_write_all(int fd, const void *from, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t wrote = write(fd, (const uint8_t *)from + done, size - done);
		if (wrote < 0 && errno != EINTR)
			return thrum__source_error_of(errno);
		if (wrote > 0)
			done += (size_t)wrote;
	}
	return 0;
}

/* Copies a pipe to its end. Returns the copy's descriptor, or a negative enum thrum_error. */
static int copy_pipe(int from)
{
	uint8_t buffer[65536];
	int to = thrum__source_temporary_file();
	while (to >= 0) {
		ssize_t got = read(from, buffer, sizeof buffer);
		if (got < 0 && errno == EINTR)
			continue;
		int error = got < 0 ? thrum__source_error_of(errno)
				    : thrum__source_write_all(to, buffer, (size_t)got);
		if (error == 0 && got > 0)
			continue;
		if (error == 0)
			return to;
		close(to);
		return error;
	}
	return to;
}

/* Opens a file, or makes a copy of a pipe. Returns a regular file's descriptor, or a negative enum
 * thrum_error. */
static int open_bytes(const char *name, struct thrum_error_info *info)
{
	bool is_standard = strcmp(name, "-") == 0;
	int fd = is_standard ? dup(STDIN_FILENO) : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return thrum__read_error_set(info, thrum__source_error_of(errno), 0,
			"can't be opened: %s", strerror(errno));
	struct stat status = {0};
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return fd;
	if (S_ISDIR(status.st_mode)) {
		close(fd);
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"it is a folder, not a file");
	}
	/* Some devices have no end. */
	if (!is_standard && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))) {
		close(fd);
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"it is a device, not a file");
	}
	int copy = copy_pipe(fd);
	close(fd);
	if (copy < 0)
		return thrum__read_error_set(info, copy, 0, "can't be read to a temporary file: %s",
			thrum_error_message(copy));
	return copy;
}

/* Opens a regular file, of which a copy is made if it comes from a pipe or is compressed. Returns a
 * descriptor, or a negative enum thrum_error. */
static int open_regular(const char *name, struct thrum_error_info *info)
{
	int fd = open_bytes(name, info);
	if (fd < 0 || !thrum__source_is_compressed(fd))
		return fd;
	int unpacked = thrum__source_unpack(fd, info);
	close(fd);
	return unpacked;
}

static void close_file(void *owner)
{
	struct file *file = owner;

	close(file->owner.fd);
	free(file);
}

int thrum__source_input_of(int fd, struct thrum__input *input)
{
	struct file *file = malloc(sizeof *file);
	if (!file) {
		close(fd);
		return -THRUM_E_MEMORY;
	}
	file->owner = (struct thrum__source_owner){.fd = fd, .close = close_file};
	*input = (struct thrum__input){file, file_read, file_size};
	return 0;
}

/* The names that are no files. */
static const struct {
	const char *prefix;
	int (*open)(const char *, struct thrum__input *, struct thrum_error_info *);
} places[] = {
	{"memory:", thrum__source_open_memory},
	{"nats:", thrum__source_open_nats},
	{"tls:", thrum__source_open_nats_tls},
	{"xen:", thrum__source_open_xen},
};

bool thrum__source_is_place(const char *name)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strncmp(name, places[i].prefix, strlen(places[i].prefix)) == 0)
			return true;
	return false;
}

bool thrum__source_is_server(const char *name)
{
	return strncmp(name, "nats:", 5) == 0 || strncmp(name, "tls:", 4) == 0;
}

const char *thrum__source_name(const char *place)
{
	const char *slash = strrchr(place, '/'), *name = slash ? slash + 1 : place;
	bool is_server = slash && slash - place >= 2 && memcmp(slash - 2, "://", 3) == 0;
	const char *at = is_server ? memrchr(name, '@', strcspn(name, "?")) : NULL;

	return at ? at + 1 : name;
}

int thrum__source_open(const char *name, struct thrum__input *input, struct thrum_error_info *info)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t size = strlen(places[i].prefix);

		if (strncmp(name, places[i].prefix, size) == 0)
			return places[i].open(name + size, input, info);
	}
	int fd = open_regular(name, info);
	if (fd < 0)
		return fd;
	int error = thrum__source_input_of(fd, input);
	return error ? thrum__read_error_set(info, error, 0, "out of memory") : 0;
}

const struct thrum__source_owner *thrum__source_owner(const struct thrum__input *input)
{
	return input->owner;
}

int thrum__source_header(const struct thrum__input *input, struct thrum__header *header,
	struct thrum_error_info *info)
{
	const char *what = NULL;
	uint64_t offset = 0;
	memset(header, 0, sizeof *header);
	int64_t got = input->read(input->owner, 0, header, sizeof *header);
	if (got < 0)
		return thrum__read_error_set(info, (int)got, 0, "its beginning can't be read");
	int error = thrum__format_check_header(header, &what, &offset);
	if (error == -THRUM_E_FORMAT)
		return thrum__read_error_set(info, error, 0, "not a recording of thrum");
	if (error == -THRUM_E_VERSION)
		return thrum__read_error_set(info, error, offset, "written by a newer thrum");
	if (error != 0)
		return thrum__read_error_set(info, error, offset, "damaged: %s", what);
	return 0;
}

void thrum__source_close(void *owner)
{
	((struct thrum__source_owner *)owner)->close(owner);
}
