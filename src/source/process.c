/* SPDX-License-Identifier: ISC */
/* Tells whether a process that records still runs, and finds the file to which it records. */
#define _GNU_SOURCE
#include "source/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"

#define LINE_SIZE (4096 + 256) /* of /proc/PID/maps: a path, and the fields before it */
#define DELETED " (deleted)"

/* ---- Whether a process runs ------------------------------------------------------------------ */

bool thrum__source_process_lives(uint32_t pid, uint64_t start)
{
	char path[64], text[1024];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
	FILE *file = fopen(path, "re");

	if (!file)
		return errno != ENOENT;
	size_t size = fread(text, 1, sizeof text - 1, file);

	fclose(file);
	text[size] = '\0';
	/* Field 2 is the name in parentheses, which may itself hold spaces and parentheses. */
	const char *rest = strrchr(text, ')');
	char state;
	long threads;
	unsigned long long started;

	if (size == 0)
		return false; /* it has just ended */
	if (!rest ||
		sscanf(rest + 1,
			" %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld "
			"%*d %llu",
			&state, &threads, &started) != 3)
		return true;
	/* A zombie with threads is a process whose first thread has ended. */
	if (state == 'X' || (state == 'Z' && threads <= 1))
		return false;
	return start == 0 || started == start;
}

/* ---- The file of a process ------------------------------------------------------------------- */

/* The search of a process's mappings for its recording. */
struct search {
	int64_t pid;
	char *file; /* the path found so far, with room for `size` bytes */
	size_t size;
	bool is_found, is_running; /* is_running: that recording is still written to */
	/* The causes for which a file that may be the recording was not taken. */
	bool was_deleted, was_refused, was_too_long;
	char deleted[LINE_SIZE]; /* the path of a deleted one */
};

/* Tells whether `number` is one of the ids that the process has in its namespaces. */
static bool is_its_pid(int64_t pid, uint32_t number)
{
	char path[64], line[256];
	bool is_its = number == (uint64_t)pid;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
	FILE *file = fopen(path, "re");

	while (file && !is_its && fgets(line, sizeof line, file)) {
		char *next = line + strlen("NSpid:");

		if (strncmp(line, "NSpid:", strlen("NSpid:")) != 0)
			continue;
		for (char *end; !is_its; next = end) {
			unsigned long seen = strtoul(next, &end, 10);

			if (end == next)
				break;
			is_its = seen == number;
		}
	}
	if (file)
		fclose(file);
	return is_its;
}

/* Tells whether the file is a recording of this process. *is_running: it is still written to. */
static bool is_recording(struct search *search, const char *path, bool *is_running)
{
	struct stat status;
	struct thrum__header header;

	/* Regular files only: opening a device may have effects. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		search->was_refused = true;
		return false;
	}
	ssize_t got = pread(fd, &header, sizeof header, 0);

	close(fd);
	if (got != (ssize_t)sizeof header ||
		memcmp(header.magic, THRUM__MAGIC, sizeof header.magic) != 0)
		return false;
	*is_running = header.state == THRUM__RECORDING;
	/* A child process has its parent's recording mapped, but doesn't write to it. */
	return is_its_pid(search->pid, header.pid);
}

/* Takes this path if it is a recording of the process. Returns whether it is one. */
static bool try_path(struct search *search, const char *path)
{
	bool is_running = false;

	if (!is_recording(search, path, &is_running))
		return false;
	/* A process that stopped and started again has its former recording mapped, too. */
	if (search->is_found && (search->is_running || !is_running))
		return true;
	if (strlen(path) >= search->size) {
		search->was_too_long = true;
		return true;
	}
	strcpy(search->file, path);
	search->is_found = true;
	search->is_running = is_running;
	return true;
}

/* The kernel writes a newline in a path as "\\012", like four characters of the path. Puts newlines
 * in their place. Returns whether there was one. */
static bool restore_newlines(char *path)
{
	bool is_changed = false;

	for (char *at = path; (at = strstr(at, "\\012")) != NULL; is_changed = true) {
		*at = '\n';
		memmove(at + 1, at + 4, strlen(at + 4) + 1);
	}
	return is_changed;
}

/* Looks at one line of /proc/PID/maps: "7f00-7f10 rw-s 00000000 00:1f 17   /dev/shm/x". */
static void look_at_mapping(struct search *search, char *line)
{
	char range[64], other[LINE_SIZE + 64];
	unsigned long long offset;
	int path_at = 0;

	if (sscanf(line, "%63s rw-s %llx %*s %*s %n", range, &offset, &path_at) != 2 ||
		path_at == 0 || offset != 0 || line[path_at] != '/')
		return;
	char *path = line + path_at;

	path[strcspn(path, "\n")] = '\0';
	size_t length = strlen(path);

	if (length > strlen(DELETED) && strcmp(path + length - strlen(DELETED), DELETED) == 0) {
		path[length - strlen(DELETED)] = '\0';
		snprintf(other, sizeof other, "/proc/%" PRId64 "/map_files/%s", search->pid, range);
		/* Only a privileged user can open a deleted file by its mapping. */
		if (!try_path(search, other) && strstr(path, ".thrum")) {
			search->was_deleted = true;
			strcpy(search->deleted, path);
		}
		return;
	}
	if (try_path(search, path))
		return;
	/* The process may see other file systems than this one does. */
	snprintf(other, sizeof other, "/proc/%" PRId64 "/root%s", search->pid, path);
	if (!try_path(search, other) && restore_newlines(path))
		try_path(search, path);
}

/* Returns the error for a process in whose mappings no recording was found. */
static int report_no_recording(const struct search *search, struct thrum_error_info *info)
{
	if (search->was_too_long)
		return thrum__read_error_set(info, -THRUM_E_SIZE, 0,
			"its recording's path is too long");
	if (search->was_deleted)
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"process %" PRId64 " records to a file that was deleted: %.120s",
			search->pid, search->deleted);
	if (search->was_refused)
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"the files that process %" PRId64 " has mapped may not be read",
			search->pid);
	return thrum__read_error_set(info, -THRUM_E_NOT_RECORDING, 0,
		"process %" PRId64 " records nothing", search->pid);
}

/* Returns the error for a process whose mappings can't be read. `number`: errno. */
static int report_no_mappings(int64_t pid, int number, struct thrum_error_info *info)
{
	if (number == ENOENT || number == ESRCH)
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"there is no process %" PRId64, pid);
	if (number == EACCES || number == EPERM)
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"process %" PRId64 " belongs to another user", pid);
	return thrum__read_error_set(info, thrum__source_error_of(number), 0,
		"the mappings of process %" PRId64 " can't be read: %s", pid, strerror(number));
}

int thrum_process_recording(int64_t pid, char *file, size_t size, struct thrum_error_info *info)
{
	struct search *search = calloc(1, sizeof *search);
	char path[64], *line = malloc(LINE_SIZE);
	int error = 0;

	if (!search || !line) {
		free(search);
		free(line);
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	search->pid = pid;
	search->file = file;
	search->size = size;
	snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", pid);
	FILE *maps = fopen(path, "re");

	if (maps) {
		errno = 0;
		while (fgets(line, LINE_SIZE, maps))
			look_at_mapping(search, line);
		fclose(maps);
		if (!search->is_found)
			error = report_no_recording(search, info);
	} else {
		error = report_no_mappings(pid, errno, info);
	}
	free(search);
	free(line);
	return error;
}
