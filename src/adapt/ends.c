/* SPDX-License-Identifier: ISC */
/*
 * Pipes that other processes have, too. A thread that has waited for one for some time looks who has the
 * other end: /proc tells it of this process and of those that it started. So it is known later that only
 * those have it who got it by mistake, or who wait for this process themselves.
 *
 * Nothing here allocates or locks. The thread looks while poll() has found nothing for a while, so that
 * a call which waits shortly pays little.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adapt/descriptor.h"
#include "adapt/forked.h"
#include "adapt/process.h"
#include "port/port.h"

#define HIGH 960       /* a descriptor that is seldom given out, but below the usual limit */
#define PAUSE 20000000 /* ns between two looks that don't wait first */

/* An end of a pipe: of those who hold it, the lookers want these. */
struct end {
	uint64_t inode;
	bool writes; /* the end of a pipe that is written to */
	bool is_socket;
};

struct holder {
	pid_t process;
	int at;        /* the lowest descriptor */
	bool is_meant; /* it uses the end, as far as is known */
};

struct look {
	int fd; /* for which the thread waits, and for these events; or -1 */
	short events;
	pid_t self, processes[PROCESSES]; /* this one first */
	unsigned count, threads;
	bool is_whole; /* there are no more of them */
	bool is_alone; /* nothing but the thread that waits could do anything in this process */
	/* Children wait for this process in vain: it has a single thread, or it is their output that a
	 * thread waits for, as something of it came before. */
	bool is_vain;
};

REAL(poll)

/* ---- Signals ---------------------------------------------------------------------------------- */

/* The effect of signals while the thread waits. */
enum handlers {
	NO_HANDLER,
	RESTARTS,  /* each call goes on after them */
	INTERRUPTS /* it can't be told whether the call or poll() should end */
};

static enum handlers handlers(void)
{
	enum handlers found = NO_HANDLER;

	for (int number = 1; number <= SIGRTMAX; number++) {
		struct sigaction action;

		if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_DFL ||
			action.sa_handler == SIG_IGN)
			continue;
		if (!(action.sa_flags & SA_RESTART))
			return INTERRUPTS;
		found = RESTARTS;
	}
	return found;
}

bool thrum__adapt_has_handlers(void)
{
	return handlers() != NO_HANDLER;
}

bool thrum__adapt_may_interrupt(void)
{
	return handlers() == INTERRUPTS;
}

/* ---- The processes --------------------------------------------------------------------------- */

/* Finds this process and all that it started. */
static void find_processes(struct look *look)
{
	struct found_processes found = {look->processes, 1, PROCESSES, true};

	look->self = look->processes[0] = getpid();
	look->threads = thrum__adapt_process_children(look->self, &found);
	for (unsigned i = 1; i < found.count; i++)
		thrum__adapt_process_children(look->processes[i], &found);
	look->count = found.count;
	look->is_whole = found.is_whole;
	look->is_alone = look->threads == 1 && handlers() == NO_HANDLER;
}

/* ---- Those who hold an end ------------------------------------------------------------------- */

/* Finds what a descriptor of some process is, without asking a file server that may not answer. */
static bool find_file(int directory, const char *name, struct statx *file)
{
	return statx(directory, name, AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
		       file) == 0;
}

struct search {
	const struct end *end;
	int at, last; /* the lowest and highest descriptor; -1: none */
};

static void compare_end(void *context, int directory, const char *name)
{
	struct search *search = context;
	struct statx file;
	struct stat link;
	int fd = atoi(name);

	if (!find_file(directory, name, &file) || file.stx_ino != search->end->inode ||
		(search->end->is_socket ? !S_ISSOCK(file.stx_mode) : !S_ISFIFO(file.stx_mode)))
		return;
	if (!search->end->is_socket &&
		(fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) != 0 ||
			!(link.st_mode & (search->end->writes ? S_IWUSR : S_IRUSR))))
		return;
	search->at = search->at < 0 || fd < search->at ? fd : search->at;
	search->last = fd > search->last ? fd : search->last;
}

/* Whether a process that has an end at these descriptors may use it. Another program may not if it wasn't
 * told of it. Nor may this program, executed anew, unless the end was moved: so both may know the number.
 * If this process has several threads, others may use it, unless they never did. */
