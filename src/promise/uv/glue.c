/* SPDX-License-Identifier: ISC */
#include "promise/uv/glue.h"
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

/* ---- Beginning and ending operations --------------------------------------------------------- */

struct thrum_promise *thrum__promise_uv_begin(struct thrum__promise_held *held,
	struct thrum_site *site, enum thrum_kind kind, const char *label,
	thrum__promise_canceled *canceled, bool *began)
{
	struct thrum_promise *promise = thrum__promise_request(site, held->loop, kind, label,
		canceled, held, &held->resolver);

	held->site = site;
	*began = thrum_promise_state(promise) == THRUM_PROMISE_PENDING;
	if (!*began) {
		thrum_resolver_drop(held->resolver);
		thrum__promise_held_end(held);
	}
	return promise;
}

struct thrum_promise *thrum__promise_uv_refused(struct thrum__promise_held *held,
	struct thrum_promise *promise, int code)
{
	thrum__promise_uv_end(held, code, thrum_value_none());
	return promise;
}

void thrum__promise_uv_resolve(struct thrum_resolver **place, struct thrum_value value)
{
	struct thrum_resolver *resolver = *place;

	*place = NULL;
	if (thrum_resolver_wanted(resolver))
		thrum__promise_end_alone(resolver, NULL, 0, value);
	else
		thrum_resolver_resolve(resolver, value);
}

void thrum__promise_uv_fail(struct thrum_resolver **place, struct thrum_site *site, int code)
{
	struct thrum_resolver *resolver = *place;

	*place = NULL;
	if (thrum_resolver_wanted(resolver))
		thrum__promise_end_alone(resolver, site, code, thrum_value_none());
	else
		thrum_resolver_drop(resolver);
}

void thrum__promise_uv_end(struct thrum__promise_held *held, int code, struct thrum_value value)
{
	struct thrum_resolver *resolver = held->resolver;
	struct thrum_site *site = held->site;

	thrum__promise_held_end(held);
	if (code == 0) {
		thrum__promise_uv_resolve(&resolver, value);
	} else {
		thrum_value_destroy(value);
		thrum__promise_uv_fail(&resolver, site, code);
	}
}

void thrum__promise_uv_closed(uv_handle_t *handle)
{
	thrum__promise_uv_end(handle->data, 0, thrum_value_none());
}

void thrum__promise_uv_close(uv_handle_t *handle)
{
	if (!uv_is_closing(handle))
		uv_close(handle, thrum__promise_uv_closed);
}

const char *thrum__promise_uv_label(char *buffer, size_t size, const char *format, ...)
{
	va_list arguments;

	if (!thrum_enabled())
		return NULL;
	va_start(arguments, format);
	vsnprintf(buffer, size, format, arguments);
	va_end(arguments);
	return buffer;
}

/* ---- Values ---------------------------------------------------------------------------------- */

struct owned_block {
	void (*release)(void *context, void *memory);
	void *context;
	max_align_t data[];
};

void *thrum__promise_owned_create(struct thrum_loop *loop, size_t size)
{
	const struct thrum__promise_memory *memory = thrum__promise_loop_memory(loop);
	struct owned_block *owned = NULL;

	if (size <= SIZE_MAX - sizeof(*owned))
		owned = thrum__promise_allocate(loop, sizeof(*owned) + size);
	if (!owned)
		return NULL;
	owned->release = memory->release;
	owned->context = memory->context;
	return owned->data;
}

void thrum__promise_owned_destroy(void *data)
{
	struct owned_block *owned = (struct owned_block *)((char *)data -
		offsetof(struct owned_block, data));

	owned->release(owned->context, owned);
}

struct thrum_bytes *thrum__promise_bytes_create(struct thrum_loop *loop, size_t size)
{
	struct thrum_bytes *bytes = NULL;

	if (size < SIZE_MAX - sizeof(*bytes))
		bytes = thrum__promise_owned_create(loop, sizeof(*bytes) + size);
	if (!bytes)
		return NULL;
	bytes->data = (char *)(bytes + 1);
	bytes->size = size;
	return bytes;
}
