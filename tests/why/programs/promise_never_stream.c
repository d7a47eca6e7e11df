/* SPDX-License-Identifier: ISC */
/*
 * A producer puts all lines into a stream and ends without closing it; the task that counts the
 * lines waits for the next. The twin closes the stream.
 */
#include "promises.h"

static struct thrum_stream *lines;

static struct thrum_promise *count(struct thrum_loop *loop, void *value, void *data)
{
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	return thrum_promise_bind(thrum_promise_label(thrum_stream_next(lines), name("next line")),
		count, data, NULL);
}

static struct thrum_promise *produce(struct thrum_loop *loop, void *data)
{
	(void)data;
	for (intptr_t line = 1; line <= 3; line++) {
		at(10 * (unsigned)line);
		thrum_promise_unref(thrum_stream_push(lines, thrum_value_int(line)));
	}
	at(40);
	if (!broken)
		thrum_stream_close(lines);
	return thrum_promise_return(loop, thrum_value_none());
}

static void story(void)
{
	struct thrum_loop *loop = make_loop();
	struct thrum_promise *total;

	lines = thrum_stream_create(loop, name("lines"), 8);
	at(1);
	total = thrum_promise_bind(thrum_stream_next(lines), count, NULL, NULL);
	thrum_promise_should_resolve(thrum_promise_label(total, name("count lines")));
	thrum_promise_async(loop, name("producer"), produce, NULL, NULL);
	beat_until(2000);
	if (broken)
		killed();
	thrum_promise_unref(total);
	thrum_stream_destroy(lines);
	end_loop(loop);
}
