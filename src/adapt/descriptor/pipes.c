/* SPDX-License-Identifier: ISC */
/* Pipes and pairs of sockets, both of whose ends the program has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapt/base/handover.h"
#include "adapt/descriptor/descriptor.h"
#include "adapt/shared/queues.h"
#include "port/port.h"

#define PIPES 1024u

REAL(poll)

/* Whether each byte of a pipe is a token: a thread that needs one reads it, and writes it back. */
enum tokens {
	TOKENS_UNKNOWN,
	TOKENS_NOTED, /* who has read a byte is noted */
	TOKENS_TOLD,  /* they are tokens */
	TOKENS_NONE
};

struct pipe {
	_Atomic uint32_t ends; /* that are open, + 1; 0: it is free */
	_Atomic int from, to;  /* the descriptors of both ends */
	_Atomic bool is_shared;
	_Atomic bool is_waited;   /* somebody has waited for it, or is about to: it has an object */
	_Atomic bool is_read;     /* something came out of it, */
	_Atomic bool is_told;     /* a write to it was recorded */
	_Atomic bool may_be_read; /* or in ways that aren't seen may have */
	_Atomic bool is_used; /* this process wrote to it, or in ways that aren't seen may have */
	_Atomic bool is_written;  /* this process wrote to it; stays when it has closed its ends */
	_Atomic bool has_writers; /* several threads wrote to it, or one that isn't known */
	/* The threads that read and wrote last, or made it: which should use it again. */
	_Atomic uint32_t reader, writer;
	_Atomic uint64_t turn; /* the number of the last write */
	_Atomic uint64_t to_inode;
	_Atomic uint8_t tokens;          /* an enum tokens */
	_Atomic uint32_t takes, returns; /* bytes that were read one by one, and given back */
	_Atomic uint64_t amount;         /* the most that one read took from an eventfd, */
	const void *_Atomic taker;       /* and where */
	const char *noun;
	const void *maker; /* where it was made */
};
static struct pipe pipes[PIPES];
static _Atomic uint32_t made; /* pipes: those from here on were never used */
static _Atomic uint64_t turns;
/* By descriptor: the number + 1 of the pipe that is read from and written to by it; 0: none. */
static _Atomic uint16_t reads[DESCRIPTORS], writes_to[DESCRIPTORS];

static uint32_t pipes_used(void)
{
	uint32_t used = atomic_load_explicit(&made, memory_order_relaxed);

	return used < PIPES ? used : PIPES;
}

static struct pipe *pipe_of(_Atomic uint16_t *number)
{
	uint16_t n = atomic_load(number);

	return n ? &pipes[n - 1] : NULL;
}

/* ---- Making and closing ----------------------------------------------------------------------- */

void thrum__adapt_pipe_made(int from, int to, const char *noun, const void *maker)
{
	struct stat status;

	if ((unsigned)from >= DESCRIPTORS || (unsigned)to >= DESCRIPTORS)
		return;
	for (uint32_t i = 0; i < PIPES; i++) {
		uint32_t n = atomic_fetch_add(&made, 1) % PIPES, none = 0;

		if (!atomic_compare_exchange_strong(&pipes[n].ends, &none, 3))
			continue;
		atomic_store(&pipes[n].from, from);
		atomic_store(&pipes[n].to, to);
		atomic_store(&pipes[n].is_shared, false);
		atomic_store(&pipes[n].is_waited, false);
		atomic_store(&pipes[n].is_read, false);
		atomic_store(&pipes[n].is_told, false);
		atomic_store(&pipes[n].may_be_read, false);
		atomic_store(&pipes[n].is_used, false);
		atomic_store(&pipes[n].is_written, false);
		atomic_store(&pipes[n].has_writers, false);
		atomic_store(&pipes[n].reader, own_tid());
		atomic_store(&pipes[n].writer, own_tid());
		atomic_store(&pipes[n].turn, 0);
		atomic_store(&pipes[n].tokens, TOKENS_UNKNOWN);
		atomic_store(&pipes[n].takes, 0);
		atomic_store(&pipes[n].returns, 0);
		atomic_store(&pipes[n].amount, 0);
		atomic_store(&pipes[n].to_inode, fstat(to, &status) == 0 ? status.st_ino : 0);
		pipes[n].noun = noun;
		pipes[n].maker = maker;
		atomic_store(&reads[from], (uint16_t)(n + 1));
		atomic_store(&writes_to[to], (uint16_t)(n + 1));
		atomic_fetch_or(&thrum__adapt_descriptors[from], DESCRIPTOR_PIPE);
		atomic_fetch_or(&thrum__adapt_descriptors[to], DESCRIPTOR_PIPE);
		return;
	}
}

