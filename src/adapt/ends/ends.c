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
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "adapt/ends/looked.h"
#include "port/port.h"

#define PART 4         /* one of so many parts of a processor is for all relatives' looks */
#define SOON 8         /* looks that come soon, at most */
#define PAUSE 20000000 /* ns between two looks that don't wait first */
#define LEFT_FOR INT64_C(500000000) /* ns for which a process in the background has an end */
#define CHANGED_LONG 500            /* ms for which a call waits that was told not to */

REAL(poll)
REAL(ppoll)

/* ---- Waiting --------------------------------------------------------------------------------- */

/* Differs if what is to be told does. */
static uint64_t sum_of(const struct look *look, const struct holder *holders, unsigned count)
{
	uint64_t sum = count;

	for (unsigned i = 0; i < count; i++) {
		bool waits = holders[i].process != look->self &&
			thrum__adapt_waits_in_vain(look, holders[i].process);

		sum = (sum ^ (uint64_t)holders[i].process << 2 ^ holders[i].is_meant << 1 ^ waits) *
			UINT64_C(0x9e3779b97f4a7c15);
	}
	return sum;
}

/* The wait is recorded, and begins. */
static void go(const struct looked *looked)
{
	thrum__adapt_wait_go(looked->wait, &thrum__adapt_outside);
	if (looked->is_connection)
		thrum__adapt_socket_receive(looked->fd);
}

/* The wait is about to be recorded anew, if it has begun. */
static void tell_anew(const struct looked *looked)
{
	if (!looked->is_begun)
		return;
	thrum__adapt_wait_end(looked->wait);
	thrum__adapt_wait_make(looked->wait, looked->kind, looked->label, looked->wait->caller);
}

bool thrum__adapt_ends_looks(const struct look *look, pid_t process, uint32_t looks[2])
{
	return thrum__adapt_process_is_copy(look->self, process) &&
		thrum__adapt_process_copy(process, (uintptr_t)thrum__adapt_look_counts, looks,
			2 * sizeof *looks);
}

/* How many looks have begun in the other processes, which seem to run meanwhile; UINT32_MAX: one
 * looks now. */
static uint32_t looks_of(const struct look *look)
{
	uint32_t looks[2], sum = 0;

	for (unsigned i = 1; i < look->count; i++) {
		if (!thrum__adapt_ends_looks(look, look->processes[i], looks))
			continue;
		if (looks[0] > 0)
			return UINT32_MAX;
		sum += looks[1];
	}
	return sum;
}

/* Looks for what the children wait, and else which signals they don't hear: only those count that the look
 * before has seen, too. Sets whether all is told: any other child may end by itself. Returns a sum that
 * differs if what is to be told does. */
static uint64_t look_at_children(struct looked *looked, const struct look *look,
	struct holder holders[PROCESSES], struct unheard told[CHILDREN], bool *is_told)
{
	uint64_t sum = 0;

	*is_told = true;
	for (unsigned i = 0; i < looked->count; i++) {
		pid_t child = looked->children[i];
		struct unheard now = UNHEARD_NONE, before = looked->unheard[i];
		bool is_vain = thrum__adapt_waits_in_vain(look, child);

		if (!is_vain)
			now = thrum__adapt_find_unheard(child);
		now.is_told = thrum__adapt_lasts_unheard(&now, &before);
		told[i] = now.is_told ? now : UNHEARD_NONE;
		if (thrum__adapt_is_same_unheard(&now, &before)) {
			now.since = before.since;
			/* A child that works just now has slept, and may have another sleep in the
			 * next look. */
			now.sleep = now.sleep ? now.sleep : before.sleep;
		}
		looked->unheard[i] = now;
		holders[i] = (struct holder){child, 0, is_vain};
		*is_told &= is_vain || told[i].how != UNHEARD_NOT;
		sum = sum * 256 + (uint64_t)told[i].number * 3 + told[i].how;
	}
	return sum;
}

/* Records that the wait is for an end that a process has by mistake. */
static void tell_left(struct looked *looked, const struct look *look, const struct holder *holder)
{
	looked->is_vain = true;
	tell_anew(looked);
	thrum_task_wait(looked->wait->source,
		thrum__adapt_ends_make_end(looked->wait, look, &looked->end, holder, looked->fd));
	if (looked->is_begun)
		go(looked);
}

/* Whether the process that started this one waits for it, and looks, as it follows the waits of its child.
 * One that runs just now may look. */
