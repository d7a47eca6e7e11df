/* SPDX-License-Identifier: ISC */
/*
 * Streams of libuv whose reading was stopped (uv_read_stop), mostly since those that take the data are
 * slow. If nobody starts it again, all that the other end writes stays unread. A loop's thread looks now
 * and then. It tells only of data for which a task of this program waits, and only if nothing is left in
 * the loop that is known to go on: no request, no other stream that is read, and no timer but those that
 * came twice since. A stream that is read doesn't count if its other end is here, too, and all threads
 * rest. The other end may be the loop's own, and have sent all: then its handle waits for the answer. That
 * is told later, and not if the program stopped reading for nearly as long before.
 *
 * Most stop since a write is under way, and start again in its callback; or they begin a request right after
 * that. So where all requests are done for long, and the stream is stopped still, the data is left for good,
 * though other streams and threads go on. Requests of others say nothing of it once many streams were stopped
 * later in the same place, and were read again: no queue serves those first.
 * The same is true if the reading was started again in vain, as it went on still, and stopped right after
 * that.
 */
#include "adapt/uv/noted.h"

#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#define STOPPED_LONG 500000000 /* ns; shorter stops are not looked at */
#define STOPPED_TIMES 4        /* so many times as long as any before, a stop has no end; */
#define STOPPED_MORE 20        /* or so many, where others go on by requests, */
#define OVERTAKEN 16           /* if so many later stops in the same place have ended */

/* In `more`: */
#define RENAMED 1u /* uv_run has returned since, so the pipe's name tells of it */
#define DUE 2u     /* a request was under way or began then; or reading had just begun in vain */
#define SURE 4u    /* it is told that the data is left though others go on */
#define BUSY 8u    /* others have gone on by requests */

/* By the place that stopped it. `quiet`: since when the loop has no request. */
static struct noted_all stopped = {.max = NOTED_MAX};

/* ns for which a stream was stopped that was read again. */
static _Atomic int64_t longest;

REAL(poll)
REAL(uv_fileno)
REAL(uv_is_active)
REAL(uv_is_readable)
REAL(uv_read_stop)
REAL(uv_timer_get_repeat)
REAL(uv_walk)

/* ---- Stopping and starting ------------------------------------------------------------------- */

/* The latest stream whose reading was started again though it went on, and in which turn of the loop. */
static __thread struct {
	const void *stream;
	uint32_t turn;
} vain __attribute__((tls_model("initial-exec")));

static void note_vain(const uv_stream_t *stream)
{
	if ((stream->type == UV_TCP || stream->type == UV_NAMED_PIPE) &&
		real_uv_is_active(NULL)((const uv_handle_t *)stream) &&
		real_uv_is_readable(NULL)(stream)) {
		vain.stream = stream;
		vain.turn = thrum__adapt_loops_of(thrum__adapt_self);
	}
}

/* This stop has ended: others in the same place may have begun before. */
static void overtake(const struct noted *one)
{
	struct noted *other;

	for (int i = 0; (other = thrum__adapt_uv_next_noted(&stopped, &i, one->epoll)) != NULL;)
		if (other->place == one->place && other->since < one->since)
			other->overtaken++;
}

void thrum__adapt_uv_started(const uv_handle_t *handle)
{
	const uv_stream_t *stream = (const void *)handle;
	struct noted *one = thrum__adapt_uv_noted(&stopped, stream);
	uv_os_fd_t fd;

	thrum__adapt_uv_read_anew(stream);
	thrum__adapt_uv_listens_anew(stream);
	thrum__adapt_uv_is_taken(stream);
	thrum__adapt_uv_output_taken(stream);
	if (!one)
		note_vain(stream);
	if (!one)
		return;
	if (one->more & RENAMED && real_uv_fileno(NULL)(handle, &fd) == 0)
		thrum__adapt_pipe_rename(fd, "", NULL, NULL);
	if (rough_time() - one->since > atomic_load(&longest))
		atomic_store(&longest, rough_time() - one->since);
	overtake(one);
	thrum__adapt_uv_unnote(one);
}

static thrum_task look(int epoll, bool is_waiting);

