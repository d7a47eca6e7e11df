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

/* Somebody who asked. */
struct ticket {
	struct ticket *next, **link;
	upstream_answered *answered;
	void *data;
};

/* A key that is asked for. It waits in the queue, or has a link. */
struct question {
	struct question *next;  /* in `questions` */
	struct question *after; /* in the queue */
	struct ticket *tickets;
	bool has_link;
	unsigned attempts;
	char key[LINE_SIZE];
};

/* A connection to the origin, or room for one. */
struct link {
	struct upstream *upstream;
	struct question *question; /* that it is busy with */
	enum {
		CLOSED,
		CONNECTING,
		OPEN,
		CLOSING
	} state;
	uv_tcp_t tcp;
	uv_connect_t connect;
	uv_write_t write;
	uv_timer_t timer;
	unsigned handles;
	struct lines lines;
	char request[LINE_SIZE + 8];
};

struct upstream {
	struct port *port;
	struct question *questions;
	struct question *first, **last; /* the queue */
	struct link links[LINKS];
	unsigned links_open;
	bool stopping;
};

static void link_next(struct link *link);
static void link_fail(struct link *link);

/* ---- Questions ------------------------------------------------------------------------------- */

static void question_queue(struct upstream *upstream, struct question *question)
{
	question->after = NULL;
	question->has_link = false;
	*upstream->last = question;
	upstream->last = &question->after;
}

static struct question *question_next(struct upstream *upstream)
{
	struct question *question = upstream->first;

	if (!question)
		return NULL;
	upstream->first = question->after;
	if (!upstream->first)
		upstream->last = &upstream->first;
	question->has_link = true;
	return question;
}

static void question_answer(struct upstream *upstream, struct question *question, const char *reply)
{
	struct question **link = &upstream->questions;
	struct ticket *ticket;

	/* The question goes first, so that callbacks may ask again. */
	while (*link != question)
		link = &(*link)->next;
	*link = question->next;
	while ((ticket = question->tickets)) {
		question->tickets = ticket->next;
		if (ticket->next)
			ticket->next->link = &question->tickets;
		ticket->answered(reply, ticket->data);
		free(ticket);
	}
	free(question);
}

/* ---- Links ----------------------------------------------------------------------------------- */

static void link_closed(uv_handle_t *handle)
{
	struct link *link = handle->data;
	struct upstream *upstream = link->upstream;

	if (--link->handles > 0)
		return;
	link->state = CLOSED;
	upstream->links_open--;
	if (!upstream->stopping)
		link_next(link);
	else if (upstream->links_open == 0)
		free(upstream);
}

static void link_close(struct link *link)
{
	link->state = CLOSING;
	uv_close((uv_handle_t *)&link->tcp, link_closed);
	uv_close((uv_handle_t *)&link->timer, link_closed);
}

/* Handles a link whose answer took too long or whose connection broke: the question goes back into
 * the queue, or is given up. */
static void link_fail(struct link *link)
{
	struct upstream *upstream = link->upstream;
	struct question *question = link->question;

	if (link->state == CLOSING)
		return;
	link->question = NULL;
	link_close(link);
	if (!question)
		return;
	if (question->attempts == ATTEMPTS) {
		question_answer(upstream, question, "ERROR timed out");
	} else {
		upstream->port->retries++;
		question_queue(upstream, question);
	}
}

static void patience_over(uv_timer_t *timer)
{
	link_fail(timer->data);
}

static void has_written(uv_write_t *write, int status)
{
	if (status < 0 && status != UV_ECANCELED)
		link_fail(write->data);
}

static void link_send(struct link *link)
{
	uv_buf_t buffer;

	snprintf(link->request, sizeof link->request, "GET %s\n", link->question->key);
	buffer = uv_buf_init(link->request, (unsigned)strlen(link->request));
	link->write.data = link;
	if (uv_write(&link->write, (uv_stream_t *)&link->tcp, &buffer, 1, has_written))
		link_fail(link);
}

static void give_buffer(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
	struct link *link = handle->data;

	(void)size;
	*buffer = uv_buf_init(link->lines.text + link->lines.used,
		(unsigned)(sizeof link->lines.text - link->lines.used));
}

