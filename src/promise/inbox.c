/* SPDX-License-Identifier: ISC */
/*
 * Inboxes: other threads have functions run in a loop's thread.
 *
 * A *job* is a function to run. It travels in letters: one to the inbox, which runs the function;
 * if the caller waits for the end, one back to the caller's loop, which has an inbox of its own for
 * that; and one to cancel it. The first two letters pass the job's first reference on. So each
 * member of a job belongs to the thread that has the letter, except those that its comment names.
 */
#include "promise/promise.h"
#include <string.h>

struct job;

struct letter {
	struct letter *next;
	struct job *job;
	/* One of the two is called, in the inbox's thread. `refuse`: the inbox was closed. */
	void (*deliver)(struct thrum_inbox *inbox, struct job *job);
	void (*refuse)(struct job *job);
};

/* The part of an inbox that libuv uses. */
struct door {
	struct thrum__promise_held held;
	uv_async_t async;
	struct thrum_inbox *inbox;
};

struct thrum_inbox {
	struct thrum__promise_memory memory;
	struct thrum_loop *loop; /* only its thread uses it; gone when the inbox is closed */
	thrum_task task;
	unsigned references; /* atomic */
	uv_mutex_t mutex;
	/* The mutex protects these. */
	struct door *door; /* NULL: closed */
	struct letter *first, **end;
	size_t count;
	/* Only the loop's thread uses this: for answers, the calls that wait for one. */
	size_t waiting;
};

struct job {
	struct letter request, answer, cancel;
	struct thrum_inbox *inbox, *home; /* home: of the caller; NULL: nobody waits for the end */
	unsigned references;              /* atomic */
	bool canceled;                    /* atomic */
	uint64_t number;
	thrum_task task;
	struct thrum_resolver *resolver; /* only the caller's thread uses it */
	struct thrum_promise *promise;   /* only the inbox's thread uses it */
	thrum_begin *begin;
	void *data;
	thrum_destroy *destroy;
	/* How it ended. */
	struct thrum_value value;
	int code;
	struct thrum_site place;
	char *message;
};

/* ---- References ------------------------------------------------------------------------------ */

static struct thrum_inbox *ref_inbox(struct thrum_inbox *inbox)
{
	__atomic_add_fetch(&inbox->references, 1, __ATOMIC_RELAXED);
	return inbox;
}