void thrum__adapt_uv_left(const uv_loop_t *loop)
{
	struct noted *one;
	uv_os_fd_t fd;

	for (int i = 0;
		(one = thrum__adapt_uv_next_noted(&stopped, &i, loop->backend_fd)) != NULL;) {
		if (real_uv_fileno(NULL)(atomic_load(&one->handle), &fd) != 0)
			continue;
		one->more |= RENAMED;
		thrum__adapt_pipe_rename(fd, ", ", "reading stopped by", one->place);
	}
}

/* The latest stream that was stopped while no request was under way, and in which turn of the loop. */
static __thread struct {
	const void *stream;
	uint32_t turn;
} fresh __attribute__((tls_model("initial-exec")));

void thrum__adapt_uv_begins(void)
{
	struct noted *one;

	if (LIKELY(!fresh.stream))
		return;
	one = thrum__adapt_uv_noted(&stopped, fresh.stream);
	if (one && fresh.turn == thrum__adapt_loops_of(thrum__adapt_self))
		one->more |= DUE;
	fresh.stream = NULL;
}

static void note(uv_stream_t *stream, const void *caller)
{
	struct noted *one = thrum__adapt_uv_note(&stopped, (uv_handle_t *)stream, caller, look);

	if (!one)
		return;
	if (stream->loop->active_reqs.count > 0 ||
		(vain.stream == stream && vain.turn == thrum__adapt_loops_of(thrum__adapt_self)))
		one->more = DUE;
	fresh.stream = one->more ? NULL : stream;
	fresh.turn = thrum__adapt_loops_of(thrum__adapt_self);
	atomic_store(&thrum__adapt_stops_streams, true);
}

STAND_IN int uv_read_stop(uv_stream_t *handle)
{
	if (thrum__adapt_uv_begin(CALLER) && thrum__adapt_uv_task((uv_handle_t *)handle) &&
		!thrum__adapt_uv_noted(&stopped, handle))
		note(handle, thrum__adapt_caller(CHAIN));
	return real_uv_read_stop(CALLER)(handle);
}

/* ---- Looking --------------------------------------------------------------------------------- */

/* The rest of a loop, for one stream that is stopped. */
struct rest {
	int64_t age;        /* ns since it was stopped */
	int writer;         /* the descriptor that writes to it, or -1 */
	bool may_go_on;     /* something is left that may start it */
	bool has_inner;     /* or a stream that is read, to which only this process may write */
	thrum_task blocked; /* the first write to it that isn't done, or NONE */
	thrum_task reader;  /* the handle of its other end, which wrote all and reads; or NONE */
	thrum_task waiter;  /* in another thread or process, as is_left() finds it; or NONE */
};

/* The first request to write that a stream has not done, or NONE. */
static thrum_task write_of(const uv_stream_t *stream)
{
	const char *queue;

	/* The head of the list of requests: the type has another name in later versions. */
	memcpy(&queue, &stream->write_queue, sizeof queue);
	return queue == (const char *)&stream->write_queue
		? THRUM_TASK_NONE
		: thrum__adapt_uv_request_task(
			  (const uv_req_t *)(const void *)(queue - offsetof(uv_write_t, queue)));
}

static void look_at_stream(struct rest *rest, uv_stream_t *stream)
{
	uv_os_fd_t fd;
	bool is_known = real_uv_fileno(NULL)((uv_handle_t *)stream, &fd) == 0;
	bool is_read = real_uv_is_active(NULL)((uv_handle_t *)stream) &&
		real_uv_is_readable(NULL)(stream); /* one that only listens can't be read */

	if (rest->writer >= 0 && is_known && fd == rest->writer) {
		rest->blocked = write_of(stream);
		if (!rest->blocked && is_read)
			rest->reader = thrum__adapt_uv_task((uv_handle_t *)stream);
	} else if (!is_read)
		return;
	else if (is_known && thrum__adapt_origin(fd) == FROM_INSIDE)
		rest->has_inner = true;
	else
		rest->may_go_on = true;
}

