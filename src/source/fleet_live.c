/* SPDX-License-Identifier: ISC */
/*
 * Recordings of a server that go on. A thread does to the file of each as the recorder does to its own, so
 * following it is the same as on the recorder's machine. If the address names several, it also looks for
 * those that come later.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/futex.h"
#include "port/port.h"
#include "read/read.h"
#include "source/fleet.h"
#include "world/world.h"

#define PAUSE 250  /* ms between looks at the server, at least */
#define AGAIN 1000 /* ms until the next look after a failure */
#define SHARE 4    /* the pause is so many times as long as a look */
#define MS UINT64_C(1000000)
#define LOOK (2000 * MS) /* between looks for recordings that are new */

/* The recordings of an address. */
struct following {
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server; /* NULL: nothing goes on */
	struct thrum__source_fetched fetched;
	struct live *lives[THRUM__FLEET_PARTS_MAX]; /* by recording; NULL: it has ended */
	/* So many are whole, and the reader has taken so many of them. */
	_Atomic uint32_t ready;
	uint32_t taken;
	uint64_t after; /* thrum__fleet_fetch_more */
	uint64_t look;  /* for new ones, monotonic ns; 0: none are taken */
	size_t users;   /* inputs that aren't closed, and the trace of several */
	pthread_t thread;
	bool is_followed;
	_Atomic uint32_t stop; /* a futex */
};

/* One that goes on. */
struct live {
	struct thrum__source_owner owner;
	struct thrum__input file; /* the output */
	struct thrum__fleet_live *live;
	struct thrum__header *header; /* of the file */
	struct following *all;
	_Atomic bool has_ended;
};

/* ---- The thread ------------------------------------------------------------------------------ */

/* Writes what has come of a recording, and wakes its readers as the recorder does. Returns as
 * thrum__fleet_live_step does. */
static int step_live(struct live *live)
{
	int result = thrum__fleet_live_step(live->live, NULL);

	atomic_store(&live->has_ended, result == 0);
	atomic_fetch_add(&live->header->progress, 1);
	if (atomic_load(&live->header->waiters) > 0)
		thrum__port_wake(&live->header->progress);
	return result;
}

static int take_live(void *owner, struct thrum__fleet_live *live)
{
	struct thrum__source_fetched *fetched = owner;

	fetched->lives[fetched->count - 1] = live;
	fetched->whole = fetched->count;
	return 0;
}

static bool has_key(void *owner, const char *key)
{
	const struct thrum__source_fetched *fetched = owner;

	for (size_t i = 0; i < fetched->count; i++)
		if (strcmp(fetched->keys[i], key) == 0)
			return true;
	return false;
}

static int make_lives(struct following *, size_t first);
static void drop_from(struct following *, size_t first);

/* Fetches recordings that are new. */
static void look_for_more(struct following *f)
{
	struct thrum__source_fetched *fetched = &f->fetched;
	struct thrum__fleet_fetching fetching = thrum__source_fetching(fetched);
	size_t first = fetched->count;

	if (f->look == 0 || thrum__port_monotonic() < f->look)
		return;
	fetching.go_on = take_live;
	fetching.live_most = THRUM__FLEET_PARTS_MAX - fetched->count;
	fetching.has = has_key;
	if (fetching.live_most == 0 ||
		thrum__fleet_fetch_more(f->server, &f->address, &f->after, &fetching, NULL) < 0)
		f->after = 0;
	/* The last one is incomplete. */
	while (fetched->count > fetched->whole)
		close(fetched->files[--fetched->count]);
	if (make_lives(f, first) < 0)
		drop_from(f, first);
	atomic_store(&f->ready, (uint32_t)fetched->count);
	f->look = thrum__port_monotonic() + LOOK;
}

/* Signals are for the program's other threads. */
static void *write_on(void *owner)
{
	struct following *f = owner;
	bool goes_on = true;

	while (goes_on && !atomic_load(&f->stop)) {
		uint64_t began = thrum__port_monotonic(), pause;
		bool has_failed = false;

		goes_on = false;
		for (size_t i = 0; i < atomic_load(&f->ready) && !atomic_load(&f->stop); i++) {
			struct live *live = f->lives[i];
			int result = live && !atomic_load(&live->has_ended) ? step_live(live) : 0;

			goes_on |= result != 0;
			has_failed |= result < 0;
		}
		if (goes_on && !has_failed)
			look_for_more(f);
		pause = (thrum__port_monotonic() - began) / MS * SHARE;
		pause = has_failed ? AGAIN : pause > PAUSE ? pause : PAUSE;
		if (goes_on)
			thrum__port_wait(&f->stop, 0, (int)pause);
	}
	return NULL;
}