static void unref_inbox(struct thrum_inbox *inbox)
{
	/* Pairs with the other threads' decrements: all that they did comes before the end. */
	if (__atomic_sub_fetch(&inbox->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	uv_mutex_destroy(&inbox->mutex);
	inbox->memory.release(inbox->memory.context, inbox);
}

struct thrum_inbox *thrum_inbox_ref(struct thrum_inbox *inbox)
{
	return inbox ? ref_inbox(inbox) : NULL;
}

void thrum_inbox_unref(struct thrum_inbox *inbox)
{
	if (inbox)
		unref_inbox(inbox);
}

static void unref_job(struct job *job)
{
	struct thrum_inbox *inbox = job->inbox;

	if (__atomic_sub_fetch(&job->references, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	if (job->message)
		inbox->memory.release(inbox->memory.context, job->message);
	if (job->home)
		unref_inbox(job->home);
	inbox->memory.release(inbox->memory.context, job);
	unref_inbox(inbox);
}

/* ---- Inboxes --------------------------------------------------------------------------------- */

/* Returns false if the inbox is closed. */
static bool send_letter(struct thrum_inbox *inbox, struct letter *letter)
{
	bool is_open;

	letter->next = NULL;
	uv_mutex_lock(&inbox->mutex);
	is_open = inbox->door;
	if (is_open) {
		*inbox->end = letter;
		inbox->end = &letter->next;
		inbox->count++;
		uv_async_send(&inbox->door->async);
	}
	uv_mutex_unlock(&inbox->mutex);
	return is_open;
}

/* The caller holds the mutex. */
static struct letter *next_letter(struct thrum_inbox *inbox)
{
	struct letter *letter = inbox->first;

	if (!letter)
		return NULL;
	inbox->first = letter->next;
	if (!inbox->first)
		inbox->end = &inbox->first;
	inbox->count--;
	return letter;
}

static struct letter *take_letter(struct thrum_inbox *inbox)
{
	struct letter *letter;

	uv_mutex_lock(&inbox->mutex);
	letter = next_letter(inbox);
	uv_mutex_unlock(&inbox->mutex);
	return letter;
}

/* Delivers the letters that are there now. Later ones wait for the next turn. */
static void deliver_letters(uv_async_t *async)
{
	struct thrum_inbox *inbox = ref_inbox(((struct door *)async->data)->inbox);
	struct letter *letter;
	size_t count;

	thrum__promise_loop_resume(inbox->loop);
	uv_mutex_lock(&inbox->mutex);
	count = inbox->count;
	uv_mutex_unlock(&inbox->mutex);
	if (count > 0)
		thrum_task_signal(inbox->task, count < UINT32_MAX ? (unsigned)count : UINT32_MAX);
	for (; count > 0 && (letter = take_letter(inbox)); count--)
		letter->deliver(inbox, letter->job);
	unref_inbox(inbox);
}

static void door_closed(uv_handle_t *handle)
{
	struct door *door = handle->data;

	unref_inbox(door->inbox);
	thrum__promise_held_end(&door->held);
}

static void close_inbox(struct thrum_inbox *inbox)
{
	struct door *door;
	struct letter *letter;

	uv_mutex_lock(&inbox->mutex);
	door = inbox->door;
	inbox->door = NULL;
	uv_mutex_unlock(&inbox->mutex);
	if (!door)
		return;
	thrum__promise_loop_check(inbox->loop);
	/* No letter comes any more. */
	while ((letter = take_letter(inbox)))
		letter->refuse(letter->job);
	thrum_task_resolve(inbox->task);
	uv_close((uv_handle_t *)&door->async, door_closed);
}

static void stop_door(struct thrum__promise_held *held)
{
	close_inbox(((struct door *)held)->inbox);
}

static struct thrum_inbox *create_inbox(struct thrum_loop *loop)
{
	const struct thrum__promise_memory *memory = thrum__promise_loop_memory(loop);
	struct door *door = thrum__promise_hold(loop, sizeof(*door), stop_door);
	struct thrum_inbox *inbox = door ? thrum__promise_allocate(loop, sizeof(*inbox)) : NULL;

	if (!inbox || uv_mutex_init(&inbox->mutex)) {
		thrum__promise_release(loop, inbox);
		if (door)
			thrum__promise_held_end(&door->held);
		return NULL;
	}
	inbox->memory = *memory;
	inbox->loop = loop;
	inbox->references = 1;
	inbox->end = &inbox->first;
	inbox->door = door;
	door->inbox = inbox;
	/* The stop of a loop closes the door only when libuv knows it. */
	if (uv_async_init(thrum_loop_uv(loop), &door->async, deliver_letters)) {
		thrum__promise_held_end(&door->held);
		unref_inbox(inbox);
		return NULL;
	}
	door->async.data = door;
	return inbox;
}

struct thrum_inbox *thrum__inbox_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_inbox *inbox = loop ? create_inbox(loop) : NULL;

	if (!inbox)
		return NULL;
	inbox->task = thrum__promise_trace_create(site, THRUM_KIND_MAILBOX, label);
	return ref_inbox(inbox);
}

void thrum_inbox_close(struct thrum_inbox *inbox)
{
	if (inbox)
		close_inbox(inbox);
}

/* ---- Recording ------------------------------------------------------------------------------- */

/* The key of a job's links: to the inbox, and back. */
struct key {
	uint64_t number;
	uint32_t process, is_answer;
};

static struct key key_of(const struct job *job, bool is_answer)
{
	return (struct key){job->number, (uint32_t)uv_os_getpid(), is_answer};
}

static void record_link_send(const struct job *job, bool is_answer)
{
	struct key key;

	if (!thrum_enabled())
		return;
	key = key_of(job, is_answer);
	thrum_link_send(&key, sizeof(key));
}

static void record_link_receive(const struct job *job, bool is_answer)
{
	struct key key;

	if (!thrum_enabled())
		return;
	key = key_of(job, is_answer);
	thrum_link_receive(&key, sizeof(key));
}

/* The job's task waits until the inbox's loop takes the job. A caller waits for the job's task. */
static void record_job(struct job *job, struct thrum_site *site, const char *label,
	thrum_task caller)
{
	thrum_task before = thrum__promise_trace_enter(caller);

	job->task = thrum__promise_trace_create(site, THRUM_KIND_TASK, label);
	thrum_task_wait(job->task, job->inbox->task);
	if (caller != THRUM_TASK_NONE)
		thrum_task_wait(caller, job->task);
	else
		thrum_task_should_resolve(job->task);
	record_link_send(job, false);
	thrum_task_ready(job->task);
	thrum__promise_trace_leave(before);
}

/* ---- The end of a job ------------------------------------------------------------------------ */

/* The caller's loop is gone. */
static void refuse_answer(struct job *job)
{
	thrum_value_destroy(job->value);
	unref_job(job);
}

/* Gives up the data, and tells the caller that the job ended. */
static void end_job(struct job *job, int code, struct thrum_value value)
{
	thrum_destroy *destroy = job->destroy;

	job->destroy = NULL;
	job->begin = NULL;
	job->code = code;
	job->value = value;
	if (destroy)
		destroy(job->data);
	if (!job->home) {
		refuse_answer(job);
		return;
	}
	record_link_send(job, true);
	if (!send_letter(job->home, &job->answer))
		refuse_answer(job);
}

static void refuse_request(struct job *job)
{
	if (job->home)
		thrum_task_fail(job->task, thrum_promise_error_message(THRUM_BROKEN));
	else
		thrum_task_cancel(job->task);
	end_job(job, THRUM_BROKEN, thrum_value_none());
}

static void stop_waiting(struct thrum_inbox *home)
{
	if (--home->waiting == 0 && home->door)
		uv_unref((uv_handle_t *)&home->door->async);
}

static void deliver_answer(struct thrum_inbox *home, struct job *job)
{
	struct thrum_resolver *resolver = job->resolver;
	thrum_task task, before;

	if (!resolver) {
		refuse_answer(job);
		return;
	}
	stop_waiting(home);
	task = thrum__promise_resolver_task(resolver);
	before = thrum__promise_trace_enter(task);
	record_link_receive(job, true);
	thrum_task_read(task, job->task);
	if (job->code == 0)
		thrum_resolver_resolve(resolver, job->value);
	else if (job->message)
		thrum__resolver_fail(&job->place, resolver, job->code, "%s", job->message);
	else
		thrum__resolver_fail(&job->place, resolver, job->code, NULL);
	thrum__promise_trace_leave(before);
	unref_job(job);
}

/* ---- Running a job --------------------------------------------------------------------------- */

static struct thrum_promise *job_resolved(struct thrum_loop *loop, void *value, void *data)
{
	struct job *job = data;
	struct thrum_value taken = thrum_value_none();
	/* Others may look at the value later, in this thread. */
	bool is_taken = !value || thrum_loop_take(loop, &taken);

	job->begin = NULL;
	job->code = is_taken ? 0 : -EBUSY;
	job->value = taken;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *job_failed(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct job *job = data;
	size_t size = strlen(failure->message) + 1;

	job->begin = NULL;
	job->code = failure->code;
	job->place = (struct thrum_site){failure->file, failure->function, failure->line, 0};
	job->message = job->inbox->memory.allocate(job->inbox->memory.context, size);
	if (job->message)
		memcpy(job->message, failure->message, size);
	return thrum_promise_return(loop, thrum_value_none());
}

/* Called when one of the two has run, or when neither ever will. */
static void job_ended(void *data)
{
	struct job *job = data;
	struct thrum_promise *promise = job->promise;

	if (job->begin)
		job->code = THRUM_BROKEN;
	job->promise = NULL;
	end_job(job, job->code, job->value);
	thrum_promise_unref(promise);
}

/* Calls the function, and waits for the end of the promise that it returned. */
static void run_call(struct thrum_loop *loop, struct job *job)
{
	struct thrum_promise *promise = job->begin(loop, job->data), *end;
	thrum_task task = thrum_promise_task_id(promise);

	if (!promise)
		promise = thrum__promise_no_memory(loop);
	if (thrum_promise_state(promise) == THRUM_PROMISE_PENDING && task != THRUM_TASK_NONE)
		thrum_task_become(job->task, task);
	else if (thrum_promise_state(promise) == THRUM_PROMISE_FAILED)
		thrum_task_fail(job->task, thrum_promise_failure(promise)->message);
	else
		thrum_task_resolve(job->task);
	/* If the promise has ended, the job ends here, and is gone. */
	__atomic_add_fetch(&job->references, 1, __ATOMIC_RELAXED);
	end = thrum__promise_try_bind(NULL, promise, job_resolved, job_failed, job, job_ended);
	if (thrum_promise_state(end) == THRUM_PROMISE_PENDING)
		job->promise = end;
	else
		thrum_promise_unref(end);
	unref_job(job);
}

static void run_post(struct thrum_loop *loop, struct job *job)
{
	thrum__promise_ignore_result(NULL, job->begin(loop, job->data));
	thrum_task_resolve(job->task);
	end_job(job, 0, thrum_value_none());
}

static void deliver_request(struct thrum_inbox *inbox, struct job *job)
{
	thrum_task before;

	if (__atomic_load_n(&job->canceled, __ATOMIC_ACQUIRE)) {
		thrum_task_cancel(job->task);
		end_job(job, THRUM_CANCELED, thrum_value_none());
		return;
	}
	before = thrum__promise_trace_enter(job->task);
	record_link_receive(job, false);
	thrum_task_read(job->task, inbox->task);
	if (job->home)
		run_call(inbox->loop, job);
	else
		run_post(inbox->loop, job);
	thrum__promise_trace_leave(before);
}

/* ---- Cancelling a job ------------------------------------------------------------------------ */

static void deliver_cancel(struct thrum_inbox *inbox, struct job *job)
{
	if (job->promise) {
		struct thrum_promise *promise = thrum_promise_ref(job->promise);

		thrum__promise_cancel(NULL, promise);
		thrum_promise_unref(promise);
	}
	unref_job(job);
}

/* The caller's promise has failed; the job is told. */
static void call_canceled(struct thrum_resolver *resolver, void *data)
{
	struct job *job = data;

	job->resolver = NULL;
	stop_waiting(job->home);
	__atomic_add_fetch(&job->references, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&job->canceled, true, __ATOMIC_RELEASE);
	if (!send_letter(job->inbox, &job->cancel))
		unref_job(job);
	thrum_resolver_drop(resolver);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static struct job *create_job(struct thrum_inbox *inbox, thrum_begin *begin, void *data,
	thrum_destroy *destroy)
{
	static uint64_t numbers;
	struct job *job = inbox->memory.allocate(inbox->memory.context, sizeof(*job));

	if (!job)
		return NULL;
	*job = (struct job){.request = {NULL, job, deliver_request, refuse_request},
		.answer = {NULL, job, deliver_answer, refuse_answer},
		.cancel = {NULL, job, deliver_cancel, unref_job},
		.inbox = ref_inbox(inbox),
		.references = 1,
		.number = __atomic_add_fetch(&numbers, 1, __ATOMIC_RELAXED),
		.begin = begin,
		.data = data,
		.destroy = destroy};
	return job;
}

int thrum__inbox_post(struct thrum_site *site, struct thrum_inbox *inbox, const char *label,
	thrum_begin *begin, void *data, thrum_destroy *destroy)
{
	struct job *job = inbox ? create_job(inbox, begin, data, destroy) : NULL;

	if (!job) {
		if (destroy)
			destroy(data);
		return inbox ? -ENOMEM : -EINVAL;
	}
	record_job(job, site, label, THRUM_TASK_NONE);
	if (send_letter(inbox, &job->request))
		return 0;
	refuse_request(job);
	return THRUM_BROKEN;
}

/* Returns the inbox of a loop for answers, or NULL without memory. It keeps the uv loop running
 * only while a call waits. */
static struct thrum_inbox *answers_of(struct thrum_loop *loop)
{
	struct thrum_inbox **answers = thrum__promise_loop_answers(loop);

	if (!*answers) {
		*answers = create_inbox(loop);
		if (*answers)
			uv_unref((uv_handle_t *)&(*answers)->door->async);
	}
	return *answers;
}

struct thrum_promise *thrum__inbox_call(struct thrum_site *site, struct thrum_inbox *inbox,
	struct thrum_loop *loop, const char *label, thrum_begin *begin, void *data,
	thrum_destroy *destroy)
{
	struct thrum_inbox *home = inbox && loop ? answers_of(loop) : NULL;
	struct job *job = home ? create_job(inbox, begin, data, destroy) : NULL;
	struct thrum_promise *promise;

	if (!job) {
		if (destroy)
			destroy(data);
		return inbox ? thrum__promise_no_memory(loop) : NULL;
	}
	promise = thrum__promise_request(site, loop, THRUM_KIND_PROMISE, label, call_canceled, job,
		&job->resolver);
	if (thrum_promise_state(promise) != THRUM_PROMISE_PENDING) {
		thrum_resolver_drop(job->resolver);
		end_job(job, -ENOMEM, thrum_value_none());
		return promise;
	}
	job->place = site ? *site : job->place;
	job->home = ref_inbox(home);
	if (home->waiting++ == 0)
		uv_ref((uv_handle_t *)&home->door->async);
	record_job(job, site, label, thrum_promise_task_id(promise));
	if (!send_letter(inbox, &job->request))
		refuse_request(job);
	return promise;
}
