/* SPDX-License-Identifier: ISC */
/*
 * Finds the new recordings. Each process that uses libthrum has made a file of its own, with the
 * name of THRUM_TRACE; with its process id appended if another process had that name already.
 */
#define _GNU_SOURCE
#include "capture/recorded.h"

#include <fcntl.h>
#include <glob.h>
#include <linux/stat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adapt/forks.h"
#include "capture/calls.h"
#include "capture/pattern.h"
#include "capture/scheduled.h"
#include "capture/segments.h"
#include "line/text.h"
#include "source/input.h"
#include "source/zstd.h"
#include "trace/input.h"

/* Finds every file that may be a recording of the program, also FILE.PID of a second process. */
static int find_files(const struct recorded *recorded, glob_t *found)
{
	char pattern[2 * PATH_MAX];

	pattern_glob(recorded->pattern, "", pattern, sizeof(pattern));
	if (glob(pattern, 0, NULL, found) == GLOB_NOSPACE)
		return -1;
	pattern_glob(recorded->pattern, ".[0-9]*", pattern, sizeof(pattern));
	if (glob(pattern, GLOB_APPEND, NULL, found) == GLOB_NOSPACE)
		return -1;
	return 0;
}

static bool identify(const char *path, struct recorded_file *file)
{
	struct statx status;

	/* Older versions of musl don't have the function. */
	if (syscall(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME,
		    &status) < 0 ||
		!S_ISREG(status.stx_mode))
		return false;
	file->device = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
	file->inode = status.stx_ino;
	file->birth = 0;
	if (status.stx_mask & STATX_BTIME)
		file->birth = status.stx_btime.tv_sec * INT64_C(1000000000) +
			status.stx_btime.tv_nsec;
	return true;
}

int recorded_before(struct recorded *recorded)
{
	glob_t found = {0};

	recorded->before = NULL;
	recorded->count = 0;
	if (find_files(recorded, &found) < 0)
		return -1;
	recorded->before = calloc(found.gl_pathc + 1, sizeof(*recorded->before));
	for (size_t i = 0; recorded->before && i < found.gl_pathc; i++)
		if (identify(found.gl_pathv[i], &recorded->before[recorded->count]))
			recorded->count++;
	globfree(&found);
	return recorded->before ? 0 : -1;
}

void recorded_finish(struct recorded *recorded)
{
	free(recorded->before);
	recorded->before = NULL;
}

/* Compares the time of birth, too, as a file system may give an inode to a new file. */
static bool was_there(const struct recorded *recorded, const struct recorded_file *file)
{
	for (size_t i = 0; i < recorded->count; i++) {
		const struct recorded_file *old = &recorded->before[i];

		if (old->device == file->device && old->inode == file->inode &&
			old->birth == file->birth)
			return true;
	}
	return false;
}

/* ---- The report ------------------------------------------------------------------------------ */

#define COUNTING_NS INT64_C(500000000)

int64_t recorded_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* Counts events for half a second at most. Returns whether it has counted all. */
static bool count_events(struct thrum_trace *trace, uint64_t *events)
{
	int64_t until = recorded_now() + COUNTING_NS;
	const struct thrum_event *batch;
	size_t count;
	int result;

	*events = 0;
	while ((result = thrum_trace_next(trace, &batch, &count, NULL)) > 0) {
		*events += count;
		if (recorded_now() > until)
			return false;
	}
	return result == 0;
}

const char *recorded_shorten(const char *path)
{
	char here[PATH_MAX];
	size_t size;

	if (!getcwd(here, sizeof(here)))
		return path;
	size = strlen(here);
	if (strncmp(path, here, size) == 0 && path[size] == '/')
		return path + size + 1;
	return path;
}

/* Returns the bytes on the disk: a recording has holes where nothing was written. */
static uint64_t disk_size(const char *path)
{
	struct stat status;
	uint64_t used;

	if (stat(path, &status) < 0)
		return 0;
	used = (uint64_t)status.st_blocks * 512;
	return used < (uint64_t)status.st_size ? used : (uint64_t)status.st_size;
}