/* It may have been used before it is known. */
static void doubt(struct pipe *pipe)
{
	if (!pipe)
		return;
	atomic_store(&pipe->may_be_read, true);
	atomic_store(&pipe->is_used, true);
	atomic_store(&pipe->is_written, true);
	atomic_store(&pipe->has_writers, true);
	atomic_store(&pipe->reader, 0);
	atomic_store(&pipe->writer, 0);
}

void thrum__adapt_pipe_joined(int one, int other, const void *maker)
{
	thrum__adapt_pipe_made(one, other, "socket", maker);
	thrum__adapt_pipe_made(other, one, "socket", maker);
	doubt(pipe_of(&reads[one]));
	doubt(pipe_of(&reads[other]));
}

static void end_tokens(struct pipe *pipe);

/* How many pipes that were made at a place, and that others had, too, were read to their ends. */
#define ENDED 64u /* more places may take each other's place */
static struct {
	const void *_Atomic maker;
	_Atomic uint32_t count;
} ended[ENDED];

static unsigned ended_at(const void *maker)
{
	return (unsigned)(((uintptr_t)maker ^ (uintptr_t)maker >> 7) % ENDED);
}

/* The end of the pipe that is read from is about to be closed. Async-signal-safe. */
static void note_end(const struct pipe *pipe, int fd)
{
	struct pollfd one = {.fd = fd, .events = POLLIN};
	unsigned at = ended_at(pipe->maker);

	if (!atomic_load(&pipe->is_shared) || is_limited() || real_poll(NULL)(&one, 1, 0) != 1 ||
		one.revents != POLLHUP)
		return;
	if (atomic_exchange(&ended[at].maker, pipe->maker) != pipe->maker)
		atomic_store(&ended[at].count, 0);
	atomic_fetch_add(&ended[at].count, 1);
}

uint32_t thrum__adapt_pipe_ends(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;
	unsigned at = pipe ? ended_at(pipe->maker) : 0;

	return pipe && atomic_load(&ended[at].maker) == pipe->maker ? atomic_load(&ended[at].count)
								    : 0;
}

/* The pipe's object ends with its last end. */
static void close_end(_Atomic uint16_t *number)
{
	uint16_t n = atomic_exchange(number, 0);

	if (!n || atomic_fetch_sub(&pipes[n - 1].ends, 1) > 2)
		return;
	thrum__adapt_object_end(&pipes[n - 1]);
	end_tokens(&pipes[n - 1]);
	atomic_store(&pipes[n - 1].ends, 0);
}

void thrum__adapt_pipe_closed(int fd)
{
	const struct pipe *pipe = pipe_of(&reads[fd]);

	if (pipe)
		note_end(pipe, fd);
	thrum__adapt_handover_forget(fd);
	close_end(&reads[fd]);
	close_end(&writes_to[fd]);
}

/* ---- Others who may have an end ---------------------------------------------------------------- */

/* Those who wait for it wait for the outside from now on. */
static void share(struct pipe *pipe)
{
	struct object *object;

	if (!pipe || atomic_exchange(&pipe->is_shared, true))
		return;
	/* Others may let it block from now on. */
	thrum__adapt_descriptor_changes(atomic_load(&pipe->from));
	thrum__adapt_descriptor_changes(atomic_load(&pipe->to));
	end_tokens(pipe);
	object = thrum__adapt_object((uintptr_t)pipe);
	if (!object)
		return;
	thrum_task other = thrum__create(thrum__adapt_site(pipe->maker), THRUM_KIND_HANDLE,
		"a pipe that others have, too");

	thrum_task_become(atomic_exchange(&object->task, other), other);
}