static bool is_meant(const struct look *look, pid_t process, const struct search *search)
{
	if (process == look->self)
		return !look->is_alone &&
			(search->at != search->last || search->end->is_socket ||
				thrum__adapt_pipe_is_used(search->at, search->end->writes));
	return search->at <= STDERR_FILENO || thrum__adapt_process_is_copy(look->self, process) ||
		thrum__adapt_process_is_told(process, search->at) ||
		((search->at != search->last ||
			 search->at != thrum__adapt_pipe_other(look->fd, search->end->writes)) &&
			!thrum__adapt_process_is_other(look->self, process));
}

struct others {
	const struct look *look;
	const struct end *end;
	bool have_it;
};

static void look_at_other(void *context, int directory, const char *name)
{
	struct others *others = context;
	struct search search = {others->end, -1, -1};
	struct pollfd one = {others->look->fd, others->look->events, 0};
	pid_t process = atoi(name);

	(void)directory;
	for (unsigned i = 0; i < others->look->count; i++)
		if (others->look->processes[i] == process)
			return;
	if (others->have_it)
		return;
	/* The thread may have what it waits for. */
	others->have_it = real_poll(NULL)(&one, 1, 0) != 0;
	if (!others->have_it)
		thrum__adapt_process_each(process, "/fd", compare_end, &search);
	others->have_it |= search.at >= 0;
}

/* Whether any other process has an end, as far as this user can see: one that left its parent, or that
 * got the end by a message. */
static bool is_elsewhere(const struct look *look, const struct end *end)
{
	struct others others = {look, end, false};

	return !thrum__adapt_each_number(open("/proc", O_RDONLY | O_CLOEXEC | O_DIRECTORY),
		       look_at_other, &others) ||
		others.have_it;
}

/* Finds who holds an end. Returns how many do; 0 also if that isn't known. */
static unsigned find_holders(const struct look *look, const struct end *end,
	struct holder holders[PROCESSES])
{
	unsigned count = 0;

	for (unsigned i = 0; i < look->count; i++) {
		struct search search = {end, -1, -1};

		if (!thrum__adapt_process_each(look->processes[i], "/fd", compare_end, &search) &&
			!thrum__adapt_process_is_over(look->processes[i]))
			return 0;
		if (search.at >= 0) {
			holders[count] = (struct holder){look->processes[i], search.at, false};
			holders[count++].is_meant = is_meant(look, look->processes[i], &search);
		}
	}
	return look->is_whole ? count : 0;
}

/* ---- Recording ------------------------------------------------------------------------------- */

char *thrum__adapt_put_process(char *to, pid_t process)
{
	const void *place = thrum__adapt_started_at(process);
	char name[PROCESS_TEXT], started[PLACE_MAX];

	to = thrum__adapt_put_number(stpcpy(to, "process "), (uint64_t)process);
	if (thrum__adapt_process_read(process, "/comm", name) > 0) {
		name[strcspn(name, "\n")] = '\0';
		to = stpcpy(stpcpy(stpcpy(to, " ("), name), ")");
	}
	if (place) {
		thrum__adapt_label(started, ", started by", place);
		to = stpcpy(to, started);
	}
	return to;
}

static char *put_holder(char *to, const struct look *look, pid_t process)
{
	return process == look->self ? stpcpy(to, "this process")
				     : thrum__adapt_put_process(to, process);
}

/* Makes a task that ends with the wait. */
static thrum_task make(struct wait *wait, enum thrum_kind kind, const char *label,
	const void *caller)
{
	thrum_task task;

	if (wait->also_count == WAIT_ALSO)
		return THRUM_TASK_NONE;
	task = thrum__create(thrum__adapt_site(caller), (int)kind, label);
	wait->also[wait->also_count++] = task;
	return task;
}

/* Makes the task of an end that should be closed: if this process has several threads, one of these may still
 * want it. If it has but the one that waits, it is that which should. */
static thrum_task make_end(struct wait *wait, const struct look *look, const struct end *end,
	const struct holder *holder, int fd)
{
	char label[CALL_MAX + PROCESS_TEXT + PLACE_MAX], *to;
	thrum_task task;

	to = stpcpy(label,
		end->is_socket        ? "other end of socket "
			: end->writes ? "writing end of pipe "
				      : "reading end of pipe ");
	to = stpcpy(thrum__adapt_put_number(to, (uint64_t)fd), " in ");
	put_holder(to, look, holder->process);
	task = make(wait, THRUM_KIND_TASK, label, wait->caller);
	if (holder->process != look->self || look->threads == 1)
		thrum_task_should_resolve(task);
	if (holder->process == look->self && look->is_alone)
		thrum_task_wait(task, wait->task);
	return task;
}

