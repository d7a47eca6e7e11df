/* SPDX-License-Identifier: ISC */
/*
 * The headers of new messages say to which ten minutes they belong, and agents report up to which time
 * their recordings reach. These ten minutes are stored again as a whole, which replaces their files. Only
 * then the numbers of the last messages are noted. So a thrum that was killed repeats its last step, with
 * the same result.
 */
#define _GNU_SOURCE
#include "server/store_follow.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "line/interrupt.h"
#include "port/port.h"
#include "server/store_join.h"
#include "source/input.h"
#include "trace/file.h"
#include "trace/input.h"
#include "trace/load.h"

#define SECOND INT64_C(1000000000)
#define SLOTS_MOST 1000 /* of one packet: more are damage */

/* Ten minutes of a program that are to be stored. */
struct due {
	int64_t slot;
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY];
};

struct store_state {
	const struct store_following *to;
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server; /* NULL: not connected */
	struct due *due;
	size_t count;
	/* The numbers of the last messages whose ten minutes are stored. */
	struct done {
		uint64_t pieces, tables;
	} done;
	char position[PATH_MAX];
	bool has_failed; /* the latest step, and a message has said so */
};

void store_name_slot(int64_t slot, char name[32])
{
	time_t seconds = (time_t)slot;
	struct tm parts;

	strftime(name, 32, "%Y-%m-%dT%H-%M", gmtime_r(&seconds, &parts));
}

/* ---- The position ---------------------------------------------------------------------------- */

static void load_position(struct store_state *f)
{
	uint64_t which = thrum__base_hash_text(thrum__base_hash_text(1, f->address.server,
						       strlen(f->address.server)),
		f->address.pattern, strlen(f->address.pattern));
	FILE *file;

	snprintf(f->position, sizeof(f->position), "%.4000s/.position-%016" PRIx64, f->to->folder,
		which);
	file = fopen(f->position, "re");
	if (file && fscanf(file, "%" SCNu64 " %" SCNu64, &f->done.pieces, &f->done.tables) != 2)
		f->done = (struct done){0, 0};
	if (file)
		fclose(file);
}

static int write_position(void *context, const char *path, int fd)
{
	const struct store_state *f = context;
	char text[64];
	int size = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 "\n", f->done.pieces,
		f->done.tables);
	int error = thrum__source_write_all(fd, text, (size_t)size);

	if (error == 0)
		return STATUS_OK;
	complain("%s: %s", path, thrum_error_message(error));
	return STATUS_FAILED;
}

/* ---- New messages ---------------------------------------------------------------------------- */

/* Adds ten minutes, unless they are there. Returns 0 or -THRUM_E_MEMORY. */
static int add_due(struct store_state *f, int64_t slot, const char *host, const char *program)
{
	struct due *due;

	for (size_t i = f->count; i-- > 0;)
		if (f->due[i].slot == slot && strcmp(f->due[i].host, host) == 0 &&
			strcmp(f->due[i].program, program) == 0)
			return 0;
	due = realloc(f->due, (f->count + 1) * sizeof(*due));
	if (!due)
		return -THRUM_E_MEMORY;
	f->due = due;
	due[f->count].slot = slot;
	snprintf(due[f->count].host, sizeof(due->host), "%s", host);
	snprintf(due[f->count].program, sizeof(due->program), "%s", program);
	f->count++;
	return 0;
}

static int take_header(void *context, const struct thrum__fleet_stored *message)
{
	struct store_state *f = context;
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY];
	struct thrum__fleet_piece piece;
	int error = 0;

	if (strlen(message->subject) >= THRUM__FLEET_SUBJECT || !message->info ||
		sscanf(message->subject, "thrum.rec.%175[^.].%175[^.].", host, program) != 2 ||
		!thrum__fleet_matches(f->address.pattern, host, program) ||
		!thrum__fleet_get_piece(message->info, &piece) || piece.end < piece.begin)
		return 0;
	int64_t slot = piece.begin / SECOND / STORE_SLOT * STORE_SLOT,
		last = piece.end / SECOND / STORE_SLOT * STORE_SLOT;

	for (int i = 0; slot <= last && i < SLOTS_MOST && error == 0; i++, slot += STORE_SLOT)
		error = add_due(f, slot, host, program);
	return error;
}

static int take_known(void *context, const struct thrum__fleet_known *known)
{
	return known->until <= 0 ? 0
				 : add_due(context, known->until / SECOND / STORE_SLOT * STORE_SLOT,
					   known->host, known->program);
}

/* Lists the ten minutes of the messages that are new. *last becomes the numbers of the last ones. Returns 0
 * or a negative enum thrum_error. */
static int list_due(struct store_state *f, struct done *last, struct thrum_error_info *error)
{
	struct thrum__fleet_range range = {.filter = "thrum.rec.>", .has_headers_only = true};
	int result = 0;

	f->count = 0;
	*last = f->done;
	if (!f->server)
		result = thrum__fleet_connect(&f->address, &f->server, error);
	if (result == 0)
		result = thrum__fleet_know(f->server, &f->address, &last->tables, take_known, f,
			error);
	if (result == 0)
		result = thrum__fleet_last(f->server, false, &last->pieces, error);
	if (result < 0)
		return result;
	/* Fewer than before: they are others. */
	range.after = f->done.pieces <= last->pieces ? f->done.pieces : 0;
	range.last = last->pieces;
	if (range.after == 0 && f->address.from > 0)
		range.from = f->address.from;
	return thrum__fleet_read(f->server, &range, take_header, f, error);
}

/* ---- Storing --------------------------------------------------------------------------------- */

/* Writes the folder of a machine's tasks. */
static void put_folder(const struct store_state *f, const char *host, char *to, size_t room)
{
	char name[64];

	store_put_name(name, sizeof(name), host);
	snprintf(to, room, "%.3000s/tasks/host=%s", f->to->folder, name);
}

