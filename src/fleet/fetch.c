/* SPDX-License-Identifier: ISC */
/*
 * Fetches recordings. A stream tells when a message was stored, which is after its events: at once as
 * a rule, or when the server could be reached again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/parts.h"
#include "port/port.h"
#include "read/read.h"

#define SECOND INT64_C(1000000000)
#define EARLIER (10 * SECOND) /* so far the clocks of server and agent may be apart */
#define LATER (3600 * SECOND) /* so long after an event its message is looked for */

/* ---- Names ---------------------------------------------------------------------------------- */

struct names {
	const char *pattern;
	char (*keys)[THRUM__FLEET_KEY];
	size_t count; /* also of those beyond THRUM__FLEET_PARTS_MAX */
};

/* Takes "thrum.def.HOST.PROGRAM.UUID.0" if the pattern wants it. */
static int take_name(void *context, const char *subject)
{
	struct names *names = context;
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY];

	if (!thrum__fleet_split(subject, host, program) ||
		!thrum__fleet_matches(names->pattern, host, program))
		return 0;
	if (names->count < THRUM__FLEET_PARTS_MAX)
		snprintf(names->keys[names->count], THRUM__FLEET_KEY, "%.*s",
			(int)(strrchr(subject, '.') - subject - strlen("thrum.def.")),
			subject + strlen("thrum.def."));
	names->count++;
	return 0;
}

/* Whether no other key has the program of this one. */
static bool is_alone(const struct names *names, size_t which)
{
	const char *program = strchr(names->keys[which], '.');
	size_t size = (size_t)(strrchr(program, '.') + 1 - program);

	for (size_t i = 0; i < names->count && i < THRUM__FLEET_PARTS_MAX; i++)
		if (i != which && strncmp(strchr(names->keys[i], '.'), program, size) == 0)
			return false;
	return true;
}

/* ---- One recording -------------------------------------------------------------------------- */

struct fetch {
	struct thrum__fleet_server *server;
	const struct thrum__fleet_address *address;
	const struct thrum__fleet_fetching *to;
	struct thrum_error_info *info;
	/* The present recording: */
	const char *key;
	bool is_alone; /* no other one that matches has its program's name */
	struct thrum__fleet_gather *gather;
	struct thrum__output output;
	int64_t until; /* messages that were stored later aren't read */
	size_t count;  /* of recordings so far */
};

/* A message that is damaged is as good as none. */
static int unless_damaged(int error)
{
	return error == -THRUM_E_DAMAGED ? 0 : error;
}

static int take_table(void *context, const struct thrum__fleet_stored *message)
{
	struct fetch *f = context;
	uint32_t part;

	if (!thrum__fleet_get_part(message->subject, &part))
		return 0;
	return unless_damaged(
		thrum__fleet_gather_table(f->gather, part, message->bytes, message->size));
}

static int take_piece(void *context, const struct thrum__fleet_stored *message)
{
	struct fetch *f = context;
	struct thrum__fleet_piece piece;

	if (message->time > f->until)
		return 1;
	if (!message->info || !thrum__fleet_get_piece(message->info, &piece) ||
		piece.begin > f->address->until)
		return 0;
	return unless_damaged(
		thrum__fleet_gather_piece(f->gather, &piece, message->bytes, message->size));
}

static int read_tables(struct fetch *f)
{
	char filter[THRUM__FLEET_SUBJECT];

	snprintf(filter, sizeof filter, "thrum.def.%s.*", f->key);
	return thrum__fleet_read(f->server, true, filter, 0, take_table, f, f->info);
}

/* Reads the pieces that were stored from … until. */
static int read_pieces(struct fetch *f, int64_t from, int64_t until)
{
	char filter[THRUM__FLEET_SUBJECT];

	f->until = until;
	snprintf(filter, sizeof filter, "thrum.rec.%s.*", f->key);
	int result = thrum__fleet_read(f->server, false, filter, from, take_piece, f, f->info);

	return result < 0 ? result : 0;
}

/* Reads the pieces of the time that the address names. A packet of which the beginning is missing
 * began before that time: then its beginning is read, too. */
static int read_packets(struct fetch *f)
{
	const struct thrum__fleet_address *a = f->address;
	int64_t from = a->from > EARLIER ? a->from - EARLIER : 0;
	struct thrum__fleet_gathered gathered;
	int error = read_pieces(f, from,
		a->until < INT64_MAX - LATER ? a->until + LATER : INT64_MAX);

	if (error == 0)
		error = thrum__fleet_gather_look(f->gather, &gathered);
	if (error == 0 && from > 0 && gathered.incomplete > 0)
		error = read_pieces(f, gathered.first > EARLIER ? gathered.first - EARLIER : 1,
			from);
	return error;
}

