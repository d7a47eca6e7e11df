/* SPDX-License-Identifier: ISC */
/*
 * Cancellation, in two steps: first looks backwards for what can be cancelled, and makes it fail;
 * then callbacks run. Neither recursive nor repeated where ways meet in a group.
 */
#include "promise/core.h"

struct search {
	struct failure *failure; /* borrowed */
	struct list groups;      /* visited */
	struct list canceled;    /* each with a reference */
};

static void append(struct list *list, struct thrum_promise *promise)
{
	promise->next = NULL;
	if (list->last)
		list->last->next = promise;
	else
		list->first = promise;
	list->last = promise;
}

/* Who will end a pending promise; NULL when nobody is known. */
static struct thrum_promise *active(struct thrum_promise *root)
{
	return root->action == MERGED ? root->active : root;
}

static void fail(struct search *search, struct thrum_promise *root)
{
	thrum__end_failed(root, thrum__failure_ref(search->failure));
	append(&search->canceled, thrum__ref(root));
}

/* One step from a promise that is pending and who will end it; NULL at the end of the way, or at a
 * group. */
static struct thrum_promise *step_back(struct search *search, struct thrum_promise *root,
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
			fail(search, root);
		return NULL;
	case PROTECTED:
		/* With the reference of its source's list. */
		waits = node->waiting.source;
		if (waits)
			thrum__detach(node);
		node->action = DONE;
		fail(search, root);
		if (waits)
			thrum__unref(node);
		return NULL;
	case GROUP:
		if (!(node->flags & VISITED))
			append(&search->groups, node);
		node->flags |= VISITED;
		return NULL;
	default: return NULL;
	}
}

/* From a promise to the end of its way. A way may lead round to promises that wait for themselves:
 * one of them is marked, ever later, until it is met again (Brent's algorithm). */
static void go_back(struct search *search, struct thrum_promise *promise)
{
	const struct thrum_promise *mark = NULL;
	size_t steps, limit = 1;

	for (steps = 0; promise; steps++) {
		struct thrum_promise *root = thrum__find(promise), *node;

		if (root == mark || root->state != PENDING || !(node = active(root)))
			return;
		if (steps == limit) {
			mark = root;
			limit *= 2;
		}
		promise = step_back(search, root, node);
	}
}

/* Groups that are found on the way come to the end of the list, so this goes through all. */
static void go_back_from_groups(struct search *search)
{
	struct thrum_promise *group, *entry;

	for (group = search->groups.first; group; group = group->next)
		for (entry = group->group.entries; entry; entry = entry->entry.sibling)
			if (!(entry->flags & KEPT))
				go_back(search, entry->waiting.source);
	for (group = search->groups.first; group; group = group->next)
		group->flags &= (uint8_t)~VISITED;
}

/* The library's own come first, for all: until then a resolver that was found must not be used. */
static void tell(struct search *search)
{
	struct thrum_promise *root, *node, *next;

	for (root = search->canceled.first; root; root = root->next) {
		node = active(root);
		if (node && node->action == REQUEST)
			node->closure.callback.canceled((struct thrum_resolver *)node,
				node->closure.data);
	}
	for (root = search->canceled.first; root; root = next) {
		next = root->next;
		thrum__dispatch(root);
	}
}

static void cancel(struct thrum_promise *promise, struct failure *failure)
{
	struct thrum_loop *loop = promise->loop;
	struct search search = {failure, {NULL, NULL}, {NULL, NULL}};

	thrum__callback_enter(loop);
	go_back(&search, promise);
	go_back_from_groups(&search);
	tell(&search);
	thrum__callback_leave(loop);
}

static bool is_pending(const struct thrum_promise *promise)
{
	return !promise->loop->closing && thrum__find(promise)->state == PENDING;
}

void thrum__cancel_promise(struct thrum_promise *promise)
{
	if (is_pending(promise))
		cancel(promise, &promise->loop->canceled_failure);
}

void thrum__promise_cancel(struct thrum_site *place, struct thrum_promise *promise)
{
	struct thrum_loop *loop;
	struct failure *failure;

	if (!promise)
		return;
	loop = promise->loop;
	thrum__loop_check(loop);
	if (!is_pending(promise))
		return;
	failure = thrum__failure_plain(loop, place, THRUM_CANCELED);
	/* Without memory it has no place. */
	if (failure->shown.code != THRUM_CANCELED) {
		thrum__failure_unref(loop, failure);
		failure = thrum__failure_ref(&loop->canceled_failure);
	}
	cancel(promise, failure);
	thrum__failure_unref(loop, failure);
}

static struct thrum_promise *shield(struct thrum_site *site, struct thrum_promise *promise,
	enum action action, enum thrum_kind kind)
{
	if (!promise || !is_pending(promise))
		return promise;
	thrum__loop_check(promise->loop);
	return thrum__wait_for(site, promise, action, kind,
		&(struct closure){{NULL}, {NULL}, NULL, NULL});
}

struct thrum_promise *thrum__promise_protected(struct thrum_site *site,
	struct thrum_promise *promise)
{
	return shield(site, promise, PROTECTED, THRUM_KIND_TASK);
}

struct thrum_promise *thrum__promise_no_cancel(struct thrum_site *site,
	struct thrum_promise *promise)
{
	return shield(site, promise, NO_CANCEL, THRUM_KIND_WAIT);
}
