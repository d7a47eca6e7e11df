/* SPDX-License-Identifier: ISC */
/*
 * Bytes that bufferevents hold, and that nobody takes. They aren't sent after a bufferevent_disable for
 * writing, and the program isn't told of any once it has taken its callback back. With a low watermark,
 * libevent calls the program's callback only once as many bytes have come. Without one, it calls only if more
 * come, whatever the callback left. If the thread at the other end waits for an answer, nobody goes on. So a
 * loop's thread looks now and then for such bytes. It tells of them only
 * while nothing is known that may answer: no timer but those that came twice since, and no other thread that
 * does more than to nap again and again. Those threads don't count where one alone always sent, was answered
 * each time, and is the one that waits. Bytes that the callback left, or that are held on purpose, may wait
 * for something else: so then all other threads have to wait for the program itself, and nothing may come
 * from outside. The same holds if the loop has both ends.
 */
#define _GNU_SOURCE
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_struct.h>
#include <event2/event_struct.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "adapt/ends/ends.h"
#include "adapt/event/event.h"
#include "adapt/look/look.h"

#define MARKS 1024   /* a power of two; of further bufferevents nothing is told */
#define PROBES 8u    /* places that are tried for one */
#define HABIT 3      /* so many messages must have come from one thread */
#define TRIES 3      /* to see all threads asleep */
#define ROUNDS 20    /* of a timer, in which a program that pauses may still go on */
#define ROUNDS_OWN 5 /* the same where the loop has both ends */
#define LENGTH_AT 3  /* the word of a buffer that has its length: see knows_buffers */

/* Why nobody takes the bytes. */
enum why {
	NOT_HELD,
	IS_SHORT,  /* of the low watermark */
	IS_LEFT,   /* by the callback for reading */
	IS_UNSENT, /* since the bufferevent is to write no more */
	IS_UNTOLD  /* since it has no callback for reading */
};

/* A bufferevent with a low watermark, whose callback left bytes, or that does less than before. Only the
 * thread of its loop uses the other members, but for `told`. */
static struct mark {
	struct bufferevent *_Atomic buffer; /* NULL: it is free */
	pid_t process;                      /* a child of it has a copy only */
	const void *caller;                 /* who set the low watermark, */
	const void *disabler;               /* and who made it write no more; NULL: it writes, */
	const void *unsetter;               /* and who took its callbacks back; NULL: it has some */
	struct bufferevent known;           /* as it was then */
	size_t left;  /* bytes of which the program knew when its last callback returned */
	bool is_left; /* the callback for reading left them */
	/* The thread that had sent last whenever the program read, how often that was so in a row, and it
	 * left something to be sent. */
	uint32_t sender, times;
	/* As it was seen first: */
	int64_t since; /* 0: nothing is wrong */
	enum why why;
	size_t length;
	uint64_t ran;          /* of the thread that waits */
	uint32_t loops;        /* of the one that looks */
	struct naps naps;      /* of all others since */
	_Atomic uint64_t told; /* the task that tells of it, or NONE */
} marks[MARKS];
static _Atomic bool are_any;

REAL(bufferevent_get_input)
REAL(bufferevent_get_output)
REAL(bufferevent_setwatermark)
REAL(evbuffer_add)
REAL(evbuffer_free)
REAL(evbuffer_get_length)
REAL(evbuffer_new)
REAL(event_base_foreach_event)

/* ---- Buffers ----------------------------------------------------------------------------------- */

/* A bufferevent may be locked for long, and libevent may have freed it. So memory is copied by the kernel,
 * which takes no lock and fails where there is none. */
static bool copy(const void *from, void *to, size_t size)
{
	return thrum__adapt_process_copy(own_pid(), (uintptr_t)from, to, size);
}

static bool length_of(const struct evbuffer *buffer, size_t *length)
{
	size_t words[LENGTH_AT + 1];

	if (!copy(buffer, words, sizeof words))
		return false;
	*length = words[LENGTH_AT];
	return true;
}

