/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: why --slow="fetch mail *"
 *   truth: "refresh token" holds the lock "token" while it backs off: the server for tokens is busy twice, and it
 *     sleeps for 130 ms each time. All requests that come meanwhile wait for the lock, though the old token would
 *     still do.
 *   culprit: refresh token|back off
 *   victim: fetch mail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* Reads a mailbox over HTTP. The token for it has to be refreshed now and then. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define MAILS 40
#define REFRESH_AT 15 /* the mail at which the token gets old */

struct token {
	struct thrum_mutex *lock;
	bool old, refreshing;
	int refusals; /* that the server still has in store */
	int number;
};

struct mail {
	struct token *token;
	int number;
};

static bool broken;
static int fetched;

/* ---- The token ---- */

static struct thrum_promise *token_ask(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *token_answered(struct thrum_loop *loop, void *value, void *data)
{
	struct token *token = data;

	(void)value;
	if (token->refusals > 0) {
		struct thrum_promise *pause = thrum_sleep(loop, 130);

		token->refusals--; /* 503: try again */
		return thrum_promise_bind(thrum_promise_label(pause, "back off"), token_ask, token,
			NULL);
	}
	token->number++;
	token->old = token->refreshing = false;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *token_ask(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *post = thrum_sleep(loop, 3);

	(void)value;
	return thrum_promise_bind(thrum_promise_label(post, "POST /oauth/token"), token_answered,
		data, NULL);
}

static struct thrum_promise *token_refresh(struct thrum_loop *loop, struct token *token)
{
	token->refreshing = true;
	return thrum_promise_label(token_ask(loop, NULL, token), "refresh token");
}

/* The old way: whoever finds the token old refreshes it, under the lock. */
static struct thrum_promise *token_check(struct thrum_loop *loop, void *data)
{
	struct token *token = data;

	if (!token->old)
		return thrum_promise_return(loop, thrum_value_none());
	return token_refresh(loop, token);
}

/* The new way: an old token is good for some more minutes. */
static struct thrum_promise *token_look(struct thrum_loop *loop, void *data)
{
	struct token *token = data;

	if (token->old && !token->refreshing)
		thrum_promise_ignore_result(token_refresh(loop, token));
	return thrum_promise_return(loop, thrum_value_none());
}

/* ---- Mails ---- */

static struct thrum_value mail_stored(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop;
	(void)value;
	(void)data;
	fetched++;
	return thrum_value_none();
}

static struct thrum_promise *mail_get(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;
	struct thrum_promise *body = thrum_sleep(loop, 2 + mail->number % 3);

	(void)value;
	return thrum_promise_map(thrum_promise_label(body, "response"), mail_stored, NULL, NULL);
}

static struct thrum_promise *mail_fetch(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;
	struct token *token = mail->token;
	struct thrum_promise *ready;

	(void)loop;
	(void)value;
	if (mail->number == REFRESH_AT)
		token->old = true;
	ready = thrum_mutex_with(token->lock, broken ? token_check : token_look, token, NULL);
	ready = thrum_promise_bind(ready, mail_get, mail, NULL);
	return thrum_promise_labelf(ready, "fetch mail %d", mail->number);
}

int main(int argc, char **argv)
{
	static struct token token = {.refusals = 2, .number = 1};
	static struct mail mails[MAILS];
	struct thrum_promise *all[MAILS], *sync;
	struct thrum_loop *loop;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 1;
	token.lock = thrum_mutex_create(loop, "token");
	for (int i = 0; i < MAILS; i++) {
		mails[i] = (struct mail){&token, i};
		all[i] = thrum_promise_bind(thrum_sleep(loop, (uint64_t)i * 10), mail_fetch,
			&mails[i], NULL);
	}
	sync = thrum_promise_label(thrum_promise_join(loop, all, MAILS), "sync mailbox");
	if (thrum_promise_run(thrum_promise_should_resolve(sync)))
		return 1;
	while (token.refreshing) /* the new token may still be under way */
		uv_run(uv_default_loop(), UV_RUN_ONCE);
	thrum_stop();
	printf("fetched %d mails, token %d\n", fetched, token.number);
	return 0;
}
