/* SPDX-License-Identifier: ISC */
/*
 * Others that go on while something is left: clients that come again and again, tickers, threads that show
 * how far the work is. They say nothing of what is left if nobody works. So nobody may, as looks see for
 * some time: each other thread, and each child, waits for what the program itself sends, or naps. One that
 * naps talks with a loop meanwhile, as a client does; or has never heard of others, nor its creator before,
 * so that nobody can have given it work; nor has one that sleeps for a minute or longer. And no loop is told
 * of anything that comes from outside of these processes, or has yet to hear of something, nor has it a
 * timer that may go on with the rest.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "adapt/ends/stuck.h"
#include "adapt/look/look.h"

REAL(poll)

#define SLEEP_MIN 60    /* s; one that sleeps for less may go on with the rest then */
#define TRIES 3         /* to see all others wait: they may go round, as the loop does */
#define PLACES 4        /* descriptors, at most, whose data is left at a time */
#define PACES 32        /* threads of all processes, at most, that may nap */
#define AGAIN 100000000 /* ns between two looks at them */

/* How far a thread had run when it was seen first. */
struct pace {
	uint32_t tid;
	uint32_t messages;
	uint64_t ran;
	bool is_late; /* it wasn't there when the rest was seen first */
};

/* How far others had run when one rest was seen first. */
struct paces {
	int fd;              /* + 1; 0: it is free */
	int64_t since, next; /* next: when to look at them again */
	bool nap;            /* one was seen to nap */
	unsigned count;
	struct pace list[PACES];
};

struct rest {
	int fd, peer; /* its descriptor, and that of the other end if this process has it, else -1 */
	uint64_t inode; /* of its socket */
	struct look look;
	pid_t process; /* the one that is looked at */
	struct paces *paces;
	int64_t at;        /* when it was left; it may be seen later */
	bool is_door;      /* it listens: its other ends are all that wait in its queue */
	bool goes_on;      /* one naps, */
	bool is_awake;     /* or may work, or waits for something outside */
	bool is_asked;     /* the other end waits for an answer, or to write more, */
	thrum_task waiter; /* as this task, if that is known */
};

/* The note of a thread; NULL: no look has seen it. */
static const struct pace *pace_of(const struct rest *rest, uint32_t tid)
{
	const struct paces *paces = rest->paces;

	for (unsigned i = 0; i < paces->count; i++)
		if (paces->list[i].tid == tid)
			return &paces->list[i];
	return NULL;
}

static bool has_run(const struct rest *rest, uint32_t tid)
{
	const struct pace *pace = pace_of(rest, tid);

	return pace && pace->ran != thrum__adapt_process_ran(rest->process, tid);
}

/* How many messages a thread has sent and received, and by which descriptor; for a child, all of its
 * threads. */
static struct thrum__adapt_talk talk_of(const struct rest *rest, uint32_t tid)
{
	const struct thread *thread = rest->process == rest->look.self ? thrum__adapt_thread_of(tid)
								       : NULL;
	struct thrum__adapt_talk talk = {0, 0};

	if (thread) {
		atomic_init(&talk.messages, atomic_load(&thread->messages));
		atomic_init(&talk.by, atomic_load(&thread->talks_by));
	} else if (rest->process != rest->look.self &&
		thrum__adapt_process_is_copy(rest->look.self, rest->process) &&
		!thrum__adapt_process_copy(rest->process, (uintptr_t)&thrum__adapt_talk, &talk,
			sizeof talk)) {
		atomic_init(&talk.by, 0);
	}
	return talk;
}

static void add_pace(const struct rest *rest, uint32_t tid, bool is_late)
{
	struct thrum__adapt_talk talk = talk_of(rest, tid);
	struct paces *paces = rest->paces;

	if (paces->count < PACES)
		paces->list[paces->count++] = (struct pace){.tid = tid,
			.messages = atomic_load(&talk.messages),
			.ran = thrum__adapt_process_ran(rest->process, tid),
			.is_late = is_late};
}