static void look_at_handle(uv_handle_t *handle, void *data)
{
	struct rest *rest = data;
	uint64_t repeat;

	switch (handle->type) {
	case UV_TIMER:
		repeat = real_uv_timer_get_repeat(NULL)((uv_timer_t *)handle);
		rest->may_go_on |= real_uv_is_active(NULL)(handle) &&
			(repeat == 0 || repeat > (uint64_t)rest->age / 2000000);
		break;
	case UV_PROCESS:
	case UV_UDP:
	case UV_POLL: rest->may_go_on |= real_uv_is_active(NULL)(handle) != 0; break;
	case UV_TTY:
	case UV_NAMED_PIPE:
	case UV_TCP: look_at_stream(rest, (uv_stream_t *)handle); break;
	default: break;
	}
}

static void tell(struct noted *one, int fd, thrum_task waiter, const char *words)
{
	char label[CALL_MAX + PLACE_MAX + 60];

	if (one->task)
		thrum_task_resolve(one->task);
	thrum__adapt_put_call(label, words, fd);
	if (one->more & SURE)
		strcat(label, BESIDE);
	thrum__adapt_label(label + strlen(label), ", reading stopped by", one->place);
	one->task = thrum__adapt_look_tell(label, one->place, waiter);
}

/* Whether nothing has come that the loop would take now, and no thread will write anything: nothing comes but
 * from these origins. */
static bool all_rest(int epoll, unsigned origins)
{
	const struct looking looking = {.epoll = epoll, .is_endless = true};
	struct pollfd events = {.fd = epoll, .events = POLLIN};

	return thrum__adapt_others_rest_but(&looking, origins) &&
		real_poll(NULL)(&events, 1, 0) == 0;
}

/* Whether the other end waits in vain for the answer to what is unread. */
static bool is_asked(const struct noted *one, const struct rest *rest)
{
	return rest->reader && rest->age >= LOOK_TIMED &&
		rest->age / STOPPED_TIMES > atomic_load(&longest) &&
		all_rest(one->epoll, FROM_TIMER | FROM_DOOR);
}

/* Whether the data is left for good, though others go on. */
static bool is_left(struct noted *one, struct rest *rest, int fd)
{
	if (!(one->more & DUE) ||
		rest->age / (one->more & BUSY ? STOPPED_MORE : STOPPED_TIMES) <=
			atomic_load(&longest))
		return false;
	if (!one->quiet)
		one->quiet = rough_time();
	return thrum__adapt_rounds_are_idle(fd, one->since, one->quiet, false, &rest->waiter);
}

static void look_at(struct noted *one)
{
	uv_stream_t *handle = (void *)atomic_load(&one->handle);
	struct rest rest = {.age = rough_time() - one->since};
	uv_os_fd_t fd;
	int size = 0;
	thrum_task waiter;

	if (one->more & SURE || rest.age < STOPPED_LONG ||
		real_uv_fileno(NULL)((uv_handle_t *)handle, &fd) != 0 ||
		ioctl(fd, FIONREAD, &size) != 0 || size <= 0)
		return;
	waiter = thrum__adapt_pipe_writer(fd);
	if (!waiter)
		waiter = thrum__adapt_pipe_waiter(fd);
	rest.writer = thrum__adapt_pipe_other(fd, true);
	if (rest.writer < 0)
		rest.writer = thrum__adapt_socket_peer(fd);
	real_uv_walk(NULL)(handle->loop, look_at_handle, &rest);
	if (handle->loop->active_reqs.count != (rest.blocked != THRUM_TASK_NONE))
		one->more |= BUSY;
	if (rest.may_go_on || (one->more & BUSY && one->overtaken < OVERTAKEN)) {
		one->more &= ~(uint64_t)BUSY;
		one->quiet = 0;
		return;
	}
	if (is_left(one, &rest, fd)) {
		one->more |= SURE;
		tell(one, fd, rest.waiter, "unread data of");
		return;
	}
	if (one->task || one->more & BUSY)
		return;
	if (!waiter)
		waiter = rest.blocked;
	if (!waiter && is_asked(one, &rest))
		waiter = rest.reader;
	if (waiter &&
		(rest.has_inner ? all_rest(one->epoll, FROM_TIMER)
				: thrum__adapt_others_nap(thrum__adapt_look_naps())))
		tell(one, fd, waiter,
			waiter != rest.reader ? "unread data of" : "data so far unread of");
}

static thrum_task look(int epoll, bool is_waiting)
{
	(void)is_waiting;
	thrum__adapt_uv_each_noted(&stopped, epoll, look_at);
	return THRUM_TASK_NONE;
}