static bool try_buffer(void)
{
	struct evbuffer *buffer = real_evbuffer_new(NULL)();
	size_t first = 0, second = 0;
	bool is_known = buffer && real_evbuffer_add(NULL)(buffer, "bytes", 5) == 0 &&
		length_of(buffer, &first) && real_evbuffer_add(NULL)(buffer, "more", 4) == 0 &&
		length_of(buffer, &second) && first == 5 && second == 9;

	if (buffer)
		real_evbuffer_free(NULL)(buffer);
	return is_known;
}

/* libevent 2.0 to 2.2 keep the length in the same place, but no header says so. */
static bool knows_buffers(void)
{
	static _Atomic int is_known; /* 0: it isn't tried yet; -1: no */

	if (!atomic_load_explicit(&is_known, memory_order_relaxed))
		atomic_store(&is_known, try_buffer() ? 1 : -1);
	return atomic_load_explicit(&is_known, memory_order_relaxed) > 0;
}

/* ---- Bufferevents that read no more ------------------------------------------------------------ */

#define DISABLED 1024 /* of several with the same place, only the latest is known */

static struct bufferevent *_Atomic disabled[DISABLED]; /* by descriptor */

static int held_of(int fd)
{
	const struct bufferevent *buffer = atomic_load(&disabled[(unsigned)fd % DISABLED]);
	struct bufferevent now;
	size_t length;

	return buffer && copy(buffer, &now, sizeof now) && now.ev_read.ev_fd == fd &&
			!(now.enabled & EV_READ) && length_of(now.input, &length) &&
			length <= INT_MAX / 2
		? (int)length
		: 0;
}

void thrum__adapt_event_disabled(int fd, struct bufferevent *buffer, bool is_disabled)
{
	struct bufferevent *_Atomic *place = &disabled[(unsigned)fd % DISABLED];

	if (fd < 0 || (is_disabled && !knows_buffers()))
		return;
	if (!is_disabled) {
		atomic_compare_exchange_strong(place, &buffer, NULL);
		return;
	}
	atomic_store(place, buffer);
	atomic_store(&thrum__adapt_removed_held, held_of);
}

/* ---- Marks ------------------------------------------------------------------------------------- */

static struct mark *probe(const struct bufferevent *buffer, unsigned i)
{
	uint64_t bits = (uint64_t)(uintptr_t)buffer;

	return &marks[((bits * UINT64_C(0x9e3779b97f4a7c15) >> 54) + i) % MARKS];
}

static struct mark *find(const struct bufferevent *buffer)
{
	for (unsigned i = 0; i < PROBES && atomic_load_explicit(&are_any, memory_order_relaxed);
		i++) {
		struct mark *mark = probe(buffer, i);

		if (atomic_load_explicit(&mark->buffer, memory_order_relaxed) == buffer)
			return mark;
	}
	return NULL;
}

static void take_back(struct mark *mark)
{
	thrum_task told = atomic_exchange(&mark->told, THRUM_TASK_NONE);

	mark->since = 0;
	if (told && mark->process == own_pid())
		thrum_task_resolve(told);
}

void thrum__adapt_event_mark_forget(const struct bufferevent *buffer)
{
	struct mark *mark = find(buffer);

	if (!mark)
		return;
	take_back(mark);
	atomic_store(&mark->buffer, NULL);
}

static size_t left_of(struct bufferevent *buffer)
{
	return real_evbuffer_get_length(NULL)(real_bufferevent_get_input(NULL)(buffer));
}

static void note(struct mark *mark, struct bufferevent *buffer)
{
	take_back(mark);
	mark->process = own_pid();
	mark->left = left_of(buffer);
	if (!copy(buffer, &mark->known, sizeof mark->known))
		atomic_store(&mark->buffer, NULL);
}

static struct mark *take(struct bufferevent *buffer)
{
	struct mark *mark = find(buffer);