/* Prints "thrum: recorded 12,345 events of 3 lanes in server-4711.thrum (1.2 MiB)". */
static void print_report(struct input *input)
{
	const struct thrum_trace_info *info = input->info;
	char line[NUMBER_ROOM * 4], size[NUMBER_ROOM], *to = line;
	uint64_t events;

	if (!count_events(input->trace, &events))
		to = put_string(to, "more than ");
	to = put_count(to, events);
	to = put_string(to, events == 1 ? " event of " : " events of ");
	to = put_count(to, info->lanes);
	*put_string(to, info->lanes == 1 ? " lane" : " lanes") = '\0';
	*put_size(size, disk_size(input->path)) = '\0';
	if (strcmp(info->state, "recording") == 0)
		complain("recorded %s in %s so far; process %lld is still recording", line,
			input->path, (long long)info->pid);
	else
		complain("recorded %s in %s (%s)", line, input->path, size);
}

static void note_status(const char *path, int status, uint64_t time)
{
	struct thrum_error_info error = {0};
	bool is_killed = WIFSIGNALED(status);

	if (thrum__source_note_end(path, is_killed ? THRUM_ENDING_KILLED : THRUM_ENDING_EXITED,
		    is_killed ? WTERMSIG(status) : WEXITSTATUS(status), time, &error) < 0)
		input_failed(path, &error);
}

/* Notes how the program itself ended, or a forked child, if its parent has waited for it. */
static void note_end(const struct recorded *recorded, const struct input *input, const char *path)
{
	const struct thrum__adapt_forks *forks = recorded->forks;

	if (input->info->pid == recorded->pid)
		note_status(path, recorded->status, (uint64_t)recorded->ended);
	for (int i = 0; forks && i < FORKS_MAX; i++) {
		int64_t time = atomic_load(&forks->child[i].ended);

		if (time && atomic_load(&forks->child[i].process) == input->info->pid)
			note_status(path, atomic_load(&forks->child[i].status), (uint64_t)time);
	}
}

/* Replaces the recording by a compressed one. */
static void compress(struct input *input, const char *path)
{
	struct thrum_error_info error = {0};
	char name[PATH_MAX];

	if (thrum__source_pack_file(path, &error) < 0) {
		input_failed(path, &error);
		return;
	}
	snprintf(name, sizeof(name), "%.*s.zst", (int)sizeof(name) - 5, input->path);
	memcpy(input->path, name, sizeof(name));
}

static bool report_file(const struct recorded *recorded, const char *path)
{
	struct thrum_error_info error = {0};
	struct input input = {0};

	snprintf(input.path, sizeof(input.path), "%s", recorded_shorten(path));
	if (thrum_trace_open(path, &input.trace, &error) < 0)
		return false;
	input.info = thrum_trace_info(input.trace);
	bool is_segment = recorded->segments && strcmp(input.info->state, "snapshot") == 0;
	bool is_running = strcmp(input.info->state, "recording") == 0;

	if (strcmp(input.info->format, "thrum") != 0 || is_segment) {
		input_close(&input);
		return false;
	}
	if (recorded->may_be_empty && input.info->lanes == 0 && !is_running) {
		input_close(&input);
		unlink(path);
		return false;
	}
	note_end(recorded, &input, path);
	if (recorded->segments) {
		if (segments_report(recorded->segments, path) && !is_running)
			unlink(path);
		input_close(&input);
		return true;
	}
	/* Before the report, which gives the size after trimming. */
	if (!is_running && thrum_trace_trim(path, &error) < 0)
		input_failed(path, &error);
	if (!is_running && calls_write(path, &error) < 0)
		input_failed(path, &error);
	if (recorded->scheduled && !is_running &&
		scheduled_write(recorded->scheduled, path, &error) < 0)
		input_failed(path, &error);
	if (recorded->compress && !is_running)
		compress(&input, path);
	print_report(&input);
	input_warn(&input);
	input_close(&input);
	return true;
}

void recorded_visit(const struct recorded *recorded, void (*visit)(void *data, const char *path),
	void *data)
{
	glob_t found = {0};

	if (find_files(recorded, &found) < 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct recorded_file file;

		if (identify(found.gl_pathv[i], &file) && !was_there(recorded, &file))
			visit(data, found.gl_pathv[i]);
	}
	globfree(&found);
}

struct report {
	const struct recorded *recorded;
	size_t count;
};

static void visit_file(void *data, const char *path)
{
	struct report *report = data;

	if (report_file(report->recorded, path))
		report->count++;
}

size_t recorded_report(const struct recorded *recorded)
{
	struct report report = {recorded, 0};

	recorded_visit(recorded, visit_file, &report);
	return report.count;
}

static void note_alive(void *data, const char *path)
{
	(void)data;
	thrum__source_note_alive(path);
}

void recorded_note_alive(const struct recorded *recorded)
{
	recorded_visit(recorded, note_alive, NULL);
}