static bool is_followed(const struct look *look)
{
	pid_t parent = thrum__adapt_process_parent(look->self);
	struct process_call call;
	int fd;

	if (!thrum__adapt_process_is_copy(look->self, parent))
		return false;
	return !thrum__adapt_process_call(parent, 0, &call) ||
		(thrum__adapt_vain_looker(look, parent, &call, &fd) && fd >= 0 &&
			thrum__adapt_stuck_told(parent, fd) == look->self);
}

/* Looks whether nobody uses the other end of a connection any more, and who has it still. */
static void look_for_unused(struct looked *looked)
{
	struct holder holders[PROCESSES];
	struct look look = {.fd = looked->one.fd, .events = looked->one.events};
	unsigned count;
	pid_t oldest;

	if (!thrum__adapt_stuck_relatives(&look, &oldest) || is_followed(&look))
		return;
	thrum__adapt_spare_note(&look, &looked->child_naps);
	look.children = &looked->child_naps;
	count = thrum__adapt_ends_holders(&look, &looked->end, holders);
	for (unsigned i = 0; i < count; i++)
		if (!thrum__adapt_left_is(&look, look.self, looked->fd, &looked->end, &holders[i]))
			return;
	if (count > 0 && !thrum__adapt_ends_elsewhere(&look, &looked->end))
		tell_left(looked, &look, &holders[0]);
}

/* Where no relative has the other end: looks whether one has it that goes on in the background. That is
 * recorded once it has lasted. */
static void look_for_left(struct looked *looked, const struct look *look)
{
	struct holder holder = {thrum__adapt_ends_left(look, &looked->end), 0, false};

	if (holder.process != looked->left) {
		looked->left = holder.process;
		looked->left_since = rough_time();
	}
	if (looked->is_vain || !looked->left || rough_time() - looked->left_since < LEFT_FOR)
		return;
	tell_left(looked, look, &holder);
}

/* Looks who has the other end, or for what the child waits. If that differs from the look before, records
 * the wait anew. */
static void look_once(struct looked *looked)
{
	struct wait *wait = looked->wait;
	struct holder holders[PROCESSES];
	struct unheard unheard[CHILDREN];
	struct look look = {.fd = looked->one.fd, .events = looked->one.events};
	unsigned count;
	uint32_t looks = 0;
	bool are_told;
	uint64_t now;

	thrum__adapt_relatives_look(&look);
	if (looked->count == 0)
		look.count = look.own; /* look_for_left() sees to the others */
	if (look.threads > 1)
		thrum__adapt_naps_note(&looked->naps);
	look.naps = &looked->naps;
	thrum__adapt_spare_note(&look, &looked->child_naps);
	look.children = &looked->child_naps;
	if (looked->is_vain)
		looks = looks_of(&look);
	looked->is_alone = look.threads == 1;
	look.is_vain = looked->is_alone ||
		(looked->end.writes && thrum__adapt_pipe_is_read(looked->fd));
	count = looked->count > 0 ? looked->count
				  : thrum__adapt_ends_holders(&look, &looked->end, holders);
	if (count == 0)
		look_for_left(looked, &look);
	now = look_at_children(looked, &look, holders, unheard, &are_told);
	now ^= sum_of(&look, holders, count);
	if (now == looked->sum || count == 0) {
		looked->changed = looked->sum;
		return;
	}
	if (looked->is_vain &&
		(now != looked->changed || looks == UINT32_MAX || looks_of(&look) != looks)) {
		looked->changed = now;
		return;
	}
	looked->sum = now;
	tell_anew(looked);
	if (looked->count == 0)
		looked->is_vain = thrum__adapt_ends_tell_holders(wait, &look, &looked->end,
			looked->fd, holders, count);
	else
		looked->is_vain = are_told &&
			thrum__adapt_ends_tell_children(wait, &look, looked->children, unheard,
				looked->count);
	if (looked->is_begun)
		go(looked);
}

/* Looks whether this process and its relatives all wait for each other. Nothing is recorded before
 * two looks agree. In between, some may have seemed to run, as they looked themselves. */
static void look_for_stuck(struct looked *looked)
{
	struct stuck *stuck = thrum__adapt_stuck_take();

	if (!stuck)
		return;
	const struct own_need need = {.fd = looked->one.fd,
		.events = looked->one.events,
		.end = looked->count == 0 ? &looked->end : NULL,
		.children = looked->children,
		.count = looked->count,
		.naps = &looked->all_naps};
	bool is_stuck = thrum__adapt_stuck_find(stuck, &need);

	if (is_stuck && stuck->sum == looked->stuck && !thrum__adapt_stuck_has_stranger(stuck) &&
		thrum__adapt_stuck_is_teller(stuck)) {
		looked->is_vain = looked->is_stuck = true;
		tell_anew(looked);
		thrum__adapt_stuck_tell(looked->wait, stuck);
		if (looked->is_begun)
			go(looked);
	}
	if (is_stuck)
		looked->stuck = stuck->sum;
	looked->is_soon = is_stuck ? thrum__adapt_stuck_leads(stuck)
				   : stuck->is_blurred && stuck->oldest == stuck->look.self;
	thrum__adapt_stuck_release();
}

