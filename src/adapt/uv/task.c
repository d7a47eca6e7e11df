/* SPDX-License-Identifier: ISC */
#include "adapt/uv/uv.h"

#include <errno.h>

#include "port/port.h"

REAL(uv_run)
REAL(uv_err_name)

/* Where libuv's own code lies. It calls some of its functions as others do. */
static _Atomic uintptr_t code_start, code_end;

static void find_code(const void *caller)
{
	struct thrum__port_module module;
	const void *run = (const void *)(uintptr_t)real_uv_run(caller);

	if (run && thrum__port_find_module(run, &module)) {
		atomic_store(&code_start, module.address);
		atomic_store(&code_end, module.address + module.size);
	} else {
		atomic_store(&code_end, 1);
	}
}

bool thrum__adapt_uv_is_code(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	return at >= atomic_load_explicit(&code_start, memory_order_relaxed) &&
		at < atomic_load_explicit(&code_end, memory_order_relaxed);
}

bool thrum__adapt_uv_begin(const void *caller)
{
	if (!is_chosen(ADAPTER_UV))
		return false;
	if (UNLIKELY(!atomic_load_explicit(&code_end, memory_order_relaxed)))
		find_code(caller);
	if (thrum__adapt_uv_is_code(caller))
		return false;
	thrum__adapt_start();
	thrum__adapt_acts++;
	return is_on(ADAPTER_UV);
}

static void begin_run(struct uv_run *run, const void *task, const void *callback)
{
	run->task = (uintptr_t)task;
	run->outer = thrum__adapt_callback;
	thrum__adapt_callback = callback;
	run->before = thrum_task_enter(run->task);
}

/* ---- Requests ------------------------------------------------------------------------------ */

/* Words of a request that libuv doesn't use. */
enum {
	REQUEST_TASK = 4,
	REQUEST_CALLBACK = 5
};

void thrum__adapt_uv_accepted(uv_req_t *req, thrum_task task, int result, void (*cb)(void))
{
	if (result < 0) {
		thrum_task_cancel(task);
		return;
	}
	req->reserved[REQUEST_TASK] = (void *)(uintptr_t)task;
	req->reserved[REQUEST_CALLBACK] = (void *)(uintptr_t)cb;
	thrum__adapt_uv_begins();
}

thrum_task thrum__adapt_uv_request_task(const uv_req_t *req)
{
	return (uintptr_t)req->reserved[REQUEST_TASK];
}

void (*thrum__adapt_uv_request_callback(const uv_req_t *req))(void)
{
	return (void (*)(void))(uintptr_t)req->reserved[REQUEST_CALLBACK];
}

void (*thrum__adapt_uv_run_request(struct uv_run *run, uv_req_t *req))(void)
{
	begin_run(run, req->reserved[REQUEST_TASK], req->reserved[REQUEST_CALLBACK]);
	return thrum__adapt_uv_request_callback(req);
}

void thrum__adapt_uv_end_request(const struct uv_run *run, ssize_t status)
{
	if (status == UV_ECANCELED)
		thrum_task_cancel(run->task);
	else if (status < 0)
		thrum_task_fail(run->task, real_uv_err_name(NULL)((int)status));
	else
		thrum_task_resolve(run->task);
	/* The callback got the result. */
	thrum_task_read(run->before, run->task);
	thrum__adapt_uv_end_run(run);
}

/* ---- Handles ------------------------------------------------------------------------------- */

/* Words of a handle that libuv doesn't use. The mark tells that the others are valid: a program need
 * not clear the memory of a handle. */
enum {
	HANDLE_TASK = 1,
	HANDLE_CALLBACK = 2,
	HANDLE_MARK = 3
};

static void *mark_of(const uv_handle_t *handle)
{
	return (void *)((uintptr_t)handle ^ (uintptr_t)0x7472756d61646170);
}

thrum_task thrum__adapt_uv_task(const uv_handle_t *handle)
{
	return handle->u.reserved[HANDLE_MARK] == mark_of(handle)
		? (uintptr_t)handle->u.reserved[HANDLE_TASK]
		: THRUM_TASK_NONE;
}

void thrum__adapt_uv_init(uv_handle_t *handle, int kind, const char *noun, const void *caller)
{
	thrum_task task = thrum__adapt_uv_begin(caller)
		? thrum__create(thrum__adapt_site(caller), kind, noun)
		: THRUM_TASK_NONE;

	handle->u.reserved[HANDLE_TASK] = (void *)(uintptr_t)task;
	handle->u.reserved[HANDLE_CALLBACK] = NULL;
	handle->u.reserved[HANDLE_MARK] = task ? mark_of(handle) : NULL;
}

bool thrum__adapt_uv_start(uv_handle_t *handle, const char *noun, void (*cb)(void),
	const void *caller)
{
	thrum_task task = thrum__adapt_uv_begin(caller) ? thrum__adapt_uv_task(handle)
							: THRUM_TASK_NONE;
	char label[PLACE_MAX];

	thrum__adapt_uv_started(handle);
	if (!task || !cb)
		return false;
	if (handle->u.reserved[HANDLE_CALLBACK] != (void *)(uintptr_t)cb) {
		int error = errno;

		thrum__adapt_label(label, noun, (const void *)(uintptr_t)cb);
		thrum_task_label(task, label);
		errno = error;
	}
	handle->u.reserved[HANDLE_CALLBACK] = (void *)(uintptr_t)cb;
	return true;
}

void thrum__adapt_uv_ended(uv_handle_t *handle)
{
	/* If it is being closed already, the callback for that is still needed. */
	handle->u.reserved[HANDLE_TASK] = NULL;
}

void thrum__adapt_uv_keep(uv_handle_t *handle, void (*cb)(void))
{
	handle->u.reserved[HANDLE_CALLBACK] = (void *)(uintptr_t)cb;
}

const void *thrum__adapt_uv_callback(const uv_handle_t *handle)
{
	return handle->u.reserved[HANDLE_CALLBACK];
}

void (*thrum__adapt_uv_run_handle(struct uv_run *run, const uv_handle_t *handle))(void)
{
	begin_run(run, handle->u.reserved[HANDLE_TASK], handle->u.reserved[HANDLE_CALLBACK]);
	return (void (*)(void))(uintptr_t)handle->u.reserved[HANDLE_CALLBACK];
}

void thrum__adapt_uv_end_run(const struct uv_run *run)
{
	thrum__adapt_callback = run->outer;
	thrum_task_leave(run->before);
}
