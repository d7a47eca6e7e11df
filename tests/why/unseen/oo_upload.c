/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   run: self
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   run: self
 *   ask: diff good
 *   truth: The bad run hangs its uploads on the login and not on "refresh token". So the parts are sent
 *     before the token is refreshed, are refused, and are sent again after a pause.
 *   culprit: refresh token
 *   victim: part [0-9]|again in
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

/* A backup client logs in, refreshes its token, and uploads a file in parts, three at a time. */

enum {
	PARTS = 8,
	LOGIN_MS = 4,
	REFRESH_MS = 25,
	PART_MS = 5,
	AGAIN_MS = 60,
	LINES = 3,
	BEATS = 12
};

struct session {
	struct thrum_semaphore *lines;
	struct thrum_mutex *journal;
	bool token_valid;
	int refused, stored, beats;
};

struct part {
	struct session *session;
	int number;
};

static struct session session;
static struct part parts[PARTS];

static struct thrum_promise *write_journal(struct thrum_loop *loop, void *data)
{
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 1), "journal line");
}

/* The server looks at the token when the part is complete. */
static struct thrum_promise *on_sent(struct thrum_loop *loop, void *value, void *data)
{
	struct part *part = data;

	(void)value;
	if (!part->session->token_valid) {
		part->session->refused++;
		return thrum_promise_fail(loop, -EACCES, "part %d: token has expired",
			part->number);
	}
	part->session->stored++;
	return thrum_mutex_with(part->session->journal, write_journal, part, NULL);
}

static struct thrum_promise *send_part(struct thrum_loop *loop, void *data)
{
	struct part *part = data;
	struct thrum_promise *sent = thrum_sleep(loop, PART_MS);

	thrum_promise_labelf(sent, "body of part %d", part->number);
	sent = thrum_promise_bind(sent, on_sent, part, NULL);
	return thrum_promise_labelf(sent, "send part %d", part->number);
}

static struct thrum_promise *upload(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *on_refused(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	struct thrum_promise *pause;

	if (failure->code != -EACCES)
		return thrum_promise_fail_again(loop, failure);
	pause = thrum_promise_labelf(thrum_sleep(loop, AGAIN_MS), "again in %d ms", AGAIN_MS);
	return thrum_promise_bind(pause, upload, data, NULL);
}

static struct thrum_promise *upload(struct thrum_loop *loop, void *value, void *data)
{
	struct part *part = data;
	struct thrum_promise *sent;

	(void)loop;
	(void)value;
	sent = thrum_semaphore_with(part->session->lines, send_part, part, NULL);
	return thrum_promise_catch(sent, on_refused, part, NULL);
}

static struct thrum_promise *on_login(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 2), "list of folders");
}

static struct thrum_value on_token(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	((struct session *)data)->token_valid = true;
	return thrum_value_none();
}

static struct thrum_promise *ask_token(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *token = thrum_sleep(loop, REFRESH_MS);

	(void)value;
	thrum_promise_label(token, "answer of the token service");
	return thrum_promise_map(token, on_token, data, NULL);
}

static struct thrum_promise *beat(struct thrum_loop *loop, void *value, void *data)
{
	struct session *here = data;
	struct thrum_promise *pause;

	(void)value;
	if (here->beats++ == BEATS)
		return thrum_promise_return(loop, thrum_value_none());
	pause = thrum_promise_label(thrum_sleep(loop, 7), "heartbeat");
	return thrum_promise_bind(pause, beat, here, NULL);
}

int main(int count, char **arguments)
{
	struct thrum_promise *login, *token, *before, *all[PARTS + 2], *backup;
	struct thrum_loop *loop;
	uv_loop_t uv;
	int code;

	if (count != 2)
		return 2;
	if (thrum_start(NULL) || uv_loop_init(&uv) || thrum_loop_create(&uv, &loop))
		return 1;
	session.lines = thrum_semaphore_create(loop, "lines", LINES);
	session.journal = thrum_mutex_create(loop, "journal");
	login = thrum_promise_label(thrum_sleep(loop, LOGIN_MS), "login");
	login = thrum_promise_label(thrum_promise_bind(login, on_login, NULL, NULL), "session");
	token = thrum_promise_bind(thrum_promise_ref(login), ask_token, &session, NULL);
	thrum_promise_label(token, "refresh token");
	before = strcmp(arguments[1], "bad") == 0 ? login : token;
	for (int i = 0; i < PARTS; i++) {
		parts[i] = (struct part){&session, i};
		all[i] = thrum_promise_bind(thrum_promise_ref(before), upload, &parts[i], NULL);
		thrum_promise_should_resolve(thrum_promise_labelf(all[i], "part %d", i));
	}
	all[PARTS] = beat(loop, NULL, &session);
	all[PARTS + 1] = thrum_promise_ref(token);
	backup = thrum_promise_label(thrum_promise_join(loop, all, PARTS + 2), "backup");
	code = thrum_promise_run(thrum_promise_should_resolve(backup));
	thrum_stop();
	printf("%d parts stored, %d refused: %s\n", session.stored, session.refused,
		thrum_promise_error_message(code));
	thrum_promise_unref(login);
	thrum_promise_unref(token);
	thrum_semaphore_destroy(session.lines);
	thrum_mutex_destroy(session.journal);
	thrum_loop_destroy(loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	return code != 0;
}