	for (unsigned i = 0; i < PROBES && !mark; i++) {
		struct bufferevent *none = NULL;

		if (!atomic_compare_exchange_strong(&probe(buffer, i)->buffer, &none, buffer))
			continue;
		mark = probe(buffer, i);
		mark->sender = mark->times = 0;
		mark->is_left = false;
		mark->caller = mark->disabler = mark->unsetter = NULL;
	}
	return mark;
}

static thrum_task look(int epoll, bool is_waiting);

/* Keeps the bufferevent in mind. */
static void begin(struct mark *mark, struct bufferevent *buffer)
{
	note(mark, buffer);
	atomic_store(&are_any, true);
	thrum__adapt_look_also(look);
}

STAND_IN void bufferevent_setwatermark(struct bufferevent *buffer, short events, size_t low,
	size_t high)
{
	struct mark *mark;

	real_bufferevent_setwatermark(CALLER)(buffer, events, low, high);
	if (!(events & EV_READ) || !thrum__adapt_event_begin(CALLER))
		return;
	thrum__adapt_event_limit(buffer, high > 0 ? thrum__adapt_caller(CHAIN) : NULL);
	mark = low > 1 && knows_buffers() ? take(buffer) : find(buffer);
	if (!mark)
		return;
	mark->caller = CALLER;
	begin(mark, buffer);
}

void thrum__adapt_event_mark_writes(struct bufferevent *buffer, const void *disabler)
{
	struct mark *mark = disabler && knows_buffers() ? take(buffer) : find(buffer);

	if (!mark)
		return;
	mark->disabler = disabler;
	begin(mark, buffer);
}

void thrum__adapt_event_mark_calls(struct bufferevent *buffer, const void *unsetter)
{
	struct mark *mark = unsetter && knows_buffers() ? take(buffer) : find(buffer);

	if (!mark)
		return;
	mark->unsetter = unsetter;
	begin(mark, buffer);
}

void thrum__adapt_event_mark_begin(const struct bufferevent *buffer)
{
	struct mark *mark = find(buffer);

	if (mark)
		take_back(mark);
}

void thrum__adapt_event_mark_told(struct bufferevent *buffer, bool has_read)
{
	struct mark *mark = find(buffer);
	uint32_t sender;
	size_t left;

	if (!mark && has_read && left_of(buffer) > 0 && knows_buffers()) {
		mark = take(buffer);
		if (mark)
			begin(mark, buffer);
	}
	if (!mark)
		return;
	left = left_of(buffer);
	mark->is_left = left > 0 && (has_read || (mark->is_left && left == mark->left));
	mark->left = left;
	if (!has_read)
		return;
	sender = thrum__adapt_pipe_sender(mark->known.ev_read.ev_fd);
	if (sender != mark->sender ||
		real_evbuffer_get_length(NULL)(real_bufferevent_get_output(NULL)(buffer)) == 0)
		mark->times = 0;
	mark->sender = sender;
	mark->times++;
}

/* ---- The other end ------------------------------------------------------------------------------ */

/* The thread that waits to read what a socket of a pair sends: it may be the one that looks. */
struct reader {
	thrum_task task; /* NONE: there is none */
	uint32_t tid;
	uint64_t ran; /* differs once it has run */
};

/* Whether a thread of this process waits for as long as it takes; `ran` differs once it has run, unless it
 * looks from time to time. */
static bool waits(uint32_t tid, uint64_t *ran)
{
	const struct look look = {.self = own_pid()};
	struct process_call call;
	bool looks;

	if (!thrum__adapt_process_call(look.self, tid, &call))
		return false;
	looks = thrum__adapt_vain_looker(&look, look.self, &call, NULL);
	*ran = looks ? 0 : thrum__adapt_process_ran(look.self, tid);
	return looks || thrum__adapt_call_is_endless(&call);
}

