/* SPDX-License-Identifier: ISC */
/* Copies recordings that may still be written. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/clock.h"
#include "port/port.h"
#include "read/read.h"
#include "source/input.h"
#include "source/process.h"

/* ---- Snapshots -------------------------------------------------------------------------- */

int thrum__source_write_at(void *owner, uint64_t offset, const void *from, size_t size)
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

uint64_t thrum__source_ticks_now(const struct thrum__input *input)
{
	struct thrum__header header;

	if (thrum__source_header(input, &header, NULL) != 0 ||
		thrum__format_read_clocks(input, &header) != 0)
		return 0;
	if (thrum__source_owner(input)->is_written)
		return atomic_load(&header.state) == THRUM__RECORDING ? atomic_load(&header.ended)
								      : 0;
	return thrum__format_ticks_at(&header, thrum__port_monotonic());
}

uint64_t thrum__source_ticks_witnessed(const struct thrum__input *input)
{
	struct thrum__header header;
	const struct thrum__reading *latest;
	uint64_t born, changed, ended;

	if (thrum__source_header(input, &header, NULL) != 0 || header.born == 0 ||
		atomic_load(&header.state) != THRUM__RECORDING ||
		thrum__format_read_clocks(input, &header) != 0)
		return 0;
	latest = thrum__format_latest_clock(&header);
	if (!latest || !thrum__port_file_times(thrum__source_owner(input)->fd, &born, &changed) ||
		born != header.born || changed < latest->realtime)
		return 0;
	ended = latest->monotonic + (changed - latest->realtime);
	/* The time of day was set meanwhile. */
	if (header.boot == thrum__port_boot() && ended > thrum__port_monotonic())
		return 0;
	return thrum__format_ticks_at(&header, ended);
}

int thrum__source_copy(const struct thrum__input *input, int to, uint64_t *overwritten)
{
	struct thrum__output output = {&to, thrum__source_write_at};
	struct thrum__header header;
	uint64_t ticks = thrum__source_ticks_now(input);
	uint32_t ending = THRUM__ENDED_GONE;
	bool has_header = thrum__source_header(input, &header, NULL) == 0;
	bool is_gone = has_header && thrum__source_was_killed(input, &header);
	int error;

	if (!has_header || !thrum__source_is_recorded_to(input, &header))
		ticks = is_gone ? thrum__source_ticks_witnessed(input) : 0;
	error = thrum__format_copy(input, &output, ticks, overwritten);
	/* A reader of the copy elsewhere can't find that out. */
	if (error == 0 && is_gone && atomic_load(&header.ending) == 0)
		error = thrum__source_write_at(&to, offsetof(struct thrum__header, ending), &ending,
			sizeof ending);
	return error;
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

/* Writes all bytes of an input that doesn't change. */
static int copy_bytes(const struct thrum__input *input, int to)
{
	uint8_t buffer[65536];
	int64_t got;

	for (uint64_t at = 0; (got = input->read(input->owner, at, buffer, sizeof buffer)) > 0;
		at += (uint64_t)got) {
		int error = thrum__source_write_all(to, buffer, (size_t)got);

		if (error != 0)
			return error;
	}
	return (int)got;
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
	/* A guest may publish the ring of mirage-profile. */
	bool is_mirage = error == -THRUM_E_FORMAT && strncmp(file, "xen:", 4) == 0;

	if (error == 0 || is_mirage) {
		error = is_mirage ? copy_bytes(&input, to) : copy_to(&input, to, overwritten);
		if (error != 0)
			thrum__read_error_set(info, error, 0, "copying failed: %s",
				thrum_error_message(error));
	}
	thrum__source_close(input.owner);
	return error;
}
