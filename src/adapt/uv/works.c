/* SPDX-License-Identifier: ISC */
/*
 * Works of libuv's pool, and those that uv_cancel took back. Programs often queue several works with one
 * callback, and count them down: the callback of the last one goes on, those before do nothing that others
 * notice. A callback that returns early if its work was cancelled may forget to count. So the works with
 * one callback that are queued at the same time are a batch. In each batch only the last callback did
 * anything; now there is a batch in which none did, and of which some works were cancelled: then a loop's
 * thread looks now and then. It tells only while the loop has done nothing since, and nothing is left in it
 * that is known to go on: no request, and no stream but such whose other end is here, too. All other
 * threads have to sleep. Timers must have come twice since, and then a thread has to wait for data of the
 * loop. The program may want just that: why says that it is possible.
 */
#include "adapt/uv/noted.h"

#include <string.h>

#define SORTS_MAX 32           /* of further callbacks nothing is told */
#define MISSING_LONG 500000000 /* ns; it may come as late */

/* Works with one callback that are queued at the same time. */
struct batch {
	uint32_t pending, cancelled, finished; /* finished: not by uv_cancel */
	uint32_t acts;                         /* so many callbacks but the last did anything */
	const void *place;                     /* of the latest uv_cancel; NULL: none */
};

/* The works of a loop with one callback. Only the loop's thread uses them. */
static struct sort {
	const uv_loop_t *_Atomic loop; /* NULL: it is free */
	uv_after_work_cb done;
	pid_t process; /* a child of it has a copy only */
	int epoll;     /* of the loop */
	struct batch batch;
	unsigned usual;    /* batches of which only the last callback did anything */
	bool is_otherwise; /* in another batch it was not so */
	/* A batch that ended without that: */
	int64_t since; /* 0: there is none */
	struct batch missing;
	const struct thread *thread; /* that runs the loop, */
	uint32_t acts;               /* and what it had done then */
	thrum_task task;             /* that tells of it, or NONE */
} sorts[SORTS_MAX];
static _Atomic int used; /* no entry from this one on was ever used */

REAL(uv_cancel)
REAL(uv_queue_work)

/* ---- Looking ----------------------------------------------------------------------------------- */

/* Returns the task that waits for data of the loop, or the loop's own if nobody does, if nothing may go on;
 * or NONE. */
static thrum_task find_waiter(const uv_loop_t *loop, int64_t age, bool is_waiting)
{
	const struct looking looking = {.epoll = loop->backend_fd, .is_endless = true};
	struct uv_rest rest = thrum__adapt_uv_rest_of(loop, age, 0);

	if (rest.may_go_on || (rest.has_timers && age < LOOK_TIMED))
		return THRUM_TASK_NONE;
	if (rest.asked >= 0)
		return thrum__adapt_uv_asker(loop, &rest);
	return is_waiting && !rest.has_timers && thrum__adapt_self &&
			thrum__adapt_uv_is_still(loop) && thrum__adapt_others_rest(&looking)
		? atomic_load(&thrum__adapt_self->task)
		: THRUM_TASK_NONE;
}

static void tell(struct sort *sort, thrum_task waiter)
{
	char label[3 * PLACE_MAX + 80], *end;

	thrum__adapt_label(label, "outcome of works with callback",
		(const void *)(uintptr_t)sort->done);
	end = thrum__adapt_put_number(stpcpy(strchr(label, '\0'), ", "), sort->missing.cancelled);
	thrum__adapt_label(end, " cancelled in", sort->missing.place);
	sort->task = thrum__adapt_look_tell(label, sort->missing.place, waiter);
}

static void take_back(struct sort *sort)
{
	if (sort->task && sort->process == own_pid())
		thrum_task_resolve(sort->task);
	sort->task = THRUM_TASK_NONE;
	sort->since = 0;
}

static void look_at(struct sort *sort, bool is_waiting)
{
	int64_t age = rough_time() - sort->since;
	thrum_task waiter;

	if (sort->acts != thrum__adapt_acts || sort->batch.pending > 0) {
		take_back(sort);
		return;
	}
	if (sort->task || age < MISSING_LONG)
		return;
	waiter = find_waiter(atomic_load(&sort->loop), age, is_waiting);
	if (waiter)
		tell(sort, waiter);
}

static thrum_task look(int epoll, bool is_waiting)
{
	/* A loop that is freed meanwhile has ended before, and then its thread has done something. */
	for (int i = 0; i < atomic_load(&used); i++)
		if (sorts[i].since && sorts[i].process == own_pid() && sorts[i].epoll == epoll &&
			sorts[i].thread == thrum__adapt_self)
			look_at(&sorts[i], is_waiting);
	return THRUM_TASK_NONE;
}

/* ---- Noting ------------------------------------------------------------------------------------ */

static struct sort *find(const uv_loop_t *loop, uv_after_work_cb done)
{
	for (int i = 0; i < atomic_load_explicit(&used, memory_order_relaxed); i++)
		if (atomic_load(&sorts[i].loop) == loop && sorts[i].done == done &&
			sorts[i].process == own_pid())
			return &sorts[i];
	return NULL;
}