/* Whether the loop itself waits to read what the other end gets: nothing has come there. */
static bool is_read_here(int other, int epoll)
{
	uint32_t events = 0;

	return other >= 0 && thrum__adapt_self && !thrum__adapt_has_timers() &&
		thrum__adapt_watch_epoll(other, &events) == epoll && events & EPOLLIN &&
		thrum__adapt_unread(other) < 0;
}

static struct reader find_reader(int fd, int epoll)
{
	struct reader reader = {.task = thrum__adapt_pipe_waiter(fd)};
	int other = thrum__adapt_pipe_other(fd, true);

	if (other < 0) {
		other = thrum__adapt_socket_peer(fd);
		reader.task = thrum__adapt_others_reader(other, &reader.tid);
	}
	if (is_read_here(other, epoll))
		return (struct reader){atomic_load(&thrum__adapt_self->task), own_tid(),
			thrum__adapt_event_runs};
	for (struct thread *t = thrum__adapt_threads(); t && reader.task && !reader.tid;
		t = t->next)
		if (atomic_load(&t->task) == reader.task)
			reader.tid = atomic_load(&t->tid);
	if (!reader.tid || other < 0 || thrum__adapt_socket_limit(other, false) == LIMITED ||
		!waits(reader.tid, &reader.ran)) {
		reader.task = THRUM_TASK_NONE;
		return reader;
	}
	return reader;
}

/* ---- Looking ------------------------------------------------------------------------------------ */

struct rest {
	int64_t since;
	int64_t rounds; /* so often a timer came that doesn't go on, by its latest interval */
	bool may_go_on;
	bool ticks; /* there is a timer */
};

/* A timer may let the program answer. Time limits of descriptors are for others. */
static int look_at_event(const struct event_base *base, const struct event *event, void *data)
{
	struct rest *rest = data;
	short flags = event->ev_evcallback.evcb_flags;
	const struct cell *cell;
	int64_t latest, before;

	(void)base;
	if (flags & EVLIST_INTERNAL || !(flags & EVLIST_TIMEOUT) || event->ev_fd >= 0)
		return 0;
	cell = thrum__adapt_event_cell(event);
	rest->ticks = true;
	latest = cell ? atomic_load(&cell->came[0]) : 0;
	before = cell ? atomic_load(&cell->came[1]) : 0;
	rest->may_go_on |= before < rest->since ||
		rough_time() - rest->since < (latest - before) * rest->rounds;
	return rest->may_go_on;
}

/* In how many rounds of a timer the program may go on: it may count them if it did something so that the
 * bytes are held, or has both ends. 0: it isn't known to count. */
static int64_t rounds_of(const struct mark *mark, thrum_task waiter)
{
	if (mark->why == IS_UNSENT || mark->why == IS_UNTOLD)
		return ROUNDS;
	return thrum__adapt_self && waiter == atomic_load(&thrum__adapt_self->task) ? ROUNDS_OWN
										    : 0;
}

static struct rest find_rest(const struct mark *mark, thrum_task waiter)
{
	struct rest rest = {.since = mark->since, .rounds = rounds_of(mark, waiter)};

	real_event_base_foreach_event(NULL)(mark->known.ev_base, look_at_event, &rest);
	return rest;
}

/* Whether it is the same bufferevent with the same loop, and its own thread looks. */
static bool is_same(const struct mark *mark, const struct bufferevent *now, int epoll)
{
	uint32_t events = 0;

	return now->be_ops == mark->known.be_ops && now->ev_base == mark->known.ev_base &&
		now->input == mark->known.input && now->ev_read.ev_fd >= 0 &&
		thrum__adapt_watch_epoll(now->ev_read.ev_fd, &events) == epoll && events & EPOLLIN;
}

/* Whether fewer bytes have come than it takes to call the program, which knows of fewer still. */
static bool is_short(const struct mark *mark, const struct bufferevent *now, size_t length)
{
	int size = 0;

	return length > mark->left && length < now->wm_read.low && now->readcb &&
		now->enabled & EV_READ && !timerisset(&now->timeout_read) &&
		ioctl(now->ev_read.ev_fd, FIONREAD, &size) == 0 && size == 0;
}

