/* SPDX-License-Identifier: ISC */
/* Failures. Each is a block of its own that counts its references, because one failure passes
 * through many promises. */
#include "promise/core/core.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill_failure(struct counted_failure *failure, int code, const struct thrum_site *place)
{
	failure->references = 1;
	failure->shown.code = code;
	failure->shown.message = thrum_promise_error_message(code);
	if (place) {
		failure->shown.file = place->file;
		failure->shown.function = place->function;
		failure->shown.line = place->line;
	}
}

/* The loop owns the one reference, so these are never freed. */
void thrum__promise_failure_init(struct counted_failure *failure, int code)
{
	fill_failure(failure, code, NULL);
}

static struct counted_failure *new_failure_with_text(struct thrum_loop *loop,
	const struct thrum_site *place, int code, const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	struct counted_failure *failure = loop->closing
		? NULL
		: thrum__promise_allocate(loop, sizeof(*failure) + size);

	if (!failure)
		return thrum__promise_failure_ref(&loop->no_memory_failure);
	fill_failure(failure, code ? code : -EINVAL, place);
	if (text)
		failure->shown.message = memcpy(failure + 1, text, size);
	return failure;
}

struct counted_failure *thrum__promise_failure_plain(struct thrum_loop *loop,
	const struct thrum_site *place, int code)
{
	return new_failure_with_text(loop, place, code, NULL);
}

struct counted_failure *thrum__promise_failure_new(struct thrum_loop *loop,
	const struct thrum_site *place, int code, const char *format, va_list arguments)
{
	char text[THRUM_TEXT_MAX + 1];

	if (!format || vsnprintf(text, sizeof(text), format, arguments) < 0)
		return thrum__promise_failure_plain(loop, place, code);
	return new_failure_with_text(loop, place, code, text);
}

/* The address that users see is that of the first member. */
struct counted_failure *thrum__promise_failure_again(struct thrum_loop *loop,
	const struct thrum_failure *failure)
{
	return failure ? thrum__promise_failure_ref((struct counted_failure *)(uintptr_t)failure)
		       : thrum__promise_failure_plain(loop, NULL, -EINVAL);
}

struct counted_failure *thrum__promise_failure_ref(struct counted_failure *failure)
{
	failure->references++;
	return failure;
}

void thrum__promise_failure_unref(struct thrum_loop *loop, struct counted_failure *failure)
{
	if (--failure->references == 0)
		thrum__promise_release(loop, failure);
}