static inline void use(struct pipe *pipe)
{
	const struct thread *self = thrum__adapt_self;
	uint32_t before = atomic_load_explicit(&pipe->writer, memory_order_relaxed);
	uint32_t tid = self ? atomic_load_explicit(&self->tid, memory_order_relaxed) : before;

	atomic_store_explicit(&pipe->is_used, true, memory_order_relaxed);
	/* The thread that made it counts as one that wrote. */
	if (UNLIKELY(!self || tid != before)) {
		atomic_store_explicit(&pipe->writer, tid, memory_order_relaxed);
		atomic_store_explicit(&pipe->has_writers, true, memory_order_relaxed);
	}
	atomic_store_explicit(&pipe->turn,
		atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

void thrum__adapt_pipe_use(int fd)
{
	struct pipe *pipe = pipe_of(&writes_to[fd]);

	if (pipe)
		use(pipe);
}

uint32_t thrum__adapt_pipe_user(int fd, bool writes)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(writes ? &writes_to[fd] : &reads[fd]) : NULL;

	return !pipe ? 0 : atomic_load(writes ? &pipe->writer : &pipe->reader);
}

uint32_t thrum__adapt_pipe_sender(int fd)
{
	return thrum__adapt_pipe_user(thrum__adapt_pipe_other(fd, true), true);
}

uint64_t thrum__adapt_pipe_turn(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	return pipe ? atomic_load(&pipe->turn) : 0;
}

bool thrum__adapt_pipe_is_used(int fd, bool writes)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(writes ? &writes_to[fd] : &reads[fd]) : NULL;

	/* An end that doesn't wait is used unseen. */
	return !pipe || fcntl(fd, F_GETFL) & O_NONBLOCK ||
		(writes ? atomic_load(&pipe->is_used)
			: atomic_load(&pipe->is_read) || atomic_load(&pipe->may_be_read));
}

bool thrum__adapt_pipe_was_written(uint64_t inode)
{
	bool was = false;

	for (uint32_t i = 0; i < pipes_used() && !was; i++)
		was = atomic_load(&pipes[i].to_inode) == inode && atomic_load(&pipes[i].is_written);
	return was;
}

/* Only threads that are known have numbers here. */
static bool is_written_by_self(const struct pipe *pipe)
{
	return atomic_load(&pipe->is_written) && !atomic_load(&pipe->has_writers) &&
		atomic_load(&pipe->writer) == own_tid();
}

bool thrum__adapt_pipe_is_of_self(int fd)
{
	const struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&writes_to[fd]) : NULL;

	return pipe && is_written_by_self(pipe) && !(fcntl(fd, F_GETFL) & O_NONBLOCK);
}

bool thrum__adapt_feeds_others(void)
{
	bool found = false;

	for (uint32_t i = 0; i < pipes_used() && !found; i++)
		found = atomic_load(&pipes[i].ends) == 2 && atomic_load(&pipes[i].is_shared) &&
			atomic_load(&writes_to[atomic_load(&pipes[i].to)]) == i + 1 &&
			is_written_by_self(&pipes[i]);
	return found;
}

bool thrum__adapt_has_unread(void)
{
	bool found = false;

	for (uint32_t i = 0; i < PIPES && !found; i++) {
		int from = atomic_load(&pipes[i].from);

		found = atomic_load(&pipes[i].ends) > 0 && atomic_load(&pipes[i].is_shared) &&
			atomic_load(&reads[from]) == i + 1 &&
			!thrum__adapt_pipe_is_used(from, false);
	}
	return found;
}

bool thrum__adapt_pipe_is_read(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	return pipe && atomic_load(&pipe->is_read);
}

bool thrum__adapt_pipe_is_told(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	return pipe && atomic_load(&pipe->is_told);
}

bool thrum__adapt_pipe_is_filled(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	return pipe && atomic_load(&pipe->is_used);
}

int thrum__adapt_pipe_other(int fd, bool writes)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(writes ? &reads[fd] : &writes_to[fd]) : NULL;

	return !pipe ? -1 : atomic_load(writes ? &pipe->to : &pipe->from);
}

int thrum__adapt_pipe_made_as(uint64_t inode, bool writes)
{
	for (uint32_t i = 0; i < pipes_used(); i++)
		if (atomic_load(&pipes[i].to_inode) == inode)
			return atomic_load(writes ? &pipes[i].to : &pipes[i].from);
	return -1;
}

