/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "source/run/run.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/input.h"
#include "world/world.h"

/* A recording, and its time on its machine. */
struct relative {
	char *path;
	int64_t start, end; /* CLOCK_MONOTONIC, ns */
	uint64_t boot;
	bool is_chosen;
};

/* Returns the length of FILE in FILE.PID, for a recording of that process; else of the whole path. */
static size_t stem_of(const char *path, int64_t pid)
{
	char suffix[32];
	size_t size = strlen(path), length;

	length = (size_t)snprintf(suffix, sizeof suffix, ".%" PRId64, pid);
	return pid > 0 && size > length && strcmp(path + size - length, suffix) == 0 ? size - length
										     : size;
}

/* Looks at a file; `stem` is FILE. Returns whether it is FILE, or FILE.PID of the process that it is of. */
static bool look(const char *path, const char *stem, struct relative *relative)
{
	const struct thrum_trace_info *info;
	struct thrum_trace *trace;
	size_t size;
	bool is;

	if (strncmp(path, stem, strlen(stem)) != 0 || thrum_trace_open(path, &trace, NULL) < 0)
		return false;
	info = thrum_trace_info(trace);
	size = stem_of(path, info->pid);
	is = strcmp(info->format, "thrum") == 0 && info->monotonic && info->boot &&
		strlen(stem) == size;
	*relative = (struct relative){.start = info->monotonic, .boot = info->boot};
	/* A damaged recording may tell any time. */
	if (__builtin_add_overflow(info->monotonic, info->end, &relative->end))
		relative->end = INT64_MAX;
	thrum_trace_close(trace);
	return is;
}

static bool overlap(const struct relative *a, const struct relative *b)
{
	return a->boot == b->boot && a->start <= b->end && b->start <= a->end;
}

/* Chooses those that share a time with the first chosen one: at once, or through others. Returns how many. */
static int choose(struct relative *relatives, int count, int first)
{
	int chosen = 1;

	relatives[first].is_chosen = true;
	for (bool is_more = true; is_more;) {
		is_more = false;
		for (int i = 0; i < count; i++)
			for (int j = 0; j < count && !relatives[i].is_chosen; j++)
				if (relatives[j].is_chosen &&
					overlap(&relatives[i], &relatives[j])) {
					relatives[i].is_chosen = is_more = true;
					chosen++;
				}
	}
	return chosen;
}

/* The one to begin with: FILE, or else the one that began last. */
static int first_of(const struct relative *relatives, int count, const char *file)
{
	int first = 0;

	for (int i = 0; i < count; i++) {
		if (strcmp(relatives[i].path, file) == 0)
			return i;
		if (relatives[i].start > relatives[first].start)
			first = i;
	}
	return first;
}

/* Writes a pattern for glob(3) that matches FILE.PID. */
static bool put_pattern(const char *file, char *to, size_t size)
{
	size_t used = 0;

	for (; *file && used + 12 < size; file++) {
		if (strchr("*?[\\", *file))
			to[used++] = '\\';
		to[used++] = *file;
	}
	strcpy(to + used, ".[0-9]*");
	return *file == '\0';
}

int thrum__source_run_find(const char *file, struct thrum__source_run *found)
{
	struct thrum__source_run run = {NULL, 0, 0};
	char pattern[2 * PATH_MAX];
	struct relative *relatives;
	glob_t others = {0};
	int count = 0, result;

	if (!put_pattern(file, pattern, sizeof pattern) ||
		glob(pattern, 0, NULL, &others) == GLOB_NOSPACE || others.gl_pathc == 0) {
		globfree(&others);
		*found = run;
		return 0;
	}
	relatives = calloc(others.gl_pathc + 1, sizeof *relatives);
	run.paths = calloc(THRUM__WORLD_PARTS_MAX, sizeof *run.paths);
	if (relatives && look(file, file, &relatives[0]))
		relatives[count++].path = (char *)(uintptr_t)file;
	for (size_t i = 0; relatives && i < others.gl_pathc; i++)
		if ((count > 0 || access(file, F_OK) < 0) &&
			look(others.gl_pathv[i], file, &relatives[count]))
			relatives[count++].path = others.gl_pathv[i];
	if (count > 0 && run.paths) {
		run.whole = choose(relatives, count, first_of(relatives, count, file));
		for (int i = 0; i < count && run.count < THRUM__WORLD_PARTS_MAX; i++)
			if (relatives[i].is_chosen &&
				(run.paths[run.count] = strdup(relatives[i].path)))
				run.count++;
	}
	result = relatives && run.paths ? 0 : -THRUM_E_MEMORY;
	if (result == 0)
		*found = run;
	else
		thrum__source_run_free(&run);
	free(relatives);
	globfree(&others);
	return result;
}

void thrum__source_run_free(struct thrum__source_run *run)
{
	for (int i = 0; i < run->count; i++)
		free(run->paths[i]);
	free(run->paths);
	*run = (struct thrum__source_run){NULL, 0, 0};
}

bool thrum__source_are_named_as_run(const char *const *files, size_t count)
{
	size_t size = strlen(files[0]);

	for (size_t i = 1; i < count; i++)
		if (strncmp(files[i], files[0], size) != 0 || files[i][size] != '.')
			return false;
	return true;
}

bool thrum__source_are_of_run(const char *const *files, int count)
{
	struct relative *relatives = calloc((size_t)count, sizeof *relatives);
	char stem[PATH_MAX];
	struct thrum_trace *trace;
	/* Nothing is fetched from a server for this. */
	bool are = relatives && !thrum__source_is_place(files[0]) &&
		thrum_trace_open(files[0], &trace, NULL) == 0;

	if (are) {
		snprintf(stem, sizeof stem, "%.*s",
			(int)stem_of(files[0], thrum_trace_info(trace)->pid), files[0]);
		thrum_trace_close(trace);
	}
	for (int i = 0; i < count && are; i++) {
		are = look(files[i], stem, &relatives[i]);
		for (int j = 0; j < i && are; j++)
			are = strcmp(files[i], files[j]) != 0;
	}
	are = are && choose(relatives, count, 0) == count;
	free(relatives);
	return are;
}
