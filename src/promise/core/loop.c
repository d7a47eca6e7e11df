/* SPDX-License-Identifier: ISC */
/* Loops: memory for promises, the deferred list, pausing, and recording when the loop waits. */
#include "promise/core/core.h"
#include <stdlib.h>
#include <string.h>

/* A slab of so many takes about 32 KiB. */
#define SLAB_PROMISES 340

struct slab {
	struct slab *next;
	struct thrum_promise promise[SLAB_PROMISES];
};

/* ---- Memory ---------------------------------------------------------------------------------- */

static void *allocate_by_malloc(void *context, size_t size)
{
	return malloc(size);
}

static void release_by_free(void *context, void *memory)
{
	free(memory);
}

void *thrum__promise_allocate(struct thrum_loop *loop, size_t size)
{
	void *memory;

	thrum__promise_loop_check(loop);
	memory = loop->memory.allocate(loop->memory.context, size);
	return memory ? memset(memory, 0, size) : NULL;
}

void thrum__promise_release(struct thrum_loop *loop, void *memory)
{
	if (memory)
		loop->memory.release(loop->memory.context, memory);
}

const struct thrum__promise_memory *thrum__promise_loop_memory(const struct thrum_loop *loop)
{
	return &loop->memory;
}

char *thrum__promise_loop_buffer(struct thrum_loop *loop)
{
	if (!loop->buffer)
		loop->buffer = thrum__promise_allocate(loop, THRUM__PROMISE_BUFFER_SIZE);
	return loop->buffer;
}

bool thrum__promise_loop_is_closing(const struct thrum_loop *loop)
{
	return loop->closing;
}

struct thrum_inbox **thrum__promise_loop_answers(struct thrum_loop *loop)
{
	thrum__promise_loop_check(loop);
	return &loop->answers;
}

static void unref_loop_memory(struct thrum_loop *loop)
{
	if (--loop->handles == 0)
		loop->memory.release(loop->memory.context, loop);
}

void *thrum__promise_hold(struct thrum_loop *loop, size_t size,
	void (*stop)(struct thrum__promise_held *held))
{
	struct thrum__promise_held *held = loop->closing ? NULL
							 : thrum__promise_allocate(loop, size);

	if (!held)
		return NULL;
	held->loop = loop;
	held->stop = stop;
	held->next = loop->held;
	if (held->next)
		held->next->previous = held;
	loop->held = held;
	loop->handles++;
	return held;
}

void thrum__promise_held_end(struct thrum__promise_held *held)
{
	struct thrum_loop *loop = held->loop;

	if (held->previous)
		held->previous->next = held->next;
	else
		loop->held = held->next;
	if (held->next)
		held->next->previous = held->previous;
	thrum__promise_release(loop, held);
	unref_loop_memory(loop);
}

/* Links the blocks in such an order that the first one is used first, so that memory is used from
 * its beginning. */
static bool add_slab(struct thrum_loop *loop)
{
	struct slab *slab = loop->memory.allocate(loop->memory.context, sizeof(*slab));
	size_t i;

	if (!slab)
		return false;
	slab->next = loop->slabs;
	loop->slabs = slab;
	for (i = SLAB_PROMISES; i-- > 0;) {
		slab->promise[i].loop = loop;
		slab->promise[i].state = UNUSED;
		slab->promise[i].next = loop->free;
		loop->free = &slab->promise[i];
		thrum__promise_poison(&slab->promise[i]);
	}
	return true;
}

struct thrum_promise *thrum__promise_new(struct thrum_loop *loop)
{
	thrum__promise_loop_check(loop);
	if (!loop->free && (loop->closing || !add_slab(loop)))
		return NULL;
	return thrum__promise_take(loop);
}

size_t thrum_loop_promises(const struct thrum_loop *loop)
{
	return loop ? loop->promises : 0;
}

/* ---- The deferred list ----------------------------------------------------------------------- */

void thrum__promise_defer(struct thrum_loop *loop, struct thrum_promise *promise)
{
	promise->next = NULL;
	if (loop->deferred.last)
		loop->deferred.last->next = promise;
	else
		loop->deferred.first = promise;
	loop->deferred.last = promise;
	if (promise->flags & DEFERRED)
		thrum_task_ready(promise->task);
}

