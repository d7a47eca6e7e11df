/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "server/positions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "line/command.h"
#include "source/input.h"
#include "trace/file.h"

#define ENDING ".position"
#define UNUSED_MOST (INT64_C(30) * 86400) /* s */

int positions_folder(const char *wanted, char *folder, size_t size)
{
	const char *service = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME"),
		   *home = getenv("HOME");

	if (wanted || service)
		snprintf(folder, size, "%s", wanted ? wanted : service);
	else if (state && *state == '/')
		snprintf(folder, size, "%s/thrum", state);
	else
		snprintf(folder, size, "%s/.local/state/thrum", home ? home : "");
	return file_make_folders(folder);
}

static bool name_file(const char *folder, const struct thrum__header *header, char *path,
	size_t size)
{
	char uuid[2 * sizeof(header->uuid) + 1];

	for (size_t i = 0; i < sizeof(header->uuid); i++)
		snprintf(uuid + 2 * i, 3, "%02x", header->uuid[i]);
	return snprintf(path, size, "%s/%s" ENDING, folder, uuid) < (int)size;
}

void positions_load(const char *folder, struct thrum__fleet_sender *sender,
	const struct thrum__header *header, uint64_t *streams)
{
	char path[PATH_MAX];
	struct thrum__input input;
	uint64_t size;
	void *bytes;

	if (!name_file(folder, header, path, sizeof(path)) ||
		thrum__source_open(path, &input, NULL) < 0)
		return;
	size = input.size(input.owner);
	bytes = size < (UINT64_C(1) << 30) ? malloc(size + 1) : NULL;
	if (bytes && input.read(input.owner, 0, bytes, size) == (int64_t)size)
		(void)!thrum__fleet_sender_restore(sender, bytes, size, streams);
	/* It was used now. */
	utimensat(AT_FDCWD, path, NULL, 0);
	free(bytes);
	thrum__source_close(input.owner);
}

/* Returns 0 or a negative enum thrum_error. */
static int write_file(const char *path, const void *bytes, size_t size)
{
	char temporary[PATH_MAX + 8];
	int fd, error;

	snprintf(temporary, sizeof(temporary), "%s.part", path);
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return thrum__source_error_of(errno);
	error = thrum__source_write_all(fd, bytes, size);
	if (close(fd) < 0 && error == 0)
		error = thrum__source_error_of(errno);
	if (error == 0 && rename(temporary, path) < 0)
		error = thrum__source_error_of(errno);
	if (error)
		unlink(temporary);
	return error;
}

void positions_save(const char *folder, struct thrum__fleet_sender *sender,
	const struct thrum__header *header, uint64_t streams)
{
	static bool was_told;
	char path[PATH_MAX];
	size_t size;
	const void *bytes = thrum__fleet_sender_save(sender, streams, &size);
	int error = bytes && name_file(folder, header, path, sizeof(path))
		? write_file(path, bytes, size)
		: -THRUM_E_MEMORY;

	if (error == 0 || was_told)
		return;
	complain("%s: %s: an agent that starts again would send some of it twice", folder,
		thrum_error_message(error));
	was_told = true;
}

void positions_forget(const char *folder, const struct thrum__header *header)
{
	char path[PATH_MAX];

	if (name_file(folder, header, path, sizeof(path)))
		unlink(path);
}

void positions_tidy(const char *folder)
{
	DIR *all = opendir(folder);
	struct dirent *entry;

	while (all && (entry = readdir(all))) {
		size_t size = strlen(entry->d_name), ending = strlen(ENDING);
		struct stat status;

		if (size > ending && strcmp(entry->d_name + size - ending, ENDING) == 0 &&
			fstatat(dirfd(all), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(status.st_mode) && time(NULL) - status.st_mtime > UNUSED_MOST)
			unlinkat(dirfd(all), entry->d_name, 0);
	}
	if (all)
		closedir(all);
}
