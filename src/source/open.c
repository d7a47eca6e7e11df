/* SPDX-License-Identifier: ISC */
/* Opens traces that are files, and waits for the processes that still write to them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "port/futex.h"
#include "read/read.h"
#include "source/input.h"
#include "source/process.h"
#include "world/bundle.h"

/* A file, and the data to follow it while it is written. */
struct followed {
	struct thrum__input file;
	struct thrum_trace *trace;
	struct thrum__read_namer *namer; /* NULL: none */
	uint64_t process_start;          /* see thrum__source_process_lives */
	struct thrum__header *header;    /* shared with the recorder; NULL: not mapped */
	bool was_mapped;                 /* mapping the header was tried, maybe in vain */
	bool is_listening;               /* counted in header->waiters */
	uint32_t progress;               /* header->progress when the listening began */
};

static int64_t followed_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct thrum__input *file = &((struct followed *)owner)->file;

	return file->read(file->owner, offset, to, size);
}

static uint64_t followed_size(void *owner)
{
	const struct thrum__input *file = &((struct followed *)owner)->file;

	return file->size(file->owner);
}

static void followed_close(void *owner)
{
	struct followed *followed = owner;

	if (followed->header)
		munmap(followed->header, THRUM__HEADER_SIZE);
	thrum__source_symbols_destroy(followed->namer);
	thrum__source_close(followed->file.owner);
	free(followed);
}

/* Maps the recording's header for writing, because a reader that waits tells the recorder so. Does
 * nothing when the user may not write to the file. */
static void map_header(struct followed *followed)
{
	char path[64];

	followed->was_mapped = true;
	if (thrum__source_owner(&followed->file)->fd < 0)
		return;
	snprintf(path, sizeof path, "/proc/self/fd/%d", thrum__source_owner(&followed->file)->fd);
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	void *header = mmap(NULL, THRUM__HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (header != MAP_FAILED)
		followed->header = header;
}

static bool is_recording(const struct followed *followed)
{
	return strcmp(followed->trace->info.state, "recording") == 0;
}

/* A mapping has no memory behind the end of its file, which may have become shorter. */
static bool has_header(struct followed *followed)
{
	return followed->header && followed_size(followed) >= THRUM__HEADER_SIZE;
}

/* See input_listen in struct thrum_trace. */
static void followed_listen(void *owner, bool is_on)
{
	struct followed *followed = owner;

	if (is_on && !followed->was_mapped && is_recording(followed))
		map_header(followed);
	if (is_on == followed->is_listening || !has_header(followed))
		return;
	followed->is_listening = is_on;
	if (is_on) {
		atomic_fetch_add(&followed->header->waiters, 1);
		followed->progress = atomic_load(&followed->header->progress);
	} else {
		atomic_fetch_sub(&followed->header->waiters, 1);
	}
}

/*
 * Looks for the process of a recording that wasn't stopped. If it has ended, sets the trace's state
 * to "killed". If it lives, the recording has gone on until now.
 */
static void look_for_process(struct followed *followed)
{
	struct thrum_trace *trace = followed->trace;
	const struct thrum__source_owner *owner = thrum__source_owner(&followed->file);
	uint32_t state = THRUM__RECORDING;
	int is_written = -1;

	if (!is_recording(followed))
		return;
	/* The time before the look: the process was alive then. */
	uint64_t ticks = thrum__source_ticks_now(&followed->file);

	if (owner->is_written)
		is_written = owner->is_written(followed->file.owner);
	else if (trace->info.pid)
		is_written = thrum__source_process_lives((uint32_t)trace->info.pid,
			followed->process_start);
	if (is_written < 0)
		return;
	if (is_written) {
		if (trace->info.ending == THRUM_ENDING_UNKNOWN)
			trace->info.ending = THRUM_ENDING_RUNNING;
		if (ticks)
			trace->format->still(trace, ticks);
		return;
	}
	followed_read(followed, offsetof(struct thrum__header, state), &state, sizeof state);
	if (state != THRUM__RECORDING)
		return;
	trace->info.state = "killed";
	ticks = thrum__source_ticks_witnessed(&followed->file);
	if (ticks)
		trace->format->still(trace, ticks);
	if (trace->info.ending == THRUM_ENDING_UNKNOWN ||
		trace->info.ending == THRUM_ENDING_RUNNING)
		trace->info.ending = THRUM_ENDING_GONE;
}

/* See input_wait in struct thrum_trace. */
static void followed_wait(void *owner, int ms)
{
	struct followed *followed = owner;
	const struct thrum__source_owner *file = thrum__source_owner(&followed->file);

	if (file->follow)
		file->follow(followed->file.owner);
	if (ms > 0)
		followed_listen(followed, true);
	if (ms > 0 && followed->is_listening && has_header(followed)) {
		thrum__port_wait(&followed->header->progress, followed->progress, ms);
		followed_listen(followed, false);
	} else if (ms > 0) {
		struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

		nanosleep(&time, NULL);
	}
	look_for_process(followed);
}

int thrum_trace_open(const char *file, struct thrum_trace **trace, struct thrum_error_info *info)
{
	struct thrum__input input;

	if (thrum__source_is_server(file))
		return thrum__source_open_server(file, trace, info);
	int error = thrum__source_open(file, &input, info);

	return error ? error : thrum__source_follow(&input, trace, info);
}

int thrum__source_follow(const struct thrum__input *file, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct followed *followed = calloc(1, sizeof *followed);

	if (!followed) {
		thrum__source_close(file->owner);
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	followed->file = *file;

	struct thrum__input input = {followed, followed_read, followed_size};
	int error;

	error = thrum__world_open(&input, followed_close, &followed->trace, info);
	if (error) {
		followed_close(followed);
		return error;
	}
	*trace = followed->trace;
	/* Nobody writes to a bundle, and its parts have no names for addresses. */
	if (!followed->trace->format->probe)
		return 0;
	followed->trace->input_wait = followed_wait;
	followed->trace->input_listen = followed_listen;
	followed->trace->namer = followed->namer = thrum__source_symbols_create();
	if (is_recording(followed)) {
		followed_read(followed, offsetof(struct thrum__header, process_start),
			&followed->process_start, sizeof followed->process_start);
		look_for_process(followed);
	}
	return 0;
}
