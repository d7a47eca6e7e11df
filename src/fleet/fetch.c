/* SPDX-License-Identifier: ISC */
/*
 * Fetches recordings. A stream tells when a message was stored, which is after its events: at once as
 * a rule, or when the server could be reached again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/parts.h"
#include "port/futex.h"
#include "port/port.h"
#include "read/read.h"

#define SECOND INT64_C(1000000000)
#define EARLIER (10 * SECOND) /* so far the clocks of server and agent may be apart */
#define LATEST (60 * SECOND)  /* a message that came so long before a report is counted in it */
#define AGAIN 2000            /* ms until the second try */
#define NEAR (70 * SECOND)    /* clocks are compared by what agents found in this time */

/* ---- Names ---------------------------------------------------------------------------------- */

struct name {
	char key[THRUM__FLEET_KEY];
	int64_t told; /* its agent reported last, ns since 1970 */
	int64_t late; /* up to then no message had come so long after its records, ns */
};

struct names {
	const struct thrum__fleet_address *address;
	const struct thrum__fleet_fetching *to;
	const char *behind; /* only names behind this one */
	struct name *all;   /* the first ones by name */
	size_t count;       /* also of those beyond THRUM__FLEET_PARTS_MAX */
	bool is_any;        /* one matches, of whatever time */
};

/* Whether the recording reaches into the time that the address names. */
static bool is_in_time(const struct thrum__fleet_known *known,
	const struct thrum__fleet_address *address)
{
	return known->began <= address->until &&
		(atomic_load(&known->header.ended) == 0 || known->until >= address->from);
}

/* Takes the name of a recording. */
static int take_name(void *context, const struct thrum__fleet_known *known)
{
	struct names *names = context;
	size_t kept = names->count < THRUM__FLEET_PARTS_MAX ? names->count : THRUM__FLEET_PARTS_MAX,
	       at = 0;

	names->is_any = true;
	if (!is_in_time(known, names->address) || strcmp(known->key, names->behind) <= 0 ||
		(names->to->has && names->to->has(names->to->owner, known->key)))
		return 0;
	while (at < kept && strcmp(names->all[at].key, known->key) < 0)
		at++;
	names->count++;
	if (at == THRUM__FLEET_PARTS_MAX)
		return 0;
	kept -= kept == THRUM__FLEET_PARTS_MAX;
	memmove(&names->all[at + 1], &names->all[at], (kept - at) * sizeof *names->all);
	memcpy(names->all[at].key, known->key, sizeof known->key);
	names->all[at].told = known->told;
	names->all[at].late = (int64_t)known->count.late;
	return 0;
}

/* Whether no other key has the program of this one. */
static bool is_alone(const struct names *names, size_t which)
{
	const char *program = strchr(names->all[which].key, '.');
	size_t size = (size_t)(strrchr(program, '.') + 1 - program);

	for (size_t i = 0; i < names->count; i++)
		if (i != which && strncmp(strchr(names->all[i].key, '.'), program, size) == 0)
			return false;
	return true;
}

/* ---- One recording -------------------------------------------------------------------------- */

struct fetch {
	const struct thrum__fleet_address *address;
	const struct thrum__fleet_fetching *to;
	struct thrum_error_info *info;
	struct thrum__fleet_server *server;
	struct thrum__fleet_live *live; /* the present recording */
	const struct name *name;
	bool is_alone; /* no other one that matches has its program's name */
	bool may_go_on;
	bool goes_on;  /* one of them does */
	int64_t until; /* messages that were stored later aren't read */
	size_t count;  /* of recordings so far */
	struct thrum__fleet_pings pings;
};

static int take_piece(void *context, const struct thrum__fleet_stored *message)
{
	const struct fetch *f = context;

	return message->time > f->until
		? 1
		: thrum__fleet_live_piece(f->live, message, f->address->until);
}

/* Reads the pieces that were stored from … until. */
static int read_pieces(struct fetch *f, int64_t from, int64_t until)
{
	struct thrum__fleet_range range = {.filter = f->live->pieces, .from = from};
	int result = thrum__fleet_last(f->server, false, &range.last, f->info);

	f->until = until;
	if (result == 0)
		result = thrum__fleet_read(f->server, &range, take_piece, f, f->info);
	if (range.last > f->live->pieces_done)
		f->live->pieces_done = range.last;
	return result < 0 ? result : 0;
}

/* Adds to a time, up to the greatest one. */
static int64_t add_time(int64_t time, int64_t more)
{
	return time < INT64_MAX - more ? time + more : INT64_MAX;
}

/* Reads the pieces of the time that the address names: those that were stored up to then, as late as the
 * agent has told that its messages came, and those of which its last report tells nothing. A packet of which
 * the beginning is missing began before that time: then its beginning is read, too. */
