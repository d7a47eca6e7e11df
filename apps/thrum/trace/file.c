/* SPDX-License-Identifier: ISC */
/* Writes files under a temporary name, then renames them. */
#define _GNU_SOURCE
#include "trace/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <thrum/trace.h>
#include <unistd.h>

#include "line/command.h"
#include "source/input.h"
#include "trace/input.h"

struct target {
	const char *path;
	enum file_kind kind;
	bool has_temporary; /* else it is a pipe or device, written directly */
	int fd;
};

static int failed(const char *path, const char *why)
{
	complain("%s: %s", path, why);
	return STATUS_FAILED;
}

/* ---- The temporary file --------------------------------------------------------------------- */

static const int endings[] = {SIGHUP, SIGINT, SIGTERM};
#define ENDINGS (sizeof endings / sizeof endings[0])

static char temporary[PATH_MAX];
static volatile sig_atomic_t is_there; /* the temporary file is */

static void remove_temporary(int number)
{
	if (is_there)
		unlink(temporary);
	is_there = 0;
	signal(number, SIG_DFL);
	raise(number);
}

/* Lets signals that would end thrum remove the file first. */
static void catch_endings(void)
{
	struct sigaction action = {.sa_handler = remove_temporary}, before;

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ENDINGS; i++)
		if (sigaction(endings[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(endings[i], &action, NULL);
}

/* Holds such signals off while the file comes or goes. */
static void hold_endings(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&held, endings[i]);
	sigprocmask(SIG_BLOCK, &held, before);
}

static int open_temporary(struct target *target)
{
	mode_t mask = umask(0);
	sigset_t before;

	umask(mask);
	if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", target->path) >=
		(int)sizeof temporary) {
		complain("%.60s...: the name is too long", target->path);
		return STATUS_FAILED;
	}
	catch_endings();
	hold_endings(&before);
	target->fd = mkostemp(temporary, O_CLOEXEC);
	int error = errno;

	is_there = target->has_temporary = target->fd >= 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (target->fd < 0)
		return failed(target->path, strerror(error));
	/* mkostemp gives 0600, as recordings have it. */
	if (target->kind == FILE_OUTPUT)
		(void)fchmod(target->fd, 0666 & ~mask);
	return STATUS_OK;
}

/* ---- The file ------------------------------------------------------------------------------- */

static bool is_trace(const char *path)
{
	struct thrum_trace *trace;

	if (thrum_trace_open(path, &trace, NULL) < 0)
		return false;
	thrum_trace_close(trace);
	return true;
}

static int open_target(struct target *target)
{
	struct stat there;
	int status = STATUS_OK;

	if (lstat(target->path, &there) < 0)
		return open_temporary(target);
	if (S_ISLNK(there.st_mode))
		return failed(target->path, "a symbolic link is in the way");
	if (S_ISDIR(there.st_mode))
		return failed(target->path, strerror(EISDIR));
	if (S_ISREG(there.st_mode)) {
		const char *refusal = thrum__source_refusal(NULL, target->path);

		if (refusal)
			status = failed(target->path, refusal);
		else if (target->kind == FILE_RECORDING)
			status = input_may_replace(target->path);
		else if (there.st_size > 0 && is_trace(target->path))
			status = failed(target->path, "a trace is in the way");
		return status == STATUS_OK ? open_temporary(target) : status;
	}
	target->fd = open(target->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return target->fd < 0 ? failed(target->path, strerror(errno)) : STATUS_OK;
}

/* Closes the file; after a failure removes it. */
static int close_target(const struct target *target, int status)
{
	sigset_t before;

	if (close(target->fd) < 0 && status == STATUS_OK)
		status = failed(target->path, strerror(errno));
	if (!target->has_temporary)
		return status;
	hold_endings(&before);
	if (status == STATUS_OK && rename(temporary, target->path) < 0)
		status = failed(target->path, strerror(errno));
	if (status != STATUS_OK)
		unlink(temporary);
	is_there = 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}

int file_write(const char *file, enum file_kind kind,
	int (*write)(void *context, const char *path, int fd), void *context)
{
	struct target target = {.path = file, .kind = kind};
	int status;

	if (strcmp(file, "-") == 0)
		return write(context, file, STDOUT_FILENO);
	status = open_target(&target);
	if (status != STATUS_OK)
		return status;
	return close_target(&target, write(context, file, target.fd));
}

/* ---- Folders --------------------------------------------------------------------------------- */

int file_make_folders(const char *path)
{
	char part[PATH_MAX];
	struct stat status;

	for (size_t i = 1; path[0] && path[i - 1] && i < sizeof(part); i++) {
		if (path[i] != '/' && path[i])
			continue;
		snprintf(part, sizeof(part), "%.*s", (int)i, path);
		if (mkdir(part, 0777) < 0 && errno != EEXIST)
			return failed(part, strerror(errno));
	}
	if (stat(path, &status) < 0)
		return failed(path, strerror(errno));
	return S_ISDIR(status.st_mode) ? STATUS_OK : failed(path, "it is no folder");
}