/* If a process waits for a pipe whose other end only this process has, finds that end. */
static bool find_its_wait(const struct look *look, pid_t process, struct end *end,
	struct holder *holder)
{
	char text[PROCESS_TEXT], path[64], *at = text;
	struct holder holders[PROCESSES];
	struct statx file;
	struct stat other;
	long number, fd;

	if (thrum__adapt_process_read(process, "/syscall", text) == 0 || *text == 'r')
		return false;
	number = strtol(at, &at, 10);
	fd = strtol(at, &at, 16);
	if (number == SYS_recvfrom || number == SYS_recvmsg)
		number = SYS_read;
	if (number == SYS_sendto || number == SYS_sendmsg)
		number = SYS_write;
	if (number != SYS_read && number != SYS_write)
		return false;
	*thrum__adapt_put_number(stpcpy(thrum__adapt_process_path(path, process), "/fd/"),
		(uint64_t)fd) = '\0';
	if (!find_file(AT_FDCWD, path, &file) ||
		(!S_ISFIFO(file.stx_mode) && !S_ISSOCK(file.stx_mode)))
		return false;
	*end = (struct end){file.stx_ino, number == SYS_read, S_ISSOCK(file.stx_mode)};
	/* Each socket of a pair has its own. */
	if (end->is_socket) {
		if (fstat(thrum__adapt_pipe_to(file.stx_ino), &other) != 0)
			return false;
		end->inode = other.st_ino;
	}
	if (find_holders(look, end, holders) != 1 || holders[0].process != look->self)
		return false;
	*holder = holders[0];
	return !holder->is_meant;
}

/* Whether a process waits for such a pipe, or for a lock that nobody releases. */
static bool waits_here(const struct look *look, pid_t process)
{
	struct forked_wait lock;
	struct holder holder;
	struct end end;

	return (look->is_vain && find_its_wait(look, process, &end, &holder)) ||
		thrum__adapt_forked_wait(look->self, process, &lock);
}

static thrum_task make_lock(struct wait *wait, const struct look *look,
	const struct forked_wait *lock)
{
	char label[FORKED_TEXT];
	thrum_task task;

	thrum__adapt_forked_label(label, look->self, lock);
	task = make(wait, THRUM_KIND_TASK, label, lock->caller ? lock->caller : wait->caller);
	thrum_task_should_resolve(task);
	return task;
}

/* Records that the wait's source waits for a process, and, if that can't do anything for it, why. Returns
 * whether it can't. */
static bool tell_process(struct wait *wait, const struct look *look, pid_t process)
{
	char label[PROCESS_TEXT + PLACE_MAX + 40];
	struct forked_wait lock;
	struct holder holder;
	struct end end;
	bool is_locked = thrum__adapt_forked_wait(look->self, process, &lock);
	bool waits = is_locked ||
		(look->is_vain && find_its_wait(look, process, &end, &holder) &&
			!is_elsewhere(look, &end));
	thrum_task task;

	put_holder(label, look, process);
	task = make(wait, waits ? THRUM_KIND_TASK : THRUM_KIND_HANDLE, label, wait->caller);
	if (waits)
		thrum_task_wait(task,
			is_locked ? make_lock(wait, look, &lock)
				  : make_end(wait, look, &end, &holder, holder.at));
	thrum_task_wait(wait->source, task);
	return waits;
}

/* Records who has the end for which the call waits: those who may use it, or if nobody may, all. Those who
 * can go on come last: the wait is for them first of all. */