uint64_t thrum__adapt_pipe_peer(int fd)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	return pipe ? atomic_load(&pipe->to_inode) : 0;
}

int thrum__adapt_pipe_to(uint64_t inode)
{
	for (uint32_t i = 0; i < PIPES; i++)
		if (atomic_load(&pipes[i].ends) > 1 && atomic_load(&pipes[i].to_inode) == inode &&
			atomic_load(&reads[atomic_load(&pipes[i].from)]) == i + 1)
			return atomic_load(&pipes[i].from);
	return -1;
}

bool thrum__adapt_pipe_is_shared(int fd, bool writes)
{
	struct pipe *pipe = pipe_of(writes ? &writes_to[fd] : &reads[fd]);

	return pipe && atomic_load(&pipe->is_shared);
}

bool thrum__adapt_has_shared(void)
{
	bool found = false;

	for (uint32_t i = 0; i < pipes_used() && !found; i++)
		found = atomic_load(&pipes[i].ends) > 0 && atomic_load(&pipes[i].is_shared);
	return found;
}

void thrum__adapt_pipes_left(void)
{
	for (uint32_t i = 0; i < pipes_used(); i++)
		if (atomic_load(&pipes[i].ends) > 0) {
			int from = atomic_load(&pipes[i].from), to = atomic_load(&pipes[i].to);

			atomic_fetch_and(&thrum__adapt_descriptors[from],
				(uint8_t)~DESCRIPTOR_PIPE);
			atomic_fetch_and(&thrum__adapt_descriptors[to], (uint8_t)~DESCRIPTOR_PIPE);
			atomic_store(&reads[from], 0);
			atomic_store(&writes_to[to], 0);
			atomic_store(&pipes[i].ends, 0);
		}
}

void thrum__adapt_pipe_shared(int fd)
{
	struct pipe *pipe = pipe_of(&reads[fd]), *written = pipe_of(&writes_to[fd]);

	if (pipe)
		atomic_store(&pipe->may_be_read, true);
	if (written)
		atomic_store(&written->has_writers, true);
	share(pipe);
	share(written);
}

/* The calling thread is about to start a process by a library that does nothing in the child but execute
 * another program. */
static __thread struct {
	bool is_on;
	uint32_t made; /* pipes, before */
} spawning __attribute__((tls_model("initial-exec")));

void thrum__adapt_pipes_spawn(bool begins)
{
	spawning.is_on = begins;
	spawning.made = atomic_load(&made);
}

static bool is_closed_by_exec(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && flags & FD_CLOEXEC;
}

/* Whether the child won't have the pipe: it closes both ends. The library makes pipes for it just before. */
static bool stays(uint32_t number)
{
	struct pipe *pipe = &pipes[number];
	int from = atomic_load(&pipe->from), to = atomic_load(&pipe->to);
	uint32_t since = (number + PIPES - spawning.made % PIPES) % PIPES;

	return spawning.is_on && since >= atomic_load(&made) - spawning.made &&
		(pipe_of(&reads[from]) != pipe || is_closed_by_exec(from)) &&
		(pipe_of(&writes_to[to]) != pipe || is_closed_by_exec(to));
}

void thrum__adapt_pipes_shared(void)
{
	int error = errno;

	for (uint32_t i = 0; i < pipes_used(); i++) {
		if (atomic_load(&pipes[i].ends) == 0 || stays(i))
			continue;
		if (atomic_load(&pipes[i].ends) == 3 && !atomic_load(&pipes[i].is_shared) &&
			strcmp(pipes[i].noun, "pipe") == 0)
			thrum__adapt_tokens_begin(atomic_load(&pipes[i].from),
				atomic_load(&pipes[i].to));
		share(&pipes[i]);
	}
	thrum__adapt_timers_shared();
	thrum__adapt_connections_shared();
	thrum__adapt_queues_shared();
	errno = error;
}

/* ---- Using ------------------------------------------------------------------------------------ */

static bool has_tokens(const struct pipe *pipe)
{
	return atomic_load_explicit(&pipe->tokens, memory_order_relaxed) == TOKENS_TOLD;
}