/* Whether the program's callback left all the bytes, and is called only if more come. */
static bool is_left(const struct mark *mark, const struct bufferevent *now, size_t length)
{
	size_t unsent;
	int size = 0;

	return mark->is_left && length == mark->left && length >= now->wm_read.low && now->readcb &&
		now->enabled & EV_READ && !timerisset(&now->timeout_read) &&
		length_of(now->output, &unsent) && unsent == 0 &&
		ioctl(now->ev_read.ev_fd, FIONREAD, &size) == 0 && size == 0;
}

/* Why nobody takes the bytes, and how many these are. */
static enum why find_why(const struct mark *mark, const struct bufferevent *now, size_t *length)
{
	size_t unsent;

	if (!length_of(now->input, length) || !length_of(now->output, &unsent))
		return NOT_HELD;
	if (mark->disabler && !(now->enabled & EV_WRITE) && unsent > 0) {
		*length = unsent;
		return IS_UNSENT;
	}
	if (mark->unsetter && !now->readcb && *length > 0)
		return IS_UNTOLD;
	return is_short(mark, now, *length)   ? IS_SHORT
		: is_left(mark, now, *length) ? IS_LEFT
					      : NOT_HELD;
}

/* Whether a thread alone has sent what came, was answered each time, and has sent the rest, too. */
static bool asks_alone(const struct mark *mark, const struct bufferevent *now, uint32_t tid)
{
	return mark->sender == tid && mark->times > HABIT &&
		thrum__adapt_pipe_sender(now->ev_read.ev_fd) == tid;
}

/* Adds why the bytes are held. Returns the place. */
static const void *add_why(char *to, const struct mark *mark, const struct bufferevent *now)
{
	cell_function *callback = thrum__adapt_event_read_callback(now);
	const void *function = (const void *)(uintptr_t)callback;

	switch (mark->why) {
	case IS_UNSENT:
		thrum__adapt_label(to, ", unsent since bufferevent_disable in", mark->disabler);
		return mark->disabler;
	case IS_UNTOLD:
		thrum__adapt_label(to, ", without a callback since bufferevent_setcb in",
			mark->unsetter);
		return mark->unsetter;
	case IS_LEFT:
		thrum__adapt_label(to, ", left by bufferevent", function);
		return (const char *)function + 1; /* a site is the place behind a call */
	default:
		to = stpcpy(to, ", fewer than the low watermark of ");
		to = thrum__adapt_put_number(to, now->wm_read.low);
		thrum__adapt_label(to, " of bufferevent", function);
		return mark->caller;
	}
}

/* A program that may count the rounds of a timer may go on after more of them: why says that it is
 * possible. */
static void tell(struct mark *mark, const struct bufferevent *now, thrum_task waiter, bool ticks)
{
	bool is_unsent = mark->why == IS_UNSENT;
	char label[CALL_MAX + PLACE_MAX + 100], *end;
	const void *place;

	if (ticks && rounds_of(mark, waiter) > 0) {
		thrum__adapt_put_call(label,
			is_unsent ? "data so far unsent to" : "data so far unread of",
			now->ev_read.ev_fd);
	} else {
		end = stpcpy(thrum__adapt_put_number(label, mark->length),
			mark->length == 1 ? " byte" : " bytes");
		thrum__adapt_put_call(end, is_unsent ? " to" : " of", now->ev_read.ev_fd);
	}
	place = add_why(strchr(label, '\0'), mark, now);
	atomic_store(&mark->told, thrum__adapt_look_tell(label, place, waiter));
}

/* Whether all other threads sleep until something comes from this program, or a new connection. */
static bool do_others_rest(const struct bufferevent *now, int epoll)
{
	const struct looking looking = {.epoll = epoll, .is_endless = true};
	struct others others = {.fd = now->ev_read.ev_fd, .event = POLLIN};

	return thrum__adapt_others_look(&others, &looking) &&
		!(others.origins & (FROM_OUTSIDE | FROM_TIMER));
}

