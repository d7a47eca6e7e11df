/* SPDX-License-Identifier: ISC */
/* Recordings that a NATS server keeps. They are fetched to temporary files: one recording as it is,
 * several as a bundle. Those that go on: fleet_live.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "port/port.h"
#include "read/read.h"
#include "source/fleet.h"

static int begin_part(void *owner, const char *name, const char *key, struct thrum__output *output)
{
	struct thrum__source_fetched *f = owner;
	int fd = thrum__source_temporary_file();

	if (fd < 0)
		return fd;
	snprintf(f->names[f->count], sizeof f->names[0], "%s", name);
	snprintf(f->keys[f->count], sizeof f->keys[0], "%s", key);
	sscanf(key, "%[^.].%[^.]", f->hosts[f->count], f->programs[f->count]);
	f->files[f->count] = fd;
	f->lives[f->count] = NULL;
	*output = (struct thrum__output){&f->files[f->count++], thrum__source_write_at};
	return 0;
}

/* Leaves the time that was asked for. */
static int end_part(void *owner, uint64_t from, uint64_t until)
{
	struct thrum__source_fetched *f = owner;
	int *file = &f->files[f->count - 1], copy, error;
	struct thrum__input input;

	f->whole = f->count;
	if (from == 0 && until == UINT64_MAX)
		return 0;
	copy = thrum__source_temporary_file();
	if (copy < 0)
		return copy;
	error = thrum__source_input_of(*file, &input);
	*file = copy;
	if (error)
		return error;
	error = thrum__source_copy_between(&input, copy, from, until);
	thrum__source_close(input.owner);
	return error;
}

static int take_clocks(void *owner, const struct thrum__ping *pings, size_t count)
{
	struct thrum__source_fetched *f = owner;

	f->clocks = thrum__source_temporary_file();
	return f->clocks < 0 ? f->clocks
			     : thrum__source_write_all(f->clocks, pings, count * sizeof *pings);
}

int thrum__source_join_parts(struct thrum__source_fetched *f)
{
	int to, error = 0;

	if (f->count == 1) {
		f->count = 0;
		return f->files[0];
	}
	to = thrum__source_temporary_file();
	for (size_t i = 0; i < f->count && to >= 0 && error == 0; i++)
		error = thrum__source_bundle_append(to, f->files[i], f->names[i]);
	if (to >= 0 && error == 0 && f->clocks >= 0)
		error = thrum__source_bundle_append(to, f->clocks, THRUM__PING_ENTRY);
	if (to >= 0 && error == 0)
		error = thrum__source_bundle_end(to);
	if (error) {
		close(to);
		return error;
	}
	return to;
}

struct thrum__fleet_fetching thrum__source_fetching(struct thrum__source_fetched *fetched)
{
	return (struct thrum__fleet_fetching){fetched, begin_part, end_part, take_clocks, NULL,
		NULL, 0, NULL};
}

/* Fetches all that an address names, or a portion. The caller frees *fetched with thrum__source_drop_parts,
 * also after a failure. */
static int fetch_address(const struct thrum__fleet_address *address,
	struct thrum__source_fetched *fetched, struct thrum__fleet_portion *portion,
	struct thrum_error_info *info)
{
	struct thrum__fleet_fetching fetching = thrum__source_fetching(fetched);
	struct thrum__fleet_server *server;

	fetched->count = fetched->whole = 0;
	fetched->clocks = -1;
	fetching.portion = portion;
	return thrum__fleet_fetch(address, &fetching, &server, info);
}

void thrum__source_drop_parts(const struct thrum__source_fetched *fetched)
{
	for (size_t i = 0; i < fetched->count; i++)
		close(fetched->files[i]);
	if (fetched->clocks >= 0)
		close(fetched->clocks);
}

/* Visits the recordings, and closes them. */
static int visit_parts(const struct thrum__source_fetched *fetched,
	int (*visit)(void *, const struct thrum__source_group *), void *context)
{
	struct thrum__source_recording all[THRUM__FLEET_PARTS_MAX];
	struct thrum__source_group group = {all, fetched->count, fetched->clocks};
	char paths[THRUM__FLEET_PARTS_MAX][32];
	int result;

	for (size_t i = 0; i < fetched->count; i++) {
		snprintf(paths[i], sizeof paths[i], "/proc/self/fd/%d", fetched->files[i]);
		all[i] = (struct thrum__source_recording){paths[i], fetched->names[i],
			fetched->hosts[i], fetched->programs[i]};
	}
	result = visit(context, &group);
	thrum__source_drop_parts(fetched);
	return result;
}

int thrum__source_visit(const struct thrum__fleet_address *address,
	int (*visit)(void *, const struct thrum__source_group *), void *context,
	struct thrum_error_info *info)
{
	struct thrum__fleet_portion portion = {.left = 0};
	struct thrum__source_fetched fetched;
	int result;

	do {
		bool is_first = portion.behind[0] == '\0';

		result = fetch_address(address, &fetched, &portion, info);
		if (result == 0) {
			result = visit_parts(&fetched, visit, context);
			continue;
		}
		thrum__source_drop_parts(&fetched);
		/* The server has dropped the rest meanwhile. */
		if (result == -THRUM_E_NOT_FOUND && !is_first)
			return 0;
	} while (result == 0 && portion.left > 0);
	return result;
}

int thrum__source_fetch(const struct thrum__fleet_address *address,
	char keys[THRUM__FLEET_PARTS_MAX][THRUM__FLEET_KEY], size_t *left,
	struct thrum_error_info *info)
{
	struct thrum__fleet_portion portion = {.left = 0};
	struct thrum__source_fetched fetched;
	int result = fetch_address(address, &fetched, &portion, info);

	*left = portion.left;
	if (result == 0 && fetched.count == 0)
		result = thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"the recordings that match are damaged");
	if (result == 0) {
		memcpy(keys, fetched.keys, fetched.count * sizeof *keys);
		result = thrum__source_join_parts(&fetched);
	}
	thrum__source_drop_parts(&fetched);
	return result;
}