/* Writes "pipe 4 to 3", or "tokens of pipe 4 to 3", or "eventfd 3 (6 taken at once)". */
static void put_name(char label[CALL_MAX], const struct pipe *pipe)
{
	char *end = stpcpy(label, has_tokens(pipe) ? "tokens of " : "");

	end = stpcpy(stpcpy(end, pipe->noun), " ");
	end = thrum__adapt_put_number(end, (uint64_t)atomic_load(&pipe->to));
	if (atomic_load(&pipe->from) != atomic_load(&pipe->to))
		end = thrum__adapt_put_number(stpcpy(end, " to "),
			(uint64_t)atomic_load(&pipe->from));
	if (atomic_load(&pipe->amount) > 1)
		end = stpcpy(thrum__adapt_put_number(stpcpy(end, " ("), atomic_load(&pipe->amount)),
			" taken at once)");
	*end = '\0';
}

struct object *thrum__adapt_pipe(int fd, bool writes, const void *caller)
{
	struct pipe *pipe = pipe_of(writes ? &writes_to[fd] : &reads[fd]);
	char label[CALL_MAX];

	if (!pipe || atomic_load(&pipe->is_shared))
		return NULL;
	put_name(label, pipe);
	atomic_store(&pipe->is_waited, true);
	return thrum__adapt_object_named(pipe,
		has_tokens(pipe) ? THRUM_KIND_SEMAPHORE : THRUM_KIND_STREAM, label, caller);
}

bool thrum__adapt_has_pipes(void)
{
	return pipes_used() > 0;
}

/* Returns the object of a pipe for which somebody has waited, or NULL. */
static inline struct object *known_object(const struct pipe *pipe)
{
	return pipe && UNLIKELY(atomic_load(&pipe->is_waited)) && !atomic_load(&pipe->is_shared)
		? thrum__adapt_object((uintptr_t)pipe)
		: NULL;
}

void thrum__adapt_pipe_rename(int fd, const char *words, const char *noun, const void *place)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;
	struct object *object = known_object(pipe);
	char label[2 * CALL_MAX + 2 * PLACE_MAX];

	if (!object)
		return;
	put_name(label, pipe);
	strcat(label, words);
	if (noun)
		thrum__adapt_label(label + strlen(label), noun, place);
	thrum_task_label(atomic_load(&object->task), label);
}

static thrum_task waiter_of(const struct pipe *pipe)
{
	struct object *object = known_object(pipe);

	return object && atomic_load(&object->waiters) > 0 ? atomic_load(&object->waiter)
							   : THRUM_TASK_NONE;
}

thrum_task thrum__adapt_pipe_waiter(int fd)
{
	return is_of_pipe(fd) ? waiter_of(pipe_of(&writes_to[fd])) : THRUM_TASK_NONE;
}

thrum_task thrum__adapt_pipe_writer(int fd)
{
	return is_of_pipe(fd) ? waiter_of(pipe_of(&reads[fd])) : THRUM_TASK_NONE;
}

void thrum__adapt_eventfd_read(int fd, uint64_t amount, const void *caller)
{
	struct pipe *pipe = pipe_of(&reads[fd]);
	uint64_t before = pipe ? atomic_load(&pipe->amount) : 0;

	if (!pipe || atomic_load(&pipe->from) != atomic_load(&pipe->to))
		return;
	while (before < amount)
		if (atomic_compare_exchange_weak(&pipe->amount, &before, amount)) {
			atomic_store(&pipe->taker, caller);
			thrum__adapt_pipe_rename(fd, "", NULL, NULL);
			return;
		}
}

uint64_t thrum__adapt_eventfd_taken(int fd, const void **caller)
{
	struct pipe *pipe = is_of_pipe(fd) ? pipe_of(&reads[fd]) : NULL;

	*caller = pipe ? atomic_load(&pipe->taker) : NULL;
	return *caller ? atomic_load(&pipe->amount) : 0;
}

void thrum__adapt_pipe_written(int fd, const void *caller)
{
	struct pipe *pipe = pipe_of(&writes_to[fd]);
	struct object *object = known_object(pipe);

	if (!object)
		return;
	atomic_store_explicit(&pipe->is_told, true, memory_order_relaxed);
	thrum__adapt_signal(object, atomic_load(&object->waiters), caller);
}