/* Whether a loop of this process watches the other end of a descriptor. */
static bool is_for_loop(const struct rest *rest, const struct process_call *call, int fd)
{
	struct end end;
	uint32_t events;
	int other = -1;

	if (fd < 0)
		return false;
	if (rest->process == rest->look.self)
		other = thrum__adapt_others_peer(fd);
	else if (thrum__adapt_vain_end_of(&rest->look, rest->process, call, fd, false, &end))
		other = thrum__adapt_ends_at(rest->look.self, &end);
	return other >= 0 && thrum__adapt_watch_epoll(other, &events) >= 0;
}

/* Whether a sleep takes so long that nobody waits for what comes after it. */
static bool sleeps_for_good(const struct rest *rest, const struct process_call *call)
{
	struct timespec time;
	bool is_clock = call->number == SYS_clock_nanosleep;

#ifdef SYS_nanosleep
	if (!is_clock && call->number != SYS_nanosleep)
		return false;
#else
	if (!is_clock)
		return false;
#endif
	return !(is_clock && call->arguments[1]) &&
		thrum__adapt_process_copy(rest->process, call->arguments[is_clock ? 2 : 0], &time,
			sizeof time) &&
		time.tv_sec >= SLEEP_MIN;
}

/* Whether a thread that hasn't run since has slept from before that on, and never heard of others, nor had to
 * do with sockets and loops: such as the first thread, while the others work. */
static bool is_mere_sleeper(const struct rest *rest, const struct thread *thread,
	const struct process_call *call)
{
	return thread && sleeps_for_good(rest, call) && atomic_load(&thread->messages) == 0 &&
		thrum__adapt_loops_of(thread) == 0 && thrum__adapt_only_naps(thread, rest->at);
}

/* Whether a thread talks with a loop all the time, as a client does. */
static bool talks_with_loop(const struct rest *rest, uint32_t tid, const struct process_call *call)
{
	const struct pace *pace = pace_of(rest, tid);
	struct thrum__adapt_talk talk = talk_of(rest, tid);

	return pace && !pace->is_late && pace->messages != talk.messages &&
		is_for_loop(rest, call, talk.by - 1);
}

/* Whether a thread that naps does nothing for what is left: it talks with a loop; or it has never heard of
 * others, nor had its creator, since before the descriptor was watched. Another one may be at work, and one
 * that began later may be there for what is left. */
static bool is_idle(const struct rest *rest, uint32_t tid, const struct process_call *call)
{
	const struct thread *thread = rest->process == rest->look.self ? thrum__adapt_thread_of(tid)
								       : NULL;
	const struct pace *pace = pace_of(rest, tid);
	int64_t began = thrum__adapt_watch_began(rest->fd);

	if (!pace)
		add_pace(rest, tid, true);
	if (!has_run(rest, tid))
		return pace && !pace->is_late && is_mere_sleeper(rest, thread, call);
	if (talks_with_loop(rest, tid, call))
		return true;
	return thread && thrum__adapt_only_naps(thread, began < rest->at ? began : rest->at);
}

/* The thread waits for the other end. */
static void note_asker(struct rest *rest, uint32_t tid, bool writes)
{
	const struct thread *thread = thrum__adapt_thread_of(tid);

	rest->is_asked = true;
	rest->waiter = writes ? thrum__adapt_pipe_writer(rest->fd)
			      : thrum__adapt_pipe_waiter(rest->fd);
	if (!rest->waiter && thread)
		rest->waiter = atomic_load(&thread->outside);
}

/* Whether a thread waits for more work to come, or for others that are looked at as well. */
static bool is_at_rest(const struct process_call *call)
{
	return thrum__adapt_call_is_endless(call) &&
		(call->number == SYS_futex || call->number == SYS_accept ||
			call->number == SYS_accept4 || call->number == SYS_wait4 ||
			call->number == SYS_waitid || thrum__adapt_call_is_epoll(call) ||
			thrum__adapt_call_is_pause(call));
}