static int read_packets(struct fetch *f)
{
	const struct thrum__fleet_address *a = f->address;
	int64_t from = a->from > EARLIER ? a->from - EARLIER : 0;
	int64_t until = add_time(add_time(a->until, EARLIER), f->name->late);
	int64_t told = f->name->told - LATEST;
	struct thrum__fleet_gathered gathered;
	int error = read_pieces(f, from, until >= told ? INT64_MAX : until);

	if (error == 0 && until < told)
		error = read_pieces(f, told, INT64_MAX);

	thrum__fleet_gather_look(f->live->gather, &gathered);
	if (error == 0 && from > 0 && gathered.incomplete > 0)
		error = read_pieces(f, gathered.first > EARLIER ? gathered.first - EARLIER : 1,
			from);
	return error;
}

/* Notes a recording's machine, and its times. */
static void note_machine(struct fetch *f, const struct thrum__header *h)
{
	struct thrum__fleet_pings *p = &f->pings;
	uint64_t ended = atomic_load(&h->ended);
	int64_t from = thrum__fleet_wall(h, h->start.ticks),
		until = ended ? thrum__fleet_wall(h, ended) : INT64_MAX;
	size_t i = 0;

	from = from > f->address->from ? from : f->address->from;
	until = until < f->address->until ? until : f->address->until;
	until = until < INT64_MAX - NEAR ? until + NEAR : INT64_MAX;
	p->from = f->count == 0 || from - NEAR < p->from ? from - NEAR : p->from;
	p->until = f->count == 0 || until > p->until ? until : p->until;
	while (i < p->boot_count && p->boots[i] != h->boot)
		i++;
	if (i == p->boot_count && h->boot != 0)
		p->boots[p->boot_count++] = h->boot;
}

static int fail_to_write(struct fetch *f, int error)
{
	return thrum__read_error_set(f->info, error, 0,
		"what the server keeps can't be written to a temporary file: %s",
		thrum_error_message(error));
}

/* Hands over the present recording, which goes on. */
static int hand_over(struct fetch *f)
{
	int error = thrum__fleet_gather_go_on(f->live->gather, f->address->from);

	if (error == 0)
		error = f->to->go_on(f->to->owner, f->live);
	if (error)
		return fail_to_write(f, error);
	f->live = NULL;
	f->goes_on = true;
	return 0;
}

/* Ends the present recording. */
static int end_recording(struct fetch *f)
{
	const struct thrum__fleet_address *a = f->address;
	const struct thrum__header *h = thrum__fleet_gather_header(f->live->gather);
	int error = thrum__fleet_gather_end(f->live->gather);

	if (error == 0)
		error = f->to->end(f->to->owner,
			a->from == INT64_MIN ? 0 : thrum__fleet_ticks(h, a->from),
			a->until == INT64_MAX ? UINT64_MAX : thrum__fleet_ticks(h, a->until));
	return error ? fail_to_write(f, error) : 0;
}

static int fetch_packets(struct fetch *f)
{
	char host[THRUM__FLEET_KEY], program[THRUM__FLEET_KEY], name[100];
	int error;

	sscanf(f->name->key, "%[^.].%[^.]", host, program);
	snprintf(name, sizeof name, "%.40s%s%.40s.thrum", program, f->is_alone ? "" : "-",
		f->is_alone ? "" : host);
	for (char *at = name; *at; at++)
		*at = *at == '/' ? '_' : *at;
	error = f->to->begin(f->to->owner, name, f->name->key, &f->live->output);
	if (error)
		return thrum__read_error_set(f->info, error, 0, "no temporary file can be made: %s",
			thrum_error_message(error));
	note_machine(f, thrum__fleet_gather_header(f->live->gather));
	f->count++;
	error = read_packets(f);
	/* Definitions that have come meanwhile. */
	if (error == 0)
		error = thrum__fleet_live_read_tables(f->live, f->info);
	return error;
}

/* Begins the present recording. Returns 1, 0 if its header is damaged now, or a negative enum
 * thrum_error. */
static int begin_recording(struct fetch *f, const char *key)
{
	struct thrum__fleet_live *live;
	int result = thrum__fleet_live_create(f->server, key, &live, f->info);

	if (result < 0)
		return result;
	result = thrum__fleet_live_read_tables(live, f->info);
	if (result == 0) {
		result = thrum__fleet_gather_begin(live->gather, f->info);
		result = result == -THRUM_E_MEMORY ? result : result == 0;
	}
	if (result == 1)
		f->live = live;
	else
		thrum__fleet_live_destroy(live);
	return result;
}

