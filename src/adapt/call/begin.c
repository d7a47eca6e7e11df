/* SPDX-License-Identifier: ISC */
/* The waits that the calls of blocking.c begin: for which task, and how it is named. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "adapt/call/call.h"

/* Whether the program itself has the other end: then the thread waits for it. */
static bool begin_pipe(struct wait *blocked, const void *caller, int fd, enum side side)
{
	bool writes = is_writing(side);
	int error = errno;
	struct object *object = is_of_pipe(fd) ? thrum__adapt_pipe(fd, writes, caller) : NULL;

	if (object)
		thrum__adapt_wait_pipe(blocked, object,
			writes ? NULL : thrum__adapt_pipe_tokens(fd), caller,
			writes ? &thrum__adapt_outside : thrum__adapt_handler_reason());
	bool is_own = object && !thrum__adapt_own_wait(blocked, fd, side);

	if (object && !is_own)
		thrum__adapt_wait_end(blocked);
	errno = error;
	return is_own;
}

/* It may well wait for ever: for a request, a line, a connection. */
bool thrum__adapt_begin_read(struct wait *blocked, const void *caller, const char *verb, int fd,
	bool may_end)
{
	if (begin_pipe(blocked, caller, fd, SIDE_READS))
		return false;
	struct held_signals none = {.are_held = false};
	bool receives = is_socket(fd), is_queued = receives && thrum__adapt_accept_is_due(fd);

	if (thrum__adapt_ends_wait(blocked, THRUM_KIND_HANDLE, verb, fd,
		    receives && !is_queued ? SIDE_RECEIVES : SIDE_READS, may_end ? &none : NULL,
		    caller))
		return true;
	if (is_queued)
		thrum__adapt_accept_wait(blocked, verb, fd);
	else if (thrum__adapt_is_timer(fd))
		thrum__adapt_rearm_wait(blocked, fd, caller);
	else if (!receives)
		thrum__adapt_signals_wait(blocked, fd, caller);
	return false;
}

/* Somebody outside has to act, so that it ends. */
void thrum__adapt_begin_request(struct wait *blocked, const void *caller, const char *verb, int fd)
{
	char label[CALL_MAX];

	(void)records_wait(ADAPTER_BLOCK); /* that in a fork's child may be the first */
	thrum__adapt_put_file(label, verb, fd);
	thrum__adapt_wait_outside(blocked, THRUM_KIND_REQUEST, label, -1, caller);
}

bool thrum__adapt_begin_write(struct wait *blocked, const void *caller, int fd, enum side side,
	struct held_signals *signals)
{
	struct held_signals none = {.are_held = false};

	if (begin_pipe(blocked, caller, fd, side))
		return false;
	if (thrum__adapt_ends_wait(blocked, THRUM_KIND_REQUEST, "write to", fd, side,
		    signals ? signals : &none, caller))
		return true;
	if (is_socket(fd))
		thrum__adapt_socket_wants_room(fd);
	return false;
}

void thrum__adapt_begin_connect(struct wait *blocked, const void *caller,
	const struct sockaddr *peer, socklen_t length)
{
	char label[16 + ADDRESS_MAX] = "connect to ", address[ADDRESS_MAX] = "its peer";
	int error = errno;

	strcat(label, thrum__adapt_put_address(address, peer));
	errno = error;
	thrum__adapt_wait_outside(blocked, THRUM_KIND_REQUEST, label, -1, caller);
	thrum_task accepter = peer ? thrum__adapt_accepter(peer, length) : THRUM_TASK_NONE;

	if (accepter)
		thrum_task_wait(blocked->source, accepter);
}

void thrum__adapt_begin_lookup(struct wait *blocked, const void *caller, const char *name)
{
	char label[CALL_MAX] = "look up ";

	strncat(label, name, sizeof label - sizeof "look up ");
	thrum__adapt_wait_outside(blocked, THRUM_KIND_REQUEST, label, -1, caller);
}

/* For one child, for any (-1), or for one that isn't known. Returns whether a handler ended the call. */
bool thrum__adapt_begin_child(struct wait *blocked, const void *caller, pid_t process, int options)
{
	char label[CALL_MAX] = "a child process";

	if (process > 0)
		*thrum__adapt_put_number(stpcpy(label, "process "), (uint64_t)process) = '\0';
	thrum__adapt_wait_outside(blocked, THRUM_KIND_REQUEST, label, -1,
		thrum__adapt_spawns_at(caller));
	/* Nothing but the child's end wakes one who looks. */
	return (process > 0 || process == -1) && !(options & (WUNTRACED | WCONTINUED)) &&
		thrum__adapt_child_wait(blocked, label, process);
}

int64_t thrum__adapt_ns_of(const struct timespec *time)
{
	int64_t seconds = time->tv_sec;

	return (seconds < INT32_MAX ? seconds : INT32_MAX) * 1000000000 + time->tv_nsec;
}

void thrum__adapt_begin_sleep(struct wait *blocked, const void *caller, const struct timespec *time)
{
	int64_t ns = thrum__adapt_ns_of(time);
	uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
	char label[CALL_MAX] = "sleep ", *end;

	/* All labels look alike, so that they make one group: "sleep 0.250 ms". */
	end = thrum__adapt_put_number(label + strlen(label), us / 1000);
	*end++ = '.';
	for (uint64_t digit = 100; digit > 0; digit /= 10)
		*end++ = (char)('0' + us / digit % 10);
	strcpy(end, " ms");
	thrum__adapt_wait_outside(blocked, THRUM_KIND_TIMER, label, ns > 0 ? ns : 0, caller);
}

void thrum__adapt_begin_clock_sleep(struct wait *blocked, const void *caller, clockid_t clock,
	int flags, const struct timespec *time)
{
	struct timespec now = {0}, rest = *time;
	int error = errno;

	if (flags & TIMER_ABSTIME && clock_gettime(clock, &now) == 0) {
		rest.tv_sec -= now.tv_sec;
		rest.tv_nsec -= now.tv_nsec;
	}
	errno = error;
	thrum__adapt_begin_sleep(blocked, caller, &rest);
}
