/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: “refresh rates” asks the bank (140 ms) while it holds the mutex “rates”, instead of taking it only to store the
 *     answer. The quotes need the mutex, and take much longer.
 *   culprit: refresh
 *   victim: quote
 */
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define QUOTES 40

static struct thrum_mutex *rates;
static struct thrum_stream *printed;
static int bad, rate = 100, lines;

static struct thrum_promise *store(struct thrum_loop *loop, void *data)
{
	(void)data;
	rate++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *ask_bank(struct thrum_loop *loop)
{
	return thrum_promise_label(thrum_sleep(loop, 140), "GET bank/rates");
}

static struct thrum_promise *store_then(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return bad ? store(loop, data) : thrum_mutex_with(rates, store, data, NULL);
}

static struct thrum_promise *ask_and_store(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(ask_bank(loop), store_then, data, NULL);
}

static struct thrum_promise *refresh(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return bad ? thrum_mutex_with(rates, ask_and_store, data, NULL) : ask_and_store(loop, data);
}

static struct thrum_promise *compute(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_sleep(loop, 1);
}

static struct thrum_promise *print(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return thrum_stream_push(printed, thrum_value_int(rate + (int)(intptr_t)data));
}

static struct thrum_promise *quote(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return thrum_promise_bind(thrum_mutex_with(rates, compute, NULL, NULL), print, data, NULL);
}

/* Waits for the time of the request; the request itself is a task of its own. */
static struct thrum_promise *arrive(struct thrum_loop *loop, void *value, void *data)
{
	return thrum_promise_label(quote(loop, value, data), "quote");
}

static struct thrum_promise *printer(struct thrum_loop *loop, void *data);

static struct thrum_promise *print_line(struct thrum_loop *loop, void *value, void *data)
{
	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	lines++;
	return printer(loop, data);
}

static struct thrum_promise *printer(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_stream_next(printed), print_line, data, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[QUOTES + 1], *printing;
	struct thrum_loop *loop;
	int result;

	bad = argc > 1 && !strcmp(argv[1], "bad");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	rates = thrum_mutex_create(loop, "rates");
	printed = thrum_stream_create(loop, "printed", 8);
	printing = thrum_promise_label(printer(loop, NULL), "printer");
	for (int i = 0; i < QUOTES; i++)
		all[i] = thrum_promise_bind(thrum_sleep(loop, 10 * (i + 1)), arrive,
			(void *)(intptr_t)i, NULL);
	all[QUOTES] = thrum_promise_label(thrum_promise_bind(thrum_sleep(loop, 105), refresh, NULL,
						  NULL),
		"refresh rates");
	result = thrum_promise_run(thrum_promise_join(loop, all, QUOTES + 1));
	thrum_stream_close(printed);
	if (!result)
		result = thrum_promise_run(printing);
	thrum_stop();
	printf("%d quotes: %s\n", lines, thrum_promise_error_message(result));
	return result != 0;
}
