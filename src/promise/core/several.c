/* SPDX-License-Identifier: ISC */
/*
 * Groups: the results of join, both, choose, pick, nchoose and npick. A group has an entry in the
 * list of each of its sources. When the group ends, its entries leave those lists at once, so that
 * a source that lives long doesn't collect the entries of all its groups.
 */
#include "promise/core/core.h"

/* ---- Items ----------------------------------------------------------------------------------- */

struct items {
	struct thrum_items shown; /* first, because the value is its address */
	struct thrum_loop *loop;
	struct thrum_item item[];
};

static void destroy_items(void *data)
{
	struct items *items = data;
	struct thrum_loop *loop = items->loop;
	size_t i;

	for (i = 0; i < items->shown.count; i++)
		thrum__promise_unref(items->item[i].promise);
	thrum__promise_release(loop, items);
}

static struct items *new_items(struct thrum_loop *loop, size_t count)
{
	struct items *items = count > (SIZE_MAX - sizeof(*items)) / sizeof(struct thrum_item)
		? NULL
		: thrum__promise_allocate(loop, sizeof(*items) + count * sizeof(struct thrum_item));

	if (items) {
		items->shown.item = items->item;
		items->loop = loop;
	}
	return items;
}

/* Returns a promise that owns the value of `handle` for as long as the items exist. While callbacks
 * of the source run, the source has one more reference, so its value could not be taken. Therefore
 * the value moves to a promise of its own, if it can. */
static struct thrum_promise *keep_value(struct thrum_promise *handle)
{
	struct thrum_promise *root = thrum__promise_root(handle), *owner;
	struct thrum_value value;

	if (root->state != RESOLVED || !root->value.destroy)
		return thrum__promise_ref(handle);
	owner = thrum__promise_new(root->loop);
	if (!owner)
		return thrum__promise_ref(handle);
	if (!thrum_promise_take(handle, &value)) {
		thrum__promise_unref(owner);
		return thrum__promise_ref(handle);
	}
	thrum__promise_settle_value(thrum__promise_ref(owner), value);
	return owner;
}

/* Consumes the promise. */
static void add_item(struct items *items, size_t index, struct thrum_promise *promise)
{
	struct thrum_item *item = &items->item[items->shown.count++];

	item->value = thrum_promise_value(promise);
	item->promise = promise;
	item->index = index;
}

static struct thrum_value items_value(struct items *items)
{
	return thrum_value_own(&items->shown, destroy_items);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static bool has_ended(const struct thrum_promise *promise)
{
	return thrum__promise_root(promise)->state != PENDING;
}

static bool has_failed(const struct thrum_promise *promise)
{
	return thrum__promise_root(promise)->state == FAILED;
}

static bool waits_for_all(enum group_type type)
{
	return type == GROUP_JOIN || type == GROUP_BOTH;
}

/* Takes an entry out of its source's list, if it is in one. From then on the entry owns `source`,
 * which is its source or a promise in place of it. */
static void keep_source(struct thrum_promise *entry, struct thrum_promise *source)
{
	if (entry->waiting.source)
		thrum__promise_detach(entry);
	entry->waiting.source = source;
	entry->flags |= KEPT;
}

static bool entry_is_waiting(const struct thrum_promise *entry)
{
	return !(entry->flags & KEPT) && entry->waiting.source;
}

/* Takes the entries from a group. From then on only the caller can end the group. */
static struct thrum_promise *close_group(struct thrum_promise *owner)
{
	struct thrum_promise *entries = owner->group.entries;