static void look_at_own(struct rest *rest, uint32_t tid, const struct process_call *call)
{
	bool writes = false;
	int fd = thrum__adapt_vain_descriptor(&rest->look, rest->process, call, &writes);

	/* A loop may look only while its clients wait for it. */
	rest->goes_on |= talks_with_loop(rest, tid, call);
	if (is_at_rest(call))
		return;
	if (rest->is_door && fd >= 0 && thrum__adapt_socket_is_before(fd, rest->fd))
		rest->is_asked = true;
	else if (thrum__adapt_call_is_epoll(call))
		rest->is_awake = thrum__adapt_epoll_of(tid, call) < 0 && !has_run(rest, tid);
	else if (fd < 0 || thrum__adapt_origin(fd) == FROM_OUTSIDE ||
		thrum__adapt_socket_limit(fd, writes) == LIMITED)
		rest->is_awake = true;
	else if (fd == rest->peer)
		note_asker(rest, tid, writes);
}

/* A child may wait for this process, and for nothing else. */
static void look_at_child(struct rest *rest, const struct process_call *call)
{
	struct end end;

	if (!thrum__adapt_vain_end(&rest->look, rest->process, call, &end) ||
		thrum__adapt_ends_at(rest->look.self, &end) < 0)
		rest->is_awake = true;
	else
		rest->is_asked |= end.is_socket && end.inode == rest->inode;
}

static void look_at_nap(struct rest *rest, uint32_t tid, const struct process_call *call)
{
	rest->goes_on = true;
	rest->paces->nap = true;
	rest->is_awake = !is_idle(rest, tid, call);
}

static void look_at_thread(void *context, int directory, const char *name)
{
	struct rest *rest = context;
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);
	bool is_own = rest->process == rest->look.self;
	struct process_call call;

	if (rest->is_awake || (is_own && tid == own_tid()))
		return;
	if (!thrum__adapt_process_call(rest->process, tid, &call))
		rest->is_awake = true;
	else if (thrum__adapt_is_nap(&call))
		look_at_nap(rest, tid, &call);
	else if (is_own)
		look_at_own(rest, tid, &call);
	else
		look_at_child(rest, &call);
}

/* Whether a socket's other end is this process's, or that of a relative. */
static bool is_of_relatives(const struct look *look, int fd)
{
	struct end end = {.writes = true, .is_socket = true};
	struct stat file;
	bool listens = false;

	if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode) ||
		!(thrum__adapt_socket_other(file.st_ino, &end.inode, &listens) ||
			thrum__adapt_tcp_other(fd, &end.inode)) ||
		listens)
		return false;
	for (unsigned i = 0; i < look->count; i++)
		if (thrum__adapt_ends_at(look->processes[i], &end) >= 0)
			return true;
	return false;
}

/* Whether a loop is told of something that comes from outside of these processes. */
static bool is_told_of_more(const struct look *look)
{
	bool is_known = false;
	uint32_t events;

	if (!(thrum__adapt_watch_origins() & FROM_OUTSIDE))
		return false;
	for (int fd = 0; fd < FDS_MAX; fd++) {
		if (thrum__adapt_watch_epoll(fd, &events) < 0 ||
			thrum__adapt_origin(fd) != FROM_OUTSIDE)
			continue;
		if (!is_of_relatives(look, fd))
			return true;
		is_known = true;
	}
	return !is_known;
}

static void note_pace(void *context, int directory, const char *name)
{
	uint32_t tid = (uint32_t)strtoul(name, NULL, 10);

	if (tid != own_tid())
		add_pace(context, tid, false);
}

static void look_at_others(struct rest *rest, void (*visit)(void *, int, const char *))
{
	thrum__adapt_relatives_look(&rest->look);
	rest->is_awake = !rest->look.is_whole;
	for (unsigned i = 0; i < rest->look.count && !rest->is_awake; i++) {
		rest->process = rest->look.processes[i];
		if (!thrum__adapt_process_is_over(rest->process) &&
			!thrum__adapt_process_each(rest->process, "/task", visit, rest))
			rest->is_awake = true;
	}
}

/* The place of a descriptor; NULL: those of others are still in use. */
static struct paces *paces_of(struct paces all[PLACES], int fd, int64_t now)
{
	struct paces *free = NULL;

	for (int i = 0; i < PLACES; i++) {
		if (all[i].fd == fd + 1)
			return &all[i];
		if (!all[i].fd || now - all[i].next >= LOOK_TIMED)
			free = &all[i];
	}
	return free;
}

