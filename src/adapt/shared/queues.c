/* SPDX-License-Identifier: ISC */
/* Queues of messages: those who have used one are known. A process asks if it sent a message before it ever
 * received one. */
#define _GNU_SOURCE
#include <errno.h>

#include "adapt/base/process.h"
#include "adapt/shared/queues.h"
#include "adapt/shared/sets.h"

#define TRIES 8
#define CHANGES 2 /* the place of a key, which is odd, while its users are removed */

static uint64_t key_of(const struct set_self *self, enum queue_sort sort, uint64_t number)
{
	return self->space ? mix_key(mix_key(self->space, number), sort + 2) | 1 : 0;
}

uint64_t thrum__adapt_queue_key(enum queue_sort sort, uint64_t number)
{
	int error = errno;
	uint64_t key = key_of(thrum__adapt_set_self(), sort, number);

	errno = error;
	return key;
}

/* ---- Noting ------------------------------------------------------------------------------------ */

/* This process; a fork's child has its parent's. */
static struct {
	_Atomic int32_t process;
	_Atomic bool has_received; /* before it sent anything */
	_Atomic uint64_t asked;    /* to which it sent last */
	_Atomic uint64_t noted[2]; /* the last queues, with the bits */
} own;

static struct thrum__adapt_queue *find(uint64_t key)
{
	struct thrum__adapt_queue *all = thrum__adapt_forks()->queue;

	for (unsigned i = 0; key && i < TRIES; i++) {
		struct thrum__adapt_queue *queue = &all[((key >> 1) + i) % FORKS_QUEUES];

		if (atomic_load_explicit(&queue->key, memory_order_acquire) == key)
			return queue;
	}
	return NULL;
}

/* Whether it has had users, and all that are noted have ended. */
static bool is_left(const struct thrum__adapt_queue *queue)
{
	bool has_users = false;

	for (unsigned i = 0; i < FORKS_USERS; i++) {
		pid_t process = atomic_load(&queue->user[i].process);

		if (process && !thrum__adapt_process_is_over(process))
			return false;
		has_users |= process != 0;
	}
	return has_users;
}

/* The place of a queue whose users have ended is used again for this key. It gets the key later, as others
 * that note the same queue at this time must stay. */
static void clear(struct thrum__adapt_queue *queue, uint64_t key)
{
	uint64_t before = atomic_load(&queue->key);

	if (!before || before == CHANGES || before == key || !is_left(queue) ||
		!atomic_compare_exchange_strong(&queue->key, &before, CHANGES))
		return;
	for (unsigned i = 0; i < FORKS_USERS; i++) {
		atomic_store(&queue->user[i].process, 0);
		atomic_store(&queue->user[i].bits, 0);
	}
	atomic_store(&queue->is_crowded, 0);
	atomic_store(&queue->key, 0);
}

static struct thrum__adapt_queue *find_or_make(uint64_t key)
{
	struct thrum__adapt_queue *all = thrum__adapt_forks()->queue, *found = find(key);

	for (unsigned i = 0; key && !found && i < TRIES; i++) {
		struct thrum__adapt_queue *queue = &all[((key >> 1) + i) % FORKS_QUEUES];
		uint64_t before = 0;

		clear(queue, key);
		if (atomic_compare_exchange_strong(&queue->key, &before, key) || before == key)
			found = queue;
	}
	return found;
}

/* Finds the place of a process among the users, or a new one. NULL: there is none. */
static struct thrum__adapt_user *find_user(struct thrum__adapt_queue *queue, pid_t process)
{
	for (unsigned i = 0; i < FORKS_USERS; i++) {
		struct thrum__adapt_user *user = &queue->user[i];
		int32_t before = 0;

		if (atomic_load(&user->process) == process)
			return user;
		if (!atomic_compare_exchange_strong(&user->process, &before, process))
			continue;
		thrum__adapt_note_name(user->name);
		return user;
	}
	atomic_store(&queue->is_crowded, 1);
	return NULL;
}

static NOINLINE void note(uint64_t key, unsigned bit, pid_t process)
{
	struct thrum__adapt_queue *queue = find_or_make(key);
	struct thrum__adapt_user *user = queue ? find_user(queue, process) : NULL;

	if (user)
		atomic_fetch_or(&user->bits,
			bit == QUEUE_SENDS && !atomic_load(&own.has_received) ? bit | QUEUE_ASKS
									      : bit);
}

