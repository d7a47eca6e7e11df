/* SPDX-License-Identifier: ISC */
/* The proxy. It answers "GET key" from its cache, or asks the origin. "STATS" returns how often it
 * did either. "QUIT" ends the session. A client that is silent for too long is disconnected. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MS 2000

/* ---- Commands -------------------------------------------------------------------------------- */

static struct thrum_promise *has_answer(struct thrum_loop *loop, void *reply, void *data)
{
	struct talk *talk = data;

	if (strncmp(reply, "VALUE ", 6) == 0 && store_put(talk->port->known, talk->line + 4, reply))
		return thrum_promise_fail(loop, -ENOMEM, NULL);
	return talk_say(talk, reply);
}

static struct thrum_promise *serve_get(struct talk *talk, const char *key)
{
	const char *value = store_find(talk->port->known, key);

	if (value) {
		talk->port->hits++;
		return talk_say(talk, value);
	}
	return thrum_promise_bind(talk_unless_gone(talk, upstream_ask(talk->port, key)), has_answer,
		talk, NULL);
}

static struct thrum_promise *serve_stats(struct talk *talk)
{
	const struct port *port = talk->port;
	char text[LINE_SIZE];

	snprintf(text, sizeof text, "STATS %lu hits %lu lookups %lu retries", port->hits,
		port->lookups, port->retries);
	return talk_say(talk, text);
}

static struct thrum_promise *serve_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return proxy_serve(data);
}

static struct thrum_promise *got_line(struct thrum_loop *loop, void *value, void *data)
{
	struct talk *talk = data;
	const char *line = value;
	struct thrum_promise *replied;

	if (!line || strcmp(line, "QUIT") == 0)
		return thrum_promise_return(loop, thrum_value_none());
	if (strncmp(line, "GET ", 4) == 0)
		replied = serve_get(talk, line + 4);
	else if (strcmp(line, "STATS") == 0)
		replied = serve_stats(talk);
	else
		replied = talk_say(talk, "ERROR what?");
	return thrum_promise_bind(replied, serve_again, talk, NULL);
}

struct thrum_promise *proxy_serve(struct talk *talk)
{
	return thrum_promise_bind(thrum_timeout(talk_next(talk), IDLE_MS), got_line, talk, NULL);
}
