/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: session_body adds the journal's writer as a child of the session's scope; turning the scope off
 *     cancels the writer first, and then calls the hook journal_flush, which pushes the last entries into
 *     "journal entries" and finds nobody who takes them out any more, so the session never ends
 *   culprit: journal writer|journal_flush|flush journal|journal entries|writer_run|writer_step
 *   victim: session [0-9]+|server
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Editing sessions: each has a scope with a heartbeat, an autosave and a journal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define SESSIONS 6
#define ROOM 3

struct session {
	int number, edits, unsaved;
	int written;
	struct thrum_stream *journal;
	struct thrum_promise *writer;
};

static bool writer_outlives;
static int total;

static struct thrum_promise *writer_run(struct thrum_loop *loop, struct session *session);

static struct thrum_promise *writer_more(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	return writer_run(loop, data);
}

static struct thrum_promise *writer_step(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	if (!value)
		return thrum_promise_return(loop, thrum_value_none());
	session->written++;
	return thrum_promise_bind(thrum_sleep(loop, 1), writer_more, session, NULL);
}

static struct thrum_promise *writer_run(struct thrum_loop *loop, struct session *session)
{
	(void)loop;
	return thrum_promise_bind(thrum_stream_next(session->journal), writer_step, session, NULL);
}

static struct thrum_promise *push_entry(struct session *session, const char *text)
{
	return thrum_stream_push(session->journal, thrum_value_static(text));
}

/* Writes down what is left when the session ends. */
static struct thrum_promise *flush_next(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	if (session->unsaved > 0) {
		session->unsaved--;
		return thrum_promise_bind(push_entry(session, "unsaved"), flush_next, session,
			NULL);
	}
	thrum_stream_close(session->journal);
	if (session->writer)
		return thrum_promise_ref(session->writer);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *journal_flush(struct thrum_loop *loop, void *data)
{
	return thrum_promise_label(flush_next(loop, NULL, data), "flush journal");
}

static struct thrum_promise *beat(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_bind(thrum_sleep(loop, 7), beat, NULL, NULL);
}

static struct thrum_promise *edit(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *edit_pause(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	return thrum_promise_bind(thrum_sleep(loop, 2), edit, session, NULL);
}

/* Every second edit goes to the journal, the others are saved at the end. */
static struct thrum_promise *edit(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	if (session->edits-- == 0)
		return thrum_promise_return(loop, thrum_value_none());
	if (session->edits % 2)
		return thrum_promise_bind(push_entry(session, "edit"), edit_pause, session, NULL);
	session->unsaved++;
	return edit_pause(loop, NULL, session);
}

static struct thrum_promise *session_body(struct thrum_loop *loop, struct thrum_switch *scope,
	void *data)
{
	struct session *session = data;
	struct thrum_promise *writer = thrum_promise_label(writer_run(loop, session),
		"journal writer");

	if (writer_outlives)
		session->writer = writer;
	else
		thrum_switch_add(scope, writer);
	thrum_switch_add(scope, thrum_promise_label(beat(loop, NULL, NULL), "heartbeat"));
	thrum_switch_add_hook(scope, journal_flush, session, NULL);
	return edit_pause(loop, NULL, session);
}

static struct thrum_promise *session_closed(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	total += session->written;
	fprintf(stderr, "session %d: %d entries\n", session->number, session->written);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *session_open(struct thrum_loop *loop, void *value, void *data)
{
	struct session *session = data;

	(void)value;
	return thrum_promise_bind(thrum_switch_with(loop, "scope", session_body, session, NULL),
		session_closed, session, NULL);
}

int main(int argc, char **argv)
{
	struct thrum_promise *all[SESSIONS];
	struct session sessions[SESSIONS];
	struct thrum_loop *loop;
	uv_loop_t uv;
	int error;

	writer_outlives = argc < 2 || strcmp(argv[1], "broken") != 0;
	thrum_start(NULL);
	if (uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	for (int i = 0; i < SESSIONS; i++) {
		/* Session 4 is a long one. */
		sessions[i] = (struct session){.number = i, .edits = i == 4 ? 21 : 3 + i % 2};
		sessions[i].journal = thrum_stream_create(loop, "journal entries", ROOM);
		all[i] = thrum_promise_bind(thrum_sleep(loop, 10 * (unsigned)i + 1), session_open,
			&sessions[i], NULL);
		all[i] = thrum_promise_should_resolve(
			thrum_promise_labelf(all[i], "session %d", i));
	}
	error = thrum_promise_run(
		thrum_promise_label(thrum_promise_join(loop, all, SESSIONS), "server"));
	if (error == -EDEADLK)
		uv_sleep(60000);
	thrum_stop();
	printf("%d entries\n", total);
	for (int i = 0; i < SESSIONS; i++) {
		thrum_promise_unref(sessions[i].writer);
		thrum_stream_destroy(sessions[i].journal);
	}
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return error ? 1 : 0;
}