uint64_t thrum__adapt_queue_used(enum queue_sort sort, uint64_t number, unsigned bit)
{
	int error = errno;
	const struct set_self *self = thrum__adapt_set_self();
	pid_t process = (pid_t)(self->thread >> 32);
	uint64_t key = key_of(self, sort, number);

	if (!key)
		return 0;
	if (atomic_load_explicit(&own.process, memory_order_relaxed) != process) {
		atomic_store(&own.noted[0], 0);
		atomic_store(&own.noted[1], 0);
		atomic_store(&own.asked, 0);
		atomic_store(&own.has_received, false);
		atomic_store(&own.process, process);
	}
	if (bit == QUEUE_SENDS)
		atomic_store_explicit(&own.asked, key, memory_order_relaxed);
	else if (!atomic_load_explicit(&own.asked, memory_order_relaxed))
		atomic_store(&own.has_received, true);
	if (UNLIKELY(atomic_load_explicit(&own.noted[bit == QUEUE_SENDS], memory_order_relaxed) !=
		    key)) {
		note(key, bit, process);
		atomic_store(&own.noted[bit == QUEUE_SENDS], key);
	}
	errno = error;
	return key;
}

uint64_t thrum__adapt_queue_asked(void)
{
	return atomic_load(&own.process) == own_pid() && !atomic_load(&own.has_received)
		? atomic_load(&own.asked)
		: 0;
}

void thrum__adapt_queue_killed(pid_t process)
{
	struct thrum__adapt_forks *forks = thrum__adapt_forks();

	for (unsigned i = 0; i < FORKS_QUEUES; i++)
		for (unsigned j = 0; atomic_load(&forks->queue[i].key) && j < FORKS_USERS; j++)
			if (atomic_load(&forks->queue[i].user[j].process) == process)
				atomic_fetch_or(&forks->queue[i].user[j].bits, QUEUE_KILLED);
}

/* ---- Asking ------------------------------------------------------------------------------------ */

bool thrum__adapt_queue_is_user(uint64_t key, unsigned bit, pid_t process)
{
	const struct thrum__adapt_queue *queue = find(key);
	bool is_user = false;

	for (unsigned i = 0; queue && i < FORKS_USERS && !is_user; i++)
		is_user = atomic_load(&queue->user[i].process) == process &&
			atomic_load(&queue->user[i].bits) & bit;
	return is_user;
}

unsigned thrum__adapt_queue_list(uint64_t key, unsigned bit, pid_t processes[FORKS_USERS])
{
	const struct thrum__adapt_queue *queue = find(key);
	unsigned count = 0;

	for (unsigned i = 0; queue && i < FORKS_USERS; i++) {
		pid_t process = atomic_load(&queue->user[i].process);

		if (process && atomic_load(&queue->user[i].bits) & bit)
			processes[count++] = process;
	}
	return queue && atomic_load(&queue->is_crowded) ? FORKS_USERS + 1 : count;
}

void thrum__adapt_queue_name(uint64_t key, pid_t process, char name[16])
{
	const struct thrum__adapt_queue *queue = find(key);

	*name = '\0';
	for (unsigned i = 0; queue && i < FORKS_USERS; i++)
		if (atomic_load(&queue->user[i].process) == process)
			thrum__adapt_copy_name(name, queue->user[i].name);
}

uint64_t thrum__adapt_queue_asked_by(pid_t process)
{
	const struct thrum__adapt_queue *all = thrum__adapt_forks()->queue;

	for (unsigned i = 0; i < FORKS_QUEUES; i++)
		for (unsigned j = 0; atomic_load(&all[i].key) && j < FORKS_USERS; j++)
			if (atomic_load(&all[i].user[j].process) == process &&
				atomic_load(&all[i].user[j].bits) & QUEUE_ASKS)
				return atomic_load(&all[i].key);
	return 0;
}

static void note_ended(struct queue_users *users, const struct thrum__adapt_user *user)
{
	users->ended++;
	users->is_killed |= (atomic_load(&user->bits) & QUEUE_KILLED) != 0;
	users->one = atomic_load(&user->process);
	thrum__adapt_copy_name(users->name, user->name);
}

void thrum__adapt_queue_users(uint64_t key, unsigned bit, uint64_t other, struct queue_users *users)
{
	const struct thrum__adapt_queue *queue = find(key);
	pid_t self = own_pid();

	*users = (struct queue_users){.is_whole = !queue || !atomic_load(&queue->is_crowded)};
	for (unsigned i = 0; queue && i < FORKS_USERS; i++) {
		const struct thrum__adapt_user *user = &queue->user[i];
		pid_t process = atomic_load(&user->process);

		if (!process || process == self || !(atomic_load(&user->bits) & bit))
			continue;
		if (!thrum__adapt_process_is_over(process)) {
			users->living++;
			continue;
		}
		note_ended(users, user);
		users->also |= other &&
			thrum__adapt_queue_is_user(other, bit ^ QUEUE_SENDS ^ QUEUE_RECEIVES,
				process);
	}
}