void thrum__promise_run_deferred(struct thrum_loop *loop)
{
	struct thrum_promise *promise;

	loop->depth = 1;
	while ((promise = loop->deferred.first)) {
		loop->deferred.first = promise->next;
		if (!loop->deferred.first)
			loop->deferred.last = NULL;
		if (promise->flags & DEFERRED) {
			struct thrum_promise *source = promise->waiting.source;

			promise->flags &= (uint8_t)~DEFERRED;
			promise->waiting.source = NULL;
			thrum__promise_run_waiter(promise, source);
			thrum__promise_unref(source);
		} else {
			thrum__promise_run_waiters(promise);
		}
	}
	loop->depth = 0;
}

/* ---- Pausing --------------------------------------------------------------------------------- */

static void resume_paused(uv_idle_t *idle)
{
	struct thrum_loop *loop = (struct thrum_loop *)((char *)idle -
		offsetof(struct thrum_loop, idle));
	struct thrum_promise *promise = loop->paused.first, *next;

	thrum__promise_loop_resume(loop);
	uv_idle_stop(idle);
	loop->paused = (struct promise_list){NULL, NULL};
	/* A promise that pauses again waits for the next turn. */
	for (; promise; promise = next) {
		next = promise->closure.data;
		thrum_resolver_resolve((struct thrum_resolver *)promise, thrum_value_none());
	}
}

struct thrum_promise *thrum__promise_pause(struct thrum_site *site, struct thrum_loop *loop)
{
	struct thrum_resolver *resolver;
	struct thrum_promise *promise, *paused;

	if (!loop)
		return NULL;
	promise = thrum__promise_request(site, loop, THRUM_KIND_WAIT, "pause",
		thrum__promise_canceled_nothing, NULL, &resolver);
	paused = (struct thrum_promise *)resolver;
	if (paused == &loop->no_memory)
		return promise;
	if (loop->paused.last)
		loop->paused.last->closure.data = paused;
	else
		loop->paused.first = paused;
	loop->paused.last = paused;
	thrum_task_ready(paused->task);
	uv_idle_start(&loop->idle, resume_paused);
	return promise;
}

/* ---- Waiting for events ---------------------------------------------------------------------- */

static void record_suspend(uv_prepare_t *prepare)
{
	struct thrum_loop *loop = (struct thrum_loop *)((char *)prepare -
		offsetof(struct thrum_loop, prepare));

	/* uv_backend_timeout can't tell whether the loop will wait: it returns 0 as long as the
	 * kernel doesn't know a new watcher, and libuv tells the kernel only after this. */
	if (!thrum_enabled() || uv_is_active((uv_handle_t *)&loop->idle))
		return;
	loop->task = thrum_task_current();
	loop->suspended = true;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
}

void thrum__promise_loop_resume(struct thrum_loop *loop)
{
	if (!loop->suspended)
		return;
	loop->suspended = false;
	thrum_resume();
}

static void record_resume(uv_check_t *check)
{
	thrum__promise_loop_resume(
		(struct thrum_loop *)((char *)check - offsetof(struct thrum_loop, check)));
}

/* ---- Loops ----------------------------------------------------------------------------------- */

#if defined(THRUM_DEBUG) && THRUM_DEBUG >= 1
void thrum__promise_loop_check(const struct thrum_loop *loop)
{
	uv_thread_t self = uv_thread_self();

	assert(uv_thread_equal(&loop->thread, &self));
}
#endif

static void init_permanent(struct thrum_loop *loop, struct thrum_promise *promise)
{
	promise->loop = loop;
	promise->references = 1;
	promise->state = RESOLVED;
}

/* Starts the handles of the loop. None of them keeps the uv loop alive while nothing pauses. */
static void init_loop_handles(struct thrum_loop *loop)
{
	/* In libuv these calls can't fail. */
	uv_idle_init(loop->uv, &loop->idle);
	uv_prepare_init(loop->uv, &loop->prepare);
	uv_check_init(loop->uv, &loop->check);
	loop->handles = 3;
	uv_prepare_start(&loop->prepare, record_suspend);
	uv_check_start(&loop->check, record_resume);
	uv_unref((uv_handle_t *)&loop->prepare);
	uv_unref((uv_handle_t *)&loop->check);
}

