/* SPDX-License-Identifier: ISC */
/* Changes recordings that have ended: cuts off their unused end, and notes how they ended. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/clock.h"
#include "port/port.h"
#include "read/read.h"
#include "source/input.h"
#include "source/process.h"

/* Whether the recorder lives: by the process's id, or by the lock that it holds on its file, which
 * is seen from other containers. */
static bool is_owned(const struct thrum__source_owner *owner, const struct thrum__header *header)
{
	return thrum__source_process_lives(header->pid, header->process_start) ||
		thrum__port_file_is_locked(owner->fd);
}

bool thrum__source_is_recorded_to(const struct thrum__input *input,
	const struct thrum__header *header)
{
	const struct thrum__source_owner *owner = thrum__source_owner(input);

	if (atomic_load(&header->state) != THRUM__RECORDING)
		return false;
	return owner->is_written ? owner->is_written(input->owner) != 0 : is_owned(owner, header);
}

bool thrum__source_was_killed(const struct thrum__input *input, const struct thrum__header *header)
{
	const struct thrum__source_owner *owner = thrum__source_owner(input);

	if (atomic_load(&header->state) != THRUM__RECORDING)
		return false;
	return owner->is_written ? owner->is_written(input->owner) == 0
				 : header->pid != 0 && !is_owned(owner, header);
}

const char *thrum__source_refusal(const char *from, const char *to)
{
	struct stat there, recording;
	struct thrum__input input;
	struct thrum__header header;

	if (stat(to, &there) || !S_ISREG(there.st_mode))
		return NULL;
	if (from && stat(from, &recording) == 0 && recording.st_dev == there.st_dev &&
		recording.st_ino == there.st_ino)
		return "this is the recording itself; choose another name";
	if (thrum__source_open(to, &input, NULL))
		return NULL;
	bool is_live = thrum__source_header(&input, &header, NULL) == 0 &&
		thrum__source_is_recorded_to(&input, &header);

	thrum__source_close(input.owner);
	return is_live ? "a process records to this file; choose another name" : NULL;
}

/* ---- Opening ---------------------------------------------------------------------------- */

/* Opens the input's file for writing. Returns its descriptor, or a negative enum thrum_error:
 * -THRUM_E_SYSTEM when the path now names another file. */
static int open_again(const char *file, const struct thrum__input *input)
{
	struct stat known, opened;
	int fd = open(file, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return thrum__source_error_of(errno);
	if (fstat(thrum__source_owner(input)->fd, &known) == 0 && fstat(fd, &opened) == 0 &&
		known.st_dev == opened.st_dev && known.st_ino == opened.st_ino)
		return fd;
	close(fd);
	return -THRUM_E_SYSTEM;
}

/* Writes the header from the time of the end on. */
static int write_end(struct thrum__source_change *change)
{
	const struct thrum__header *header = &change->header;

	return thrum__source_write_at(&change->fd, offsetof(struct thrum__header, ended),
		&header->ended, sizeof *header - offsetof(struct thrum__header, ended));
}

/* Notes in the header when a process that nobody saw die was last alive. The file tells that only until it is
 * changed. */
static int keep_witnessed(struct thrum__source_change *change, uint64_t ticks)
{
	struct thrum__header *header = &change->header;

	if (ticks == 0)
		return 0;
	header->born = 0;
	if (ticks > atomic_load(&header->ended))
		atomic_store(&header->ended, ticks);
	return write_end(change);
}

static int change_file(const char *file, struct thrum__source_change *change,
	int (*apply)(struct thrum__source_change *), struct thrum_error_info *info)
{
	const struct thrum__input *input = change->input;
	int error = thrum__source_header(input, &change->header, info);
	if (error != 0)
		return error;
	if (thrum__source_is_recorded_to(input, &change->header))
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"process %u still records to it: it can't be changed",
			(unsigned)change->header.pid);
	change->fd = open_again(file, input);
	if (change->fd < 0)
		return thrum__read_error_set(info, change->fd, 0, "can't be opened for writing: %s",
			thrum_error_message(change->fd));
	change->file_size = input->size(input->owner);
	error = thrum__format_read_clocks(input, &change->header);
	if (error == 0)
		error = keep_witnessed(change, thrum__source_ticks_witnessed(input));
	if (error == 0)
		error = apply(change);
	close(change->fd);
	if (error != 0)
		thrum__read_error_set(info, error, 0, "can't be changed: %s",
			thrum_error_message(error));
	return error;
}