static struct sort *make(const uv_loop_t *loop, uv_after_work_cb done)
{
	for (int i = 0; i < SORTS_MAX; i++) {
		struct sort *sort = &sorts[i];
		const uv_loop_t *none = NULL;

		if (!atomic_compare_exchange_strong(&sort->loop, &none, loop))
			continue;
		*sort = (struct sort){.loop = loop, .done = done, .process = own_pid()};
		raise_to(&used, i + 1);
		return sort;
	}
	return NULL;
}

static void note_queued(const uv_loop_t *loop, uv_after_work_cb done)
{
	struct sort *sort = done ? find(loop, done) : NULL;

	if (done && !sort)
		sort = make(loop, done);
	if (!sort)
		return;
	take_back(sort);
	sort->epoll = loop->backend_fd;
	sort->batch.pending++;
}

/* The callback after a work that runs. */
struct after {
	struct sort *sort; /* NULL: it isn't known */
	uint32_t acts;     /* of the thread before */
	bool is_last;      /* of its batch, which is this one: */
	struct batch batch;
};

static struct after begin_after(const uv_work_t *work)
{
	struct sort *sort = find(work->loop,
		(uv_after_work_cb)thrum__adapt_uv_request_callback((const uv_req_t *)work));
	struct after after = {.acts = thrum__adapt_acts};

	if (!sort || sort->batch.pending == 0)
		return after;
	after.sort = sort;
	if (--sort->batch.pending > 0)
		return after;
	/* The works that this callback queues belong to the next batch. */
	after.is_last = true;
	after.batch = sort->batch;
	sort->batch = (struct batch){.pending = 0};
	return after;
}

static void note_end(struct sort *sort, const struct batch *batch, bool acts)
{
	if (batch->cancelled + batch->finished < 2)
		return;
	if (batch->acts == 0 && acts) {
		sort->usual++;
	} else if (batch->acts > 0 || batch->cancelled == 0 || batch->finished == 0) {
		sort->is_otherwise = true;
	} else if (batch->place && sort->usual > 0 && !sort->is_otherwise) {
		sort->since = rough_time();
		sort->missing = *batch;
		sort->thread = thrum__adapt_thread();
		sort->acts = thrum__adapt_acts;
		thrum__adapt_look_also(look);
	}
}

static void end_after(const struct after *after, int status)
{
	struct sort *sort = after->sort;
	struct batch batch = after->batch;
	bool acts = thrum__adapt_acts != after->acts;

	if (!sort)
		return;
	if (!after->is_last)
		batch = sort->batch;
	if (status == UV_ECANCELED)
		batch.cancelled++;
	else
		batch.finished++;
	if (after->is_last) {
		note_end(sort, &batch, acts);
		return;
	}
	batch.acts += acts;
	sort->batch = batch;
}

/* ---- Works ------------------------------------------------------------------------------------- */

/* A request's word for the function that runs in the thread pool. */
#define WORK 3

static void on_work(uv_work_t *req)
{
	struct uv_run run;
	uv_work_cb work = (uv_work_cb)(uintptr_t)req->reserved[WORK];

	thrum__adapt_uv_run_request(&run, (uv_req_t *)req);
	thrum__adapt_thread_is_idle(false);
	work(req);
	thrum__adapt_thread_is_idle(true);
	thrum__adapt_uv_end_run(&run);
}

/* The program's callback may free the request. */
static void on_work_done(uv_work_t *req, int status)
{
	struct after after = begin_after(req);
	struct uv_run run;
	uv_after_work_cb done = (uv_after_work_cb)thrum__adapt_uv_run_request(&run,
		(uv_req_t *)req);

	if (done)
		done(req, status);
	thrum__adapt_uv_end_request(&run, status);
	end_after(&after, status);
}

STAND_IN int uv_queue_work(uv_loop_t *loop, uv_work_t *req, uv_work_cb work, uv_after_work_cb done)
{
	void (*callback)(void) = (void (*)(void))done;
	char label[PLACE_MAX];

	if (!work || !thrum__adapt_uv_begin(CALLER))
		return real_uv_queue_work(CALLER)(loop, req, work, done);
	thrum__adapt_label(label, "work", (const void *)(uintptr_t)work);
	thrum_task task = thrum__adapt_request_then(CALLER, callback, "%s", label);

	thrum_task_ready(task);
	/* The pool may run it at once. */
	req->reserved[WORK] = (void *)(uintptr_t)work;
	thrum__adapt_uv_accepted((uv_req_t *)req, task, 0, callback);
	int result = real_uv_queue_work(CALLER)(loop, req, on_work, on_work_done);

	if (result < 0)
		thrum_task_cancel(task);
	else
		note_queued(loop, done);
	return result;
}

STAND_IN int uv_cancel(uv_req_t *req)
{
	int result = real_uv_cancel(CALLER)(req);
	const uv_work_t *work = (const void *)req;
	struct sort *sort;

	if (result != 0 || req->type != UV_WORK || !thrum__adapt_uv_begin(CALLER))
		return result;
	sort = find(work->loop, (uv_after_work_cb)thrum__adapt_uv_request_callback(req));
	if (sort)
		sort->batch.place = thrum__adapt_caller(CHAIN);
	return result;
}
