/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "convert/import_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "line/command.h"

extern char **environ;

static bool is_perf_data(const char *path)
{
	char head[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t got = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		close(fd);
	return got == sizeof(head) && memcmp(head, "PERFILE2", sizeof(head)) == 0;
}

bool import_find_tool(const char *path, struct import_tool *tool)
{
	struct stat status;

	if (strcmp(path, "-") == 0 || stat(path, &status) != 0)
		return false;
	if (S_ISDIR(status.st_mode))
		*tool = (struct import_tool){path, "babeltrace2", "babeltrace2",
			{"babeltrace2", "--clock-seconds", "--no-delta", "--color=never",
				tool->place},
			"", 0};
	else if (S_ISREG(status.st_mode) && is_perf_data(path))
		*tool = (struct import_tool){path, "perf", "linux-perf",
			{"perf", "script", "--ns", "-F", "tid,cpu,time,event,trace", "-i",
				tool->place},
			"", 0};
	else
		return false;
	snprintf(tool->place, sizeof(tool->place), "%s%s", *path == '-' ? "./" : "", path);
	return true;
}

/* Starts the tool with its output in a pipe. Its warnings would only confuse. Returns 0 or an errno. */
static int spawn(struct import_tool *tool, int output)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
			O_WRONLY, 0);
	if (!error)
		error = posix_spawnp(&tool->pid, tool->name, &actions, NULL,
			(char *const *)(const void *)tool->arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int import_start_tool(struct import_tool *tool)
{
	int ends[2], error;

	if (pipe2(ends, O_CLOEXEC) != 0) {
		complain("%s: %s", tool->path, strerror(errno));
		return -1;
	}
	error = spawn(tool, ends[1]);
	close(ends[1]);
	if (error == 0)
		return ends[0];
	close(ends[0]);
	complain("%s: %s is needed to read it, and can't be started: %s (Debian's package %s)",
		tool->path, tool->name, strerror(error), tool->package);
	return -1;
}

/* Reads the description of a perf.data, as far as it may matter. Returns its size, or -1 after a message. */
static ssize_t read_header(const struct import_tool *tool, char *to, size_t size)
{
	struct import_tool header = {.path = tool->path,
		.name = tool->name,
		.package = tool->package,
		.arguments = {"perf", "script", "--header-only", "-i", tool->place}};
	int fd = import_start_tool(&header);
	ssize_t used = 0, got = 0;

	if (fd < 0)
		return -1;
	while ((size_t)used < size - 1 && (got = read(fd, to + used, size - 1 - (size_t)used)) > 0)
		used += got;
	close(fd);
	to[used] = '\0';
	return import_end_tool(&header, got == 0) == STATUS_OK || got > 0 ? used : -1;
}

/* Whether perf's events have times of this clock. */
static bool has_monotonic(const char *header)
{
	static const char words[] = "clockid = 1"; /* CLOCK_MONOTONIC */

	for (const char *at = header; (at = strstr(at, words)); at += sizeof(words) - 1)
		if (at > header && at[-1] == ' ' && !strchr("0123456789", at[sizeof(words) - 1]))
			return true;
	return false;
}

int import_take_monotonic(struct import_tool *tool, char host[64])
{
	static char header[65536];
	const char *name;

	*host = '\0';
	if (strcmp(tool->name, "babeltrace2") == 0) {
		/* LTTng's clock of the kernel, without its distance from 1970. */
		tool->arguments[1] = "--clock-cycles";
		return STATUS_OK;
	}
	if (read_header(tool, header, sizeof(header)) < 0)
		return STATUS_FAILED;
	name = strstr(header, "# hostname : ");
	if (name)
		snprintf(host, 64, "%.*s", (int)strcspn(name + 13, "\n"), name + 13);
	if (has_monotonic(header))
		return STATUS_OK;
	complain("%s: its times are not those of CLOCK_MONOTONIC, so they can't be compared: make "
		 "it with perf record -k CLOCK_MONOTONIC",
		tool->path);
	return STATUS_FAILED;
}

int import_end_tool(struct import_tool *tool, bool is_read)
{
	int status = 0;

	while (waitpid(tool->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return STATUS_OK;
	if (!is_read)
		return STATUS_FAILED;
	complain("%s: %s can't read it; run %s %s to see why", tool->path, tool->name,
		strcmp(tool->name, "perf") == 0 ? "perf script -i" : tool->name, tool->path);
	return STATUS_FAILED;
}
