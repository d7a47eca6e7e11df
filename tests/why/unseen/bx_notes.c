/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 2000
 *   ask: why
 *   truth: note_save locks the mutex "index", writes the note, and unlocks the mutex in a callback of bind. When
 *     "PUT /note/6" fails (the disk is full), that callback isn't called: the request is answered with 507,
 *     and the mutex stays locked. The next requests that save wait for it for ever.
 *   culprit: PUT /note/6|note_save|note_write|index_locked
 *   victim: PUT /note/7|PUT /note/8
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A service that keeps notes: PUT changes the index of all notes, under a lock; GET only reads. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	PUTS = 12,
	GETS = 450,
	QUOTA = 4096,
};

struct put {
	unsigned number;
	unsigned size;
};

static bool broken;
static struct thrum_mutex *index_lock;
static unsigned used;
static unsigned saved;
static unsigned refused;
static unsigned read_count;

static struct thrum_promise *note_written(struct thrum_loop *loop, void *value, void *data)
{
	struct put *put = data;

	(void)value;
	used += put->size;
	return thrum_promise_return(loop, thrum_value_none());
}

/* Writes the note to the disk. */
static struct thrum_promise *note_write(struct thrum_loop *loop, struct put *put)
{
	struct thrum_promise *write;

	if (used + put->size > QUOTA)
		return thrum_promise_fail(loop, -ENOSPC, "note %u is too large", put->number);
	write = thrum_promise_label(thrum_sleep(loop, 8), "write note");
	return thrum_promise_bind(write, note_written, put, NULL);
}

static struct thrum_promise *index_unlock(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	thrum_mutex_unlock(index_lock);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *index_release(struct thrum_loop *loop, void *data)
{
	return index_unlock(loop, NULL, data);
}

static struct thrum_promise *index_locked(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	if (broken)
		return thrum_promise_bind(note_write(loop, data), index_unlock, NULL, NULL);
	return thrum_promise_finalize(note_write(loop, data), index_release, NULL, NULL);
}

static struct thrum_promise *note_save(struct thrum_loop *loop, struct put *put)
{
	(void)loop;
	return thrum_promise_bind(thrum_mutex_lock(index_lock), index_locked, put, NULL);
}

static struct thrum_promise *answer_saved(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	saved++;
	return thrum_promise_return(loop, thrum_value_int(201));
}

static struct thrum_promise *answer_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	(void)failure;
	(void)data;
	refused++;
	return thrum_promise_return(loop, thrum_value_int(507));
}

/* Serves a request to save a note. */
static struct thrum_promise *serve_put(struct thrum_loop *loop, struct put *put)
{
	struct thrum_promise *answer;

	answer = thrum_promise_try_bind(note_save(loop, put), answer_saved, answer_refused, put,
		free);
	answer = thrum_promise_labelf(answer, "PUT /note/%u", put->number);
	return thrum_promise_should_resolve(answer);
}

/* A writer sends a note every 40 ms. The sixth is a picture. */
static struct thrum_promise *put_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data) + 1;
	struct put *put;

	(void)value;
	if (number > PUTS)
		return thrum_promise_return(loop, thrum_value_none());
	put = malloc(sizeof(*put));
	if (!put)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	put->number = number;
	put->size = number == 6 ? 9000 : 100;
	thrum_promise_ignore_result(serve_put(loop, put));
	return thrum_promise_bind(thrum_sleep(loop, 40), put_next, (void *)(intptr_t)number, NULL);
}

static struct thrum_promise *puts_run(struct thrum_loop *loop, void *data)
{
	(void)data;
	return put_next(loop, NULL, NULL);
}

static struct thrum_promise *answer_note(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	read_count++;
	return thrum_promise_return(loop, thrum_value_int(200));
}

/* A reader asks for one note after the other. */
static struct thrum_promise *get_next(struct thrum_loop *loop, void *value, void *data)
{
	unsigned number = (unsigned)thrum_int(data) + 1;
	struct thrum_promise *answer;

	(void)value;
	if (number > GETS)
		return thrum_promise_return(loop, thrum_value_none());
	answer = thrum_promise_bind(thrum_sleep(loop, 4), answer_note, NULL, NULL);
	answer = thrum_promise_labelf(answer, "GET /note/%u", number % 6);
	answer = thrum_promise_should_resolve(answer);
	return thrum_promise_bind(answer, get_next, (void *)(intptr_t)number, NULL);
}

static struct thrum_promise *gets_run(struct thrum_loop *loop, void *data)
{
	(void)data;
	return get_next(loop, NULL, NULL);
}

static void on_tick(uv_timer_t *timer)
{
	if (saved + refused == PUTS && read_count == GETS)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_loop *loop;
	uv_timer_t tick;
	uv_loop_t uv;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL) != 0)
		fputs("notes: nothing is recorded\n", stderr);
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &loop) != 0)
		return 1;
	index_lock = thrum_mutex_create(loop, "index");
	uv_timer_init(&uv, &tick);
	uv_timer_start(&tick, on_tick, 50, 50);
	thrum_promise_async(loop, "writer", puts_run, NULL, NULL);
	thrum_promise_async(loop, "reader", gets_run, NULL, NULL);
	uv_run(&uv, UV_RUN_DEFAULT);
	thrum_stop();
	printf("%u saved, %u refused, %u read\n", saved, refused, read_count);
	thrum_mutex_destroy(index_lock);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return 0;
}
