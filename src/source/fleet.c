/* SPDX-License-Identifier: ISC */
/* Recordings that a NATS server keeps. They are fetched to temporary files: one recording as it is,
 * several as a bundle. While one is followed, a thread does to its file as the recorder does to its own. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fleet/fleet.h"
#include "port/futex.h"
#include "port/port.h"
#include "read/read.h"
#include "source/input.h"

struct fetched {
	int files[THRUM__FLEET_PARTS_MAX];
	char names[THRUM__FLEET_PARTS_MAX][100];
	char hosts[THRUM__FLEET_PARTS_MAX][65], programs[THRUM__FLEET_PARTS_MAX][65];
	size_t count;
	int clocks; /* a file with struct thrum__ping; -1: none */
};

static int begin_part(void *owner, const char *name, const char *host, const char *program,
	struct thrum__output *output)
{
	struct fetched *f = owner;
	int fd = thrum__source_temporary_file();

	if (fd < 0)
		return fd;
	snprintf(f->names[f->count], sizeof f->names[0], "%s", name);
	snprintf(f->hosts[f->count], sizeof f->hosts[0], "%s", host);
	snprintf(f->programs[f->count], sizeof f->programs[0], "%s", program);
	f->files[f->count] = fd;
	*output = (struct thrum__output){&f->files[f->count++], thrum__source_write_at};
	return 0;
}

/* Leaves the time that was asked for. */
static int end_part(void *owner, uint64_t from, uint64_t until)
{
	struct fetched *f = owner;
	int *file = &f->files[f->count - 1], copy, error;
	struct thrum__input input;

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
	struct fetched *f = owner;

	f->clocks = thrum__source_temporary_file();
	return f->clocks < 0 ? f->clocks
			     : thrum__source_write_all(f->clocks, pings, count * sizeof *pings);
}

/* Returns the descriptor of a file with all parts, or a negative enum thrum_error. */
static int join_parts(struct fetched *f)
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

/* Fetches all that an address names, or a portion. `live`: see thrum__fleet_fetch. The caller frees *fetched
 * with drop_parts, also after a failure. */
static int fetch_address(const struct thrum__fleet_address *address, struct fetched *fetched,
	struct thrum__fleet_portion *portion, struct thrum__fleet_live **live,
	struct thrum_error_info *info)
{
	struct thrum__fleet_fetching fetching = {fetched, begin_part, end_part, take_clocks,
		portion};

	fetched->count = 0;
	fetched->clocks = -1;
	return thrum__fleet_fetch(address, &fetching, live, info);
}

static int fetch_parts(const char *text, struct fetched *fetched, struct thrum__fleet_live **live,
	struct thrum_error_info *info)
{
	struct thrum__fleet_address address;
	int error = thrum__fleet_parse(text, (int64_t)thrum__port_realtime(), &address, info);

	fetched->count = 0;
	fetched->clocks = -1;
	return error ? error : fetch_address(&address, fetched, NULL, live, info);
}

static void drop_parts(const struct fetched *fetched)
{
	for (size_t i = 0; i < fetched->count; i++)
		close(fetched->files[i]);
	if (fetched->clocks >= 0)
		close(fetched->clocks);
}

/* ---- A recording that goes on ---------------------------------------------------------------- */

#define PAUSE 250  /* ms between looks at the server */
#define AGAIN 1000 /* ms until the next look after a failure */

struct live {
	struct thrum__source_owner owner;
	struct fetched fetched;   /* its first file is the output */
	struct thrum__input file; /* has that file */
	struct thrum__fleet_live *live;
	struct thrum__header *header; /* of the file */
	pthread_t thread;
	bool is_followed;
	_Atomic bool has_ended;
	_Atomic uint32_t stop; /* a futex */
};

static int64_t live_read(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct thrum__input *file = &((struct live *)owner)->file;

	return file->read(file->owner, offset, to, size);
}

static uint64_t live_size(void *owner)
{
	const struct thrum__input *file = &((struct live *)owner)->file;

	return file->size(file->owner);
}

static int live_is_written(void *owner)
{
	return !atomic_load(&((struct live *)owner)->has_ended);
}

