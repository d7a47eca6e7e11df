/* SPDX-License-Identifier: ISC */
/*
 * For what a thread waits in poll() or epoll, of which /proc tells which descriptors that are. If these are
 * pipes of the program and timers that aren't armed, nothing but the program ends the wait.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/ends/stuck.h"
#include "port/port.h"

#define EPOLL_TEXT 1024 /* bytes that tell of some ten descriptors */

/* Pipes to which other threads wrote last: the latest one at whose other end a thread waits for an
 * answer, and the latest other one. -1: there is none. */
struct latest {
	int asks, tells;
};

static void compare(struct latest *latest, int fd)
{
	int *which = thrum__adapt_pipe_waiter(fd) ? &latest->asks : &latest->tells;

	if (thrum__adapt_pipe_sender(fd) != own_tid() &&
		(*which < 0 || thrum__adapt_pipe_turn(fd) > thrum__adapt_pipe_turn(*which)))
		*which = fd;
}

/* A thread that told of its work after somebody asked has done its part; else it is to tell first. */
static int choose(const struct latest *latest, int first)
{
	if (latest->asks >= 0 && latest->tells >= 0)
		return thrum__adapt_pipe_turn(latest->asks) < thrum__adapt_pipe_turn(latest->tells)
			? latest->asks
			: latest->tells;
	return latest->asks >= 0 ? latest->asks : latest->tells >= 0 ? latest->tells : first;
}

static bool is_unused(int fd)
{
	bool (*is)(int fd) = atomic_load(&thrum__adapt_is_unused);

	return is && is(fd);
}

/* The pipes of which a wait tells, as they are found. */
struct found_pipes {
	struct epoll_need *need;
	struct epoll_need unused;
	struct latest latest;
	bool has_counter;
};

/* Adds a pipe. Those that are unused are there until another one comes. */
static void add(struct found_pipes *found, int fd)
{
	const void *taker;
	struct epoll_need *to = is_unused(fd) ? &found->unused : found->need;

	found->has_counter |= thrum__adapt_pipe_other(fd, true) == fd;
	if (thrum__adapt_eventfd_taken(fd, &taker) > 1)
		found->need->merged = fd;
	if (to->count++ == 0)
		to->first = fd;
	if (to == found->need)
		compare(&found->latest, fd);
}

/* Adds a descriptor. Returns false if it is neither a pipe of the program alone nor an unarmed timer. */
static bool add_any(struct found_pipes *found, int fd)
{
	if (is_of_pipe(fd) && !thrum__adapt_pipe_is_shared(fd, false)) {
		add(found, fd);
		return true;
	}
	if (!thrum__adapt_timer_is_unarmed(fd))
		return false;
	if (found->need->timer < 0 || !thrum__adapt_timer_is_in_vain(found->need->timer))
		found->need->timer = fd;
	found->need->timers++;
	return true;
}

static struct found_pipes begin(struct epoll_need *need)
{
	*need = (struct epoll_need){-1, -1, -1, -1, 0, 0};
	return (struct found_pipes){need, {.first = -1}, {-1, -1}, false};
}

/* Returns false if the kernel may write to one of the pipes. */
static bool end(struct found_pipes *found)
{
	struct epoll_need *need = found->need;

	if (need->count == 0) {
		need->first = found->unused.first;
		need->count = found->unused.count;
	}
	need->likely = choose(&found->latest, need->first);
	return !found->has_counter || !thrum__adapt_process_has_kernel_writes(own_pid());
}

bool thrum__adapt_epoll_need(int epoll, struct epoll_need *need)
{
	static const char word[] = "\ntfd:";
	char text[EPOLL_TEXT], *line = text;
	struct found_pipes found = begin(need);
	size_t size = thrum__adapt_process_read_info(own_pid(), epoll, text, sizeof text);

	if (size == 0 || size == sizeof text - 1)
		return false;
	while ((line = strstr(line, word))) {
		int fd = (int)strtol(line += strlen(word), NULL, 10);

		if (!add_any(&found, fd))
			return false;
	}
	return end(&found);
}

bool thrum__adapt_polled_need(const struct pollfd *polled, unsigned long count,
	struct epoll_need *need)
{
	struct found_pipes found = begin(need);

	for (unsigned long i = 0; i < count; i++)
		if (polled[i].fd >= 0 && !add_any(&found, polled[i].fd))
			return false;
	return end(&found);
}

bool thrum__adapt_poll_need(int fd, struct epoll_need *need)
{
	*need = (struct epoll_need){fd, fd, -1, -1, 1, 0};
	return is_of_pipe(fd) && !thrum__adapt_pipe_is_shared(fd, false) &&
		(thrum__adapt_pipe_other(fd, true) != fd ||
			!thrum__adapt_process_has_kernel_writes(own_pid()));
}

void thrum__adapt_epoll_leave(struct thread *self)
{
	atomic_store(&self->epoll, 0);
	atomic_fetch_add(&thrum__adapt_looker_waits, 1);
}

int thrum__adapt_epoll_of(uint32_t tid, const struct process_call *call)
{
	const struct thread *thread = thrum__adapt_thread_of(tid);
	int epoll = (int)call->arguments[0];

	return thread && thrum__adapt_call_is_epoll(call) &&
			atomic_load(&thread->epoll) == epoll + 1
		? epoll
		: -1;
}

/* Another thread: the one that wrote last to the likely pipe, or NULL. An idle thread of libuv's pool writes
 * nothing: it told of the end of work that is done. */
static const struct thread *writer_of(const struct epoll_need *need)
{
	const struct thread *writer = thrum__adapt_thread_of(
		thrum__adapt_pipe_sender(need->likely));

	return writer && writer != thrum__adapt_self && !atomic_load(&writer->is_idle) ? writer
										       : NULL;
}

