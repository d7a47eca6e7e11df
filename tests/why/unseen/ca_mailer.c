/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: take_connection compares the milliseconds that a connection has been idle with a limit in seconds. So after
 *     each pause of more than 20 ms the connections of the pool are given up, and mails connect anew: the broken program
 *     has far more of "connect" (and "greet") than the healthy one.
 *   culprit: connect|greet
 *   victim: mail
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A mail queue on promises: mails come in batches, and are sent over a pool of connections. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define BATCHES 12
#define BATCH 3
#define POOL 8
#define IDLE_S 20 /* the other side hangs up after half a minute */

struct connection {
	uint64_t idle_since; /* in ms */
	unsigned mails;
};

struct mail {
	unsigned number;
	struct connection *connection;
};

static bool in_seconds;
static struct thrum_loop *loop;
static struct connection *pool[POOL];
static unsigned pooled, connects, sent;

/* Returns a connection that is still good, or NULL. */
static struct connection *take_connection(void)
{
	while (pooled > 0) {
		struct connection *connection = pool[--pooled];
		uint64_t idle = uv_now(thrum_loop_uv(loop)) - connection->idle_since;

		if (idle <= (in_seconds ? IDLE_S : IDLE_S * 1000))
			return connection;
		free(connection);
	}
	return NULL;
}

static void put_connection(struct connection *connection)
{
	if (pooled == POOL) {
		free(connection);
		return;
	}
	connection->idle_since = uv_now(thrum_loop_uv(loop));
	pool[pooled++] = connection;
}

static struct thrum_promise *end_mail(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;

	(void)value;
	mail->connection->mails++;
	put_connection(mail->connection);
	free(mail);
	sent++;
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *send_body(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;
	struct thrum_promise *body = thrum_sleep(loop, 4 + mail->number % 3);

	(void)value;
	return thrum_promise_bind(thrum_promise_label(body, "send body"), end_mail, mail, NULL);
}

static struct thrum_promise *greet(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 3), "greet");
}

static struct thrum_promise *open_connection(struct thrum_loop *loop, struct mail *mail)
{
	mail->connection = calloc(1, sizeof(*mail->connection));
	if (!mail->connection)
		abort();
	connects++;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, 8), "connect"), greet, mail,
		NULL);
}

static struct thrum_promise *send_mail(struct thrum_loop *loop, void *value, void *data)
{
	struct mail *mail = data;

	mail->connection = take_connection();
	if (mail->connection)
		return send_body(loop, value, mail);
	return thrum_promise_bind(open_connection(loop, mail), send_body, mail, NULL);
}

static struct thrum_promise *run_batch(struct thrum_loop *loop, void *value, void *data);

static struct thrum_promise *wait_for_mail(struct thrum_loop *loop, void *value, void *data)
{
	intptr_t batch = thrum_int(data);

	(void)value;
	return thrum_promise_bind(thrum_promise_label(thrum_sleep(loop, batch % 3 ? 5 : 60),
					  "wait for mail"),
		run_batch, data, NULL);
}

static struct thrum_promise *run_batch(struct thrum_loop *loop, void *value, void *data)
{
	struct thrum_promise *promises[BATCH];
	intptr_t batch = thrum_int(data);

	(void)value;
	if (batch == BATCHES)
		return thrum_promise_return(loop, thrum_value_none());
	for (int i = 0; i < BATCH; i++) {
		struct mail *mail = calloc(1, sizeof(*mail));

		if (!mail)
			abort();
		mail->number = (unsigned)batch * BATCH + (unsigned)i + 1;
		promises[i] = thrum_promise_bind(thrum_sleep(loop, 1), send_mail, mail, NULL);
		thrum_promise_labelf(promises[i], "mail %u", mail->number);
		thrum_promise_should_resolve(promises[i]);
	}
	return thrum_promise_bind(thrum_promise_join(loop, promises, BATCH), wait_for_mail,
		(void *)(batch + 1), NULL);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	struct thrum_promise *all;
	int result;

	in_seconds = argc > 1 && !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv, &loop))
		return 1;
	all = thrum_promise_label(run_batch(loop, NULL, NULL), "main");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	printf("%d: %u mails, %u connections\n", result, sent, connects);
	while (pooled > 0)
		free(pool[--pooled]);
	thrum_loop_destroy(loop);
	uv_run(uv, UV_RUN_DEFAULT);
	return 0;
}
