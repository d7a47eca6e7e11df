/* SPDX-License-Identifier: ISC */
/* Mailboxes for one value. A promise that puts a value into a full mailbox waits together with the
 * value. */
#include "promise/sync/waiters.h"

struct thrum_mvar {
	struct thrum__promise_wait_queue takers, putters; /* one of the two is empty */
	struct thrum_value value;
	bool is_full;
};

struct thrum_mvar *thrum__mvar_create(struct thrum_site *site, struct thrum_loop *loop,
	const char *label)
{
	struct thrum_mvar *mvar = loop ? thrum__promise_allocate(loop, sizeof(*mvar)) : NULL;

	if (mvar) {
		thrum__promise_wait_queue_init(&mvar->takers, loop,
			thrum__promise_trace_create(site, THRUM_KIND_MAILBOX, label));
		mvar->putters = mvar->takers;
		mvar->putters.brings = true;
	}
	return mvar;
}

void thrum_mvar_destroy(struct thrum_mvar *mvar)
{
	if (!mvar)
		return;
	thrum__promise_wait_queue_close(&mvar->takers, THRUM_BROKEN);
	thrum__promise_wait_queue_close(&mvar->putters, THRUM_BROKEN);
	if (mvar->is_full)
		thrum_value_destroy(mvar->value);
	thrum_task_resolve(mvar->takers.task);
	thrum__promise_release(mvar->takers.loop, mvar);
}

bool thrum_mvar_try_put(struct thrum_mvar *mvar, struct thrum_value value)
{
	struct thrum_resolver *taker;

	if (!mvar || mvar->is_full)
		return false;
	thrum__promise_loop_check(mvar->takers.loop);
	thrum__promise_wait_queue_record_signal(&mvar->takers);
	taker = thrum__promise_wait_queue_pop(&mvar->takers, NULL);
	if (taker) {
		thrum_resolver_resolve(taker, value);
	} else {
		mvar->value = value;
		mvar->is_full = true;
	}
	return true;
}

struct thrum_promise *thrum__mvar_put(struct thrum_site *site, struct thrum_mvar *mvar,
	struct thrum_value value)
{
	struct thrum_loop *loop;

	if (!mvar) {
		thrum_value_destroy(value);
		return NULL;
	}
	loop = mvar->putters.loop;
	if (!thrum_mvar_try_put(mvar, value))
		return thrum__promise_wait_queue_join(site, &mvar->putters, THRUM_KIND_WAIT, NULL,
			value);
	return thrum_promise_return(loop, thrum_value_none());
}

bool thrum_mvar_try_take(struct thrum_mvar *mvar, struct thrum_value *value)
{
	struct thrum_resolver *putter;

	if (!mvar || !mvar->is_full)
		return false;
	thrum__promise_loop_check(mvar->takers.loop);
	*value = mvar->value;
	thrum_task_read(thrum_task_current(), mvar->takers.task);
	putter = thrum__promise_wait_queue_pop(&mvar->putters, &mvar->value);
	mvar->is_full = putter != NULL;
	thrum_resolver_resolve(putter, thrum_value_none());
	return true;
}

struct thrum_promise *thrum__mvar_take(struct thrum_site *site, struct thrum_mvar *mvar)
{
	struct thrum_loop *loop;
	struct thrum_value value;

	if (!mvar)
		return NULL;
	loop = mvar->takers.loop;
	if (!thrum_mvar_try_take(mvar, &value))
		return thrum__promise_wait_queue_join(site, &mvar->takers, THRUM_KIND_WAIT, NULL,
			thrum_value_none());
	return thrum_promise_return(loop, value);
}

bool thrum_mvar_is_empty(const struct thrum_mvar *mvar)
{
	return !mvar || !mvar->is_full;
}
