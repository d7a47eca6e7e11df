/* SPDX-License-Identifier: ISC */
/*
 * Cancellation, in two steps. First it searches backwards for the promises that can be cancelled,
 * and marks them as failed. Then callbacks run. The search isn't recursive, and visits a group once
 * even if several ways lead to it.
 */
#include "promise/core/core.h"

struct search {
	struct counted_failure *failure; /* borrowed */
	struct promise_list groups;      /* visited */
	struct promise_list canceled;    /* each with a reference */
};

static void append_promise(struct promise_list *list, struct thrum_promise *promise)
{
	promise->next = NULL;
	if (list->last)
		list->last->next = promise;
	else
		list->first = promise;
	list->last = promise;
}

/* Returns the promise whose end will end a pending root; NULL if it is unknown. */
static struct thrum_promise *find_ender(struct thrum_promise *root)
{
	return root->action == MERGED ? root->active : root;
}

static void fail_found(struct search *search, struct thrum_promise *root)
{
	thrum__promise_mark_failed(root, thrum__promise_failure_ref(search->failure));
	append_promise(&search->canceled, thrum__promise_ref(root));
}

/* Goes one step back from a pending root and the promise that will end it. Returns NULL at the end
 * of the way and at a group. */
static struct thrum_promise *step_to_source(struct search *search, struct thrum_promise *root,
	struct thrum_promise *node)
{
	bool waits;

	switch ((enum action)node->action) {
	case BIND:
	case MAP:
	case CATCH:
	case TRY_BIND:
	case FINALIZE:
	case RESTORE:
	case COPY: return node->waiting.source;
	case REQUEST:
		if (node->closure.callback.canceled)
			fail_found(search, root);
		return NULL;
	case PROTECTED:
		/* The reference of the source's list becomes ours. */
		waits = node->waiting.source;
		if (waits)
			thrum__promise_detach(node);
		node->action = DONE;
		fail_found(search, root);
		if (waits)
			thrum__promise_unref(node);
		return NULL;
	case GROUP:
		if (!(node->flags & VISITED))
			append_promise(&search->groups, node);
		node->flags |= VISITED;
		return NULL;
	default: return NULL;
	}
}

/* Goes back from a promise to the end of its way. A way may lead into a cycle of promises that wait
 * for themselves. Brent's algorithm finds that: it marks a promise, after 1, 2, 4, ... steps, and
 * stops when it meets the mark again. */
static void search_from(struct search *search, struct thrum_promise *promise)
{
	const struct thrum_promise *mark = NULL;
	size_t steps, limit = 1;

	for (steps = 0; promise; steps++) {
		struct thrum_promise *root = thrum__promise_root(promise), *node;

		if (root == mark || root->state != PENDING || !(node = find_ender(root)))
			return;
		if (steps == limit) {
			mark = root;
			limit *= 2;
		}
		promise = step_to_source(search, root, node);
	}
}

/* Searches from the sources of all groups on the way. Groups found meanwhile are appended to the
 * list, so the loop reaches them too. */
static void search_from_groups(struct search *search)
{
	struct thrum_promise *group, *entry;

	for (group = search->groups.first; group; group = group->next)
		for (entry = group->group.entries; entry; entry = entry->entry.sibling)
			if (!(entry->flags & KEPT))
				search_from(search, entry->waiting.source);
	for (group = search->groups.first; group; group = group->next)
		group->flags &= (uint8_t)~VISITED;
}

/* Calls the library's own `canceled` functions for all promises first: until then a resolver of a
 * cancelled promise must not be used. Then runs callbacks. */
static void tell_canceled(struct search *search)
{
	struct thrum_promise *root, *node, *next;

	for (root = search->canceled.first; root; root = root->next) {
		node = find_ender(root);
		if (node && node->action == REQUEST)
			node->closure.callback.canceled((struct thrum_resolver *)node,
				node->closure.data);
	}
	for (root = search->canceled.first; root; root = next) {
		next = root->next;
		thrum__promise_dispatch(root);
	}
}

static void cancel_pending(struct thrum_promise *promise, struct counted_failure *failure)
{
	struct thrum_loop *loop = promise->loop;
	struct search search = {failure, {NULL, NULL}, {NULL, NULL}};

	thrum__promise_callback_enter(loop);
	search_from(&search, promise);
	search_from_groups(&search);
	tell_canceled(&search);
	thrum__promise_callback_leave(loop);
}

static bool is_pending(const struct thrum_promise *promise)
{
	return !promise->loop->closing && thrum__promise_root(promise)->state == PENDING;
}

void thrum__promise_cancel_by_library(struct thrum_promise *promise)
{
	if (is_pending(promise))
		cancel_pending(promise, &promise->loop->canceled_failure);
}

void thrum__promise_cancel(struct thrum_site *place, struct thrum_promise *promise)
{
	struct thrum_loop *loop;
	struct counted_failure *failure;

	if (!promise)
		return;
	loop = promise->loop;
	thrum__promise_loop_check(loop);
	if (!is_pending(promise))
		return;
	failure = thrum__promise_failure_plain(loop, place, THRUM_CANCELED);
	/* Without memory the failure has no place. */
	if (failure->shown.code != THRUM_CANCELED) {
		thrum__promise_failure_unref(loop, failure);
		failure = thrum__promise_failure_ref(&loop->canceled_failure);
	}
	cancel_pending(promise, failure);
	thrum__promise_failure_unref(loop, failure);
}

static struct thrum_promise *shield_promise(struct thrum_site *site, struct thrum_promise *promise,
	enum action action, enum thrum_kind kind)
{
	if (!promise || !is_pending(promise))
		return promise;
	thrum__promise_loop_check(promise->loop);
	return thrum__promise_wait_for(site, promise, action, kind,
		&(struct closure){{NULL}, {NULL}, NULL, NULL});
}

struct thrum_promise *thrum__promise_protected(struct thrum_site *site,
	struct thrum_promise *promise)
{
	return shield_promise(site, promise, PROTECTED, THRUM_KIND_TASK);
}

struct thrum_promise *thrum__promise_no_cancel(struct thrum_site *site,
	struct thrum_promise *promise)
{
	return shield_promise(site, promise, NO_CANCEL, THRUM_KIND_WAIT);
}
