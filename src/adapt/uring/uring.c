/* SPDX-License-Identifier: ISC */
/*
 * liburing: each operation is a task from its submission to its result. Much of liburing is inline in
 * the program, so the rings are read when the program calls the library: the new operations before
 * it hands them in, the new results whenever it comes. A result stays in its ring after the program
 * has taken it, until the kernel needs the place.
 *
 * A result names its operation only by the program's own word, `user_data`. If several operations
 * under way have the same word, the oldest counts as the one that has ended.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/base/cell.h"
#include "adapt/descriptor/descriptor.h"

#define RINGS 64
#define BUCKETS 256

/* An operation under way. */
struct flight {
	struct flight *next;
	uint64_t user_data;
	thrum_task task;
};

struct ring {
	_Atomic uintptr_t key; /* the program's ring; 0: free */
	atomic_flag is_busy;   /* the rest belongs to the thread that has set it */
	unsigned seen;         /* results before this one are recorded */
	struct flight *flights[BUCKETS];
};

static struct ring rings[RINGS];
static struct code liburing;

REAL(io_uring_queue_init)
REAL(io_uring_queue_init_params)
REAL(io_uring_queue_exit)

/* ---- Rings ---------------------------------------------------------------------------------- */

/* Returns the ring, which the caller lets go, or NULL: there are too many, or another thread has it,
 * or a signal handler interrupted the one that has it. */
static struct ring *take_ring(const struct io_uring *given, bool makes)
{
	for (int i = 0; i < RINGS; i++) {
		struct ring *ring = &rings[i];
		uintptr_t key = atomic_load(&ring->key);
		bool is_new = makes && key == 0 &&
			atomic_compare_exchange_strong(&ring->key, &key, (uintptr_t)given);

		if (!is_new && key != (uintptr_t)given)
			continue;
		for (int tries = 0; tries < 10000; tries++)
			if (!atomic_flag_test_and_set_explicit(&ring->is_busy,
				    memory_order_acquire)) {
				if (is_new)
					ring->seen = *given->cq.khead;
				return ring;
			}
		return NULL;
	}
	return NULL;
}

static void let_go(struct ring *ring)
{
	atomic_flag_clear_explicit(&ring->is_busy, memory_order_release);
}