/* ---- Tokens ------------------------------------------------------------------------------------ */

/* So many tokens must have been given back, and half of all that were taken: a worker that takes a job may
 * put it back once, too. */
#define RETURNS_MIN 3

/* Those that wait for the pipe wait for a task of this kind from now on. */
static void change_kind(struct pipe *pipe, enum thrum_kind kind)
{
	struct object *object = known_object(pipe);
	char label[CALL_MAX];

	if (!object)
		return;
	put_name(label, pipe);
	thrum_task task = thrum__create(thrum__adapt_site(pipe->maker), (int)kind, label);

	thrum_task_become(atomic_exchange(&object->task, task), task);
}

static void tell_tokens(struct pipe *pipe)
{
	uint8_t noted = TOKENS_NOTED;

	if (atomic_compare_exchange_strong(&pipe->tokens, &noted, TOKENS_TOLD))
		change_kind(pipe, THRUM_KIND_SEMAPHORE);
}

/* Its bytes are no tokens, as far as is known. */
static void end_tokens(struct pipe *pipe)
{
	uint8_t before = atomic_exchange(&pipe->tokens, TOKENS_NONE);

	if (before != TOKENS_NOTED && before != TOKENS_TOLD)
		return;
	thrum__adapt_permits_forget(pipe);
	if (before == TOKENS_TOLD)
		change_kind(pipe, THRUM_KIND_STREAM);
}

static NOINLINE void take(struct pipe *pipe, size_t size, const void *caller)
{
	uint8_t unknown = TOKENS_UNKNOWN;

	/* A worker takes job after job, but a thread seldom needs two tokens. */
	if (size != 1 || (!has_tokens(pipe) && thrum__adapt_permit_has(pipe))) {
		end_tokens(pipe);
		return;
	}
	if (atomic_compare_exchange_strong(&pipe->tokens, &unknown, TOKENS_NOTED))
		thrum__adapt_semaphore_begin(pipe, 1);
	atomic_fetch_add(&pipe->takes, 1);
	take_permit(pipe, caller);
}

static NOINLINE void give(struct pipe *pipe, size_t size, uint8_t tokens)
{
	/* Tokens that are there from the beginning may be written late, and all at once. */
	if (size != 1 || !thrum__adapt_permit_has(pipe)) {
		if (tokens == TOKENS_TOLD)
			end_tokens(pipe);
		return;
	}
	give_permit(pipe);
	if (atomic_fetch_add(&pipe->returns, 1) + 1 >= RETURNS_MIN &&
		atomic_load(&pipe->returns) * 2 >= atomic_load(&pipe->takes))
		tell_tokens(pipe);
}

void thrum__adapt_pipe_read(int fd, size_t size, const void *caller)
{
	struct pipe *pipe = pipe_of(&reads[fd]);
	const struct thread *self = thrum__adapt_self;
	struct object *object = known_object(pipe);

	if (!pipe)
		return;
	atomic_store_explicit(&pipe->is_read, true, memory_order_relaxed);
	if (self)
		atomic_store_explicit(&pipe->reader,
			atomic_load_explicit(&self->tid, memory_order_relaxed),
			memory_order_relaxed);
	if (object)
		thrum_task_read(thrum_task_current(), atomic_load(&object->task));
	if (atomic_load(&pipe->tokens) != TOKENS_NONE && !atomic_load(&pipe->is_shared))
		take(pipe, size, caller);
}

bool thrum__adapt_pipe_writes(int fd, size_t size)
{
	struct pipe *pipe = pipe_of(&writes_to[fd]);

	if (!pipe)
		return false;
	uint8_t tokens = atomic_load(&pipe->tokens);

	use(pipe);
	atomic_store_explicit(&pipe->is_written, true, memory_order_relaxed);
	if (tokens == TOKENS_NOTED || tokens == TOKENS_TOLD)
		give(pipe, size, tokens);
	return known_object(pipe) != NULL;
}

const void *thrum__adapt_pipe_tokens(int fd)
{
	const struct pipe *pipe = pipe_of(&reads[fd]);

	return pipe && has_tokens(pipe) ? pipe : NULL;
}