static void tell_holders(struct wait *wait, const struct look *look, const struct end *end, int fd,
	const struct holder *holders, unsigned count)
{
	bool has_meant = false, is_somewhere;

	for (unsigned i = 0; i < count; i++) {
		has_meant |= holders[i].is_meant;
		/* Something came out of the pipe, and this process never wrote: it wants to read it only. */
		if (holders[i].process == look->self &&
			(holders[i].is_meant ||
				!(look->is_alone ||
					(end->writes && thrum__adapt_pipe_is_read(fd)))))
			return;
	}
	is_somewhere = !has_meant && is_elsewhere(look, end);
	for (int waits = 1; waits >= 0; waits--)
		for (unsigned i = 0; i < count; i++)
			if (holders[i].is_meant && waits_here(look, holders[i].process) == waits)
				tell_process(wait, look, holders[i].process);
	for (unsigned i = 0; i < count && !has_meant && !is_somewhere; i++)
		thrum_task_wait(wait->source, make_end(wait, look, end, &holders[i], fd));
}

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Differs if what is to be told does. */
static uint64_t sum_of(const struct look *look, const struct holder *holders, unsigned count)
{
	uint64_t sum = count;

	for (unsigned i = 0; i < count; i++) {
		bool waits = holders[i].process != look->self &&
			waits_here(look, holders[i].process);

		sum = (sum ^ (uint64_t)holders[i].process << 2 ^ holders[i].is_meant << 1 ^ waits) *
			UINT64_C(0x9e3779b97f4a7c15);
	}
	return sum;
}

/* A wait that is looked at. */
struct looked {
	struct wait *wait;
	enum thrum_kind kind;
	const char *label;
	int fd;
	struct pollfd one; /* as for poll() */
	struct end end;
	pid_t child;  /* whose end it waits for; 0: for a pipe */
	uint64_t sum; /* of the look before */
	bool is_begun;
};

/* Looks who has the other end, or for what the child waits. If that differs from the look before, records
 * the wait anew. */
static void look_once(struct looked *looked)
{
	struct wait *wait = looked->wait;
	struct holder holders[PROCESSES];
	struct look look = {.fd = looked->one.fd, .events = looked->one.events};
	unsigned count = 1;
	uint64_t now;

	find_processes(&look);
	look.is_vain = look.threads == 1 ||
		(looked->end.writes && thrum__adapt_pipe_is_read(looked->fd));
	if (looked->child)
		holders[0] = (struct holder){looked->child, 0, waits_here(&look, looked->child)};
	else
		count = find_holders(&look, &looked->end, holders);
	now = sum_of(&look, holders, count);
	if (now == looked->sum || count == 0)
		return;
	looked->sum = now;
	if (looked->is_begun) {
		thrum__adapt_wait_end(wait);
		thrum__adapt_wait_make(wait, looked->kind, looked->label, wait->caller);
	}
	if (!looked->child)
		tell_holders(wait, &look, &looked->end, looked->fd, holders, count);
	else if (holders[0].is_meant)
		tell_process(wait, &look, looked->child);
	if (looked->is_begun)
		thrum__adapt_wait_go(wait, &thrum__adapt_outside);
}

/* The same. The thread must not be cancelled while files are open, or the wait is half recorded. */
static void look_at(struct looked *looked)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	look_once(looked);
	pthread_setcancelstate(before, NULL);
}