int thrum__promise_loop_create(struct uv_loop_s *uv, const struct thrum__promise_memory *memory,
	struct thrum_loop **made)
{
	struct thrum_loop *loop;

	if (!uv || !made)
		return -EINVAL;
	loop = memory->allocate(memory->context, sizeof(*loop));
	if (!loop)
		return -ENOMEM;
	memset(loop, 0, sizeof(*loop));
	loop->uv = uv;
	loop->memory = *memory;
	loop->thread = uv_thread_self();
	loop->task = thrum_task_current();
	thrum__promise_failure_init(&loop->no_memory_failure, -ENOMEM);
	thrum__promise_failure_init(&loop->canceled_failure, THRUM_CANCELED);
	init_permanent(loop, &loop->nothing);
	init_permanent(loop, &loop->no_memory);
	loop->no_memory.state = FAILED;
	loop->no_memory.failure = &loop->no_memory_failure;
	init_loop_handles(loop);
	*made = loop;
	return 0;
}

int thrum_loop_create(struct uv_loop_s *uv, struct thrum_loop **loop)
{
	return thrum__promise_loop_create(uv,
		&(struct thrum__promise_memory){allocate_by_malloc, release_by_free, NULL}, loop);
}

static void loop_handle_closed(uv_handle_t *handle)
{
	unref_loop_memory(handle->data);
}

/* Destroys the value and the data of a promise. Destructors may call this library; while `closing`
 * is set, nothing runs and nothing is freed. */
static void destroy_content(struct thrum_promise *promise)
{
	if (promise->action >= BIND && promise->action <= ASYNC) {
		struct closure closure = promise->closure;

		if (closure.destroy) {
			promise->closure.destroy = NULL;
			closure.destroy(closure.data);
		}
	}
	if (promise->state == RESOLVED) {
		struct thrum_value value = promise->value;

		promise->value = thrum_value_none();
		thrum_value_destroy(value);
	} else if (promise->state == FAILED) {
		thrum__promise_failure_unref(promise->loop, promise->failure);
	}
}

void thrum_loop_destroy(struct thrum_loop *loop)
{
	uv_handle_t *handles[3];
	struct thrum__promise_held *held;
	struct slab *slab;
	size_t i;

	if (!loop)
		return;
	thrum__promise_loop_check(loop);
	assert(loop->depth == 0);
	loop->closing = true;
	loop->free = NULL;
	for (held = loop->held; held; held = held->next) {
		held->resolver = NULL;
		if (held->stop)
			held->stop(held);
	}
	for (slab = loop->slabs; slab; slab = slab->next)
		for (i = 0; i < SLAB_PROMISES; i++)
			if (slab->promise[i].state != UNUSED)
				destroy_content(&slab->promise[i]);
	thrum__promise_release(loop, loop->buffer);
	loop->buffer = NULL;
	while ((slab = loop->slabs)) {
		loop->slabs = slab->next;
		ASAN_UNPOISON_MEMORY_REGION(slab, sizeof(*slab));
		loop->memory.release(loop->memory.context, slab);
	}
	handles[0] = (uv_handle_t *)&loop->idle;
	handles[1] = (uv_handle_t *)&loop->prepare;
	handles[2] = (uv_handle_t *)&loop->check;
	for (i = 0; i < 3; i++) {
		handles[i]->data = loop;
		uv_close(handles[i], loop_handle_closed);
	}
}

struct uv_loop_s *thrum_loop_uv(const struct thrum_loop *loop)
{
	return loop ? loop->uv : NULL;
}

/* ---- Failures that nobody handles ------------------------------------------------------------ */

void thrum_loop_on_unhandled(struct thrum_loop *loop, thrum_unhandled *hook, void *data)
{
	if (!loop)
		return;
	loop->unhandled = hook;
	loop->unhandled_data = data;
}

size_t thrum_loop_unhandled(const struct thrum_loop *loop)
{
	return loop ? loop->unhandled_count : 0;
}

void thrum__promise_report_unhandled(struct thrum_loop *loop, const struct thrum_failure *failure)
{
	loop->unhandled_count++;
	if (loop->unhandled)
		loop->unhandled(loop, failure, loop->unhandled_data);
	else
		thrum_logf("unhandled failure: %s", failure->message);
}