static void has_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
	struct link *link = stream->data;
	struct question *question = link->question;
	char line[LINE_SIZE];

	(void)buffer;
	if (size < 0) {
		link_fail(link);
		return;
	}
	link->lines.used += (size_t)size;
	if (!question || !lines_take(&link->lines, line))
		return;
	uv_timer_stop(&link->timer);
	link->question = NULL;
	question_answer(link->upstream, question, line);
	link_next(link);
}

static void connected(uv_connect_t *connect, int status)
{
	struct link *link = connect->data;

	if (link->state == CLOSING)
		return;
	if (status < 0 || uv_read_start((uv_stream_t *)&link->tcp, give_buffer, has_read)) {
		link_fail(link);
		return;
	}
	link->state = OPEN;
	link_send(link);
}

static void link_connect(struct link *link)
{
	struct upstream *upstream = link->upstream;
	struct sockaddr *address = (struct sockaddr *)&upstream->port->origin_address;

	upstream->links_open++;
	link->handles = 2;
	link->lines.used = 0;
	link->state = CONNECTING;
	uv_tcp_init(&upstream->port->loop, &link->tcp);
	uv_timer_init(&upstream->port->loop, &link->timer);
	link->tcp.data = link->timer.data = link->connect.data = link;
	if (uv_tcp_connect(&link->connect, &link->tcp, address, connected))
		link_fail(link);
}

/* Gives a link that isn't busy the next question. */
static void link_next(struct link *link)
{
	if (link->question || (link->state != CLOSED && link->state != OPEN) ||
		!(link->question = question_next(link->upstream)))
		return;
	link->question->attempts++;
	if (link->state == OPEN)
		link_send(link);
	else
		link_connect(link);
	if (link->state != CLOSING)
		uv_timer_start(&link->timer, patience_over, PATIENCE_MS, 0);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static struct question *question_find(struct upstream *upstream, const char *key)
{
	struct question *question = upstream->questions;

	while (question && strcmp(question->key, key) != 0)
		question = question->next;
	if (question || !(question = calloc(1, sizeof *question)))
		return question;
	strncpy(question->key, key, LINE_SIZE - 1);
	question->next = upstream->questions;
	upstream->questions = question;
	upstream->port->lookups++;
	question_queue(upstream, question);
	return question;
}

struct ticket *upstream_ask(struct port *port, const char *key, upstream_answered *answered,
	void *data)
{
	struct upstream *upstream = port->upstream;
	struct ticket *ticket = calloc(1, sizeof *ticket);
	struct question *question = ticket ? question_find(upstream, key) : NULL;

	if (!question) {
		free(ticket);
		return NULL;
	}
	ticket->answered = answered;
	ticket->data = data;
	ticket->next = question->tickets;
	ticket->link = &question->tickets;
	if (ticket->next)
		ticket->next->link = &ticket->next;
	question->tickets = ticket;
	for (size_t i = 0; i < LINKS && !question->has_link; i++)
		link_next(&upstream->links[i]);
	return ticket;
}

void upstream_forget(struct ticket *ticket)
{
	*ticket->link = ticket->next;
	if (ticket->next)
		ticket->next->link = ticket->link;
	free(ticket);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

int upstream_start(struct port *port)
{
	struct upstream *upstream = calloc(1, sizeof *upstream);

	if (!upstream)
		return -ENOMEM;
	upstream->port = port;
	upstream->last = &upstream->first;
	for (size_t i = 0; i < LINKS; i++)
		upstream->links[i].upstream = upstream;
	port->upstream = upstream;
	return 0;
}

void upstream_stop(struct port *port)
{
	struct upstream *upstream = port->upstream;

	upstream->stopping = true;
	while (upstream->questions)
		question_answer(upstream, upstream->questions, "ERROR stopping");
	if (upstream->links_open == 0) {
		free(upstream);
		return;
	}
	for (size_t i = 0; i < LINKS; i++) {
		struct link *link = &upstream->links[i];

		link->question = NULL;
		if (link->state == OPEN || link->state == CONNECTING)
			link_close(link);
	}
}