/* Whether enough time has passed since another look that didn't wait. */
static bool may_look(void)
{
	static _Atomic int64_t last;
	int64_t now = rough_time(), before = atomic_load(&last);

	return now - before >= PAUSE && atomic_compare_exchange_strong(&last, &before, now);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static _Atomic bool is_tracer; /* this process stopped a child by ptrace() */

/* Whether a call that waits for a child may return: if it has ended, if it is traced and has stopped, or if
 * it is no child. Only the first wakes poll(). */
static bool may_return(pid_t child)
{
	siginfo_t told = {.si_pid = 0};

	if (syscall(SYS_waitid, P_PID, child, &told, WEXITED | WNOHANG | WNOWAIT, NULL) != 0)
		return true;
	if (told.si_pid && told.si_code == CLD_TRAPPED)
		atomic_store(&is_tracer, true);
	return told.si_pid != 0;
}

/* Looks again and again, until the descriptor is ready. */
static void look_until(struct looked *looked)
{
	int64_t pause = LOOK_FIRST, next = now_ms() + pause, left;
	int ready;

	do {
		left = next - now_ms();
		ready = real_poll(NULL)(&looked->one, 1, left > 0 ? (int)left : 0);
		if (ready == 0 && looked->child && may_return(looked->child))
			return;
		if (ready == 0) {
			look_at(looked);
			pause = pause < LOOK_LAST ? pause * 2 : pause;
			next = now_ms() + pause;
		}
	} while (ready == 0 || (ready < 0 && errno == EINTR));
}

/* Whether it is a pipe, or one of a pair of sockets. Sets the end that others may have. */
static bool find_end(struct looked *looked, bool writes)
{
	struct stat file;

	if (fstat(looked->fd, &file) != 0)
		return false;
	looked->end.writes = !writes;
	looked->end.is_socket = S_ISSOCK(file.st_mode);
	looked->end.inode = looked->end.is_socket ? thrum__adapt_pipe_peer(looked->fd)
						  : file.st_ino;
	return looked->end.inode != 0 && (looked->end.is_socket || S_ISFIFO(file.st_mode));
}

/* Whether poll() waits no longer than the call itself. A call that writes may find room where poll() doesn't,
 * unless a pipe is full; a socket may have a time limit; and the call fails at the wrong end of a pipe. */
static bool is_like_poll(const struct looked *looked, bool writes)
{
	struct timeval limit = {0, 0};
	socklen_t size = sizeof limit;
	int used = 0, room = fcntl(looked->fd, F_GETPIPE_SZ), flags = fcntl(looked->fd, F_GETFL);

	if ((flags & O_ACCMODE) == (writes ? O_RDONLY : O_WRONLY))
		return false;
	if (writes)
		return room > 0 && ioctl(looked->fd, FIONREAD, &used) == 0 && used >= room;
	return !looked->end.is_socket ||
		(getsockopt(looked->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, &size) == 0 &&
			limit.tv_sec == 0 && limit.tv_usec == 0);
}

void thrum__adapt_ends_wait(struct wait *wait, enum thrum_kind kind, const char *verb, int fd,
	bool writes, const void *caller)
{
	char label[CALL_MAX];
	struct looked looked = {.wait = wait,
		.kind = kind,
		.label = label,
		.fd = fd,
		.one = {.fd = fd, .events = writes ? POLLOUT : POLLIN}};
	int error = errno;
	bool is_pipe = find_end(&looked, writes) && is_like_poll(&looked, writes);
	bool is_timed = is_pipe && handlers() != INTERRUPTS;

	thrum__adapt_put_call(label, verb, fd);
	thrum__adapt_wait_make(wait, kind, label, caller);
	if (is_pipe && !is_timed && may_look())
		look_at(&looked);
	thrum__adapt_wait_go(wait, &thrum__adapt_outside);
	looked.is_begun = true;
	if (is_timed)
		look_until(&looked);
	errno = error;
}

void thrum__adapt_own_wait(struct wait *wait, int fd, bool writes)
{
	struct looked looked = {.fd = fd, .one = {.fd = fd, .events = writes ? POLLOUT : POLLIN}};
	bool is_inside = false;
	int pause = LOOK_FIRST, ready;

	/* The kernel may write to an eventfd by itself. */
	if (thrum__adapt_pipe_other(fd, !writes) == fd || thrum__adapt_had_handlers() ||
		!find_end(&looked, writes) || !is_like_poll(&looked, writes))
		return;
	do {
		ready = real_poll(NULL)(&looked.one, 1, pause);
		if (ready == 0 && is_inside == thrum__adapt_has_handlers())
			thrum__adapt_wait_again(wait, is_inside = !is_inside);
		pause = pause < LOOK_LAST ? pause * 2 : pause;
	} while ((ready == 0 && is_inside) || (ready < 0 && errno == EINTR));
}

int thrum__adapt_own(long low, bool is_single)
{
	long high = low;

	if (low >= 0 && !is_single) {
		high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, HIGH);
		syscall(SYS_close, low);
	}
	return (int)high;
}

/* Returns a descriptor that tells of a child's end; -1: there is none. */
static int open_child(pid_t child, bool is_single)
{
	return thrum__adapt_own(syscall(SYS_pidfd_open, child, 0), is_single);
}

/* Also when the thread is cancelled. */
static void close_child(const int *fd)
{
	if (*fd >= 0)
		syscall(SYS_close, *fd);
}

void thrum__adapt_child_wait(struct wait *wait, const char *label, pid_t child)
{
	struct looked looked = {.wait = wait,
		.kind = THRUM_KIND_REQUEST,
		.label = label,
		.child = child,
		.is_begun = true};
	int error = errno;
	bool is_single = thrum__adapt_process_is_single(getpid());

	/* Other threads might see the descriptor. */
	if (handlers() != INTERRUPTS && (is_single || thrum__adapt_got_held(child)) &&
		!atomic_load(&is_tracer) && !may_return(child)) {
		int fd __attribute__((cleanup(close_child))) = open_child(child, is_single);

		looked.one = (struct pollfd){fd, POLLIN, 0};
		if (fd >= 0)
			look_until(&looked);
	}
	errno = error;
}