static thrum_task find_writer(const struct epoll_need *need)
{
	const struct thread *writer = writer_of(need);

	return writer ? atomic_load(&writer->task) : THRUM_TASK_NONE;
}

/* Whether the writer waits for the calling thread itself, as one does that joins it. */
static bool is_joined_by(const struct thread *writer)
{
	return thrum__adapt_self &&
		atomic_load(&writer->waited) == atomic_load(&thrum__adapt_self->task);
}

bool thrum__adapt_epoll_is_stuck(struct looking *looking, const struct epoll_need *need)
{
	struct stuck *stuck = thrum__adapt_stuck_take();
	uint64_t before = looking->stuck;

	if (!stuck)
		return looking->is_stuck;
	looking->stuck = thrum__adapt_stuck_find(stuck, &(struct own_need){.fd = -1}) ? stuck->sum
										      : 0;
	looking->is_stuck = looking->stuck && looking->stuck == before &&
		(need->count <= LOOK_FEW || thrum__adapt_pipe_is_told(need->likely) ||
			find_writer(need)) &&
		/* Another process may have the timer, too. */
		(need->count > 0 ||
			(need->timers == 1 && stuck->look.count == 1 &&
				thrum__adapt_timer_is_own(need->timer))) &&
		!thrum__adapt_stuck_has_stranger(stuck);
	thrum__adapt_stuck_release();
	return looking->is_stuck;
}

/* Adds an eventfd, from which one read took several. */
static void put_merged(char label[2 * CALL_MAX + PLACE_MAX], const struct epoll_need *need)
{
	const void *taker;
	uint64_t amount = thrum__adapt_eventfd_taken(need->merged, &taker);

	if (need->merged != need->likely)
		thrum__adapt_put_call(strchr(label, '\0'), " or", need->merged);
	*thrum__adapt_put_number(stpcpy(strchr(label, '\0'), ", "), amount) = '\0';
	thrum__adapt_label(strchr(label, '\0'), " taken at once by", taker);
}

static bool holds_any_lock(void)
{
	for (struct thread *t = thrum__adapt_threads(); t; t = t->next)
		if (atomic_load(&t->tid) && atomic_load(&t->holds) > 0)
			return true;
	return false;
}

/* A timer that was disarmed in vain may be the one that begins all work. A thread that holds a lock may hold
 * up others, so then it is not. */
static bool tell_in_vain(const struct looking *looking, const struct epoll_need *need,
	struct object *object)
{
	struct wait *wait = looking->wait;
	char label[3 * CALL_MAX + PLACE_MAX];

	if (need->timer < 0 || !thrum__adapt_timer_is_in_vain(need->timer) || holds_any_lock())
		return false;
	thrum__adapt_put_call(label, "data of", need->likely);
	thrum__adapt_put_timer(stpcpy(strchr(label, '\0'), " or "), need->timer);
	thrum__adapt_wait_begin(wait, object, NULL, place_of_wait(looking), false);
	thrum_task_wait(wait->task,
		thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller));
	return true;
}

bool thrum__adapt_epoll_tell(const struct looking *looking, const struct epoll_need *need,
	struct object *object)
{
	const struct thread *writer = writer_of(need);
	char label[2 * CALL_MAX + 2 * PLACE_MAX];
	struct wait *wait = looking->wait;
	thrum_task data;

	if (tell_in_vain(looking, need, object))
		return true;
	if (!writer || need->count == 1 || thrum__adapt_pipe_is_told(need->likely))
		return false;
	thrum__adapt_put_call(label, "data of", need->likely);
	if (need->timer >= 0)
		thrum__adapt_put_call(strchr(label, '\0'), " or unarmed", need->timer);
	else if (need->merged >= 0)
		put_merged(label, need);
	thrum__adapt_reader_put(label, need->likely);
	if (is_joined_by(writer)) {
		thrum__adapt_wait_make(wait, THRUM_KIND_TASK, label, place_of_wait(looking));
		thrum_task_wait(wait->source, atomic_load(&writer->task));
		thrum__adapt_wait_go(wait, looking->reason);
		return true;
	}
	thrum__adapt_wait_begin(wait, object, NULL, place_of_wait(looking), false);
	data = thrum__adapt_ends_make(wait, THRUM_KIND_TASK, label, wait->caller);
	thrum_task_wait(wait->task, data);
	thrum_task_wait(data, atomic_load(&writer->task));
	return true;
}

void thrum__adapt_poll_tell(struct looking *looking, const struct epoll_need *need)
{
	thrum_task writer = find_writer(need);
	char label[CALL_MAX + PLACE_MAX];

	if (!writer)
		return;
	thrum__adapt_wait_end(looking->wait);
	thrum__adapt_put_call(label, "data of", need->likely);
	thrum__adapt_reader_put(label, need->likely);
	thrum__adapt_wait_make(looking->wait, THRUM_KIND_TASK, label, place_of_wait(looking));
	thrum_task_wait(looking->wait->source, writer);
	thrum__adapt_wait_go(looking->wait, looking->reason);
}

void thrum__adapt_epoll_tell_timer(const struct looking *looking, const struct epoll_need *need)
{
	char label[CALL_MAX + PLACE_MAX];

	thrum__adapt_put_timer(label, need->timer);
	thrum__adapt_wait_make(looking->wait, THRUM_KIND_TASK, label, place_of_wait(looking));
	thrum_task_should_resolve(looking->wait->source);
	thrum__adapt_wait_go(looking->wait, looking->reason);
}