static int fetch_recording(struct fetch *f, const struct names *names, size_t i)
{
	int result = begin_recording(f, names->all[i].key);

	if (result <= 0)
		return result;
	f->name = &names->all[i];
	f->is_alone = is_alone(names, i);
	result = fetch_packets(f);
	if (result == 0)
		result = f->may_go_on && !thrum__fleet_gather_has_ending(f->live->gather)
			? hand_over(f)
			: end_recording(f);
	thrum__fleet_live_destroy(f->live);
	f->live = NULL;
	return result;
}

/* Reads what is known about the clocks of the machines, unless it is one. */
static int fetch_pings(struct fetch *f)
{
	int error = 0;

	if (f->pings.boot_count > 1)
		error = thrum__fleet_read_pings(f->server, &f->pings, f->info);
	if (error == 0 && f->pings.count > 0) {
		error = f->to->clocks(f->to->owner, f->pings.all, f->pings.count);
		error = error ? fail_to_write(f, error) : 0;
	}
	return error;
}

/* ---- All ------------------------------------------------------------------------------------ */

/* Finds the server, and the recordings that match. */
static int list_names(struct fetch *f, struct names *names)
{
	struct thrum__fleet_address any = *f->address;
	int error = thrum__fleet_connect(f->address, &f->server, f->info);

	any.from = INT64_MIN;
	any.until = INT64_MAX;
	names->count = 0;
	return error ? error : thrum__fleet_know(f->server, &any, NULL, take_name, names, f->info);
}

/* Takes what is beyond the most recordings for later, or refuses. */
static int limit_names(struct fetch *f, struct names *names)
{
	struct thrum__fleet_portion *portion = f->to->portion;
	size_t most = THRUM__FLEET_PARTS_MAX;

	if (portion) {
		portion->left = names->count > most ? names->count - most : 0;
		names->count -= portion->left;
		if (names->count > 0)
			strcpy(portion->behind, names->all[names->count - 1].key);
	}
	return names->count <= most
		? 0
		: thrum__read_error_set(f->info, -THRUM_E_SIZE, 0,
			  "%zu recordings of that time match, and at most %zu can be taken as one: "
			  "name hosts, programs or a shorter time",
			  names->count, most);
}

static int fetch_names(struct fetch *f, const struct names *names)
{
	int error = 0;

	f->may_go_on = f->to->go_on && f->address->until == INT64_MAX &&
		names->count <= f->to->live_most;
	for (size_t i = 0; i < names->count && error == 0; i++)
		error = fetch_recording(f, names, i);
	return error;
}

static int fetch_all(struct fetch *f, struct names *names)
{
	static _Atomic uint32_t never;
	int error = list_names(f, names);

	/* A cluster that has just lost a server may need some time to choose another leader. */
	if (error == -THRUM_E_SYSTEM && f->server) {
		thrum__fleet_close(f->server);
		f->server = NULL;
		thrum__port_wait(&never, 0, AGAIN);
		error = list_names(f, names);
	}
	if (error == 0)
		error = limit_names(f, names);
	if (error == 0)
		error = fetch_names(f, names);
	if (error || f->count > 0 || (f->to->portion && names->count > 0))
		return error;
	return thrum__read_error_set(f->info, -THRUM_E_NOT_FOUND, 0,
		names->is_any ? "none of the recordings that match is of that time"
			      : "the server keeps no recording that matches");
}

int thrum__fleet_fetch(const struct thrum__fleet_address *address,
	const struct thrum__fleet_fetching *to, struct thrum__fleet_server **server,
	struct thrum_error_info *info)
{
	struct fetch f = {.address = address, .to = to, .info = info};
	struct names names = {.address = address,
		.to = to,
		.behind = to->portion ? to->portion->behind : ""};
	int error;

	*server = NULL;
	names.all = calloc(THRUM__FLEET_PARTS_MAX, sizeof *names.all);
	if (!names.all)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	error = fetch_all(&f, &names);
	if (error == 0)
		error = fetch_pings(&f);
	if (f.goes_on)
		*server = f.server;
	else
		thrum__fleet_close(f.server);
	free(f.pings.all);
	free(names.all);
	return error;
}

int thrum__fleet_fetch_more(struct thrum__fleet_server *server,
	const struct thrum__fleet_address *address, uint64_t *after,
	const struct thrum__fleet_fetching *to, struct thrum_error_info *info)
{
	struct fetch f = {.address = address, .to = to, .info = info, .server = server};
	struct names names = {.address = address, .to = to, .behind = ""};
	int error;

	names.all = calloc(THRUM__FLEET_PARTS_MAX, sizeof *names.all);
	if (!names.all)
		return -THRUM_E_MEMORY;
	error = thrum__fleet_know(server, address, after, take_name, &names, info);
	/* There is no room for others. */
	if (names.count > to->live_most)
		names.count = to->live_most;
	if (error == 0)
		error = fetch_names(&f, &names);
	free(names.all);
	return error;
}
