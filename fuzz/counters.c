/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the reader of counters' pages. Reads any bytes as pages. Fails unless the counters make a
 * tree in which parents come first, texts end in NUL, and buckets are in order.
 */
#include <stdlib.h>
#include <string.h>

#include "read/counters.h"

struct bytes {
	const uint8_t *data;
	size_t size;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

static int64_t read_bytes(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct bytes *bytes = owner;

	if (offset > bytes->size)
		return 0;
	size = size < bytes->size - offset ? size : bytes->size - (size_t)offset;
	if (size > 0)
		memcpy(to, bytes->data + offset, size);
	return (int64_t)size;
}

static uint64_t size_of_bytes(void *owner)
{
	return ((const struct bytes *)owner)->size;
}

static void check(const struct thrum__read_counters *counters, uint32_t i)
{
	const struct thrum__read_counter *c = &counters->items[i];

	require(c->parent == UINT32_MAX
			? c->depth == 0
			: c->parent < i && c->depth == counters->items[c->parent].depth + 1);
	require(c->kind <= THRUM__COUNTER_MIXED && c->path[0]);
	require(strlen(c->name) <= strlen(c->path));
	for (uint32_t b = 0; b < c->bucket_count; b++) {
		require(c->buckets[b].low <= c->buckets[b].high && c->buckets[b].count > 0);
		require(b == 0 || c->buckets[b - 1].low <= c->buckets[b].low);
	}
	if (c->bucket_count > 0) {
		int64_t middle = thrum__read_counters_quantile(c->buckets, c->bucket_count,
			INT64_MIN, INT64_MAX, 0.5);

		require(middle >= c->buckets[0].low);
		require(middle <= c->buckets[c->bucket_count - 1].high);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = {data, size};
	struct thrum__input input = {&bytes, read_bytes, size_of_bytes};
	/* The size may be more than there is. */
	struct thrum__header header = {.counters = {0, size + 4096}};
	struct thrum__read_counters counters;

	if (thrum__read_counters(&input, &header, &counters) != 0)
		return 0;
	for (uint32_t i = 0; i < counters.count; i++)
		check(&counters, i);
	thrum__read_counters_free(&counters);
	return 0;
}