/* Writes what comes until the recording ends, and wakes readers as the recorder does. */
static void *write_on(void *owner)
{
	struct live *live = owner;

	while (!atomic_load(&live->stop) && !atomic_load(&live->has_ended)) {
		int result = thrum__fleet_live_step(live->live, NULL);

		atomic_store(&live->has_ended, result == 0);
		atomic_fetch_add(&live->header->progress, 1);
		if (atomic_load(&live->header->waiters) > 0)
			thrum__port_wake(&live->header->progress);
		if (result != 0)
			thrum__port_wait(&live->stop, 0, result < 0 ? AGAIN : PAUSE);
	}
	return NULL;
}

/* Signals are for the program's other threads. */
static void live_follow(void *owner)
{
	struct live *live = owner;
	sigset_t all, before;

	if (live->is_followed)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	live->is_followed = pthread_create(&live->thread, NULL, write_on, live) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void live_close(void *owner)
{
	struct live *live = owner;

	if (live->is_followed) {
		atomic_store(&live->stop, 1);
		thrum__port_wake(&live->stop);
		pthread_join(live->thread, NULL);
	}
	munmap(live->header, THRUM__HEADER_SIZE);
	thrum__fleet_live_close(live->live);
	thrum__source_close(live->file.owner);
	free(live);
}

/* Makes an input of a recording that goes on. It takes the first file, and *live over. */
static int make_live(struct live *live, struct thrum__input *input)
{
	int *fd = live->fetched.files, error;
	void *header = mmap(NULL, THRUM__HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);

	if (header == MAP_FAILED)
		return -THRUM_E_MEMORY;
	live->fetched.count = 0;
	error = thrum__source_input_of(*fd, &live->file);
	if (error) {
		munmap(header, THRUM__HEADER_SIZE);
		return error;
	}
	live->header = header;
	live->owner = (struct thrum__source_owner){*fd, live_close, live_is_written, live_follow};
	*input = (struct thrum__input){live, live_read, live_size};
	return 0;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int open_parts(const char *text, struct thrum__input *input, struct thrum_error_info *info)
{
	struct live *live = calloc(1, sizeof *live);
	int error;

	if (!live)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	error = fetch_parts(text, &live->fetched, &live->live, info);
	if (error == 0) {
		if (live->live) {
			error = make_live(live, input);
		} else {
			int fd = join_parts(&live->fetched);

			error = fd < 0 ? fd : thrum__source_input_of(fd, input);
		}
		if (error)
			thrum__read_error_set(info, error, 0, "it can't be kept: %s",
				thrum_error_message(error));
	}
	drop_parts(&live->fetched);
	if (error || !live->live) {
		thrum__fleet_live_close(live->live);
		free(live);
	}
	return error;
}

/* Visits the recordings, and closes them. */
static int visit_parts(const struct fetched *fetched,
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
	drop_parts(fetched);
	return result;
}

int thrum__source_visit(const struct thrum__fleet_address *address,
	int (*visit)(void *, const struct thrum__source_group *), void *context,
	struct thrum_error_info *info)
{
	struct thrum__fleet_portion portion = {.left = 0};
	struct fetched fetched;
	int result;

	do {
		bool is_first = portion.behind[0] == '\0';

		result = fetch_address(address, &fetched, &portion, NULL, info);
		if (result == 0) {
			result = visit_parts(&fetched, visit, context);
			continue;
		}
		drop_parts(&fetched);
		/* The server has dropped the rest meanwhile. */
		if (result == -THRUM_E_NOT_FOUND && !is_first)
			return 0;
	} while (result == 0 && portion.left > 0);
	return result;
}

int thrum__source_fetch(const struct thrum__fleet_address *address, size_t *left,
	struct thrum_error_info *info)
{
	struct thrum__fleet_portion portion = {.left = 0};
	struct fetched fetched;
	int result = fetch_address(address, &fetched, &portion, NULL, info);

	*left = portion.left;
	if (result == 0 && fetched.count == 0)
		result = thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"the recordings that match are damaged");
	if (result == 0)
		result = join_parts(&fetched);
	drop_parts(&fetched);
	return result;
}

static int open_with(const char *scheme, const char *rest, struct thrum__input *input,
	struct thrum_error_info *info)
{
	char text[2048];

	if (snprintf(text, sizeof text, "%s%s", scheme, rest) >= (int)sizeof text)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0, "the address is too long");
	return open_parts(text, input, info);
}

int thrum__source_open_nats(const char *rest, struct thrum__input *input,
	struct thrum_error_info *info)
{
	return open_with("nats:", rest, input, info);
}

int thrum__source_open_nats_tls(const char *rest, struct thrum__input *input,
	struct thrum_error_info *info)
{
	return open_with("tls:", rest, input, info);
}