/* Finds the other end of a connection, or who should accept it. Its messages tell who should answer, so
 * nothing else is recorded of it unless all wait for each other. */
static bool find_other(struct looked *looked)
{
	struct stat file;

	return thrum__adapt_tcp_other(looked->fd, &looked->end.inode) ||
		(fstat(looked->fd, &file) == 0 &&
			thrum__adapt_socket_other(file.st_ino, &looked->end.inode,
				&looked->end.listens));
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A thread that serves others in a loop never meant to wait there: it has told the descriptor not to block.
 * O_NONBLOCK belongs to the open file, which others have, too. */
static void look_for_change(struct looked *looked)
{
	char label[CALL_MAX + 20];
	thrum_task task;

	if (!thrum__adapt_self ||
		atomic_load_explicit(&thrum__adapt_self->loops, memory_order_relaxed) == 0 ||
		now_ms() - looked->since < CHANGED_LONG || !thrum__adapt_is_changed(looked->fd))
		return;
	looked->is_vain = looked->is_stuck = true;
	tell_anew(looked);
	thrum__adapt_put_call(label, "O_NONBLOCK of", looked->fd);
	strcat(label, ", cleared elsewhere");
	task = thrum__adapt_ends_missing(looked->wait, label, looked->wait->caller);
	thrum_task_wait(looked->wait->source, task);
	go(looked);
}

/* Whether it is known who has the tokens for which it waits. */
static bool has_holders(struct held *held)
{
	thrum__adapt_held_look_again(held);
	return held->wait->object != NULL;
}

/* The same. The thread must not be cancelled while files are open, or the wait is half recorded. */
static void look_at(struct looked *looked)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	atomic_fetch_add(&thrum__adapt_look_counts[0], 1);
	atomic_fetch_add(&thrum__adapt_look_counts[1], 1);
	if (looked->held && looked->held->key && has_holders(looked->held))
		looked->is_vain = looked->is_stuck = true;
	if (!looked->is_stuck && !looked->is_own && !looked->is_connection)
		look_once(looked);
	if (looked->is_connection && !looked->is_vain && !find_other(looked))
		looked->stuck = 0;
	else if (!looked->is_stuck &&
		!(looked->is_vain && (looked->is_alone || looked->count > 0)) &&
		(looked->is_begun || looked->is_own))
		look_for_stuck(looked);
	if (looked->is_connection && !looked->is_vain && looked->end.inode)
		look_for_unused(looked);
	if (looked->is_changed && !looked->is_stuck && looked->is_begun)
		look_for_change(looked);
	atomic_fetch_sub(&thrum__adapt_look_counts[0], 1);
	pthread_setcancelstate(before, NULL);
}

/* Whether enough time has passed since another look that didn't wait. */
static bool may_look(void)
{
	static _Atomic int64_t last;
	int64_t now = rough_time(), before = atomic_load(&last);

	return now - before >= PAUSE && atomic_compare_exchange_strong(&last, &before, now);
}

/* Looks, and returns for how many ms not to look again: all relatives look, and they may take a part of one
 * processor only. */