	owner->group.entries = NULL;
	owner->action = DONE;
	return entries;
}

/* Gives back a source that no entry waits for. A protected or no_cancel promise that was made for
 * the group alone stops waiting for its own source, which may live long and take part in many
 * groups. */
static void release_source(struct thrum_promise *source)
{
	if ((source->action == NO_CANCEL || source->action == PROTECTED) &&
		source->state == PENDING && source->waiting.source && source->references == 2 &&
		!source->waiters.first) {
		thrum_task_cancel(source->task);
		thrum__promise_drop_waiter(source);
	}
	thrum__promise_unref(source);
}

static void free_entries(struct thrum_promise *entry)
{
	struct thrum_promise *next;

	for (; entry; entry = next) {
		next = entry->entry.sibling;
		if (entry_is_waiting(entry))
			keep_source(entry, thrum__promise_ref(entry->waiting.source));
		if (entry->flags & KEPT)
			release_source(entry->waiting.source);
		thrum__promise_free(entry);
	}
}

/* Ends the group with the items of the sources that have ended, or as the first of these that
 * failed. */
static void settle_with_items(struct thrum_promise *owner, struct thrum_promise *entries)
{
	struct thrum_loop *loop = owner->loop;
	struct thrum_promise *entry;
	struct items *items;
	size_t count = 0;

	for (entry = entries; entry; entry = entry->entry.sibling) {
		if (!(entry->flags & KEPT) || !has_ended(entry->waiting.source))
			continue;
		if (has_failed(entry->waiting.source)) {
			thrum__promise_settle_as(owner, entry->waiting.source);
			return;
		}
		count++;
	}
	items = new_items(loop, count);
	if (!items) {
		thrum__promise_settle_as(owner, &loop->no_memory);
		return;
	}
	for (entry = entries; entry; entry = entry->entry.sibling)
		if (entry->flags & KEPT && has_ended(entry->waiting.source)) {
			add_item(items, entry->entry.index, entry->waiting.source);
			entry->flags &= (uint8_t)~KEPT;
			entry->waiting.source = NULL;
		}
	thrum__promise_settle_value(owner, items_value(items));
}

/* Ends a group whose sources have all ended. */
static void end_when_all_ended(struct thrum_promise *owner)
{
	struct thrum_promise *failed = owner->group.failed;
	enum group_type type = (enum group_type)owner->group.type;
	bool broken = owner->group.broken;
	struct thrum_promise *entries = close_group(owner);

	if (broken)
		thrum__promise_unref(owner);
	else if (failed)
		thrum__promise_settle_as(owner, failed);
	else if (type == GROUP_BOTH)
		settle_with_items(owner, entries);
	else
		thrum__promise_settle_value(owner, thrum_value_none());
	if (failed)
		thrum__promise_unref(failed);
	free_entries(entries);
}

/* Cancels the sources that are still pending. First the entries own them, because callbacks may do
 * anything; the group has been closed before. */
static void cancel_losers(struct thrum_promise *entries)
{
	struct thrum_promise *entry;

	for (entry = entries; entry; entry = entry->entry.sibling)
		if (entry_is_waiting(entry))
			keep_source(entry, thrum__promise_ref(entry->waiting.source));
	for (entry = entries; entry; entry = entry->entry.sibling)
		if (entry->flags & KEPT)
			thrum__promise_cancel_by_library(entry->waiting.source);
}

/* Ends a group with items. Sources that have ended by now count too, also those whose callbacks are
 * only deferred. Those that cancelling ends don't count, so the items are collected before, and the
 * group ends after it. */
static void end_with_items(struct thrum_promise *owner, struct thrum_promise *entries, bool cancels)
{
	struct thrum_promise *result = thrum__promise_new(owner->loop), *entry;

	if (!result)
		result = thrum__promise_ref(&owner->loop->no_memory);
	for (entry = entries; entry; entry = entry->entry.sibling)
		if (entry_is_waiting(entry) && has_ended(entry->waiting.source))
			keep_source(entry, keep_value(entry->waiting.source));
	settle_with_items(thrum__promise_ref(result), entries);
	if (cancels)
		cancel_losers(entries);
	free_entries(entries);
	owner->loop->ends_run = true;
	thrum__promise_settle_as(owner, result);
	thrum__promise_unref(result);
}

/* Ends a group whose first source has ended, as `handle`. The entries go first, because the waiters
 * of the group may end the other sources at once. */
static void end_with_first(struct thrum_promise *owner, struct thrum_promise *handle)
{
	enum group_type type = (enum group_type)owner->group.type;
	struct thrum_promise *entries = close_group(owner);

	if (type == GROUP_NCHOOSE || type == GROUP_NPICK) {
		end_with_items(owner, entries, type == GROUP_NPICK);
	} else {
		if (type == GROUP_PICK)
			cancel_losers(entries);
		free_entries(entries);
		owner->loop->ends_run = true;
		thrum__promise_settle_as(owner, handle);
	}
}

void thrum__promise_entry_run(struct thrum_promise *entry, struct thrum_promise *handle)
{
	struct thrum_promise *owner = entry->entry.owner, *source = thrum__promise_root(handle);
	enum group_type type = (enum group_type)owner->group.type;
	struct thrum_loop *loop = owner->loop;
	struct run run = thrum__promise_run_enter(loop, owner->task, source->task);

	owner->group.remaining--;
	if (waits_for_all(type)) {
		if (source->state == FAILED && !owner->group.failed)
			owner->group.failed = thrum__promise_ref(handle);
		if (type == GROUP_BOTH)
			keep_source(entry, keep_value(handle));
		if (owner->group.remaining == 0)
			end_when_all_ended(owner);
	} else {
		if (type == GROUP_NCHOOSE || type == GROUP_NPICK)
			keep_source(entry, keep_value(handle));
		end_with_first(owner, handle);
	}
	thrum__promise_run_leave(loop, run);
}

void thrum__promise_entry_drop(struct thrum_promise *entry)
{
	struct thrum_promise *owner = entry->entry.owner;

	owner->group.broken = true;
	if (--owner->group.remaining == 0) {
		if (waits_for_all((enum group_type)owner->group.type)) {
			end_when_all_ended(owner);
		} else {
			free_entries(close_group(owner));
			thrum__promise_unref(owner);
		}
	}
}

/* ---- Making groups --------------------------------------------------------------------------- */

static struct thrum_promise *promise_at(struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t index)
{
	return promises[index] ? promises[index] : &loop->no_memory;
}

static void unref_promises(struct thrum_promise *const *promises, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		thrum_promise_unref(promises[i]);
}

/* Returns the entries of a group in the order of the array; NULL without memory. */
static struct thrum_promise *new_entries(struct thrum_promise *owner, size_t count)
{
	struct thrum_promise *entries = NULL, *entry;

