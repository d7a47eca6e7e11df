/* SPDX-License-Identifier: ISC */
/*
 * Semaphores whose permits other threads give back than those that took them. Nobody knows who has the
 * permits, but where they were given back: once a thread has waited for long, the semaphore's name tells.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <semaphore.h>
#include <string.h>

#include "adapt/pthread/pthread.h"

#define LONG 200 /* ms for which a thread waits first */
#define POSTS 3  /* so often they must have been given back */

REAL(sem_timedwait)
REAL(sem_wait)

/* By the places of semaphores. */
static struct posts {
	_Atomic uint32_t count;    /* since it began, with permits; 0 also if that isn't known */
	const void *_Atomic place; /* NULL: there are several */
	_Atomic bool is_counted, is_told;
} posts[ADDRESSES];

static struct posts *posts_of(const void *semaphore)
{
	return &posts[semaphore_of(semaphore) - thrum__adapt_semaphores];
}

void thrum__adapt_posts_begin(const void *semaphore, unsigned permits)
{
	struct posts *its = posts_of(semaphore);

	atomic_store(&its->is_counted, permits > 0);
	atomic_store(&its->is_told, false);
	atomic_store(&its->count, 0);
	atomic_store(&its->place, NULL);
}

/* Whether all posts were of threads that had none of its permits. */
static bool is_counted(const void *semaphore)
{
	uintptr_t known = atomic_load_explicit(semaphore_of(semaphore), memory_order_relaxed);

	return (known | PERMITS_ONE) == ((uintptr_t)semaphore | PERMITS_STRANGE | PERMITS_ONE) &&
		atomic_load_explicit(&posts_of(semaphore)->is_counted, memory_order_relaxed);
}

/* Gives a semaphore its usual name again. */
static void name_again(const void *semaphore)
{
	const struct object *object = thrum__adapt_object((uintptr_t)semaphore);
	char label[PLACE_MAX];

	if (!object)
		return;
	thrum__adapt_label(label, "semaphore", semaphore);
	thrum_task_label(atomic_load(&object->task), label);
}

void thrum__adapt_posts_note(const void *semaphore, const void *caller)
{
	struct posts *its = posts_of(semaphore);

	if (!is_counted(semaphore))
		return;
	if (atomic_fetch_add_explicit(&its->count, 1, memory_order_relaxed) == 0)
		atomic_store_explicit(&its->place, caller, memory_order_relaxed);
	else if (atomic_load_explicit(&its->place, memory_order_relaxed) != caller &&
		atomic_exchange(&its->place, NULL) && atomic_exchange(&its->is_told, false))
		name_again(semaphore);
}

/* Returns whether there is anything to tell. */
static bool tell(const struct wait *wait, const void *semaphore)
{
	struct posts *its = posts_of(semaphore);
	const void *place = atomic_load(&its->place);
	char label[2 * PLACE_MAX];

	if (!is_counted(semaphore) || atomic_load(&its->count) < POSTS || !place)
		return false;
	thrum__adapt_label(label, "semaphore", semaphore);
	thrum__adapt_label(strchr(label, '\0'), ", always posted by", place);
	thrum_task_label(wait->source, label);
	atomic_store(&its->is_told, true);
	return true;
}

int thrum__adapt_posts_wait(const struct wait *wait, void *semaphore, const void *caller)
{
	struct timespec until;
	int error = errno, result;

	if (wait->pause.is_over || wait->pause.is_untold || !is_counted(semaphore))
		return 1;
	until = after_ms(LONG);
	result = real_sem_timedwait(caller)(semaphore, &until);
	if (result == 0 || errno != ETIMEDOUT)
		return result;
	errno = error;
	if (!tell(wait, semaphore))
		return 1;
	result = real_sem_wait(caller)(semaphore);
	error = errno;
	if (atomic_exchange(&posts_of(semaphore)->is_told, false))
		name_again(semaphore);
	errno = error;
	return result;
}
