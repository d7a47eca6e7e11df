/* SPDX-License-Identifier: ISC */
/* Lines of waiters, and holding something while something else is done. */
#include "promise/waiters.h"

/* ---- Lines -------------------------------------------------------------------------------------
 */

void thrum__line_append(struct thrum__line *line, struct thrum__waiter *waiter)
{
	waiter->line = line;
	waiter->next = NULL;
	waiter->previous = line->last;
	if (line->last)
		line->last->next = waiter;
	else
		line->first = waiter;
	line->last = waiter;
	line->count++;
}

void thrum__line_remove(struct thrum__waiter *waiter)
{
	struct thrum__line *line = waiter->line;

	if (waiter->previous)
		waiter->previous->next = waiter->next;
	else
		line->first = waiter->next;
	if (waiter->next)
		waiter->next->previous = waiter->previous;
	else
		line->last = waiter->previous;
	line->count--;
}

static void canceled(struct thrum_resolver *resolver, void *data)
{
	struct thrum__waiter *waiter = data;
	struct thrum_value value = waiter->value;

	thrum__line_remove(waiter);
	thrum__release(waiter->line->loop, waiter);
	thrum_value_destroy(value);
	thrum_resolver_drop(resolver);
}

static struct thrum_promise *create(struct thrum_site *site, struct thrum__line *line,
	enum thrum_kind kind, const char *label, thrum__canceled *cancel,
	struct thrum__waiter **made)
{
	struct thrum__waiter *waiter;
	struct thrum_promise *promise;

	*made = NULL;
	if (line->broken)
		return thrum__promise_fail_code(site, line->loop, THRUM_BROKEN);
	waiter = thrum__allocate(line->loop, sizeof(*waiter));
	if (!waiter)
		return thrum__promise_no_memory(line->loop);
	promise = thrum__promise_request(site, line->loop, kind, label, cancel, waiter,
		&waiter->resolver);
	if (thrum_promise_state(promise) == THRUM_PROMISE_FAILED) {
		thrum_resolver_drop(waiter->resolver);
		thrum__release(line->loop, waiter);
		return promise;
	}
	*made = waiter;
	return promise;
}

struct thrum_promise *thrum__waiter_create(struct thrum_site *site, struct thrum__line *line,
	struct thrum__waiter **waiter)
{
	return create(site, line, THRUM_KIND_WAIT, NULL, NULL, waiter);
}

struct thrum_promise *thrum__line_join(struct thrum_site *site, struct thrum__line *line,
	enum thrum_kind kind, const char *label, struct thrum_value value)
{
	struct thrum__waiter *waiter;
	struct thrum_promise *promise = create(site, line, kind, label, canceled, &waiter);

	if (!waiter) {
		thrum_value_destroy(value);
		return promise;
	}
	waiter->value = value;
	thrum__line_append(line, waiter);
	thrum_task_wait(thrum__resolver_task(waiter->resolver), line->task);
	return promise;
}

bool thrum__line_leave(struct thrum__line *line, struct thrum_value value)
{
	struct thrum__waiter *waiter = thrum__allocate(line->loop, sizeof(*waiter));

	if (!waiter)
		return false;
	waiter->value = value;
	thrum__line_append(line, waiter);
	return true;
}

struct thrum_resolver *thrum__line_serve(struct thrum__line *line, struct thrum_value *value)
{
	struct thrum__waiter *waiter = line->first;
	struct thrum_resolver *resolver;

	if (!waiter)
		return NULL;
	thrum__line_remove(waiter);
	resolver = waiter->resolver;
	if (value)
		*value = waiter->value;
	thrum__release(line->loop, waiter);
	if (resolver)
		thrum_task_read(thrum__resolver_task(resolver), line->task);
	return resolver;
}

void thrum__line_move(struct thrum__line *from, struct thrum__line *to)
{
	struct thrum__waiter *waiter;

	for (waiter = from->first; waiter; waiter = waiter->next)
		waiter->line = to;
	to->first = from->first;
	to->last = from->last;
	to->count = from->count;
	from->first = from->last = NULL;
	from->count = 0;
}

void thrum__line_break(struct thrum__line *line, int code)
{
	line->broken = true;
	while (line->first) {
		struct thrum_value value;
		struct thrum_resolver *resolver = thrum__line_serve(line, &value);

		thrum_value_destroy(value);
		thrum__resolver_fail(NULL, resolver, code, NULL);
	}
}

/* ---- With --------------------------------------------------------------------------------------
 */

struct with {
	struct thrum_loop *loop;
	struct thrum_site *site;
	void (*release)(void *thing);
	void *thing;
	thrum_begin *begin;
	void *data;
	thrum_destroy *destroy;
	bool acquired;
	unsigned references;
};

static void unref_with(void *data)
{
	struct with *with = data;

	if (--with->references > 0)
		return;
	if (with->destroy)
		with->destroy(with->data);
	thrum__release(with->loop, with);
}

static struct thrum_promise *give_back(struct thrum_loop *loop, void *data)
{
	struct with *with = data;

	with->release(with->thing);
	return thrum_promise_return(loop, thrum_value_none());
}

/* What gives the thing back stands before anything begins: from then on nothing needs memory. */
static struct thrum_promise *begin_with(struct thrum_loop *loop, void *value, void *data)
{
	struct with *with = data;
	struct thrum_resolver *resolver;
	struct thrum_promise *whole;

	with->acquired = true;
	whole = thrum__promise_wait(with->site, loop, NULL, &resolver);
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING) {
		with->references++;
		whole = thrum__promise_finalize(with->site, whole, give_back, with, unref_with);
	}
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING) {
		thrum_resolver_follow(resolver, with->begin(loop, with->data));
	} else {
		with->release(with->thing);
		thrum_resolver_drop(resolver);
	}
	return whole;
}

/* Of what was not begun. */
static void give_up(struct thrum_promise *acquired, void (*release)(void *thing), void *thing)
{
	if (thrum_promise_state(acquired) == THRUM_PROMISE_RESOLVED)
		release(thing);
	else
		thrum__promise_cancel(NULL, acquired);
}

struct thrum_promise *thrum__with(struct thrum_site *site, struct thrum_promise *acquired,
	void (*release)(void *thing), void *thing, thrum_begin *begin, void *data,
	thrum_destroy *destroy)
{
	struct thrum_loop *loop = thrum__promise_loop(acquired);
	struct with *with = loop ? thrum__allocate(loop, sizeof(*with)) : NULL;
	struct thrum_promise *whole;

	if (!with) {
		if (loop)
			give_up(acquired, release, thing);
		thrum_promise_unref(acquired);
		if (destroy)
			destroy(data);
		return thrum__promise_no_memory(loop);
	}
	*with = (struct with){loop, site, release, thing, begin, data, destroy, false, 2};
	whole = thrum__promise_bind(site, thrum_promise_ref(acquired), begin_with, with,
		unref_with);
	if (!with->acquired && thrum_promise_state(whole) == THRUM_PROMISE_FAILED)
		give_up(acquired, release, thing);
	thrum_promise_unref(acquired);
	unref_with(with);
	return whole;
}