static void live_follow(void *owner)
{
	struct following *f = ((struct live *)owner)->all;
	sigset_t all, before;

	if (f->is_followed)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	f->is_followed = pthread_create(&f->thread, NULL, write_on, f) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

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

/* Ends the thread, until a reader follows again. */
static void stop(struct following *f)
{
	if (!f->is_followed)
		return;
	atomic_store(&f->stop, 1);
	thrum__port_wake(&f->stop);
	pthread_join(f->thread, NULL);
	atomic_store(&f->stop, 0);
	f->is_followed = false;
}

static void leave(struct following *f)
{
	if (--f->users > 0)
		return;
	thrum__fleet_close(f->server);
	free(f);
}

/* The thread must not be at work on it. */
static void free_live(struct live *live)
{
	struct following *f = live->all;

	for (size_t i = 0; i < f->fetched.count; i++)
		if (f->lives[i] == live)
			f->lives[i] = NULL;
	munmap(live->header, THRUM__HEADER_SIZE);
	thrum__fleet_live_destroy(live->live);
	thrum__source_close(live->file.owner);
	free(live);
	leave(f);
}

static void live_close(void *owner)
{
	stop(((struct live *)owner)->all);
	free_live(owner);
}

/* Makes an input of what goes on. It owns the file from then on. Returns 0 or a negative enum thrum_error. */
static int make_live(struct following *f, size_t i)
{
	struct live *live = calloc(1, sizeof *live);
	int fd = f->fetched.files[i], error;
	void *header = mmap(NULL, THRUM__HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!live || header == MAP_FAILED) {
		if (header != MAP_FAILED)
			munmap(header, THRUM__HEADER_SIZE);
		free(live);
		return -THRUM_E_MEMORY;
	}
	live->live = f->fetched.lives[i];
	live->header = header;
	live->all = f;
	live->owner = (struct thrum__source_owner){fd, live_close, live_is_written, live_follow};
	error = thrum__source_input_of(fd, &live->file);
	if (error) {
		f->fetched.files[i] = -1;
		munmap(header, THRUM__HEADER_SIZE);
		free(live);
		return error;
	}
	f->lives[i] = live;
	f->users++;
	return 0;
}

static int make_lives(struct following *f, size_t first)
{
	int error = 0;

	for (size_t i = first; i < f->fetched.count && error == 0; i++)
		if (f->fetched.lives[i])
			error = make_live(f, i);
	return error;
}

/* Frees the recordings that no reader has taken, from one on. */
static void drop_from(struct following *f, size_t first)
{
	for (size_t i = first; i < f->fetched.count; i++) {
		struct live *live = f->lives[i];

		if (live) {
			free_live(live);
			continue;
		}
		thrum__fleet_live_destroy(f->fetched.lives[i]);
		if (f->fetched.files[i] >= 0)
			close(f->fetched.files[i]);
	}
	f->fetched.count = f->fetched.whole = first;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Fetches the recordings of an address. Those that haven't ended go on, if there are no more than
 * `live_most`. The caller calls leave. */
static int open_address(const char *text, size_t live_most, struct following **to,
	struct thrum_error_info *info)
{
	struct following *f = calloc(1, sizeof *f);
	struct thrum__fleet_fetching fetching;
	int error;

	if (!f)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	f->users = 1;
	f->fetched.clocks = -1;
	fetching = thrum__source_fetching(&f->fetched);
	fetching.go_on = take_live;
	fetching.live_most = live_most;
	error = thrum__fleet_parse(text, (int64_t)thrum__port_realtime(), &f->address, info);
	if (error == 0)
		error = thrum__fleet_fetch(&f->address, &fetching, &f->server, info);
	if (error == 0 && make_lives(f, 0) < 0)
		error = thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	if (error) {
		drop_from(f, 0);
		if (f->fetched.clocks >= 0)
			close(f->fetched.clocks);
		leave(f);
		return error;
	}
	atomic_store(&f->ready, (uint32_t)f->fetched.count);
	*to = f;
	return 0;
}

/* Makes an input of a single recording, or of all as they are. */
static int make_input(struct following *f, struct thrum__input *input,
	struct thrum_error_info *info)
{
	int fd, error;

	if (f->fetched.count == 1 && f->lives[0]) {
		*input = (struct thrum__input){f->lives[0], live_read, live_size};
		return 0;
	}
	fd = thrum__source_join_parts(&f->fetched);
	error = fd < 0 ? fd : thrum__source_input_of(fd, input);
	thrum__source_drop_parts(&f->fetched);
	return error ? thrum__read_error_set(info, error, 0, "it can't be kept: %s",
			       thrum_error_message(error))
		     : 0;
}

static int open_with(const char *scheme, const char *rest, struct thrum__input *input,
	struct thrum_error_info *info)
{
	struct following *f;
	char text[2048];
	int error;

	if (snprintf(text, sizeof text, "%s%s", scheme, rest) >= (int)sizeof text)
		return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0, "the address is too long");
	error = open_address(text, 1, &f, info);
	if (error)
		return error;
	error = make_input(f, input, info);
	leave(f);
	return error;
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

/* ---- Several as one -------------------------------------------------------------------------- */

/* Opens a recording as a part. One that came later is opened once. */
static int open_part(struct following *f, size_t i, bool is_later, struct thrum__world_part *part,
	struct thrum_error_info *info)
{
	struct thrum__input input = {f->lives[i], live_read, live_size};
	char path[32];
	int error = 0;

	snprintf(path, sizeof path, "/proc/self/fd/%d", f->fetched.files[i]);
	*part = (struct thrum__world_part){.file = f->fetched.names[i]};
	if (!is_later)
		error = thrum_trace_open(path, &part->again, info);
	if (f->lives[i]) {
		if (error)
			live_close(f->lives[i]);
		else
			error = thrum__source_follow(&input, &part->trace, info);
		return error;
	}
	if (error == 0)
		error = thrum_trace_open(path, &part->trace, info);
	close(f->fetched.files[i]);
	return error;
}

/* Gives the trace a recording that came later. One that can't be read is left out. */
static int next_part(void *owner, struct thrum__world_part *part)
{
	struct following *f = owner;

	while (f->taken < atomic_load(&f->ready))
		if (open_part(f, f->taken++, true, part, NULL) == 0)
			return 1;
	return 0;
}

static void close_parts(void *owner)
{
	struct following *f = owner;

	stop(f);
	drop_from(f, f->taken);
	leave(f);
}

static int join_parts(struct following *f, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct thrum__world_part *parts = calloc(THRUM__FLEET_PARTS_MAX, sizeof *parts);
	const struct thrum__world_more more = {f, next_part, close_parts};
	struct thrum__ping *pings = NULL;
	uint32_t ping_count = 0;
	uint64_t messages;
	int error = parts ? thrum__source_read_clocks(f->fetched.clocks, &pings, &ping_count)
			  : -THRUM_E_MEMORY;
	size_t count = atomic_load(&f->ready);

	while (f->taken < count && error == 0) {
		error = open_part(f, f->taken, false, &parts[f->taken], info);
		f->taken++;
	}
	if (error == 0)
		error = thrum__world_join(parts, count, pings, ping_count, trace, &messages, info);
	else
		for (size_t i = 0; parts && i < f->taken; i++) {
			thrum_trace_close(parts[i].trace);
			thrum_trace_close(parts[i].again);
		}
	free(pings);
	free(parts);
	if (error == 0)
		thrum__world_take_more(*trace, &more);
	return error;
}

int thrum__source_open_server(const char *name, struct thrum_trace **trace,
	struct thrum_error_info *info)
{
	struct thrum__input input;
	struct following *f;
	int error = open_address(name, THRUM__FLEET_PARTS_MAX, &f, info);

	if (error)
		return error;
	if (f->server && f->fetched.count > 1) {
		f->look = thrum__port_monotonic() + LOOK;
		error = join_parts(f, trace, info);
		if (f->fetched.clocks >= 0)
			close(f->fetched.clocks);
		if (error) {
			drop_from(f, f->taken);
			leave(f);
		}
		return error;
	}
	error = make_input(f, &input, info);
	leave(f);
	return error ? error : thrum__source_follow(&input, trace, info);
}
