/* SPDX-License-Identifier: ISC */
/* Keeps the names of addresses in copies of recordings. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>

#include "format/packet.h"
#include "read/read.h"
#include "source/input.h"

bool thrum__source_can_name(void)
{
	struct thrum__read_namer *namer = thrum__source_symbols_create();

	thrum__source_symbols_destroy(namer);
	return namer != NULL;
}

bool thrum__source_has_addresses(const struct thrum__input *input,
	const struct thrum__header *header)
{
	struct thrum__definition cells[64];
	uint64_t at = 0;
	bool is_empty = false;

	while (!is_empty && at < header->definitions.size) {
		int64_t got = thrum__format_input_read(input, header->definitions.offset + at,
			cells, sizeof cells);
		size_t count = got > 0 ? (size_t)got / sizeof *cells : 0;

		is_empty = true;
		for (size_t i = 0; i < count; i++) {
			if (cells[i].type == THRUM__DEFINES_MODULE)
				return true;
			is_empty = is_empty && !cells[i].type;
		}
		at += sizeof cells;
	}
	return false;
}

/* Writes the names into a copy. */
static int keep_names(int fd, uint32_t *unnamed)
{
	struct thrum__output output = {&fd, thrum__source_write_at};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct thrum__read_namer *namer;
	struct thrum__input input;
	struct thrum_trace *trace;
	int error;

	if (copy < 0)
		return thrum__source_error_of(errno);
	error = thrum__source_input_of(copy, &input);
	if (error != 0)
		return error;
	error = thrum__read_open(&input, NULL, &trace, NULL);
	if (error == 0) {
		trace->namer = namer = thrum__source_symbols_create();
		error = thrum__read_keep_names(trace, &output, unnamed);
		thrum_trace_close(trace);
		thrum__source_symbols_destroy(namer);
	}
	thrum__source_close(input.owner);
	return error;
}

int thrum__source_copy_named(const struct thrum__input *input, int to, uint64_t *overwritten,
	uint32_t *unnamed)
{
	struct thrum__header header;
	int error = thrum__source_header(input, &header, NULL);
	bool is_whole = error == 0 && !thrum__source_is_recorded_to(input, &header);
	uint32_t state = error == 0 ? atomic_load(&header.state) : 0;

	*unnamed = 0;
	if (error == 0)
		error = thrum__source_copy(input, to, overwritten);
	if (error == 0)
		error = keep_names(to, unnamed);
	/* The copy of a recording that has ended is no snapshot. */
	if (error == 0 && is_whole)
		error = thrum__source_write_at(&to, offsetof(struct thrum__header, state), &state,
			sizeof state);
	return error;
}
