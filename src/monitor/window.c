/* SPDX-License-Identifier: ISC */
#include "monitor/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void thrum__monitor_window_init(struct thrum__monitor_window *window, uint64_t length)
{
	*window = (struct thrum__monitor_window){.length = length};
}

void thrum__monitor_window_finish(struct thrum__monitor_window *window)
{
	for (uint32_t i = 0; i < THRUM__WINDOW_SLOTS; i++)
		free(window->slots[i].buckets);
	*window = (struct thrum__monitor_window){0};
}

static const struct thrum__monitor_window_slot *slot_at(const struct thrum__monitor_window *window,
	uint32_t i)
{
	return &window->slots[(window->first + i) % THRUM__WINDOW_SLOTS];
}

/* Whether the window still needs its oldest slot: the next one isn't old enough. */
static bool needs_oldest(const struct thrum__monitor_window *window, uint64_t time)
{
	return window->used < 2 || slot_at(window, 1)->time + window->length > time;
}

/* Returns the slot of this time. *is_new tells whether it begins now. */
static struct thrum__monitor_window_slot *take_slot(struct thrum__monitor_window *window,
	uint64_t time, bool *is_new)
{
	uint32_t at = (window->first + window->used - 1) % THRUM__WINDOW_SLOTS;
	struct thrum__monitor_window_slot *slot = &window->slots[at];

	*is_new = false;
	window->now = time;
	while (!needs_oldest(window, time)) {
		window->first = (window->first + 1) % THRUM__WINDOW_SLOTS;
		window->used--;
	}
	/* Full only if the time does not pass. */
	if (window->used == THRUM__WINDOW_SLOTS ||
		(window->used > 0 && time < slot->time + window->length / 64))
		return slot;
	*is_new = true;
	slot = &window->slots[(window->first + window->used++) % THRUM__WINDOW_SLOTS];
	free(slot->buckets);
	*slot = (struct thrum__monitor_window_slot){.time = time};
	return slot;
}

void thrum__monitor_window_add(struct thrum__monitor_window *window, uint64_t time, double number)
{
	bool is_new;
	struct thrum__monitor_window_slot *slot = take_slot(window, time, &is_new);

	if (is_new)
		slot->first = number;
	slot->sum += number;
	slot->numbers++;
	window->last = number;
}

int thrum__monitor_window_add_distribution(struct thrum__monitor_window *window, uint64_t time,
	const struct thrum__read_counter *counter)
{
	bool is_new;
	struct thrum__monitor_window_slot *slot = take_slot(window, time, &is_new);

	if (!is_new)
		return 0;
	slot->count = counter->count;
	slot->total = counter->sum;
	if (counter->bucket_count == 0)
		return 0;
	slot->buckets = malloc(counter->bucket_count * sizeof *slot->buckets);
	if (!slot->buckets)
		return -THRUM_E_MEMORY;
	memcpy(slot->buckets, counter->buckets, counter->bucket_count * sizeof *slot->buckets);
	slot->bucket_count = counter->bucket_count;
	return 0;
}

static bool is_full(const struct thrum__monitor_window *window)
{
	return window->used > 0 && slot_at(window, 0)->time + window->length <= window->now;
}

double thrum__monitor_window_mean(const struct thrum__monitor_window *window)
{
	uint64_t numbers = 0;
	double sum = 0;

	if (!is_full(window))
		return NAN;
	for (uint32_t i = 0; i < window->used; i++) {
		sum += slot_at(window, i)->sum;
		numbers += slot_at(window, i)->numbers;
	}
	return sum / (double)numbers;
}

double thrum__monitor_window_growth(const struct thrum__monitor_window *window)
{
	const struct thrum__monitor_window_slot *oldest = slot_at(window, 0);

	if (!is_full(window) || window->now == oldest->time)
		return NAN;
	return (window->last - oldest->first) * 1e9 / (double)(window->now - oldest->time);
}

int thrum__monitor_window_observed(const struct thrum__monitor_window *window,
	const struct thrum__read_counter *now, struct thrum__monitor_window_distribution *to)
{
	const struct thrum__monitor_window_slot *oldest = slot_at(window, 0);
	int64_t total;

	if (!is_full(window))
		return 0;
	*to = (struct thrum__monitor_window_distribution){.mean = NAN};
	to->buckets = malloc((now->bucket_count + (size_t)1) * sizeof *to->buckets);
	if (!to->buckets)
		return -THRUM_E_MEMORY;
	to->bucket_count = thrum__read_counters_since(to->buckets, now->buckets, now->bucket_count,
		oldest->buckets, oldest->bucket_count);
	to->count = now->count > oldest->count ? now->count - oldest->count : 0;
	total = (int64_t)((uint64_t)now->sum - (uint64_t)oldest->total);
	if (to->count > 0)
		to->mean = (double)total / (double)to->count;
	return 1;
}
