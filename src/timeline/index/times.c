/* SPDX-License-Identifier: ISC */
/* Sorted times, as a list of chunks: short sorted arrays, none of them empty. */
#include "base/array.h"
#include "timeline/index/parts.h"

#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#define CHUNK 510 /* 4 KiB with the head */

struct thrum__index_times_chunk {
	uint32_t count;
	uint32_t before; /* sum of the counts of the chunks before it */
	int64_t time[CHUNK];
};

/* Returns the place of a chunk's first time at or after `time`; or its count. */
static uint32_t place_in_chunk(const struct thrum__index_times_chunk *chunk, int64_t time)
{
	uint32_t from = 0, to = chunk->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (chunk->time[middle] < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static int64_t last_of(const struct thrum__index_times *times, uint32_t chunk)
{
	return times->chunk[chunk]->time[times->chunk[chunk]->count - 1];
}

/* Returns the first chunk whose last time is at or after a time; or the number of chunks. Mostly it
 * is the first or one of the last: so the search goes back from the end in steps that double. */
static uint32_t chunk_at(const struct thrum__index_times *times, int64_t time)
{
	uint32_t from = 0, to = times->chunks;

	if (to == 0 || last_of(times, 0) >= time)
		return 0;
	for (uint32_t step = 1; from == 0; step *= 2) {
		uint32_t at = to > step ? to - step : 0;

		if (last_of(times, at) < time)
			from = at + 1;
		else
			to = at;
	}
	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (last_of(times, middle) < time)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

/* Puts an empty chunk into the list, as its chunk `at`; returns NULL when there is no memory. */
static struct thrum__index_times_chunk *add_chunk(struct thrum__index_times *times, uint32_t at)
{
	struct thrum__index_times_chunk **grown = thrum__base_grow(times->chunk, &times->room,
		times->chunks + 1ull, sizeof(*grown));
	struct thrum__index_times_chunk *chunk = grown ? malloc(sizeof(*chunk)) : NULL;

	if (grown)
		times->chunk = grown;
	if (!chunk)
		return NULL;
	memmove(grown + at + 1, grown + at, (times->chunks - at) * sizeof(*grown));
	chunk->count = chunk->before = 0;
	grown[at] = chunk;
	times->chunks++;
	return chunk;
}

/* Inserts a time among the others; splits a chunk that is full. */
static int insert_time(struct thrum__index_times *times, int64_t time)
{
	uint32_t at = chunk_at(times, time);
	struct thrum__index_times_chunk *chunk;

	if (at == times->chunks && at > 0 && times->chunk[at - 1]->count < CHUNK)
		at--;
	chunk = at < times->chunks ? times->chunk[at] : add_chunk(times, at);
	if (chunk && chunk->count == CHUNK) {
		struct thrum__index_times_chunk *next = add_chunk(times, at + 1);

		if (!next)
			return -THRUM_E_MEMORY;
		next->count = CHUNK / 2;
		chunk->count = CHUNK - CHUNK / 2;
		memcpy(next->time, chunk->time + chunk->count, next->count * sizeof(int64_t));
		if (time > chunk->time[chunk->count - 1])
			chunk = next;
	}
	if (!chunk)
		return -THRUM_E_MEMORY;
	at = place_in_chunk(chunk, time);
	memmove(chunk->time + at + 1, chunk->time + at, (chunk->count - at) * sizeof(int64_t));
	chunk->time[at] = time;
	chunk->count++;
	return 0;
}

int thrum__index_times_add(struct thrum__index_times *times, int64_t *added, size_t count)
{
	struct thrum__index_times_chunk *last = times->chunks ? times->chunk[times->chunks - 1]
							      : NULL;
	size_t i = 0;

	if (count == 0)
		return 0;
	thrum__base_sort_times(added, added + count, count);
	for (; last && i < count && added[i] < last_of(times, times->chunks - 1); i++)
		if (insert_time(times, added[i]))
			return -THRUM_E_MEMORY;
	if (last)
		last = times->chunk[times->chunks - 1];
	for (; i < count; i++) {
		if (!last || last->count == CHUNK)
			last = add_chunk(times, times->chunks);
		if (!last)
			return -THRUM_E_MEMORY;
		last->time[last->count++] = added[i];
	}
	return 0;
}

void thrum__index_times_remove(struct thrum__index_times *times, int64_t time)
{
	uint32_t number = chunk_at(times, time), at;
	struct thrum__index_times_chunk *chunk = number < times->chunks ? times->chunk[number]
									: NULL;

	at = chunk ? place_in_chunk(chunk, time) : 0;
	if (!chunk || chunk->time[at] != time)
		return;
	memmove(chunk->time + at, chunk->time + at + 1, (chunk->count - at - 1) * sizeof(int64_t));
	if (--chunk->count > 0)
		return;
	free(chunk);
	memmove(times->chunk + number, times->chunk + number + 1,
		(--times->chunks - number) * sizeof(*times->chunk));
}

uint32_t thrum__index_times_trim(struct thrum__index_times *times, int64_t before)
{
	uint32_t gone = 0, count = 0, at;

	while (gone < times->chunks && last_of(times, gone) < before) {
		count += times->chunk[gone]->count;
		free(times->chunk[gone++]);
	}
	if (times->chunks == 0)
		return 0;
	times->chunks -= gone;
	memmove(times->chunk, times->chunk + gone, times->chunks * sizeof(*times->chunk));
	if (times->chunks == 0)
		return count;
	struct thrum__index_times_chunk *chunk = times->chunk[0];

	at = place_in_chunk(chunk, before);
	chunk->count -= at;
	memmove(chunk->time, chunk->time + at, chunk->count * sizeof(int64_t));
	return count + at;
}

void thrum__index_times_count(struct thrum__index_times *times)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < times->chunks; i++) {
		times->chunk[i]->before = sum;
		sum += times->chunk[i]->count;
	}
}

uint32_t thrum__index_times_until(const struct thrum__index_times *times, int64_t time)
{
	int64_t behind = time < INT64_MAX ? time + 1 : time;
	uint32_t at = chunk_at(times, behind);

	if (at < times->chunks)
		return times->chunk[at]->before + place_in_chunk(times->chunk[at], behind);
	return at > 0 ? times->chunk[at - 1]->before + times->chunk[at - 1]->count : 0;
}

void thrum__index_times_finish(struct thrum__index_times *times)
{
	for (uint32_t i = 0; i < times->chunks; i++)
		free(times->chunk[i]);
	free(times->chunk);
}

size_t thrum__index_times_memory(const struct thrum__index_times *times)
{
	return times->chunks * sizeof(**times->chunk) + times->room * sizeof(*times->chunk);
}
