/* SPDX-License-Identifier: ISC */
/*
 * Whether threads have heard of others: then these may have given them work. A new thread knows only of what
 * its creator had heard till then.
 */
#include "adapt/base/base.h"

#define TICK 4000000 /* ns: more than rough_time() may be wrong by */

/* Stands in the place of the next call that takes a lock, until there is one. A handler of a signal may come
 * between the writes of such a call, so only that place may be wrong then. */
#define NOBODY ((uintptr_t)&nobody)
static const char nobody;

uint32_t thrum__adapt_news_begin(struct thread *self)
{
	if (atomic_load_explicit(&self->holds, memory_order_relaxed) > 0)
		return 0;
	if (atomic_load_explicit(&self->held[0].caller, memory_order_relaxed) != NOBODY) {
		hear_news(self);
		atomic_store_explicit(&self->held[0].caller, NOBODY, memory_order_relaxed);
	}
	return atomic_load_explicit(&self->news, memory_order_relaxed);
}

bool thrum__adapt_heard_nothing(const struct thread *thread, uint32_t since)
{
	return since != 0 && atomic_load_explicit(&thread->tid, memory_order_relaxed) != 0 &&
		atomic_load_explicit(&thread->held[0].caller, memory_order_relaxed) == NOBODY &&
		atomic_load_explicit(&thread->news, memory_order_relaxed) == since;
}

void thrum__adapt_note_nap(struct thread *self)
{
	if (!self || atomic_load_explicit(&self->napped, memory_order_relaxed) < 0)
		return;
	if (thrum__adapt_news_begin(self) !=
		atomic_load_explicit(&self->nap_news, memory_order_relaxed))
		atomic_store(&self->napped, -1);
	else if (atomic_load_explicit(&self->napped, memory_order_relaxed) == 0)
		atomic_store(&self->napped, rough_time());
}

bool thrum__adapt_only_naps(const struct thread *thread, int64_t before)
{
	int64_t napped = atomic_load(&thread->napped), since = atomic_load(&thread->calm_since);

	return napped > 0 && (napped < since ? napped : since) + TICK < before &&
		thrum__adapt_heard_nothing(thread, atomic_load(&thread->nap_news));
}

void thrum__adapt_news_first(struct thread *self)
{
	uint32_t news;

	hear_news(self);
	news = thrum__adapt_news_begin(self);
	atomic_store(&self->nap_news, news);
	atomic_store(&self->napped, 0);
	self->calm_news = news;
	atomic_store(&self->calm_since, rough_time());
}

/* One that waits for events, or has to do with sockets, may learn more than is noted. */
int64_t thrum__adapt_calm_since(struct thread *self)
{
	uint32_t news;

	if (!self || atomic_load(&self->turns) != 0 || atomic_load(&self->loops) != 0 ||
		atomic_load(&self->messages) != 0)
		return rough_time();
	news = thrum__adapt_news_begin(self);
	if (news == 0)
		return rough_time();
	if (news != self->calm_news) {
		self->calm_news = news;
		atomic_store(&self->calm_since, rough_time());
	}
	return atomic_load(&self->calm_since);
}
