/* SPDX-License-Identifier: ISC */
/* The origin. It knows the value of each key and takes a millisecond to tell it. It doesn't
 * answer the first question for a key that begins with "slow". A key that begins with "none"
 * has no value. */
#include "port.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAY_MS 1

static struct thrum_promise *serve_again(struct thrum_loop *loop, void *value, void *data)
{
	(void)loop, (void)value;
	return origin_serve(data);
}

static struct thrum_promise *delay_over(struct thrum_loop *loop, void *value, void *data)
{
	struct talk *talk = data;
	const char *key = talk->line + 4;
	char reply[LINE_SIZE + 16];

	(void)loop, (void)value;
	if (strncmp(key, "none", 4) == 0)
		snprintf(reply, sizeof reply, "ERROR no such key");
	else
		snprintf(reply, sizeof reply, "VALUE of %s", key);
	return thrum_promise_bind(talk_say(talk, reply), serve_again, talk, NULL);
}

static struct thrum_promise *got_line(struct thrum_loop *loop, void *line, void *data)
{
	struct talk *talk = data;
	struct store *asked = talk->port->asked;
	const char *key = talk->line + 4;

	if (!line || strncmp(line, "GET ", 4) != 0)
		return thrum_promise_return(loop, thrum_value_none());
	if (strncmp(key, "slow", 4) == 0 && !store_find(asked, key)) {
		if (store_put(asked, key, ""))
			return thrum_promise_fail(loop, -ENOMEM, NULL);
		return origin_serve(talk);
	}
	return thrum_promise_bind(thrum_sleep(loop, DELAY_MS), delay_over, talk, NULL);
}

struct thrum_promise *origin_serve(struct talk *talk)
{
	return thrum_promise_bind(talk_next(talk), got_line, talk, NULL);
}
