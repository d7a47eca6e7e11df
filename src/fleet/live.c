/* SPDX-License-Identifier: ISC */
/*
 * One recording of a server, and what comes of it. A look at both streams finds what is new: so it
 * makes no difference whether the server was away meanwhile, and a reader needs no more rights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/parts.h"
#include "read/read.h"

int thrum__fleet_live_create(struct thrum__fleet_server *server, const char *key,
	struct thrum__fleet_live **live, struct thrum_error_info *info)
{
	struct thrum__fleet_live *l = calloc(1, sizeof *l);

	if (!l || thrum__fleet_gather_create(&l->output, &l->gather) < 0) {
		free(l);
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	}
	l->server = server;
	snprintf(l->tables, sizeof l->tables, "thrum.def.%s.*", key);
	snprintf(l->pieces, sizeof l->pieces, "thrum.rec.%s.*", key);
	*live = l;
	return 0;
}

void thrum__fleet_live_destroy(struct thrum__fleet_live *l)
{
	if (!l)
		return;
	thrum__fleet_gather_destroy(l->gather);
	free(l);
}

/* A message that is damaged is as good as none. */
static int unless_damaged(int error)
{
	return error == -THRUM_E_DAMAGED ? 0 : error;
}

static int take_table(void *context, const struct thrum__fleet_stored *message)
{
	const struct thrum__fleet_live *l = context;
	uint32_t part;

	if (!thrum__fleet_get_part(message->subject, &part))
		return 0;
	return unless_damaged(
		thrum__fleet_gather_table(l->gather, part, message->bytes, message->size));
}

int thrum__fleet_live_piece(struct thrum__fleet_live *l, const struct thrum__fleet_stored *message,
	int64_t until)
{
	struct thrum__fleet_piece piece;

	if (!message->info || !thrum__fleet_get_piece(message->info, &piece) || piece.begin > until)
		return 0;
	return unless_damaged(
		thrum__fleet_gather_piece(l->gather, &piece, message->bytes, message->size));
}

static int take_piece(void *context, const struct thrum__fleet_stored *message)
{
	return thrum__fleet_live_piece(context, message, INT64_MAX);
}

/* Reads what has come behind the messages that are done, up to the number `last`. */
static int read_on(struct thrum__fleet_live *l, bool is_tables, uint64_t last,
	struct thrum_error_info *info)
{
	uint64_t *done = is_tables ? &l->tables_done : &l->pieces_done;
	struct thrum__fleet_range range = {.is_tables = is_tables,
		.filter = is_tables ? l->tables : l->pieces,
		.after = last < *done ? 0 : *done, /* the server has lost all, and begins again */
		.last = last};
	int error = thrum__fleet_read(l->server, &range, is_tables ? take_table : take_piece, l,
		info);

	if (error == 0)
		*done = last;
	return error;
}

int thrum__fleet_live_read_tables(struct thrum__fleet_live *l, struct thrum_error_info *info)
{
	uint64_t last;
	int error = thrum__fleet_last(l->server, true, &last, info);

	return error ? error : read_on(l, true, last, info);
}

int thrum__fleet_live_step(struct thrum__fleet_live *l, struct thrum_error_info *info)
{
	uint64_t last;
	/* The ending was stored last of all. */
	bool is_over = thrum__fleet_gather_has_ending(l->gather);
	/* Pieces up to this one find all that they need in the tables that are read afterwards. */
	int error = thrum__fleet_last(l->server, false, &last, info);

	if (error == 0)
		error = thrum__fleet_live_read_tables(l, info);
	if (error)
		return error;
	error = thrum__fleet_gather_write_tables(l->gather);
	if (error == 0)
		error = read_on(l, false, last, info);
	if (error == 0)
		error = thrum__fleet_gather_write_header(l->gather, is_over);
	return error ? error : !is_over;
}
