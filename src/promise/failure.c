/* SPDX-License-Identifier: ISC */
/* Why promises failed: blocks of their own, counted, as one failure goes through many promises. */
#include "promise/core.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct failure *failure, int code, const struct thrum_site *place)
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

/* The loop owns one reference: these are never freed. */
void thrum__failure_init(struct failure *failure, int code)
{
	fill(failure, code, NULL);
}

static struct failure *with_text(struct thrum_loop *loop, const struct thrum_site *place, int code,
	const char *text)
{
	size_t size = text ? strlen(text) + 1 : 0;
	struct failure *failure = loop->closing ? NULL
						: thrum__allocate(loop, sizeof(*failure) + size);

	if (!failure)
		return thrum__failure_ref(&loop->no_memory_failure);
	fill(failure, code ? code : -EINVAL, place);
	if (text)
		failure->shown.message = memcpy(failure + 1, text, size);
	return failure;
}

struct failure *thrum__failure_plain(struct thrum_loop *loop, const struct thrum_site *place,
	int code)
{
	return with_text(loop, place, code, NULL);
}

struct failure *thrum__failure_new(struct thrum_loop *loop, const struct thrum_site *place,
	int code, const char *format, va_list arguments)
{
	char text[THRUM_TEXT_MAX + 1];

	if (!format || vsnprintf(text, sizeof(text), format, arguments) < 0)
		return thrum__failure_plain(loop, place, code);
	return with_text(loop, place, code, text);
}

/* The shown part is the first member of one that we made. */
struct failure *thrum__failure_again(struct thrum_loop *loop, const struct thrum_failure *failure)
{
	return failure ? thrum__failure_ref((struct failure *)(uintptr_t)failure)
		       : thrum__failure_plain(loop, NULL, -EINVAL);
}

struct failure *thrum__failure_ref(struct failure *failure)
{
	failure->references++;
	return failure;
}

void thrum__failure_unref(struct thrum_loop *loop, struct failure *failure)
{
	if (--failure->references == 0)
		thrum__release(loop, failure);
}