/* Whether the recording reaches into the time that the address names. */
static bool is_in_time(const struct fetch *f)
{
	const struct thrum__header *h = thrum__fleet_gather_header(f->gather);
	uint64_t ended = atomic_load(&h->ended);

	return thrum__fleet_wall(h, h->start.ticks) <= f->address->until &&
		(ended == 0 || thrum__fleet_wall(h, ended) >= f->address->from);
}

static int end_recording(struct fetch *f)
{
	const struct thrum__fleet_address *a = f->address;
	const struct thrum__header *h = thrum__fleet_gather_header(f->gather);
	int error = thrum__fleet_gather_end(f->gather);

	if (error == 0)
		error = f->to->end(f->to->owner,
			a->from == INT64_MIN ? 0 : thrum__fleet_ticks(h, a->from),
			a->until == INT64_MAX ? UINT64_MAX : thrum__fleet_ticks(h, a->until));
	return error ? thrum__read_error_set(f->info, error, 0,
			       "what the server keeps can't be written to a temporary file: %s",
			       thrum_error_message(error))
		     : 0;
}

static int fetch_packets(struct fetch *f)
{
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY], name[100];
	int error;

	sscanf(f->key, "%[^.].%[^.]", host, program);
	snprintf(name, sizeof name, "%.40s%s%.40s.thrum", program, f->is_alone ? "" : "-",
		f->is_alone ? "" : host);
	for (char *at = name; *at; at++)
		*at = *at == '/' ? '_' : *at;
	error = f->to->begin(f->to->owner, name, host, program, &f->output);
	if (error)
		return thrum__read_error_set(f->info, error, 0, "no temporary file can be made: %s",
			thrum_error_message(error));
	f->count++;
	error = read_packets(f);
	/* Definitions that have come meanwhile. */
	if (error == 0)
		error = read_tables(f);
	return error ? error : end_recording(f);
}

/* Fetches a recording, if it reaches into the time. One with a damaged header is none. */
static int fetch_recording(struct fetch *f, const struct names *names, size_t i)
{
	int error = thrum__fleet_gather_create(&f->output, &f->gather);

	if (error)
		return thrum__read_error_set(f->info, error, 0, "out of memory");
	f->key = names->keys[i];
	f->is_alone = is_alone(names, i);
	error = read_tables(f);
	if (error == 0) {
		error = thrum__fleet_gather_begin(f->gather, f->info);
		if (error == 0 && is_in_time(f))
			error = fetch_packets(f);
		else if (error != -THRUM_E_MEMORY)
			error = 0;
	}
	thrum__fleet_gather_destroy(f->gather);
	return error;
}

/* ---- All ------------------------------------------------------------------------------------ */

static int fetch_all(struct fetch *f, struct names *names)
{
	int error = thrum__fleet_list(f->server, "thrum.def.*.*.*.0", take_name, names, f->info);

	for (size_t i = 0; i < names->count && i < THRUM__FLEET_PARTS_MAX && error == 0; i++)
		error = fetch_recording(f, names, i);
	if (error)
		return error;
	if (names->count > THRUM__FLEET_PARTS_MAX)
		return thrum__read_error_set(f->info, -THRUM_E_SIZE, 0,
			"%zu recordings match, and at most %d can be taken as one: name hosts or "
			"programs",
			names->count, THRUM__FLEET_PARTS_MAX);
	if (f->count == 0)
		return thrum__read_error_set(f->info, -THRUM_E_NOT_FOUND, 0,
			names->count > 0 ? "none of the recordings that match is of that time"
					 : "the server keeps no recording that matches");
	return 0;
}

int thrum__fleet_fetch(const struct thrum__fleet_address *address,
	const struct thrum__fleet_fetching *to, struct thrum_error_info *info)
{
	struct fetch f = {.address = address, .to = to, .info = info};
	struct names names = {.pattern = address->pattern};
	int error;

	names.keys = calloc(THRUM__FLEET_PARTS_MAX, sizeof *names.keys);
	if (!names.keys)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	error = thrum__fleet_connect(address, &f.server, info);
	if (error == 0)
		error = fetch_all(&f, &names);
	thrum__fleet_close(f.server);
	free(names.keys);
	return error;
}
