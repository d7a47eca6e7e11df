/* SPDX-License-Identifier: ISC */
/* Switches. A switch counts everything in it that hasn't ended: children, hooks that have been
 * called, and itself while it is on. At a count of 0 it has been turned off. Its memory is freed
 * when it has been destroyed as well. */
#include "promise/promise.h"

struct scope_entry {
	struct thrum_switch *scope;
	struct scope_entry *next, *previous, **list; /* list: NULL while it is in none */
	struct thrum_promise *promise;               /* of a hook: set when it was called */
	thrum_begin *hook;
	void *data;
	thrum_destroy *destroy;
};

struct thrum_switch {
	struct thrum_loop *loop;
	thrum_task task;
	struct scope_entry *children, *hooks; /* the last one first */
	size_t remaining;
	bool is_on, destroyed;
	struct thrum_promise *off; /* set when the switch is turned off */
	struct thrum_resolver *resolver;
	struct thrum_promise *failed; /* the first hook that failed */
};

struct thrum_switch *thrum__switch_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_switch *scope = loop ? thrum__promise_allocate(loop, sizeof(*scope)) : NULL;

	if (scope) {
		scope->loop = loop;
		scope->task = thrum__promise_trace_create(site, THRUM_KIND_SWITCH, label);
		scope->is_on = true;
		scope->remaining = 1;
	}
	return scope;
}