/* Whether nobody else may answer. */
static bool is_alone(const struct mark *mark, const struct bufferevent *now, uint32_t tid,
	int epoll)
{
	const struct looking looking = {.epoll = epoll, .is_endless = true};

	if (tid == own_tid())
		return thrum__adapt_others_rest(&looking);
	return mark->why != IS_SHORT
		? do_others_rest(now, epoll)
		: asks_alone(mark, now, tid) || thrum__adapt_others_nap(&mark->naps);
}

/* Whether it is still so: one that has ended meanwhile may have sent the rest before. */
static bool is_still_so(const struct mark *mark, const struct bufferevent *buffer)
{
	struct bufferevent now;
	size_t length;

	return copy(buffer, &now, sizeof now) && find_why(mark, &now, &length) == mark->why &&
		length == mark->length;
}

static void begin_anew(struct mark *mark)
{
	mark->since = rough_time();
	mark->loops = thrum__adapt_loops_of(thrum__adapt_self);
	mark->naps = (struct naps){0};
}

/* Whether the calling thread has gone round since, so that it may do more than to run its loop. */
static bool has_turned(const struct mark *mark)
{
	return thrum__adapt_loops_of(thrum__adapt_self) != mark->loops;
}

/* Threads that look from time to time may do so just now: so this tries again. */
static void try_to_tell(struct mark *mark, const struct bufferevent *buffer,
	const struct bufferevent *now, int epoll)
{
	for (int i = 0; i < TRIES; i++) {
		struct reader reader = find_reader(now->ev_read.ev_fd, epoll);

		if (reader.task && reader.ran != mark->ran) {
			mark->ran = reader.ran;
			begin_anew(mark);
			return;
		}
		if (reader.task && is_alone(mark, now, reader.tid, epoll)) {
			struct rest rest = find_rest(mark, reader.task);

			if (reader.tid == own_tid() && !rest.ticks && has_turned(mark)) {
				begin_anew(mark);
				return;
			}
			if (!rest.may_go_on && is_still_so(mark, buffer)) {
				tell(mark, now, reader.task, rest.ticks);
				return;
			}
		}
		thrum__adapt_look_settle();
	}
}

static void look_at(struct mark *mark, const struct bufferevent *buffer, int epoll)
{
	struct bufferevent now;
	enum why why;
	size_t length;

	if (!copy(buffer, &now, sizeof now) || !is_same(mark, &now, epoll))
		return;
	why = find_why(mark, &now, &length);
	if (why == NOT_HELD) {
		take_back(mark);
		return;
	}
	if (!mark->since || mark->length != length || mark->why != why) {
		take_back(mark);
		mark->since = rough_time();
		mark->length = length;
		mark->why = why;
		mark->ran = find_reader(now.ev_read.ev_fd, epoll).ran;
		mark->loops = thrum__adapt_loops_of(thrum__adapt_self);
		mark->naps = (struct naps){0};
	}
	thrum__adapt_naps_note(&mark->naps);
	if (!atomic_load(&mark->told) && rough_time() - mark->since >= LOOK_TWICE)
		try_to_tell(mark, buffer, &now, epoll);
}

/* The thread is about to wait for events of this epoll, or waits for them. */
static thrum_task look(int epoll, bool is_waiting)
{
	thrum_task told = THRUM_TASK_NONE;

	(void)is_waiting;

	for (unsigned i = 0; i < MARKS; i++) {
		const struct bufferevent *buffer = atomic_load(&marks[i].buffer);

		if (!buffer || marks[i].process != own_pid())
			continue;
		look_at(&marks[i], buffer, epoll);
		if (!told && atomic_load(&marks[i].buffer))
			told = atomic_load(&marks[i].told);
	}
	return told;
}