static int64_t look_and_rest(struct looked *looked)
{
	struct timespec before = {0}, after = {0};
	int64_t took;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
	look_at(looked);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
	took = (int64_t)(after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec -
		before.tv_nsec;
	return took * atomic_load(&thrum__adapt_stuck_count) * PART / 1000000;
}

_Atomic uintptr_t thrum__adapt_lookers[LOOKERS];
_Atomic uint32_t thrum__adapt_looker_waits;
_Atomic uint32_t thrum__adapt_look_counts[2];

void thrum__adapt_stop_looking(_Atomic uintptr_t *const *looker)
{
	if (*looker)
		atomic_store(*looker, 0);
}

_Atomic uintptr_t *thrum__adapt_note_looker(const struct pollfd *one, bool tells)
{
	atomic_fetch_add(&thrum__adapt_looker_waits, 1);
	for (int i = 0; i < LOOKERS; i++) {
		uintptr_t none = 0;

		if (atomic_compare_exchange_strong(&thrum__adapt_lookers[i], &none,
			    (uintptr_t)one | !tells))
			return &thrum__adapt_lookers[i];
	}
	return NULL;
}

void thrum__adapt_hold_signals(struct held_signals *signals)
{
	int error = errno;
	sigset_t all;

	sigfillset(&all);
	signals->are_held = pthread_sigmask(SIG_BLOCK, &all, &signals->before) == 0;
	errno = error;
}

void thrum__adapt_release_signals(const struct held_signals *signals)
{
	int error = errno;

	if (signals->are_held)
		pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	errno = error;
}

int thrum__adapt_wait_for(struct pollfd *one, int64_t ms, const struct held_signals *signals)
{
	struct timespec limit = {ms / 1000, ms % 1000 * 1000000};

	return signals && signals->are_held ? real_ppoll(NULL)(one, 1, &limit, &signals->before)
					    : real_poll(NULL)(one, 1, (int)ms);
}

void thrum__adapt_look_until(struct looked *looked)
{
	_Atomic uintptr_t *looker LOOKER = thrum__adapt_note_looker(&looked->one, true);
	int64_t next = now_ms() + LOOK_FIRST, left;
	int pause = LOOK_FIRST, ready, soon = SOON;
	int64_t rest;

	looked->since = next;
	do {
		left = next - now_ms();
		ready = thrum__adapt_wait_for(&looked->one, left > 0 ? left : 0, looked->signals);
		looked->is_interrupted = ready < 0 && errno == EINTR && looked->signals;
		if (is_limited())
			return;
		if (ready == 0 && looked->count > 0 &&
			thrum__adapt_child_may_return(looked->count == 1 ? looked->children[0] : 0))
			return;
		if (ready == 0) {
			rest = look_and_rest(looked);
			pause = next_pause(pause);
			/* Not at the same time as others that began to wait with this one, and
			 * whose numbers are mostly the next ones: who looks seems to run. */
			next = now_ms() + (rest > pause ? rest : pause) +
				(int)(own_tid() * 7 % 16) * pause / 32;
			if (looked->is_soon && !looked->is_stuck && soon-- > 0)
				next = now_ms() +
					(rest > SOON * LOOK_FIRST ? rest / SOON : LOOK_FIRST);
		}
	} while (ready == 0 || (ready < 0 && errno == EINTR && !looked->is_interrupted));
}

/* The same, and others know that the thread waits for tokens, if it does. */
static void look_until_over(struct looked *looked)
{
	uint64_t key = looked->one.events == POLLIN ? thrum__adapt_tokens_key(looked->fd) : 0;
	/* Also when the thread is cancelled. */
	struct held held __attribute__((cleanup(thrum__adapt_held_end))) = {.wait = looked->wait,
		.key = key,
		.caller = looked->wait->caller,
		.note = key ? thrum__adapt_set_waits(key) : FORKS_WAITS};

	looked->held = &held;
	thrum__adapt_look_until(looked);
	looked->held = NULL;
}

/* Whether it is a pipe, one of a pair of sockets, or a connection of this machine. Sets the end that others
 * may have, if that is known. */
static bool find_end(struct looked *looked, enum side side)
{
	struct stat file;

	if (fstat(looked->fd, &file) != 0)
		return false;
	looked->end.writes = !is_writing(side);
	looked->end.is_socket = S_ISSOCK(file.st_mode);
	looked->end.inode = looked->end.is_socket ? thrum__adapt_pipe_peer(looked->fd)
						  : file.st_ino;
	looked->is_connection = side == SIDE_RECEIVES && looked->end.is_socket &&
		looked->end.inode == 0 && thrum__adapt_socket_is_here(looked->fd);
	if (looked->is_connection)
		return true;
	return looked->end.inode != 0 && (looked->end.is_socket || S_ISFIFO(file.st_mode));
}

/* Whether poll() waits no longer than the call itself. A call that writes may find room where poll() doesn't,
 * unless a pipe is full, or it has tried; a socket may have a time limit; and the call fails at the wrong end
 * of a pipe. */
static bool is_like_poll(const struct looked *looked, enum side side)
{
	int used = 0, room = fcntl(looked->fd, F_GETPIPE_SZ), flags = fcntl(looked->fd, F_GETFL);

	if ((flags & O_ACCMODE) == (is_writing(side) ? O_RDONLY : O_WRONLY))
		return false;
	if (is_writing(side))
		return room > 0 &&
			(side == SIDE_TRIED ||
				(ioctl(looked->fd, FIONREAD, &used) == 0 && used >= room));
	return !looked->end.is_socket || thrum__adapt_socket_limit(looked->fd, false) == ENDLESS;
}

bool thrum__adapt_ends_wait(struct wait *wait, enum thrum_kind kind, const char *verb, int fd,
	enum side side, struct held_signals *signals, const void *caller)
{
	bool writes = is_writing(side);
	char label[CALL_MAX];
	struct looked looked = {.wait = wait,
		.kind = kind,
		.label = label,
		.fd = fd,
		.one = {.fd = fd, .events = writes ? POLLOUT : POLLIN}};
	int error = errno;
	bool is_pipe = find_end(&looked, side) && is_like_poll(&looked, side);
	enum handlers handlers = is_pipe ? thrum__adapt_handlers() : HANDLERS_NONE;
	struct held_signals own
		__attribute__((cleanup(thrum__adapt_release_signals))) = {.are_held = false};

	if (handlers == HANDLERS_INTERRUPT && signals && !signals->are_held) {
		thrum__adapt_hold_signals(&own);
		signals = &own;
	}
	looked.signals = signals && signals->are_held ? signals : NULL;
	bool is_timed = is_pipe && (handlers < HANDLERS_INTERRUPT || looked.signals);

	if (!writes)
		thrum__adapt_set_doubts(thrum__adapt_tokens_key(fd));
	thrum__adapt_put_call(label, verb, fd);
	looked.is_changed = thrum__adapt_is_changed(fd);
	thrum__adapt_wait_make(wait, kind, label, caller);
	if (is_pipe && !is_timed && !looked.is_connection && may_look())
		look_at(&looked);
	go(&looked);
	looked.is_begun = true;
	if (is_timed)
		look_until_over(&looked);
	if (side == SIDE_RECEIVES && !looked.is_connection)
		thrum__adapt_socket_receive(fd);
	errno = looked.is_interrupted ? EINTR : error;
	return looked.is_interrupted;
}

/* Whether nothing but this program ends the wait. The kernel may write to an eventfd, too. */
static bool is_inside(const struct looked *looked)
{
	int before;
	bool may_write;

	if (thrum__adapt_has_handlers())
		return false;
	if (!looked->is_counter)
		return true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	may_write = thrum__adapt_process_has_kernel_writes(own_pid());
	pthread_setcancelstate(before, NULL);
	return !may_write;
}

/* Waits in a program without handlers. Returns whether others may have an end now. */
static bool wait_inside(struct looked *looked, bool writes)
{
	_Atomic uintptr_t *looker LOOKER = thrum__adapt_note_looker(&looked->one, false);
	struct wait *wait = looked->wait;
	int pause = LOOK_FIRST, ready;

	do {
		ready = real_poll(NULL)(&looked->one, 1, pause);
		if (is_limited())
			return false;
		if (ready == 0 && wait->is_inside != is_inside(looked))
			thrum__adapt_wait_again(wait, !wait->is_inside);
		if (ready == 0 && thrum__adapt_pipe_is_shared(looked->fd, writes))
			return true;
		pause = next_pause(pause);
	} while ((ready == 0 && wait->is_inside) || (ready < 0 && errno == EINTR));
	wait->is_ready = ready == 1;
	return false;
}

/* Whether a call waits without a limit to write. poll() tells another time that there is room: so nobody
 * looks meanwhile. */
static bool wants_room(const struct looked *looked, enum side side)
{
	return is_writing(side) &&
		(!looked->end.is_socket || thrum__adapt_socket_limit(looked->fd, true) == ENDLESS);
}

bool thrum__adapt_own_wait(struct wait *wait, int fd, enum side side)
{
	bool writes = is_writing(side);
	struct looked looked = {.wait = wait,
		.fd = fd,
		.one = {.fd = fd, .events = writes ? POLLOUT : POLLIN},
		.is_own = true,
		.is_counter = thrum__adapt_pipe_other(fd, !writes) == fd};

	wait->is_ready = false;
	if (looked.is_counter ? writes || thrum__adapt_had_handlers() : !find_end(&looked, side))
		return false;
	if (!is_like_poll(&looked, side)) {
		if (wants_room(&looked, side) && is_inside(&looked))
			thrum__adapt_wait_again(wait, true);
		return false;
	}
	if (!thrum__adapt_had_handlers())
		return wait_inside(&looked, writes);
	if (!thrum__adapt_may_interrupt())
		thrum__adapt_look_until(&looked);
	return false;
}
