/* SPDX-License-Identifier: ISC */
/* Copies recordings that may still be written, and cuts off the unused end of those that ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"
#include "source/process.h"

/* ---- Snapshots -------------------------------------------------------------------------- */

/* The function `write` of a struct thrum__output whose owner is a file descriptor. */
static int write_at(void *owner, uint64_t offset, const void *from, size_t size)
{
	int fd = *(int *)owner;
	for (size_t done = 0; done < size;) {
		ssize_t wrote = pwrite(fd, (const uint8_t *)from + done, size - done,
			(off_t)(offset + done));
		if (wrote < 0 && errno != EINTR)
			return thrum__source_error_of(errno);
		if (wrote > 0)
			done += (size_t)wrote;
	}
	return 0;
}

/*
 * Tells whether a copy can be written directly, in any order: to an empty file, at its beginning.
 */
static bool takes_writes_anywhere(int fd)
{
	struct stat status;
	int flags = fcntl(fd, F_GETFL);
	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0 &&
		flags >= 0 && !(flags & O_APPEND) && lseek(fd, 0, SEEK_CUR) == 0;
}

/* Writes a whole file to `to`, at its position. */
static int send_file(int from, int to)
{
	uint8_t buffer[65536];
	uint64_t at = 0;
	for (;;) {
		ssize_t got = pread(from, buffer, sizeof buffer, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? thrum__source_error_of(errno) : 0;
		int error = thrum__source_write_all(to, buffer, (size_t)got);
		if (error != 0)
			return error;
		at += (uint64_t)got;
	}
}

int thrum__source_copy(const struct thrum__input *input, int to, uint64_t *overwritten)
{
	struct thrum__output output = {&to, write_at};
	return thrum__format_copy(input, &output, overwritten);
}

/*
 * Copies a recording to `to`, by way of a temporary file unless `to` is an empty file. There are
 * two reasons. The header comes first, but counts the losses of copying the rest. And a slow reader
 * of a pipe mustn't slow down the copy, because the recorder would overwrite more meanwhile.
 */
static int copy_to(const struct thrum__input *input, int to, uint64_t *overwritten)
{
	if (takes_writes_anywhere(to))
		return thrum__source_copy(input, to, overwritten);
	int temporary = thrum__source_temporary_file();
	if (temporary < 0)
		return temporary;
	int error = thrum__source_copy(input, temporary, overwritten);
	if (error == 0)
		error = send_file(temporary, to);
	close(temporary);
	return error;
}

int thrum_trace_snapshot(const char *file, int to, uint64_t *overwritten,
	struct thrum_error_info *info)
{
	struct thrum__input input;
	struct thrum__header header;
	int error = thrum__source_open(file, &input, info);
	if (error != 0)
		return error;
	error = thrum__source_header(&input, &header, info);
	if (error == 0) {
		error = copy_to(&input, to, overwritten);
		if (error != 0)
			thrum__read_error_set(info, error, 0, "copying failed: %s",
				thrum_error_message(error));
	}
	thrum__source_close(input.owner);
	return error;
}

/* ---- Trimming --------------------------------------------------------------------------- */

bool thrum__source_is_recorded_to(const struct thrum__header *header)
{
	return atomic_load(&header->state) == THRUM__RECORDING &&
		thrum__source_process_lives(header->pid, header->process_start);
}

bool thrum__source_was_killed(const struct thrum__header *header)
{
	return atomic_load(&header->state) == THRUM__RECORDING && header->pid != 0 &&
		!thrum__source_process_lives(header->pid, header->process_start);
}

/*
 * Cuts the file to the packets that are used. Writes the header first: if the process is
 * interrupted in between, the file is only longer than it must be.
 */
static int trim(int fd, uint64_t file_size, struct thrum__header *header)
{
	uint32_t used = atomic_load(&header->packets_used);
	if (used >= header->packets)
		return 0;
	header->packets = used;
	header->packet.size = (uint64_t)used * header->packet_size;
	uint64_t size = header->packet.offset + header->packet.size;
	/* Sections may lie in any order. */
	const struct thrum__section *sections[] = {&header->metadata, &header->definitions,
		&header->counters, &header->live_tasks};
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		if (sections[i]->offset + sections[i]->size > size)
			size = sections[i]->offset + sections[i]->size;
	}
	if (size >= file_size)
		return 0;
	header->size = size;
	int error = write_at(&fd, 0, header, offsetof(struct thrum__header, state));
	if (error == 0 && ftruncate(fd, (off_t)size) != 0)
		error = thrum__source_error_of(errno);
	return error;
}

/* Opens the input's file for writing. Returns its descriptor, or a negative enum thrum_error:
 * -THRUM_E_SYSTEM when the path now names another file. */
static int open_again(const char *file, const struct thrum__input *input)
{
	struct stat known, opened;
	int fd = open(file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return thrum__source_error_of(errno);
	if (fstat(thrum__source_fd(input), &known) == 0 && fstat(fd, &opened) == 0 &&
		known.st_dev == opened.st_dev && known.st_ino == opened.st_ino)
		return fd;
	close(fd);
	return -THRUM_E_SYSTEM;
}

static int trim_file(const char *file, const struct thrum__input *input,
	struct thrum_error_info *info)
{
	struct thrum__header header;
	int error = thrum__source_header(input, &header, info);
	if (error != 0)
		return error;
	if (thrum__source_is_recorded_to(&header))
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"process %u still records to it: it can't be cut", (unsigned)header.pid);
	int fd = open_again(file, input);
	if (fd < 0)
		return thrum__read_error_set(info, fd, 0, "can't be opened for writing: %s",
			thrum_error_message(fd));
	error = trim(fd, input->size(input->owner), &header);
	close(fd);
	if (error != 0)
		thrum__read_error_set(info, error, 0, "can't be cut: %s",
			thrum_error_message(error));
	return error;
}

int thrum_trace_trim(const char *file, struct thrum_error_info *info)
{
	struct thrum__input input;
	int error = thrum__source_open(file, &input, info);
	if (error != 0)
		return error;
	error = trim_file(file, &input, info);
	thrum__source_close(input.owner);
	return error;
}
