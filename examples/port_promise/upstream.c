/* SPDX-License-Identifier: ISC */
/* Asking the origin, over a small number of connections, which are kept. Each question waits for a
 * free connection and then for its answer. If the answer takes too long, the question is asked
 * again over a new connection. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINKS 4        /* connections */
#define PATIENCE_MS 60 /* how long one attempt may take */
#define ATTEMPTS 3

/* A key that is asked for. */
struct question {
	struct question *next;
	struct port *port;
	struct thrum_promise *answer;
	struct talk *talk; /* with the origin, while it has one */
	unsigned attempts;
	char key[LINE_SIZE];
};

struct upstream {
	struct question *questions;
	struct thrum_semaphore *links;
	struct talk *idle[LINKS];
	size_t idle_count;
};

static struct thrum_promise *attempt(struct question *question);

/* ---- One attempt, which has a link ----------------------------------------------------------- */

static struct thrum_promise *got_reply(struct thrum_loop *loop, void *reply, void *data)
{
	struct question *question = data;
	struct upstream *upstream = question->port->upstream;
	char *copy;

	if (!reply)
		return thrum_promise_fail(loop, -ECONNRESET, NULL);
	copy = strdup(reply);
	if (!copy)
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	upstream->idle[upstream->idle_count++] = question->talk;
	question->talk = NULL;
	return thrum_promise_return(loop, thrum_value_own(copy, free));
}

static struct thrum_promise *wait_for_reply(struct thrum_loop *loop, void *value, void *data)
{
	struct question *question = data;

	(void)loop, (void)value;
	return talk_next(question->talk);
}

static struct thrum_promise *send_question(struct question *question)
{
	char line[LINE_SIZE + 8];

	snprintf(line, sizeof line, "GET %s", question->key);
	return thrum_promise_bind(thrum_promise_bind(talk_say(question->talk, line), wait_for_reply,
					  question, NULL),
		got_reply, question, NULL);
}

static struct thrum_promise *connected(struct thrum_loop *loop, void *connection, void *data)
{
	struct question *question = data;

	(void)connection;
	question->talk = talk_take(loop, question->port);
	return question->talk ? send_question(question) : NULL;
}

static struct thrum_promise *ask_over_link(struct thrum_loop *loop, void *data)
{
	struct question *question = data;
	struct upstream *upstream = question->port->upstream;
	struct sockaddr *address = (struct sockaddr *)&question->port->origin_address;
	struct thrum_promise *reply;

	question->attempts++;
	if (upstream->idle_count > 0) {
		question->talk = upstream->idle[--upstream->idle_count];
		reply = send_question(question);
	} else {
		reply = thrum_promise_bind(thrum_tcp_connect(loop, address), connected, question,
			NULL);
	}
	return thrum_timeout(reply, PATIENCE_MS);
}

/* ---- Until it is answered -------------------------------------------------------------------- */

/* Handles an attempt that took too long or whose connection broke. */
static struct thrum_promise *failed(struct thrum_loop *loop, const struct thrum_failure *failure,
	void *data)
{
	struct question *question = data;

	talk_close(question->talk);
	question->talk = NULL;
	if (failure->code == THRUM_CANCELED)
		return thrum_promise_fail_again(loop, failure);
	if (question->attempts == ATTEMPTS)
		return thrum_promise_return(loop, thrum_value_static("ERROR timed out"));
	question->port->retries++;
	return attempt(question);
}

static struct thrum_promise *attempt(struct question *question)
{
	return thrum_promise_catch(thrum_semaphore_with(question->port->upstream->links,
					   ask_over_link, question, NULL),
		failed, question, NULL);
}

static struct thrum_promise *forget(struct thrum_loop *loop, void *data)
{
	struct question *question = data, **link = &question->port->upstream->questions;

	while (*link != question)
		link = &(*link)->next;
	*link = question->next;
	thrum_promise_unref(question->answer);
	free(question);
	return thrum_promise_return(loop, thrum_value_none());
}

struct thrum_promise *upstream_ask(struct port *port, const char *key)
{
	struct question *question = port->upstream->questions;
	struct thrum_promise *answer;

	while (question && strcmp(question->key, key) != 0)
		question = question->next;
	if (question)
		return thrum_promise_protected(thrum_promise_ref(question->answer));
	question = calloc(1, sizeof *question);
	if (!question)
		return thrum_promise_fail(port->loop, -ENOMEM, NULL);
	question->port = port;
	strncpy(question->key, key, LINE_SIZE - 1);
	question->next = port->upstream->questions;
	port->upstream->questions = question;
	port->lookups++;
	answer = thrum_promise_labelf(attempt(question), "lookup %s", key);
	question->answer = thrum_promise_ref(answer);
	/* The promise may have failed already; then the question is gone. */
	answer = thrum_promise_finalize(answer, forget, question, NULL);
	return thrum_promise_protected(answer);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int upstream_start(struct port *port)
{
	port->upstream = calloc(1, sizeof *port->upstream);
	if (!port->upstream)
		return -ENOMEM;
	port->upstream->links = thrum_semaphore_create(port->loop, "links", LINKS);
	return port->upstream->links ? 0 : -ENOMEM;
}

void upstream_stop(struct port *port)
{
	struct upstream *upstream = port->upstream;

	while (upstream->questions)
		thrum_promise_cancel(upstream->questions->answer);
	while (upstream->idle_count > 0)
		talk_close(upstream->idle[--upstream->idle_count]);
	thrum_semaphore_destroy(upstream->links);
	free(upstream);
}
