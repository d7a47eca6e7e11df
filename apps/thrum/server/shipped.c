/* SPDX-License-Identifier: ISC */
/* Finds the recordings that an agent sends, and notices when their files come, move and go. */
#define _GNU_SOURCE
#include "server/shipped.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/positions.h"
#include "source/input.h"
#include "trace/input.h"

static struct part *find_part(const struct shipped *ship, const struct thrum__header *header)
{
	struct part *part = ship->first;

	while (part &&
		(!part->is_recording ||
			memcmp(part->header.uuid, header->uuid, sizeof(header->uuid)) != 0))
		part = part->next;
	return part;
}

void shipped_close(struct part *part)
{
	thrum__fleet_sender_destroy(part->sender);
	if (part->input.owner)
		thrum__source_close(part->input.owner);
	part->sender = NULL;
	part->input.owner = NULL;
}

/* Begins to send the recording of this input, which the part then owns. Returns 0 or a negative enum
 * thrum_error. */
static int begin_part(struct shipped *ship, struct part *part, struct thrum_error_info *error)
{
	char program[sizeof(part->header.program) + 1] = "", name[64];

	/* A name that fills its room has no NUL. */
	memcpy(program, part->header.program, sizeof(part->header.program));
	input_program(part->path, program, name);
	int result = thrum__fleet_sender_create(&part->input, ship->host, name, &part->sender,
		error);

	if (result < 0)
		return result;
	positions_load(ship->state, part->sender, &part->header, &part->streams);
	part->overwritten = thrum__fleet_sender_count(part->sender)->overwritten;
	if (thrum__fleet_sender_is_done(part->sender))
		shipped_close(part);
	else
		complain("%s: sends it as %s", part->path, thrum__fleet_sender_key(part->sender));
	return 0;
}

/* Opens a regular file as it is, without waiting for a pipe's writer or unpacking a copy. */
static int open_plain(const char *path, struct thrum__input *input)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return thrum__source_error_of(errno);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return thrum__source_input_of(fd, input);
	close(fd);
	return -THRUM_E_FORMAT;
}

static void drop_part(struct shipped *ship, struct part *part)
{
	struct part **at = &ship->first;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	shipped_close(part);
	free(part);
}

static void note_place(struct part *part, const char *path, const struct stat *file)
{
	snprintf(part->path, sizeof(part->path), "%s", path);
	part->file = *file;
}

/* Adds a file. One that is no recording, or can't be sent, is kept, too, so that it is looked at once
 * only. `error` is NULL for one that a folder has. Returns 0, also if it is known already, or a negative
 * enum thrum_error. */
static int add_file(struct shipped *ship, const char *path, struct thrum_error_info *error)
{
	struct part *part = calloc(1, sizeof(*part)), *known;
	struct stat file = {0};
	int result;

	if (!part)
		return -THRUM_E_MEMORY;
	/* First: what happens to the file from now on is a change. */
	(void)!stat(path, &file);
	note_place(part, path, &file);
	result = error ? thrum__source_open(path, &part->input, error)
		       : open_plain(path, &part->input);
	if (result == 0)
		result = thrum__source_header(&part->input, &part->header, error);
	known = result == 0 ? find_part(ship, &part->header) : NULL;
	/* `thrum record` may have added something after all was sent. */
	if (known && !known->sender)
		drop_part(ship, known);
	else if (known) {
		note_place(known, path, &file);
		shipped_close(part);
		free(part);
		return 0;
	}
	part->is_recording = result == 0;
	if (result == 0)
		result = begin_part(ship, part, error);
	if (result < 0)
		shipped_close(part);
	part->next = ship->first;
	ship->first = part;
	return result;
}

/* Whether a file of a folder was looked at already, and is the same; it may have a new name. A recording
 * that is being sent changes all the time; the number of another one may be given to a new file. */
static bool is_known(struct shipped *ship, const char *path, const struct stat *now)
{
	for (struct part *part = ship->first; part; part = part->next) {
		const struct stat *then = &part->file;

		if (then->st_dev != now->st_dev || then->st_ino != now->st_ino)
			continue;
		if (part->input.owner ||
			(then->st_size == now->st_size &&
				then->st_mtim.tv_sec == now->st_mtim.tv_sec &&
				then->st_mtim.tv_nsec == now->st_mtim.tv_nsec)) {
			snprintf(part->path, sizeof(part->path), "%s", path);
			return true;
		}
		if (!part->is_recording)
			drop_part(ship, part);
		return false;
	}
	return false;
}

/* Whether its file was deleted or replaced. */
static bool is_gone(const struct part *part)
{
	struct stat status;

	if (stat(part->path, &status) < 0)
		return errno == ENOENT;
	return status.st_dev != part->file.st_dev || status.st_ino != part->file.st_ino;
}

/* Forgets files that are sent and gone. They must be missing twice, since the folder may show a new name
 * in between. */
static void forget_files(struct shipped *ship)
{
	struct part *next;

	for (struct part *part = ship->first; part; part = next) {
		bool was_missing = part->is_missing;

		next = part->next;
		part->is_missing = is_gone(part);
		if (part->input.owner || !was_missing || !part->is_missing)
			continue;
		if (part->is_recording)
			positions_forget(ship->state, &part->header);
		drop_part(ship, part);
	}
}

/* Looks for recordings in a folder. Copies and other files are left alone. */
static void add_folder(struct shipped *ship, const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		size_t size = strlen(entry->d_name);
		char file[PATH_MAX];
		struct stat status;

		if (size > 6 && strcmp(entry->d_name + size - 6, ".thrum") == 0 &&
			snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) <
				(int)sizeof(file) &&
			stat(file, &status) == 0 && !is_known(ship, file, &status))
			(void)!add_file(ship, file, NULL);
	}
	if (folder)
		closedir(folder);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int shipped_add(struct shipped *ship)
{
	struct thrum_error_info error = {0};
	int status = STATUS_OK;

	for (int i = 0; i < ship->argument_count && status == STATUS_OK; i++) {
		char path[PATH_MAX];

		if (is_folder(ship->arguments[i])) {
			ship->watches = true;
			add_folder(ship, ship->arguments[i]);
			continue;
		}
		status = input_find(ship->command, ship->arguments[i], path, sizeof(path));
		if (status == STATUS_OK && add_file(ship, path, &error) < 0)
			status = input_failed(path, &error);
	}
	return status;
}

void shipped_look(struct shipped *ship)
{
	forget_files(ship);
	for (int i = 0; i < ship->argument_count; i++)
		if (is_folder(ship->arguments[i]))
			add_folder(ship, ship->arguments[i]);
}

bool shipped_again(struct shipped *ship, uint64_t streams)
{
	struct part *parts = ship->first, *part;
	bool was_sent = false;

	ship->first = NULL;
	while ((part = parts)) {
		parts = part->next;
		if (part->streams == 0 || part->streams == streams) {
			part->next = ship->first;
			ship->first = part;
			continue;
		}
		was_sent = true;
		positions_forget(ship->state, &part->header);
		shipped_close(part);
		(void)!add_file(ship, part->path, NULL);
		free(part);
	}
	return was_sent;
}

void shipped_finish(struct shipped *ship)
{
	while (ship->first) {
		struct part *part = ship->first;

		ship->first = part->next;
		shipped_close(part);
		free(part);
	}
}