bool thrum_switch_is_on(const struct thrum_switch *scope)
{
	return scope && scope->is_on;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static void link_entry(struct scope_entry *entry, struct scope_entry **list)
{
	entry->list = list;
	entry->previous = NULL;
	entry->next = *list;
	if (entry->next)
		entry->next->previous = entry;
	*list = entry;
}

static void unlink_entry(struct scope_entry *entry)
{
	if (!entry->list)
		return;
	if (entry->previous)
		entry->previous->next = entry->next;
	else
		*entry->list = entry->next;
	if (entry->next)
		entry->next->previous = entry->previous;
	entry->list = NULL;
}

static void free_scope_if_done(struct thrum_switch *scope)
{
	if (!scope->destroyed || scope->remaining > 0)
		return;
	thrum_promise_unref(scope->off);
	thrum__promise_release(scope->loop, scope);
}

static void count_down(struct thrum_switch *scope)
{
	struct thrum_resolver *resolver = scope->resolver;
	struct thrum_promise *failed = scope->failed;

	if (--scope->remaining > 0)
		return;
	scope->resolver = NULL;
	scope->failed = NULL;
	if (failed)
		thrum_task_fail(scope->task, thrum_promise_failure(failed)->message);
	else
		thrum_task_resolve(scope->task);
	free_scope_if_done(scope);
	if (failed)
		thrum_resolver_follow(resolver, failed);
	else
		thrum_resolver_resolve(resolver, thrum_value_none());
}

static void do_nothing(struct thrum_loop *loop, void *data)
{
}

/* Runs when an entry's promise has ended, and also when it is freed while it is pending. */
static void entry_ended(void *data)
{
	struct scope_entry *entry = data;
	struct thrum_switch *scope = entry->scope;
	enum thrum_promise_state state = thrum_promise_state(entry->promise);

	unlink_entry(entry);
	if (entry->hook && !scope->failed && state != THRUM_PROMISE_RESOLVED)
		scope->failed = state == THRUM_PROMISE_FAILED
			? thrum_promise_ref(entry->promise)
			: thrum__promise_no_memory(scope->loop);
	thrum_promise_unref(entry->promise);
	thrum__promise_release(scope->loop, entry);
	count_down(scope);
}

/* A switch that is off waits for all that it counts. */
static void record_wait(const struct scope_entry *entry)
{
	if (!entry->scope->is_on && thrum_promise_state(entry->promise) == THRUM_PROMISE_PENDING)
		thrum_task_wait(entry->scope->task, thrum_promise_task_id(entry->promise));
}

/* Counts the entry until its promise ends. Returns false if there is no memory to be told of that
 * end. */
static bool watch_entry(struct scope_entry *entry, struct thrum_promise *promise)
{
	struct thrum_switch *scope = entry->scope;
	size_t remaining = scope->remaining++;

	entry->promise = thrum_promise_ref(promise);
	record_wait(entry);
	thrum__promise_on_termination(NULL, thrum_promise_ref(promise), do_nothing, entry,
		entry_ended);
	return scope->remaining > remaining ||
		thrum_promise_state(promise) != THRUM_PROMISE_PENDING;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

static struct scope_entry *add_entry(struct thrum_switch *scope, struct scope_entry **list)
{
	struct scope_entry *entry = scope->is_on
		? thrum__promise_allocate(scope->loop, sizeof(*entry))
		: NULL;

	if (entry) {
		entry->scope = scope;
		link_entry(entry, list);
	}
	return entry;
}

void thrum_switch_add(struct thrum_switch *scope, struct thrum_promise *promise)
{
	struct scope_entry *entry;

	if (scope && thrum_promise_state(promise) == THRUM_PROMISE_PENDING) {
		thrum__promise_loop_check(scope->loop);
		entry = add_entry(scope, &scope->children);
		if (!entry || !watch_entry(entry, promise))
			thrum__promise_cancel(NULL, promise);
	}
	thrum_promise_unref(promise);
}

void thrum_switch_add_hook(struct thrum_switch *scope, thrum_begin *hook, void *data,
	thrum_destroy *destroy)
{
	struct scope_entry *entry = scope ? add_entry(scope, &scope->hooks) : NULL;

	if (entry) {
		entry->hook = hook;
		entry->data = data;
		entry->destroy = destroy;
		return;
	}
	if (scope)
		thrum__promise_ignore_result(NULL, hook(scope->loop, data));
	if (destroy)
		destroy(data);
}

/* ---- Turning off ----------------------------------------------------------------------------- */

static void begin_hook(struct scope_entry *entry)
{
	struct thrum_loop *loop = entry->scope->loop;
	thrum_begin *hook = thrum__promise_loop_is_closing(loop) ? NULL : entry->hook;
	struct thrum_promise *promise = hook ? hook(loop, entry->data) : NULL;

	if (entry->destroy)
		entry->destroy(entry->data);
	if (!promise)
		promise = thrum__promise_no_memory(loop);
	watch_entry(entry, promise);
	thrum_promise_unref(promise);
}

static void turn_scope_off(struct thrum_switch *scope, struct thrum_site *site)
{
	struct thrum_promise *child;
	struct scope_entry *entry;

	scope->is_on = false;
	scope->off = thrum__promise_wait(site, scope->loop, NULL, &scope->resolver);
	thrum_task_wait(thrum__promise_resolver_task(scope->resolver), scope->task);
	while ((entry = scope->children)) {
		unlink_entry(entry);
		record_wait(entry);
		child = thrum_promise_ref(entry->promise);
		thrum__promise_cancel(NULL, child);
		thrum_promise_unref(child);
	}
	while ((entry = scope->hooks)) {
		unlink_entry(entry);
		begin_hook(entry);
	}
}

struct thrum_promise *thrum__switch_off(struct thrum_site *site, struct thrum_switch *scope)
{
	struct thrum_promise *off;

	if (!scope)
		return NULL;
	thrum__promise_loop_check(scope->loop);
	if (!scope->is_on)
		return thrum_promise_ref(scope->off);
	turn_scope_off(scope, site);
	off = thrum_promise_ref(scope->off);
	count_down(scope);
	return off;
}

void thrum_switch_destroy(struct thrum_switch *scope)
{
	if (!scope)
		return;
	if (scope->is_on)
		thrum__promise_ignore_result(NULL, thrum__switch_off(NULL, scope));
	scope->destroyed = true;
	free_scope_if_done(scope);
}

/* ---- A scope around a body ------------------------------------------------------------------- */

struct scope_run {
	struct thrum_switch *scope;
	struct thrum_site *site;
	struct thrum_promise *body;
};

static struct thrum_promise *forget_failure(struct thrum_loop *loop,
	const struct thrum_failure *failure, void *data)
{
	return thrum_promise_return(loop, thrum_value_none());
}

static struct thrum_promise *end_scope(struct thrum_loop *loop, void *data)
{
	struct scope_run *run = data;
	struct thrum_promise *off = thrum__switch_off(run->site, run->scope);

	/* The failure of the body comes before that of turning off. */
	if (thrum_promise_state(run->body) == THRUM_PROMISE_FAILED)
		off = thrum__promise_catch(NULL, off, forget_failure, NULL, NULL);
	return off;
}

static void destroy_scope_run(void *data)
{
	struct scope_run *run = data;
	struct thrum_loop *loop = run->scope->loop;

	thrum_switch_destroy(run->scope);
	thrum_promise_unref(run->body);
	thrum__promise_release(loop, run);
}

static struct scope_run *create_scope_run(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct scope_run *run = thrum__promise_allocate(loop, sizeof(*run));

	if (!run)
		return NULL;
	run->site = site;
	run->scope = thrum__switch_create(site, loop, label);
	if (run->scope)
		return run;
	thrum__promise_release(loop, run);
	return NULL;
}

/* Attaches the end of the scope before it calls the body, so that the end needs no memory later. */
static struct thrum_promise *begin_body(struct thrum_site *site, struct scope_run *run,
	thrum_switch_body *body, void *data)
{
	struct thrum_switch *scope = run->scope;
	struct thrum_loop *loop = scope->loop;
	struct thrum_resolver *resolver;
	struct thrum_promise *whole;

	run->body = thrum__promise_wait(site, loop, NULL, &resolver);
	if (thrum_promise_state(run->body) == THRUM_PROMISE_FAILED) {
		thrum_resolver_drop(resolver);
		destroy_scope_run(run);
		return thrum__promise_no_memory(loop);
	}
	whole = thrum__promise_finalize(site, thrum_promise_ref(run->body), end_scope, run,
		destroy_scope_run);
	if (thrum_promise_state(whole) == THRUM_PROMISE_PENDING)
		thrum_resolver_follow(resolver, body(loop, scope, data));
	else
		thrum_resolver_drop(resolver);
	return whole;
}

struct thrum_promise *thrum__switch_with(struct thrum_site *site, struct thrum_loop *loop,
	const char *label, thrum_switch_body *body, void *data, thrum_destroy *destroy)
{
	struct scope_run *run = loop ? create_scope_run(site, loop, label) : NULL;
	struct thrum_promise *whole = run ? begin_body(site, run, body, data)
					  : thrum__promise_no_memory(loop);

	if (destroy)
		destroy(data);
	return whole;
}
