/* SPDX-License-Identifier: ISC */
/* Streams: bounded queues. A stream has a queue of values, one of writers that wait for room, each
 * with its value, and one of readers. */
#include "promise/sync/waiters.h"

struct thrum_stream {
	struct thrum__promise_wait_queue values, writers, readers;
	size_t capacity;
	bool is_closed;
};

struct thrum_stream *thrum__stream_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, size_t capacity)
{
	struct thrum_stream *stream = loop && capacity > 0
		? thrum__promise_allocate(loop, sizeof(*stream))
		: NULL;

	if (stream) {
		thrum__promise_wait_queue_init(&stream->values, loop,
			thrum__promise_trace_create(site, THRUM_KIND_STREAM, label));
		stream->writers = stream->readers = stream->values;
		stream->writers.brings = true;
		stream->capacity = capacity;
	}
	return stream;
}

void thrum_stream_destroy(struct thrum_stream *stream)
{
	if (!stream)
		return;
	stream->is_closed = true;
	thrum__promise_wait_queue_close(&stream->readers, THRUM_BROKEN);
	thrum__promise_wait_queue_close(&stream->writers, THRUM_BROKEN);
	thrum__promise_wait_queue_close(&stream->values, THRUM_BROKEN);
	thrum_task_resolve(stream->values.task);
	thrum__promise_release(stream->values.loop, stream);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool stream_has_room(const struct thrum_stream *stream)
{
	return stream->values.count < stream->capacity;
}

bool thrum_stream_try_push(struct thrum_stream *stream, struct thrum_value value)
{
	struct thrum_resolver *reader;

	if (!stream || !value.data || stream->is_closed || !stream_has_room(stream))
		return false;
	thrum__promise_loop_check(stream->values.loop);
	if (!stream->readers.first && !thrum__promise_wait_queue_push_value(&stream->values, value))
		return false;
	thrum__promise_wait_queue_record_signal(&stream->readers);
	reader = thrum__promise_wait_queue_pop(&stream->readers, NULL);
	if (reader)
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
	if (value.data && !stream->is_closed && !stream_has_room(stream))
		return thrum__promise_wait_queue_join(site, &stream->writers, THRUM_KIND_WAIT, NULL,
			value);
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
	struct thrum__promise_wait_queue readers;
	struct thrum_resolver *resolver;

	if (!stream || stream->is_closed)
		return;
	stream->is_closed = true;
	thrum__promise_wait_queue_record_signal(&stream->readers);
	/* The readers move out first, because their callbacks may destroy the stream. */
	thrum__promise_wait_queue_init(&readers, stream->values.loop, stream->values.task);
	thrum__promise_wait_queue_move(&stream->readers, &readers);
	while ((resolver = thrum__promise_wait_queue_pop(&readers, NULL)))
		thrum_resolver_resolve(resolver, thrum_value_none());
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Moves the value of the first writer, if there is one, to the queue of values, in the same waiter.
 * Returns the resolver of the writer, or NULL. */
static struct thrum_resolver *admit_writer(struct thrum_stream *stream)
{
	struct thrum__promise_waiter *writer = stream->writers.first;
	struct thrum_resolver *resolver;

	if (!writer)
		return NULL;
	thrum__promise_wait_queue_remove(writer);
	resolver = writer->resolver;
	writer->resolver = NULL;
	thrum__promise_wait_queue_record_served(&stream->writers, resolver);
	thrum__promise_wait_queue_append(&stream->values, writer);
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
		return thrum__promise_wait_queue_join(site, &stream->readers, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	}
	thrum_task_read(thrum_task_current(), stream->values.task);
	thrum__promise_wait_queue_pop(&stream->values, &value);
	promise = thrum_promise_return(loop, value);
	thrum_resolver_resolve(admit_writer(stream), thrum_value_none());
	return promise;
}

size_t thrum_stream_length(const struct thrum_stream *stream)
{
	return stream ? stream->values.count : 0;
}
