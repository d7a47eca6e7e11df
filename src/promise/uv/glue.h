/* SPDX-License-Identifier: ISC */
/* The parts that all files around libuv share: beginning and ending an operation of libuv, labels,
 * and values that libuv's results are copied to. */
#ifndef PROMISE_UV_GLUE_H
#define PROMISE_UV_GLUE_H

#include "promise/sync/waiters.h"

/*
 * Returns the promise for a block that libuv doesn't know yet; `canceled` gets the block as its
 * data. Without memory this ends the block and sets *began to false; the promise has then failed,
 * and the caller returns it.
 */
struct thrum_promise *thrum__promise_uv_begin(struct thrum__promise_held *held,
	struct thrum_site *site, enum thrum_kind kind, const char *label,
	thrum__promise_canceled *canceled, bool *began);

/* For an operation that libuv refused: fails the promise, ends the block and returns the
 * promise. */
struct thrum_promise *thrum__promise_uv_refused(struct thrum__promise_held *held,
	struct thrum_promise *promise, int code);

/* End the promise of a resolver while its task runs, and set *resolver to NULL. If *resolver is
 * NULL already, they only destroy the value. `site` is the place that the failure names. */
void thrum__promise_uv_resolve(struct thrum_resolver **resolver, struct thrum_value value);
void thrum__promise_uv_fail(struct thrum_resolver **resolver, struct thrum_site *site, int code);

/*
 * Ends a block and then the promise of its resolver, so that callbacks see the block gone. The
 * promise is resolved with the value if the code is 0; else the value is destroyed and the promise
 * fails with the code.
 */
void thrum__promise_uv_end(struct thrum__promise_held *held, int code, struct thrum_value value);

/* A callback for uv_close, for a handle whose `data` is the block: ends the block, resolved with no
 * value. */
void thrum__promise_uv_closed(uv_handle_t *handle);
/* Closes a handle so, unless it is being closed already. */
void thrum__promise_uv_close(uv_handle_t *handle);

/* Formats a label while something is recorded, and returns it; else returns NULL. */
const char *thrum__promise_uv_label(char *buffer, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Room for any label. */
#define THRUM__PROMISE_LABEL_SIZE (THRUM_TEXT_MAX + 2)

/* Allocates the zeroed memory of a promise's value, which may outlive the loop; NULL without
 * memory. */
void *thrum__promise_owned_create(struct thrum_loop *loop, size_t size);
void thrum__promise_owned_destroy(void *data);
static inline struct thrum_value thrum__promise_owned_value(void *data)
{
	return thrum_value_own(data, thrum__promise_owned_destroy);
}

/* Allocates such memory for a struct thrum_bytes with room for `size` bytes; NULL without
 * memory. */
struct thrum_bytes *thrum__promise_bytes_create(struct thrum_loop *loop, size_t size);

#endif