static struct flight **bucket_of(struct ring *ring, uint64_t user_data)
{
	return &ring->flights[(user_data * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

/* The ring is no more. */
static void forget_ring(const struct io_uring *given)
{
	struct ring *ring = take_ring(given, false);

	for (int i = 0; ring && i < BUCKETS; i++)
		while (ring->flights[i]) {
			struct flight *flight = ring->flights[i];

			thrum_task_cancel(flight->task);
			ring->flights[i] = flight->next;
			free(flight);
		}
	if (ring) {
		atomic_store(&ring->key, 0);
		let_go(ring);
	}
}

/* ---- Operations ----------------------------------------------------------------------------- */

enum operation_kind {
	PLAIN,
	FD,
	SIZE
};
static const struct {
	const char *label;
	enum operation_kind kind;
} operations[] = {
#define OP(name, label, kind) [IORING_OP_##name] = {label, kind},
#include "adapt/uring/uring.def"
#undef OP
};

static int64_t ns_of(const struct __kernel_timespec *time)
{
	return time ? time->tv_sec * INT64_C(1000000000) + time->tv_nsec : 0;
}

/* Creates the task of an operation. */
static thrum_task create_task(const struct io_uring_sqe *sqe, const void *caller)
{
	bool is_known = sqe->opcode < sizeof operations / sizeof *operations &&
		operations[sqe->opcode].label;
	const char *label = is_known ? operations[sqe->opcode].label : "operation";
	const char *noun = sqe->flags & IOSQE_FIXED_FILE ? "file" : "fd";
	const void *pointer = (const void *)(uintptr_t)sqe->addr;
	thrum_task task;

	thrum__adapt_tokens_end(sqe->fd); /* the kernel uses it */
	thrum__adapt_connection_forget(sqe->fd);
	if (is_of_pipe(sqe->fd))
		thrum__adapt_pipe_shared(sqe->fd);
	switch (sqe->opcode) {
	case IORING_OP_OPENAT:
	case IORING_OP_OPENAT2:
	case IORING_OP_STATX:
	case IORING_OP_UNLINKAT:
	case IORING_OP_MKDIRAT:
		return thrum__adapt_request(caller, "%s %s", label,
			pointer ? (const char *)pointer : "");
	case IORING_OP_CONNECT:
		return thrum__adapt_request(caller, "connect %s",
			thrum__adapt_put_address((char[ADDRESS_MAX]){""}, pointer));
	case IORING_OP_TIMEOUT:
	case IORING_OP_LINK_TIMEOUT:
		task = thrum__adapt_request(caller, "%s", label);
		if (!(sqe->timeout_flags & IORING_TIMEOUT_ABS))
			thrum_task_due(task, ns_of(pointer));
		return task;
	default: break;
	}
	if (!is_known)
		return thrum__adapt_request(caller, "%s %d", label, sqe->opcode);
	if (operations[sqe->opcode].kind == PLAIN)
		return thrum__adapt_request(caller, "%s", label);
	if (operations[sqe->opcode].kind == FD || sqe->len == 0)
		return thrum__adapt_request(caller, "%s %s %d", label, noun, sqe->fd);
	return thrum__adapt_request(caller, "%s %u bytes, %s %d", label, sqe->len, noun, sqe->fd);
}

static void add_flight(struct ring *ring, uint64_t user_data, thrum_task task)
{
	struct flight **place = bucket_of(ring, user_data), *flight = malloc(sizeof *flight);

	if (!flight)
		return;
	while (*place)
		place = &(*place)->next;
	*flight = (struct flight){NULL, user_data, task};
	*place = flight;
}

/* Records the operations that the program hands in with this call. One that is linked to the one
 * before waits for it. */
static void record_operations(struct ring *ring, const struct io_uring *given, const void *caller)
{
	const struct io_uring_sq *sq = &given->sq;
	unsigned shift = given->flags & IORING_SETUP_SQE128 ? 1 : 0;
	thrum_task before = THRUM_TASK_NONE;

	for (unsigned at = sq->sqe_head; at != sq->sqe_tail; at++) {
		const struct io_uring_sqe *sqe = &sq->sqes[(size_t)(at & *sq->kring_mask) << shift];
		thrum_task task = create_task(sqe, caller);

		if (before && sqe->opcode != IORING_OP_LINK_TIMEOUT)
			thrum_task_wait(task, before);
		/* Only its failure would be told. */
		if (sqe->flags & IOSQE_CQE_SKIP_SUCCESS)
			thrum_task_resolve(task);
		else
			add_flight(ring, sqe->user_data, task);
		before = sqe->flags & (IOSQE_IO_LINK | IOSQE_IO_HARDLINK) ? task : THRUM_TASK_NONE;
	}
}

static void record_result(struct ring *ring, const struct io_uring_cqe *cqe)
{
	struct flight **place = bucket_of(ring, cqe->user_data), *flight;

	while (*place && (*place)->user_data != cqe->user_data)
		place = &(*place)->next;
	flight = *place;
	if (!flight)
		return;
	if (cqe->flags & IORING_CQE_F_MORE) {
		/* One of many results: the operation goes on. */
		thrum_task_read(thrum_task_current(), flight->task);
		return;
	}
	if (cqe->res == -ECANCELED)
		thrum_task_cancel(flight->task);
	else if (cqe->res < 0 && cqe->res != -ETIME)
		thrum_task_fail(flight->task, strerrorname_np(-cqe->res));
	else
		thrum_task_resolve(flight->task);
	thrum_task_read(thrum_task_current(), flight->task);
	*place = flight->next;
	free(flight);
}

/* Records the results that have come since the last look. */
static void record_results(struct ring *ring, const struct io_uring *given)
{
	const struct io_uring_cq *cq = &given->cq;
	unsigned shift = given->flags & IORING_SETUP_CQE32 ? 1 : 0, room = *cq->kring_mask + 1;
	/* Partner: the kernel's release store, after the result. */
	unsigned end = __atomic_load_n(cq->ktail, __ATOMIC_ACQUIRE);

	/* The kernel has used the places of older ones again. */
	if (end - ring->seen > room)
		ring->seen = end - room;
	for (; ring->seen != end; ring->seen++)
		record_result(ring, &cq->cqes[(size_t)(ring->seen & *cq->kring_mask) << shift]);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static bool begins(const void *caller)
{
	if (!is_chosen(ADAPTER_URING) ||
		thrum__adapt_is_within(&liburing,
			(const void *)(uintptr_t)real_io_uring_queue_exit(caller), caller))
		return false;
	thrum__adapt_start();
	return is_on(ADAPTER_URING);
}

/* Records what lies in the rings before a call. Returns whether the call will wait. */
static bool record_before(const struct io_uring *given, unsigned count, const void *caller)
{
	int error = errno;
	struct ring *ring = take_ring(given, true);

	if (ring) {
		record_results(ring, given);
		record_operations(ring, given, caller);
		let_go(ring);
	}
	errno = error;
	return __atomic_load_n(given->cq.ktail, __ATOMIC_ACQUIRE) - *given->cq.khead < count;
}

static void record_after(const struct io_uring *given)
{
	int error = errno;
	struct ring *ring = take_ring(given, false);

	if (ring) {
		record_results(ring, given);
		let_go(ring);
	}
	errno = error;
}

/* Also when the thread is cancelled. */
static void end_wait(struct pause *pause)
{
	thrum__adapt_go_on(pause);
}

#define CALL(name, parameters, arguments, waits) \
	REAL(name) \
	STAND_IN int name parameters \
	{ \
		const void *caller = CALLER; \
		int result; \
\
		if (!begins(caller)) \
			return real_##name(caller) arguments; \
		{ \
			struct pause pause __attribute__((cleanup(end_wait))) = {.is_over = true}; \
\
			if (record_before(ring, waits, caller)) \
				thrum__adapt_pause(&pause, THRUM_WAIT_FOR_WORK); \
			result = real_##name(caller) arguments; \
		} \
		record_after(ring); \
		return result; \
	}
#include "adapt/uring/uring.def"

REAL(io_uring_peek_batch_cqe)

STAND_IN unsigned io_uring_peek_batch_cqe(struct io_uring *ring, struct io_uring_cqe **cqes,
	unsigned count)
{
	unsigned result = real_io_uring_peek_batch_cqe(CALLER)(ring, cqes, count);

	if (begins(CALLER))
		record_after(ring);
	return result;
}

/* ---- Beginning and end of a ring ------------------------------------------------------------ */

STAND_IN int io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	/* A program may have closed the one before by other means. */
	forget_ring(ring);
	return real_io_uring_queue_init(CALLER)(entries, ring, flags);
}

STAND_IN int io_uring_queue_init_params(unsigned entries, struct io_uring *ring,
	struct io_uring_params *parameters)
{
	forget_ring(ring);
	return real_io_uring_queue_init_params(CALLER)(entries, ring, parameters);
}

STAND_IN void io_uring_queue_exit(struct io_uring *ring)
{
	if (begins(CALLER))
		record_after(ring);
	forget_ring(ring);
	real_io_uring_queue_exit(CALLER)(ring);
}
