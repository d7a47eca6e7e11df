/* SPDX-License-Identifier: ISC */
/*
 * Counters. A value has two parts: the sum that the counter's owner (the first thread to change it)
 * added without a locked instruction, and the sum that all others added with one. (Biased counting:
 * Choi, Shull, Torrellas, "Biased reference counting", PACT 2018.)
 */
#include <pthread.h>
#include <string.h>

#include "record/record.h"

static struct thrum_counter counters[THRUM_COUNTERS_MAX];
static _Atomic uint32_t counters_used;
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

void thrum__record_counters_lock(void)
{
	pthread_mutex_lock(&creating);
}

void thrum__record_counters_unlock(void)
{
	pthread_mutex_unlock(&creating);
}

static struct thrum_counter *find_counter(const char *path, uint32_t used)
{
	for (uint32_t i = 0; i < used; i++)
		if (strncmp(counters[i].path, path, sizeof counters[i].path - 1) == 0)
			return &counters[i];
	return NULL;
}

struct thrum_counter *thrum__counter_create(const char *path, int kind)
{
	if (!path)
		return NULL;
	char name[sizeof counters->path];

	thrum__format_copy_text(name, path, sizeof name - 1);
	thrum__record_counters_lock();
	uint32_t used = atomic_load(&counters_used);
	struct thrum_counter *counter = find_counter(name, used);

	if (!counter && used < THRUM_COUNTERS_MAX) {
		counter = &counters[used];
		memcpy(counter->path, name, sizeof name);
		counter->kind = (uint32_t)kind;
		atomic_store(&counters_used, used + 1);
	}
	thrum__record_counters_unlock();
	return counter;
}

int64_t thrum__counter_value(const struct thrum_counter *counter)
{
	return counter_value(counter);
}

void thrum__counter_set(struct thrum_counter *counter, int64_t value)
{
	uint64_t own = (uint64_t)__atomic_load_n(&counter->own, __ATOMIC_RELAXED);

	atomic_store_explicit(&counter->others, (int64_t)((uint64_t)value - own),
		memory_order_relaxed);
	if (is_on(THRUM__BIT_COUNTER))
		thrum__record_counter_event(counter, value);
}

void thrum__counter_observe(struct thrum_counter *counter, int64_t value)
{
	thrum__counter_set(counter, value);
}

uint16_t thrum__record_define_counter(struct recorder *r, struct thrum_counter *counter)
{
	struct thrum__definition d = {.type = THRUM__DEFINES_COUNTER, .number = counter->kind};
	size_t size = strlen(counter->path) + 1;

	memcpy(d.text, counter->path, size);
	return thrum__record_define(r, &d, size, &counter->id);
}

void thrum__record_write_counter(struct thrum_counter *counter, int64_t value)
{
	struct recorder *r = atomic_load_explicit(&thrum__record_process.recorder,
		memory_order_acquire);

	if (r)
		thrum__record_write_defined(r,
			&(struct thrum__record){.type = THRUM__R_COUNTER,
				.def = counter_number(r, counter),
				.value = value,
				.text = counter->path});
}