	while (count-- > 0) {
		entry = thrum__promise_new(owner->loop);
		if (!entry) {
			free_entries(entries);
			return NULL;
		}
		entry->action = ENTRY;
		entry->entry.owner = owner;
		entry->entry.index = count;
		entry->entry.sibling = entries;
		entries = entry;
	}
	return entries;
}

/* Records the promises that the group's task waits for. The first of the array comes last: a
 * recording that has forgotten the rest remembers this one, and authors put the important promise
 * first. */
static void trace_waits(struct thrum_site *site, struct thrum_promise *owner,
	struct thrum_promise *const *promises, size_t count, enum thrum_kind kind)
{
	const struct thrum_promise *root;

	while (count-- > 0) {
		root = thrum__promise_root(promise_at(owner->loop, promises, count));
		if (root->state != PENDING)
			continue;
		if (owner->task == THRUM_TASK_NONE)
			owner->task = thrum__promise_trace_create_waiting(site, kind, root->task);
		else
			thrum_task_wait(owner->task, root->task);
	}
}

/* Returns a group. At least one of its sources is pending, or there is none. */
static struct thrum_promise *new_group(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count, enum group_type type,
	enum thrum_kind kind)
{
	struct thrum_promise *owner = thrum__promise_new(loop), *entry, *root;
	size_t i = 0;

