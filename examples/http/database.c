/* SPDX-License-Identifier: ISC */
/* The database. It serves one lookup at a time. A request for a user that is being looked up
 * already shares that lookup. A lookup that nobody waits for any more is passed over. */
#include "http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARM_UP_MS 150 /* the time that the database needs for user 0 */

struct lookup {
	struct worker *worker;
	struct lookup *next;
	unsigned user, wanted; /* the number of requests that wait for it */
	bool abandoned;        /* one of those who waited has left */
	bool left;             /* all of them have left */
	bool passed_over;      /* its turn has passed */
	struct thrum_promise *answer;
	struct thrum_resolver *resolver;
};

static void lookup_destroy(void *data)
{
	struct lookup *lookup = data, **link = &lookup->worker->lookups;

	while (*link != lookup)
		link = &(*link)->next;
	*link = lookup->next;
	thrum_promise_unref(lookup->answer);
	thrum_resolver_drop(lookup->resolver);
	free(lookup);
}

/* ---- The query, with the database's lock held ------------------------------------------------ */

static struct thrum_promise *answered(struct thrum_loop *loop, void *value, void *data)
{
	struct lookup *lookup = data;
	struct thrum_resolver *resolver = lookup->resolver;
	char text[32];

	(void)value;
	snprintf(text, sizeof text, "user %u\n", lookup->user);
	lookup->resolver = NULL;
	thrum_resolver_resolve(resolver, thrum_value_own(strdup(text), free));
	lookup_destroy(lookup);
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *query(struct thrum_loop *loop, void *data)
{
	struct lookup *lookup = data;

	if (lookup->left) {
		lookup_destroy(lookup);
		return thrum_promise_return(loop, thrum_value_none());
	}
	/* --hang: the planted bug. A lookup that one client walked away from is passed over, as if
	 * nobody wanted it any more. But others may still wait for it. */
	if (options.hang && lookup->abandoned) {
		lookup->passed_over = true;
		return thrum_promise_return(loop, thrum_value_none());
	}
	return thrum_promise_bind(thrum_sleep(loop,
					  lookup->user == 0 ? WARM_UP_MS : 1 + lookup->user % 3),
		answered, lookup, NULL);
}

static struct thrum_promise *query_in_turn(struct thrum_loop *loop, void *data)
{
	struct lookup *lookup = data;

	(void)loop;
	return thrum_mutex_with(lookup->worker->database, query, lookup, NULL);
}

/* ---- Callers --------------------------------------------------------------------------------- */

static struct lookup *lookup_find(struct worker *worker, unsigned user)
{
	struct lookup *lookup = worker->lookups;

	while (lookup && (lookup->user != user || lookup->left))
		lookup = lookup->next;
	if (lookup || !(lookup = calloc(1, sizeof *lookup)))
		return lookup;
	lookup->worker = worker;
	lookup->user = user;
	lookup->next = worker->lookups;
	worker->lookups = lookup;
	lookup->answer = thrum_promise_should_resolve(
		thrum_promise_labelf(thrum_promise_wait(worker->loop, NULL, &lookup->resolver),
			"lookup user %u", user));
	return lookup;
}

static void leave(struct thrum_loop *loop, void *data)
{
	struct lookup *lookup = data;

	(void)loop;
	lookup->abandoned = true;
	lookup->left = --lookup->wanted == 0;
	if (lookup->left && lookup->passed_over)
		lookup_destroy(lookup);
}

struct thrum_promise *look_up(struct worker *worker, unsigned user)
{
	struct lookup *lookup = lookup_find(worker, user);
	struct thrum_promise *share;

	if (!lookup)
		return thrum_promise_fail(worker->loop, -ENOMEM, NULL);
	/* The caller gets a share: cancelling that leaves the lookup to the others. */
	share = thrum_promise_protected(thrum_promise_ref(lookup->answer));
	thrum_promise_on_cancel(thrum_promise_ref(share), leave, lookup, NULL);
	if (lookup->wanted++ == 0)
		thrum_promise_async(worker->loop, "query", query_in_turn, lookup, NULL);
	return share;
}

void database_finish(struct worker *worker)
{
	while (worker->lookups)
		lookup_destroy(worker->lookups);
	thrum_mutex_destroy(worker->database);
}