/* The rest of this descriptor is seen first. */
static void begin(struct rest *rest, int64_t since)
{
	*rest->paces = (struct paces){.fd = rest->fd + 1,
		.since = since,
		.next = since + LOOK_TIMED};
	look_at_others(rest, note_pace);
}

static bool is_ready(int fd, short event)
{
	struct pollfd one = {.fd = fd, .events = event};

	return real_poll(NULL)(&one, 1, 0) == 1 && one.revents & event;
}

/* Whether a loop is about to hear of other data, with which it may go on, maybe also with what is left. The
 * sender may have ended meanwhile, or may wait for more work. Or whether it waits for room: who reads slowly
 * holds up those that send. */
static bool is_news(const struct rest *rest)
{
	uint32_t events;

	for (int fd = 0; fd < FDS_MAX; fd++) {
		int epoll = thrum__adapt_watch_epoll(fd, &events);

		if (epoll < 0 || fd == rest->fd)
			continue;
		if ((events & EPOLLIN && is_ready(fd, POLLIN) && is_ready(epoll, POLLIN)) ||
			(events & EPOLLOUT && !is_ready(fd, POLLOUT)))
			return true;
	}
	return false;
}

/* Data is looked for after all others were seen to rest: so it was sent before, or by one that is awake. */
static bool is_left(struct rest *rest)
{
	struct stat file;

	if (fstat(rest->fd, &file) != 0)
		return false;
	rest->inode = file.st_ino;
	rest->is_door = thrum__adapt_listens(rest->fd);
	rest->peer = rest->is_door ? -1 : thrum__adapt_others_peer(rest->fd);
	for (int i = 0; i < TRIES; i++) {
		rest->is_asked = false;
		look_at_others(rest, look_at_thread);
		if (!rest->is_awake && rest->is_asked && !is_news(rest))
			return !is_told_of_more(&rest->look);
		thrum__adapt_look_settle();
	}
	return false;
}

/* Whether the loop's time limit, which hasn't come twice since, may let it go on with that. A limit that
 * changes is a time that is set. One that doesn't may be there only for a look at something else; and it
 * never comes while others keep the loop busy. */
static bool may_limit_come(const struct thread *self, const struct rest *rest, int64_t now)
{
	int64_t age = now - rest->at;

	if (self->limit < 0 || self->limits[0] > rest->at)
		return false;
	if (now - self->limit_since < LOOK_TIMED)
		return true;
	return self->limits[1] <= rest->at ? age < self->limit * INT64_C(2000000)
					   : age < LOOK_UNTIMED;
}

/* Whether a timer may go on with it, as not all have come twice since. */
static bool may_be_due(const struct rest *rest, int64_t now)
{
	const struct thread *self = thrum__adapt_self;

	return (self && may_limit_come(self, rest, now)) || thrum__adapt_timers_may_come(rest->at);
}

static bool look(struct rest *rest, struct paces all[PLACES], int64_t since)
{
	int64_t now = rough_time();

	rest->paces = paces_of(all, rest->fd, now);
	if (!rest->paces)
		return false;
	if (rest->paces->fd != rest->fd + 1 || rest->paces->since != since)
		begin(rest, since);
	if (now < rest->paces->next || may_be_due(rest, now))
		return false;
	rest->paces->next = now + AGAIN;
	return is_left(rest);
}

static struct paces all[PLACES];

bool thrum__adapt_rounds_nap(int fd)
{
	bool nap = false;

	for (int i = 0; i < PLACES; i++)
		nap |= all[i].fd == fd + 1 && all[i].nap;
	return nap;
}

bool thrum__adapt_rounds_are_idle(int fd, int64_t at, int64_t since, bool goes_on,
	thrum_task *waiter)
{
	static _Atomic bool is_busy;
	struct rest rest = {.fd = fd, .at = at, .goes_on = goes_on};
	bool are_idle;

	if (atomic_exchange(&is_busy, true))
		return false;
	are_idle = look(&rest, all, since) && rest.goes_on;
	atomic_store(&is_busy, false);
	if (are_idle)
		*waiter = rest.waiter;
	return are_idle;
}
