/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "trace/relatives.h"

#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "source/input.h"
#include "trace/input.h"
#include "trace/load.h"

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

int relatives_find(const char *file, struct relatives *found)
{
	char pattern[2 * PATH_MAX];
	struct relative *relatives;
	glob_t others = {0};
	int count = 0, first, chosen;

	*found = (struct relatives){NULL, 0};
	if (!put_pattern(file, pattern, sizeof pattern) ||
		glob(pattern, 0, NULL, &others) == GLOB_NOSPACE || others.gl_pathc == 0) {
		globfree(&others);
		return STATUS_OK;
	}
	relatives = calloc(others.gl_pathc + 1, sizeof *relatives);
	found->paths = calloc(INPUTS_MAX, sizeof *found->paths);
	if (relatives && look(file, file, &relatives[0]))
		relatives[count++].path = (char *)(uintptr_t)file;
	for (size_t i = 0; relatives && i < others.gl_pathc; i++)
		if ((count > 0 || access(file, F_OK) < 0) &&
			look(others.gl_pathv[i], file, &relatives[count]))
			relatives[count++].path = others.gl_pathv[i];
	if (count > 0 && found->paths) {
		first = first_of(relatives, count, file);
		chosen = choose(relatives, count, first);
		if (chosen > INPUTS_MAX)
			complain("%s: only %d of its %d recordings are read", file, INPUTS_MAX,
				chosen);
		for (int i = 0; i < count && found->count < INPUTS_MAX; i++)
			if (relatives[i].is_chosen &&
				(found->paths[found->count] = strdup(relatives[i].path)))
				found->count++;
	}
	free(relatives);
	globfree(&others);
	return relatives && found->paths ? STATUS_OK : load_no_memory();
}

int relatives_of(char *const *arguments, int count, struct relatives *found)
{
	int status = STATUS_OK;

	*found = (struct relatives){NULL, 0};
	if (count == 1)
		status = relatives_find(arguments[0], found);
	if (status == STATUS_OK && found->count > 1)
		complain("%s is read with %d more of the same run: %s.PID", arguments[0],
			found->count - 1, arguments[0]);
	return status;
}

void relatives_free(struct relatives *found)
{
	for (int i = 0; i < found->count; i++)
		free(found->paths[i]);
	free(found->paths);
	*found = (struct relatives){NULL, 0};
}

bool relatives_are(const char *const *files, int count)
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
