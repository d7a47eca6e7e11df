/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes what a server gives for a recording: messages, which become a recording, which is read. Each
 * message is a letter, a size (2 bytes), for a piece its header and a NUL, and that many bytes. T and a
 * number (1 byte) stand for a part of the tables, P for a piece, C for a ping; after G it is a recording
 * that goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"

#define WHOLE ((size_t)1 << 22) /* what is written beyond is lost, as on a full disk */

static uint8_t *whole;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int write_whole(void *owner, uint64_t offset, const void *from, size_t size)
{
	(void)owner;
	if (offset > WHOLE || size > WHOLE - offset)
		return -THRUM_E_SPACE;
	memcpy(whole + offset, from, size);
	return 0;
}

struct reader {
	const uint8_t *at, *end;
};

static size_t take_size(struct reader *r)
{
	size_t size = (size_t)r->at[0] | (size_t)r->at[1] << 8, left;

	r->at += 2;
	left = (size_t)(r->end - r->at);
	return size < left ? size : left;
}

static void give_table(struct reader *r, struct thrum__fleet_gather *g)
{
	uint32_t part = *r->at++;
	size_t size = take_size(r);

	(void)!thrum__fleet_gather_table(g, part, r->at, size);
	r->at += size;
}

static void give_piece(struct reader *r, struct thrum__fleet_gather *g)
{
	size_t size = take_size(r);
	const uint8_t *end = memchr(r->at, '\0', (size_t)(r->end - r->at));
	struct thrum__fleet_piece piece;

	if (end && thrum__fleet_get_piece((const char *)r->at, &piece)) {
		r->at = end + 1;
		if (size > (size_t)(r->end - r->at))
			size = (size_t)(r->end - r->at);
		(void)!thrum__fleet_gather_piece(g, &piece, r->at, size);
	}
	r->at += size;
}

/* Writing what was understood gives the same again. */
static void give_ping(struct reader *r)
{
	size_t size = take_size(r);
	char text[THRUM__FLEET_INFO];
	struct thrum__ping ping, again;

	if (thrum__fleet_get_ping(r->at, size, &ping)) {
		thrum__fleet_put_ping(&ping, text);
		if (!thrum__fleet_get_ping(text, strlen(text), &again) ||
			memcmp(&ping, &again, sizeof ping) != 0)
			abort();
	}
	r->at += size;
}

static void read_whole(void)
{
	struct thrum_trace *trace;
	const struct thrum_event *events;
	size_t count;

	if (thrum_trace_open_memory(whole, WHOLE, &trace, NULL) != 0)
		return;
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		continue;
	thrum_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__output output = {NULL, write_whole};
	struct reader r = {data, data + size};
	struct thrum__fleet_gathered gathered;
	struct thrum__fleet_gather *g;
	bool has_begun = false, goes_on = false;
	int error;

	if (!whole)
		whole = malloc(WHOLE);
	if (!whole || thrum__fleet_gather_create(&output, &g) != 0)
		return 0;
	memset(whole, 0, WHOLE);
	while (r.end - r.at >= 4) {
		uint8_t letter = *r.at++;

		if (letter == 'T') {
			give_table(&r, g);
		} else if (letter == 'C') {
			give_ping(&r);
		} else if (letter == 'P') {
			has_begun = has_begun || thrum__fleet_gather_begin(g, NULL) == 0;
			if (!has_begun)
				break;
			give_piece(&r, g);
		} else if (letter == 'G' && has_begun && !goes_on) {
			goes_on = thrum__fleet_gather_go_on(g, INT64_MIN) == 0;
		}
	}
	if (has_begun) {
		thrum__fleet_gather_look(g, &gathered);
		if (gathered.packets > size || gathered.incomplete > size)
			abort();
		error = goes_on ? thrum__fleet_gather_write_tables(g) : thrum__fleet_gather_end(g);
		if (error == 0 && goes_on)
			error = thrum__fleet_gather_write_header(g, true);
		if (error == 0)
			read_whole();
	}
	thrum__fleet_gather_destroy(g);
	return 0;
}
