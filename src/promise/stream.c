/* SPDX-License-Identifier: ISC */
/* A bounded queue. What is in it, who waits for room with a value, and who waits for values. */
#include "promise/waiters.h"

struct thrum_stream {
	struct thrum__line values, writers, readers;
	size_t capacity;
	bool is_closed;
};

struct thrum_stream *thrum__stream_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, size_t capacity)
{
	struct thrum_stream *stream = loop && capacity > 0 ? thrum__allocate(loop, sizeof(*stream))
							   : NULL;

	if (stream) {
		stream->values = thrum__line_of(loop,
			thrum__trace_create(site, THRUM_KIND_STREAM, label));
		stream->writers = stream->readers = stream->values;
		stream->capacity = capacity;
	}
	return stream;
}

void thrum_stream_destroy(struct thrum_stream *stream)
{
	if (!stream)
		return;
	stream->is_closed = true;
	thrum__line_break(&stream->readers, THRUM_BROKEN);
	thrum__line_break(&stream->writers, THRUM_BROKEN);
	thrum__line_break(&stream->values, THRUM_BROKEN);
	thrum_task_resolve(stream->values.task);
	thrum__release(stream->values.loop, stream);
}

/* ---- Writing -----------------------------------------------------------------------------------
 */

static bool has_room(const struct thrum_stream *stream)
{
	return stream->values.count < stream->capacity;
}

bool thrum_stream_try_push(struct thrum_stream *stream, struct thrum_value value)
{
	struct thrum_resolver *reader;

	if (!stream || !value.data || stream->is_closed || !has_room(stream))
		return false;
	thrum__loop_check(stream->values.loop);
	reader = thrum__line_serve(&stream->readers, NULL);
	if (!reader)
		return thrum__line_leave(&stream->values, value);
	thrum_resolver_resolve(reader, value);
	return true;
}

struct thrum_promise *thrum__stream_push(struct thrum_site *site, struct thrum_stream *stream,
	struct thrum_value value)
{
	struct thrum_loop *loop;
	struct thrum_promise *promise;

	if (!stream) {
		thrum_value_destroy(value);
		return NULL;
	}
	loop = stream->values.loop;
	if (value.data && !stream->is_closed && !has_room(stream))
		return thrum__line_join(site, &stream->writers, THRUM_KIND_WAIT, NULL, value);
	if (thrum_stream_try_push(stream, value))
		return thrum_promise_return(loop, thrum_value_none());
	if (!value.data)
		promise = thrum__promise_fail_code(site, loop, -EINVAL);
	else if (stream->is_closed)
		promise = thrum__promise_fail_code(site, loop, -EPIPE);
	else
		promise = thrum__promise_no_memory(loop);
	thrum_value_destroy(value);
	return promise;
}

void thrum_stream_close(struct thrum_stream *stream)
{
	struct thrum__line readers;
	struct thrum_resolver *resolver;

	if (!stream || stream->is_closed)
		return;
	stream->is_closed = true;
	/* Callbacks may destroy the stream. */
	readers = thrum__line_of(stream->values.loop, stream->values.task);
	thrum__line_move(&stream->readers, &readers);
	while ((resolver = thrum__line_serve(&readers, NULL)))
		thrum_resolver_resolve(resolver, thrum_value_none());
}

/* ---- Reading -----------------------------------------------------------------------------------
 */

/* The first that waits for room, if there is some: its value moves over with its place in line. */
static struct thrum_resolver *admit(struct thrum_stream *stream)
{
	struct thrum__waiter *writer = stream->writers.first;
	struct thrum_resolver *resolver;

	if (!writer)
		return NULL;
	thrum__line_remove(writer);
	resolver = writer->resolver;
	writer->resolver = NULL;
	thrum__line_append(&stream->values, writer);
	return resolver;
}

struct thrum_promise *thrum__stream_next(struct thrum_site *site, struct thrum_stream *stream)
{
	struct thrum_loop *loop;
	struct thrum_promise *promise;
	struct thrum_value value;

	if (!stream)
		return NULL;
	loop = stream->values.loop;
	if (stream->values.count == 0) {
		if (stream->is_closed)
			return thrum_promise_return(loop, thrum_value_none());
		return thrum__line_join(site, &stream->readers, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	}
	thrum_task_read(thrum_task_current(), stream->values.task);
	thrum__line_serve(&stream->values, &value);
	promise = thrum_promise_return(loop, value);
	thrum_resolver_resolve(admit(stream), thrum_value_none());
	return promise;
}

size_t thrum_stream_length(const struct thrum_stream *stream)
{
	return stream ? stream->values.count : 0;
}
