/* SPDX-License-Identifier: ISC */
/* What the glue to libuv has in common: beginning and ending what libuv does, and values. */
#ifndef PROMISE_UV_GLUE_H
#define PROMISE_UV_GLUE_H

#include "promise/waiters.h"

/* The promise of a block that libuv doesn't know yet; `canceled` gets the block. Without memory the
 * block is ended, and *began is false: the promise, which has failed, is what the caller returns.
 */
struct thrum_promise *thrum__uv_begin(struct thrum__held *held, struct thrum_site *site,
	enum thrum_kind kind, const char *label, thrum__canceled *canceled, bool *began);

/* libuv refused: fails the promise, which is given back, and ends the block. */
struct thrum_promise *thrum__uv_refused(struct thrum__held *held, struct thrum_promise *promise,
	int code);

/* End what a resolver stands for, as a run of its task; it is NULL then. NULL already: only the
 * value is destroyed. */
void thrum__uv_resolve(struct thrum_resolver **resolver, struct thrum_value value);
void thrum__uv_fail(struct thrum_resolver **resolver, struct thrum_site *site, int code);

/* The same for a block, which is ended before callbacks run. A code of 0: resolved with the value,
 * else that is destroyed. */
void thrum__uv_end(struct thrum__held *held, int code, struct thrum_value value);

/* For uv_close: a handle's `data` is the block; who waits for its end is told. */
void thrum__uv_closed(uv_handle_t *handle);
/* Closes a handle, unless it is being closed. */
void thrum__uv_close(uv_handle_t *handle);

/* A label, made only when recording; else NULL. */
const char *thrum__uv_label(char *buffer, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Room for any label. */
#define THRUM__LABEL_SIZE (THRUM_TEXT_MAX + 2)

/* A block that is a promise's value, zeroed; NULL without memory. It may outlive the loop. */
void *thrum__owned_create(struct thrum_loop *loop, size_t size);
void thrum__owned_destroy(void *data);
static inline struct thrum_value thrum__owned_value(void *data)
{
	return thrum_value_own(data, thrum__owned_destroy);
}

/* The same with room for so many bytes. */
struct thrum_bytes *thrum__bytes_create(struct thrum_loop *loop, size_t size);

#endif