	if (owner && count > 0) {
		owner->action = GROUP;
		owner->group = (struct group){NULL, NULL, 0, (uint8_t)type, false};
		owner->group.entries = new_entries(owner, count);
		if (!owner->group.entries) {
			thrum__promise_free(owner);
			owner = NULL;
		}
	}
	if (!owner) {
		unref_promises(promises, count);
		return thrum__promise_no_memory(loop);
	}
	if (count == 0) {
		owner->task = thrum__promise_trace_create(site, kind, NULL);
		return owner;
	}
	trace_waits(site, owner, promises, count, kind);
	for (entry = owner->group.entries; entry; entry = entry->entry.sibling, i++) {
		root = thrum__promise_root(promise_at(loop, promises, i));
		if (root->state == PENDING) {
			thrum__promise_attach(root, entry);
			owner->group.remaining++;
			continue;
		}
		if (root->state == FAILED && !owner->group.failed)
			owner->group.failed = thrum__promise_ref(root);
		keep_source(entry, thrum__promise_ref(root));
	}
	/* The group's own reference, taken before the sources are given back: a promise that nobody
	 * can end may be freed with its last reference, and its entry with it. */
	thrum__promise_ref(owner);
	unref_promises(promises, count);
	return owner;
}

/* Returns the index of the first of the array that failed, else of the first that has ended, else
 * `count`. Stores the number of pending ones. */
static size_t find_ended(struct thrum_loop *loop, struct thrum_promise *const *promises,
	size_t count, size_t *pending)
{
	size_t i, first = count;

	*pending = 0;
	for (i = 0; i < count; i++) {
		enum state state =
			(enum state)thrum__promise_root(promise_at(loop, promises, i))->state;

		if (state == PENDING)
			++*pending;
		else if (first == count ||
			(state == FAILED && !has_failed(promise_at(loop, promises, first))))
			first = i;
	}
	return first;
}

/* Returns a promise with the items of those that have ended, none of which failed. */
static struct thrum_promise *return_items(struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	struct items *items = new_items(loop, count);
	size_t i;

	if (!items)
		return thrum__promise_no_memory(loop);
	for (i = 0; i < count; i++)
		if (has_ended(promises[i]))
			add_item(items, i, thrum__promise_ref(promises[i]));
	return thrum_promise_return(loop, items_value(items));
}

/* Returns the result when enough sources have ended, so that no group is needed. Consumes the
 * promises. */
static struct thrum_promise *ended_group(struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count, size_t first, enum group_type type)
{
	struct thrum_promise *result;
	size_t i;

	if (first < count && has_failed(promise_at(loop, promises, first)))
		result = thrum__promise_ref(promise_at(loop, promises, first));
	else if (type == GROUP_JOIN)
		result = thrum__promise_ref(&loop->nothing);
	else if (type == GROUP_CHOOSE || type == GROUP_PICK)
		result = thrum__promise_ref(promises[first]);
	else
		result = return_items(loop, promises, count);
	if (type == GROUP_PICK || type == GROUP_NPICK)
		for (i = 0; i < count; i++)
			thrum__promise_cancel_by_library(promise_at(loop, promises, i));
	unref_promises(promises, count);
	return result;
}

static struct thrum_promise *make_group(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count, enum group_type type,
	enum thrum_kind kind)
{
	size_t first, pending;

	if (!loop) {
		unref_promises(promises, count);
		return NULL;
	}
	thrum__promise_loop_check(loop);
	first = find_ended(loop, promises, count, &pending);
	if (waits_for_all(type) ? pending == 0 : first < count)
		return ended_group(loop, promises, count, first, type);
	return new_group(site, loop, promises, count, type, kind);
}

struct thrum_promise *thrum__promise_join(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	return make_group(site, loop, promises, count, GROUP_JOIN, THRUM_KIND_JOIN);
}

struct thrum_promise *thrum__promise_both(struct thrum_site *site, struct thrum_promise *first,
	struct thrum_promise *second)
{
	struct thrum_promise *promises[] = {first, second};

	return make_group(site, thrum__promise_loop_of(first ? first : second), promises, 2,
		GROUP_BOTH, THRUM_KIND_JOIN);
}

struct thrum_promise *thrum__promise_choose(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	return make_group(site, loop, promises, count, GROUP_CHOOSE, THRUM_KIND_CHOOSE);
}

struct thrum_promise *thrum__promise_pick(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	return make_group(site, loop, promises, count, GROUP_PICK, THRUM_KIND_PICK);
}

struct thrum_promise *thrum__promise_nchoose(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	return make_group(site, loop, promises, count, GROUP_NCHOOSE, THRUM_KIND_CHOOSE);
}

struct thrum_promise *thrum__promise_npick(struct thrum_site *site, struct thrum_loop *loop,
	struct thrum_promise *const *promises, size_t count)
{
	return make_group(site, loop, promises, count, GROUP_NPICK, THRUM_KIND_PICK);
}
