/* SPDX-License-Identifier: ISC */
/* The recordings that a server keeps: part 0 of each has its header, and the agent's counts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/keys.h"
#include "fleet/parts.h"
#include "format/clock.h"
#include "read/read.h"

struct knowing {
	const struct thrum__fleet_address *address;
	/* An agent may report meanwhile, so a recording may come twice: the later report counts. */
	struct thrum__base_keys keys;
	struct thrum__fleet_known *all; /* by the number of its key */
	uint32_t room;
};

/* Reads the header in part 0. */
static int get_header(const struct thrum__fleet_stored *message, struct thrum__header *header)
{
	struct thrum__fleet_gather *gather;
	int error = thrum__fleet_gather_create(NULL, &gather);

	if (error)
		return error;
	error = thrum__fleet_gather_table(gather, 0, message->bytes, message->size);
	if (error == 0)
		error = thrum__fleet_gather_begin(gather, NULL);
	if (error == 0)
		*header = *thrum__fleet_gather_header(gather);
	thrum__fleet_gather_destroy(gather);
	return error;
}

static int keep(struct knowing *k, const struct thrum__fleet_known *known)
{
	uint32_t number;
	int error = thrum__base_keys_add(&k->keys, 0, known->key, strlen(known->key), &number);
	struct thrum__fleet_known *all = error
		? NULL
		: thrum__base_grow(k->all, &k->room, k->keys.count, sizeof *all);

	if (!all)
		return -THRUM_E_MEMORY;
	k->all = all;
	all[number] = *known;
	return 0;
}

/* A message that can't be understood is left out. */
static int take_known(void *context, const struct thrum__fleet_stored *message)
{
	struct knowing *k = context;
	const struct thrum__fleet_address *a = k->address;
	struct thrum__fleet_known known = {.told = message->time};

	if (!thrum__fleet_split(message->subject, known.host, known.program) ||
		!thrum__fleet_matches(a->pattern, known.host, known.program) ||
		message->time < a->from || get_header(message, &known.header) < 0)
		return 0;
	snprintf(known.key, sizeof known.key, "%.*s",
		(int)(strrchr(message->subject, '.') - message->subject - strlen("thrum.def.")),
		message->subject + strlen("thrum.def."));
	known.began = thrum__fleet_wall(&known.header, known.header.start.ticks);
	if (known.began > a->until)
		return 0;
	known.until = thrum__fleet_wall(&known.header, atomic_load(&known.header.ended));
	if (message->info)
		(void)!thrum__fleet_get_count(message->info, &known.count);
	return keep(k, &known);
}

int thrum__fleet_know(struct thrum__fleet_server *server,
	const struct thrum__fleet_address *address, uint64_t *after,
	int (*take)(void *, const struct thrum__fleet_known *), void *context,
	struct thrum_error_info *info)
{
	struct knowing knowing = {.address = address};
	struct thrum__fleet_range range = {.is_tables = true, .filter = "thrum.def.*.*.*.0"};
	int result = thrum__fleet_last(server, true, &range.last, info);

	/* Fewer than before: they are others. */
	range.after = after && *after <= range.last ? *after : 0;
	if (result == 0)
		result = thrum__fleet_read(server, &range, take_known, &knowing, info);
	for (uint32_t i = 0; i < knowing.keys.count && result == 0; i++)
		result = take(context, &knowing.all[i]);
	if (result == 0 && after)
		*after = range.last;
	thrum__base_keys_free(&knowing.keys);
	free(knowing.all);
	return result;
}