int thrum__source_change(const char *file, int (*apply)(struct thrum__source_change *),
	void *context, struct thrum_error_info *info)
{
	struct thrum__input input;
	struct thrum__source_change change = {.input = &input, .context = context};
	int error = thrum__source_open(file, &input, info);
	if (error != 0)
		return error;
	error = change_file(file, &change, apply, info);
	thrum__source_close(input.owner);
	return error;
}

/* ---- Trimming --------------------------------------------------------------------------- */

/*
 * Cuts the file to the packets that are used. Writes the header first: if the process is
 * interrupted in between, the file is only longer than it must be.
 */
static int trim(struct thrum__source_change *change)
{
	struct thrum__header *header = &change->header;
	uint32_t used = atomic_load(&header->packets_used);
	if (used >= header->packets)
		return 0;
	header->packets = used;
	header->packet.size = (uint64_t)used * header->packet_size;
	uint64_t size = header->packet.offset + header->packet.size;
	/* Sections may lie in any order. */
	const struct thrum__section *sections[] = {&header->metadata, &header->definitions,
		&header->counters, &header->live_tasks, &header->control, &header->off_cpu};
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		if (sections[i]->offset + sections[i]->size > size)
			size = sections[i]->offset + sections[i]->size;
	}
	if (size >= change->file_size)
		return 0;
	header->size = size;
	int error = thrum__source_write_at(&change->fd, 0, header,
		offsetof(struct thrum__header, state));
	if (error == 0 && ftruncate(change->fd, (off_t)size) != 0)
		error = thrum__source_error_of(errno);
	return error;
}

int thrum_trace_trim(const char *file, struct thrum_error_info *info)
{
	return thrum__source_change(file, trim, NULL, info);
}

/* ---- The end ---------------------------------------------------------------------------- */

struct end {
	enum thrum_ending ending;
	int code;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
};

static int note_end(struct thrum__source_change *change)
{
	const struct end *end = change->context;
	struct thrum__header *header = &change->header;
	uint32_t ending = atomic_load(&header->ending);

	if (atomic_load(&header->state) == THRUM__RECORDING && ending == 0)
		atomic_store(&header->ended, thrum__format_ticks_at(header, end->time));
	else if (ending != THRUM__ENDED_EXITED || end->ending != THRUM_ENDING_EXITED)
		return 0;
	atomic_store(&header->ending, end->ending);
	atomic_store(&header->ending_code, end->code);
	return write_end(change);
}

int thrum_trace_note_end(const char *file, enum thrum_ending ending, int code,
	struct thrum_error_info *info)
{
	return thrum__source_note_end(file, ending, code, thrum__port_monotonic(), info);
}

int thrum__source_note_end(const char *file, enum thrum_ending ending, int code, uint64_t time,
	struct thrum_error_info *info)
{
	struct end end = {ending, code, time};

	if (ending != THRUM_ENDING_EXITED && ending != THRUM_ENDING_KILLED &&
		ending != THRUM_ENDING_GONE)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
			"a process can't have ended in this way");
	return thrum__source_change(file, note_end, &end, info);
}

void thrum__source_note_alive(const char *file)
{
	struct thrum__header header, *shared = MAP_FAILED;
	struct thrum__input input;
	uint64_t time = thrum__port_monotonic(), before;
	int fd;

	if (thrum__source_open(file, &input, NULL) < 0)
		return;
	fd = thrum__source_header(&input, &header, NULL) == 0 &&
			thrum__format_read_clocks(&input, &header) == 0
		? open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
		: -1;
	before = atomic_load(&header.ended);
	/* It lives after `time` and after the end was read: so that is not its own. */
	if (fd >= 0 && atomic_load(&header.ending) == 0 &&
		thrum__source_is_recorded_to(&input, &header))
		shared = mmap(NULL, sizeof header, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared != MAP_FAILED) {
		if (memcmp(shared->uuid, header.uuid, sizeof header.uuid) == 0)
			atomic_compare_exchange_strong(&shared->ended, &before,
				thrum__format_ticks_at(&header, time));
		munmap(shared, sizeof header);
	}
	if (fd >= 0)
		close(fd);
	thrum__source_close(input.owner);
}