static bool has_file(const char *folder, const char *program)
{
	DIR *files = opendir(folder);
	struct dirent *entry;
	bool has = false;
	char name[64];
	size_t size;

	store_put_name(name, sizeof(name), program);
	size = strlen(name);
	while (files && !has && (entry = readdir(files)))
		has = strncmp(entry->d_name, name, size) == 0 && entry->d_name[size] == '-';
	if (files)
		closedir(files);
	return has;
}

/* Finds the latest ten minutes before these that are stored, if these aren't. Tasks that were open in them
 * go on here. */
static bool find_before(const struct store_state *f, const struct due *due, int64_t *slot)
{
	char host[PATH_MAX], folder[PATH_MAX + 300], name[32], latest[32] = "";
	struct dirent *entry;
	struct tm parts = {0};
	DIR *slots;

	put_folder(f, due->host, host, sizeof(host));
	store_name_slot(due->slot, name);
	snprintf(folder, sizeof(folder), "%s/slot=%s", host, name);
	slots = has_file(folder, due->program) ? NULL : opendir(host);
	while (slots && (entry = readdir(slots))) {
		const char *found = entry->d_name + strlen("slot=");

		snprintf(folder, sizeof(folder), "%s/%s", host, entry->d_name);
		if (strncmp(entry->d_name, "slot=", 5) == 0 && strlen(found) < sizeof(latest) &&
			strcmp(found, name) < 0 && strcmp(found, latest) > 0 &&
			has_file(folder, due->program))
			strcpy(latest, found);
	}
	if (slots)
		closedir(slots);
	if (!strptime(latest, "%Y-%m-%dT%H-%M", &parts))
		return false;
	*slot = timegm(&parts);
	return true;
}

bool store_is_due(const struct store_state *f, int64_t slot, const char *host, const char *program)
{
	char path[PATH_MAX], folder[PATH_MAX + 300], name[32];

	for (size_t i = 0; i < f->count; i++)
		if (f->due[i].slot == slot && strcmp(f->due[i].host, host) == 0 &&
			strcmp(f->due[i].program, program) == 0)
			return true;
	store_name_slot(slot, name);
	put_folder(f, host, path, sizeof(path));
	snprintf(folder, sizeof(folder), "%s/slot=%s", path, name);
	return has_file(folder, program);
}

/* Stores ten minutes of all recordings together, as they may be linked. */
static int store_slot(const struct store_state *f, int64_t slot)
{
	return f->to->store(f->to->context, &f->address, slot, f);
}

/* Stores the ten minutes before those that are due, so far as tasks that were open there go on in these.
 * They are found only before these are stored. */
static int store_before(const struct store_state *f, size_t from, size_t to)
{
	int result = 0;

	for (size_t i = from; i < to && result == 0; i++) {
		int64_t before, done;
		bool is_done = false;

		if (!find_before(f, &f->due[i], &before))
			continue;
		for (size_t k = from; k < i && !is_done; k++)
			is_done = find_before(f, &f->due[k], &done) && done == before;
		if (!is_done)
			result = store_slot(f, before);
	}
	return result;
}

/* Returns 0, a negative enum thrum_error, or 1 after a message. */
static int store_due(const struct store_state *f)
{
	int result = 0;

	for (size_t from = 0, to; from < f->count && result == 0; from = to) {
		to = from;
		while (to < f->count && f->due[to].slot == f->due[from].slot)
			to++;
		result = store_before(f, from, to);
		if (result == 0)
			result = store_slot(f, f->due[from].slot);
	}
	return result;
}

static int compare_due(const void *left, const void *right)
{
	const struct due *a = left, *b = right;

	return a->slot < b->slot ? -1 : a->slot > b->slot;
}

/* Stores what is new. Returns STATUS_OK, also when the server fails, or another status after a message. */
static int store_new(struct store_state *f)
{
	struct thrum_error_info error = {0};
	struct done last;
	int result = list_due(f, &last, &error);

	if (result == 0 && f->count > 0) {
		qsort(f->due, f->count, sizeof(*f->due), compare_due);
		result = store_due(f);
	}
	if (result == -THRUM_E_MEMORY)
		return load_no_memory();
	if (result > 0)
		return STATUS_FAILED;
	if (result < 0) {
		if (!f->has_failed)
			complain("%s: %s; tries again", thrum__source_name(f->to->name),
				*error.message ? error.message : thrum_error_message(result));
		f->has_failed = true;
		thrum__fleet_close(f->server);
		f->server = NULL;
		return STATUS_OK;
	}
	f->has_failed = false;
	if (last.pieces == f->done.pieces && last.tables == f->done.tables)
		return STATUS_OK;
	f->done = last;
	return file_write(f->position, FILE_OUTPUT, write_position, f);
}

int store_follow(const struct command *command, const struct store_following *to)
{
	const struct timespec pause = {to->every / SECOND, to->every % SECOND};
	struct store_state f = {.to = to};
	struct thrum_error_info error = {0};
	int status;

	if (thrum__fleet_parse(to->name, (int64_t)thrum__port_realtime(), &f.address, &error) < 0)
		return complain_usage(command, "--follow: %s: %s", thrum__source_name(to->name),
			error.message);
	if (f.address.until != INT64_MAX)
		return complain_usage(command, "--follow has no end: leave to= out");
	status = file_make_folders(to->folder);
	load_position(&f);
	interrupt_catch();
	while (status == STATUS_OK && !is_interrupted) {
		status = store_new(&f);
		if (status == STATUS_OK && !is_interrupted)
			nanosleep(&pause, NULL);
	}
	thrum__fleet_close(f.server);
	free(f.due);
	return status;
}
