/* SPDX-License-Identifier: ISC */
/* Sketches of observations merge neighbours as UDDSketch does (Epicoco et al. 2020,
 * https://arxiv.org/abs/2004.08604): when the room is used up, each two cells become one. */
#include "monitor/history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/counters.h"

#define VERSION 1
#define SUM_MAX 1e40 /* more than 64 bits can add up to */
#define SHIFT_MAX 11 /* then there are only two cells: below 0, and the others */
#define PLACE_MIN (-16 * (int)THRUM__ROW_LAST) /* -2^63 alone is in row 60 */
#define PLACE_MAX (16 * (int)THRUM__ROW_LAST - 1)

static const char magic[8] = {'T', 'H', 'R', 'U', 'M', 'H', 'I', 'S'};

static const struct {
	uint32_t first, slots, length; /* s */
} rings[] = {
	{0, THRUM__HISTORY_SECONDS, 1},
	{THRUM__HISTORY_SECONDS, THRUM__HISTORY_MINUTES, 60},
	{THRUM__HISTORY_SECONDS + THRUM__HISTORY_MINUTES, THRUM__HISTORY_HOURS, 3600},
};
#define RINGS (sizeof rings / sizeof *rings)

/* The index of the slot in which a time lies. */
static uint32_t slot_at(unsigned ring, uint64_t time)
{
	return rings[ring].first + (uint32_t)(time / rings[ring].length % rings[ring].slots);
}

/* ---- Sketches -------------------------------------------------------------------------------- */

/* Buckets in the order of their values: 0 is that of the value 0, -1 that of -1. */
static int place_of(int64_t value)
{
	struct thrum__bucket bucket = thrum__format_counters_bucket(value);
	int at = (int)(bucket.row % THRUM__ROWS_NEGATIVE) * 16 + bucket.place;

	return value < 0 ? -at : at;
}

/* The middle of the values of a bucket. */
static int64_t middle_of(int place)
{
	unsigned at = (unsigned)(place < 0 ? -place : place);
	struct thrum__bucket bucket = {(uint8_t)(at / 16 + (place < 0 ? THRUM__ROWS_NEGATIVE : 0)),
		(uint8_t)(at % 16)};
	int64_t low, high;

	thrum__format_counters_bounds(bucket, &low, &high);
	return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

static int halve(int place)
{
	return place < 0 ? -((1 - place) / 2) : place / 2;
}

static uint32_t add_counts(uint32_t a, uint64_t b)
{
	return b > UINT32_MAX - a ? UINT32_MAX : a + (uint32_t)b;
}

/* Makes each cell twice as wide. */
static void widen(struct thrum__monitor_history_sketch *sketch)
{
	unsigned used = 0;

	sketch->shift++;
	for (unsigned i = 0; i < sketch->used; i++) {
		int place = halve(sketch->places[i]);

		if (used > 0 && sketch->places[used - 1] == place) {
			sketch->counts[used - 1] = add_counts(sketch->counts[used - 1],
				sketch->counts[i]);
			continue;
		}
		sketch->places[used] = (int16_t)place;
		sketch->counts[used++] = sketch->counts[i];
	}
	sketch->used = (uint16_t)used;
}

static void observe(struct thrum__monitor_history_sketch *sketch, int64_t value, uint64_t count)
{
	int place = place_of(value);
	unsigned i;

	for (unsigned k = 0; k < sketch->shift; k++)
		place = halve(place);
	for (;;) {
		for (i = 0; i < sketch->used && sketch->places[i] < place; i++)
			;
		if (i < sketch->used && sketch->places[i] == place) {
			sketch->counts[i] = add_counts(sketch->counts[i], count);
			return;
		}
		if (sketch->used < THRUM__HISTORY_CELLS || sketch->shift >= SHIFT_MAX)
			break;
		widen(sketch);
		place = halve(place);
	}
	if (sketch->used == THRUM__HISTORY_CELLS)
		return;
	memmove(sketch->places + i + 1, sketch->places + i,
		(sketch->used - i) * sizeof *sketch->places);
	memmove(sketch->counts + i + 1, sketch->counts + i,
		(sketch->used - i) * sizeof *sketch->counts);
	sketch->places[i] = (int16_t)place;
	sketch->counts[i] = add_counts(0, count);
	sketch->used++;
}

/* The bucket in the middle of a cell. */
static int middle_place(const struct thrum__monitor_history_sketch *sketch, unsigned cell)
{
	int low = sketch->places[cell] * (1 << sketch->shift);
	int place = low + (1 << sketch->shift) / 2;

	return place < PLACE_MIN ? PLACE_MIN : place > PLACE_MAX ? PLACE_MAX : place;
}

static bool is_sketch(const struct thrum__monitor_history_sketch *sketch)
{
	if (sketch->used > THRUM__HISTORY_CELLS || sketch->shift > SHIFT_MAX)
		return false;
	for (unsigned i = 0; i < sketch->used; i++)
		if ((i > 0 && sketch->places[i] <= sketch->places[i - 1]) ||
			sketch->places[i] * (1 << sketch->shift) > PLACE_MAX ||
			(sketch->places[i] + 1) * (1 << sketch->shift) <= PLACE_MIN)
			return false;
	return true;
}

/* ---- Series ---------------------------------------------------------------------------------- */

static void free_series(struct thrum__monitor_history_series *series)
{
	if (!series)
		return;
	free(series->slots);
	free(series->sketches);
	free(series->buckets);
	free(series);
}

void thrum__monitor_history_finish(struct thrum__monitor_history *history)
{
	for (uint32_t i = 0; i < history->count; i++)
		free_series(history->series[i]);
	*history = (struct thrum__monitor_history){0};
}

static uint64_t file_size(const struct thrum__monitor_history *history)
{
	return history->count > 0 ? history->size : sizeof(struct thrum__monitor_history_header);
}

/* Appends an empty series. There is room. Returns NULL if memory is exhausted. */
static struct thrum__monitor_history_series *append(struct thrum__monitor_history *history,
	const struct thrum__monitor_history_head *head)
{
	struct thrum__monitor_history_series *series = calloc(1, sizeof *series);
	bool is_distribution = head->kind == THRUM_COUNTER_DISTRIBUTION;

	if (!series)
		return NULL;
	series->head = *head;
	series->slots = calloc(THRUM__HISTORY_SLOTS, sizeof *series->slots);
	if (is_distribution)
		series->sketches = calloc(THRUM__HISTORY_SLOTS, sizeof *series->sketches);
	if (!series->slots || (is_distribution && !series->sketches)) {
		free_series(series);
		return NULL;
	}
	series->offset = file_size(history);
	history->size = series->offset +
		(is_distribution ? THRUM__HISTORY_DISTRIBUTION_BYTES : THRUM__HISTORY_PLAIN_BYTES);
	history->series[history->count++] = series;
	return series;
}

struct thrum__monitor_history_series *thrum__monitor_history_find(
	const struct thrum__monitor_history *history, const struct thrum__read_counter *counter)
{
	for (uint32_t i = 0; i < history->count; i++)
		if (history->series[i]->head.kind == counter->kind &&
			strcmp(history->series[i]->head.path, counter->path) == 0)
			return history->series[i];
	return NULL;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* A sample of a counter. */
struct news {
	uint64_t count;
	double sum;
	int64_t least, most, last;
	const struct thrum__read_bucket *buckets;
	uint32_t bucket_count;
};

static void add_news(struct thrum__monitor_history_series *series, const struct news *news,
	uint64_t time, uint64_t elapsed)
{
	for (unsigned ring = 0; ring < RINGS; ring++) {
		uint32_t at = slot_at(ring, time);
		uint64_t start = time - time % rings[ring].length;
		struct thrum__monitor_history_slot *slot = &series->slots[at];

		if (slot->start != start) {
			*slot = (struct thrum__monitor_history_slot){.start = start};
			if (series->sketches)
				memset(&series->sketches[at], 0, sizeof *series->sketches);
		}
		slot->span += elapsed;
		slot->last = news->last;
		if (news->count == 0)
			continue;
		if (slot->count == 0 || news->least < slot->least)
			slot->least = news->least;
		if (slot->count == 0 || news->most > slot->most)
			slot->most = news->most;
		slot->count += news->count;
		slot->sum += news->sum;
		for (uint32_t i = 0; i < news->bucket_count; i++)
			observe(&series->sketches[at], news->buckets[i].low,
				news->buckets[i].count);
	}
	series->is_changed = true;
}

/* Adds the observations since the last sample, and keeps the present ones for the next. */
static int add_distribution(struct thrum__monitor_history_series *series,
	const struct thrum__read_counter *counter, uint64_t time, uint64_t elapsed)
{
	size_t room = (counter->bucket_count + (size_t)1) * sizeof(struct thrum__read_bucket);
	struct thrum__read_bucket *fresh = malloc(room), *copy = malloc(room);
	struct news news = {.buckets = fresh};

	if (!fresh || !copy) {
		free(fresh);
		free(copy);
		return -THRUM_E_MEMORY;
	}
	if (series->is_known) {
		news.bucket_count = thrum__read_counters_since(fresh, counter->buckets,
			counter->bucket_count, series->buckets, series->bucket_count);
		news.count = counter->count > series->count ? counter->count - series->count : 0;
		news.sum = (double)(int64_t)((uint64_t)counter->sum - (uint64_t)series->sum);
		if (news.bucket_count > 0) {
			/* The edges of buckets, unless the extremes ever tell better. */
			int64_t low = fresh[0].low, high = fresh[news.bucket_count - 1].high;

			news.least = low < counter->least ? counter->least : low;
			news.most = high > counter->most ? counter->most : high;
		} else {
			news.least = counter->least;
			news.most = counter->most;
		}
		add_news(series, &news, time, elapsed);
	}
	free(fresh);
	if (counter->bucket_count > 0)
		memcpy(copy, counter->buckets, counter->bucket_count * sizeof *copy);
	free(series->buckets);
	series->buckets = copy;
	series->bucket_count = counter->bucket_count;
	series->count = counter->count;
	series->sum = counter->sum;
	return 0;
}

static int add_counter(struct thrum__monitor_history_series *series,
	const struct thrum__read_counter *counter, uint64_t time, uint64_t elapsed)
{
	struct news news = {1, (double)counter->value, counter->value, counter->value,
		counter->value, NULL, 0};
	int error = 0;

	if (counter->kind == THRUM_COUNTER_DISTRIBUTION) {
		error = add_distribution(series, counter, time, elapsed);
	} else {
		if (counter->kind == THRUM_COUNTER_CUMULATIVE)
			news.sum = series->is_known ? (double)counter->value - (double)series->value
						    : 0;
		add_news(series, &news, time, elapsed);
		series->value = counter->value;
	}
	series->is_known |= error == 0;
	return error;
}

int thrum__monitor_history_add(struct thrum__monitor_history *history,
	const struct thrum__read_counters *counters, uint64_t time, uint64_t elapsed)
{
	bool is_first = history->time == 0;
	int error = 0;

	if (is_first)
		elapsed = 0;
	history->left_out = 0;
	for (uint32_t i = 0; i < history->count; i++)
		history->series[i]->is_new = history->series[i]->is_changed = false;
	for (uint32_t i = 0; i < counters->count && error == 0; i++) {
		const struct thrum__read_counter *counter = &counters->items[i];
		struct thrum__monitor_history_head head = {.kind = counter->kind};
		size_t size = strlen(counter->path);
		struct thrum__monitor_history_series *series = thrum__monitor_history_find(history,
			counter);

		if (counter->kind > THRUM_COUNTER_DISTRIBUTION)
			continue;
		if (!series &&
			(history->count == THRUM__HISTORY_SERIES || size >= sizeof head.path)) {
			history->left_out++;
			continue;
		}
		if (!series) {
			memcpy(head.path, counter->path, size);
			series = append(history, &head);
			if (!series)
				return -THRUM_E_MEMORY;
			series->is_new = true;
		}
		/* A counter that was made since the last sample began with nothing. */
		series->is_known |= !is_first;
		error = add_counter(series, counter, time, elapsed);
	}
	history->time = time;
	return error;
}

/* ---- The file -------------------------------------------------------------------------------- */

struct thrum__monitor_history_header thrum__monitor_history_header(
	const struct thrum__monitor_history *history)
{
	struct thrum__monitor_history_header header = {.version = VERSION,
		.series = history->count};

	memcpy(header.magic, magic, sizeof magic);
	return header;
}

unsigned thrum__monitor_history_pieces(const struct thrum__monitor_history *history, uint32_t index,
	struct thrum__monitor_history_piece pieces[THRUM__HISTORY_PIECES])
{
	const struct thrum__monitor_history_series *series = history->series[index];
	uint64_t slots = series->offset + sizeof series->head;
	uint64_t sketches = slots + THRUM__HISTORY_SLOTS * sizeof *series->slots;
	unsigned count = 0;

	if (series->is_new)
		pieces[count++] = (struct thrum__monitor_history_piece){series->offset,
			&series->head, sizeof series->head};
	for (unsigned ring = 0; ring < RINGS && series->is_changed; ring++) {
		uint32_t at = slot_at(ring, history->time);

		pieces[count++] = (struct thrum__monitor_history_piece){slots +
				at * sizeof *series->slots,
			&series->slots[at], sizeof *series->slots};
		if (series->sketches)
			pieces[count++] = (struct thrum__monitor_history_piece){sketches +
					at * sizeof *series->sketches,
				&series->sketches[at], sizeof *series->sketches};
	}
	return count;
}

/* Empties slots and sketches that can't be right. */
static void check(struct thrum__monitor_history_series *series)
{
	for (unsigned ring = 0; ring < RINGS; ring++)
		for (uint32_t i = 0; i < rings[ring].slots; i++) {
			uint32_t at = rings[ring].first + i;
			struct thrum__monitor_history_slot *slot = &series->slots[at];
			bool is_right = slot->start % rings[ring].length == 0 &&
				slot_at(ring, slot->start) == at && fabs(slot->sum) < SUM_MAX &&
				slot->least <= slot->most;

			if (!is_right)
				*slot = (struct thrum__monitor_history_slot){0};
			if (series->sketches && (!is_right || !is_sketch(&series->sketches[at])))
				memset(&series->sketches[at], 0, sizeof *series->sketches);
		}
}

int thrum__monitor_history_load(struct thrum__monitor_history *history, const void *bytes,
	size_t size)
{
	struct thrum__monitor_history_header header;
	const char *from = bytes;
	int error = 0;

	if (size < sizeof header || memcmp(from, magic, sizeof magic) != 0)
		return -THRUM_E_FORMAT;
	memcpy(&header, from, sizeof header);
	if (header.version != VERSION)
		return -THRUM_E_VERSION;
	if (header.series > THRUM__HISTORY_SERIES)
		return -THRUM_E_DAMAGED;
	for (uint32_t i = 0; i < header.series && error == 0; i++) {
		uint64_t at = file_size(history);
		struct thrum__monitor_history_head head;
		struct thrum__monitor_history_series *series;

		if (size - at < THRUM__HISTORY_PLAIN_BYTES) {
			error = -THRUM_E_DAMAGED;
			break;
		}
		memcpy(&head, from + at, sizeof head);
		if (head.kind > THRUM_COUNTER_DISTRIBUTION || head.path[sizeof head.path - 1] ||
			(head.kind == THRUM_COUNTER_DISTRIBUTION &&
				size - at < THRUM__HISTORY_DISTRIBUTION_BYTES)) {
			error = -THRUM_E_DAMAGED;
			break;
		}
		series = append(history, &head);
		if (!series) {
			error = -THRUM_E_MEMORY;
			break;
		}
		memcpy(series->slots, from + at + sizeof head,
			THRUM__HISTORY_SLOTS * sizeof *series->slots);
		if (series->sketches)
			memcpy(series->sketches, from + at + THRUM__HISTORY_PLAIN_BYTES,
				THRUM__HISTORY_SLOTS * sizeof *series->sketches);
		check(series);
	}
	if (error < 0)
		thrum__monitor_history_finish(history);
	return error;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static int64_t clamp(int64_t value, const struct thrum__monitor_history_answer *answer)
{
	return value < answer->least ? answer->least : value > answer->most ? answer->most : value;
}

static void find_percentiles(const uint64_t *counts, struct thrum__monitor_history_answer *answer)
{
	const double shares[] = {0.5, 0.9, 0.99};
	int64_t *to[] = {&answer->p50, &answer->p90, &answer->p99};
	double total = 0, seen = 0;
	unsigned next = 0;

	for (int i = 0; i <= PLACE_MAX - PLACE_MIN; i++)
		total += (double)counts[i];
	for (int i = 0; i <= PLACE_MAX - PLACE_MIN && total > 0; i++) {
		seen += (double)counts[i];
		while (next < 3 && counts[i] > 0 && seen >= total * shares[next])
			*to[next++] = clamp(middle_of(PLACE_MIN + i), answer);
	}
}

void thrum__monitor_history_ask(const struct thrum__monitor_history_series *series, uint64_t from,
	uint64_t to, struct thrum__monitor_history_answer *answer)
{
	uint64_t counts[PLACE_MAX - PLACE_MIN + 1] = {0}, latest = 0;
	double rate = NAN;
	unsigned ring = 0;

	from = from > to ? to : from;
	while (ring + 1 < RINGS && to - from > (uint64_t)rings[ring].slots * rings[ring].length)
		ring++;
	*answer = (struct thrum__monitor_history_answer){.length = rings[ring].length,
		.mean = NAN,
		.rate = NAN};
	for (uint32_t i = 0; i < rings[ring].slots; i++) {
		uint32_t at = rings[ring].first + i;
		const struct thrum__monitor_history_slot *slot = &series->slots[at];

		if (slot->start == 0 || slot->start > to ||
			slot->start < from - from % rings[ring].length)
			continue;
		answer->seconds += (double)slot->span / 1e9;
		if (slot->start >= latest) {
			latest = slot->start;
			answer->last = slot->last;
		}
		if (slot->count == 0)
			continue;
		if (answer->count == 0 || slot->least < answer->least)
			answer->least = slot->least;
		if (answer->count == 0 || slot->most > answer->most)
			answer->most = slot->most;
		answer->count += slot->count;
		answer->sum += slot->sum;
		for (unsigned cell = 0; series->sketches && cell < series->sketches[at].used;
			cell++)
			counts[middle_place(&series->sketches[at], cell) - PLACE_MIN] +=
				series->sketches[at].counts[cell];
	}
	if (answer->count > 0 && series->head.kind != THRUM_COUNTER_CUMULATIVE)
		answer->mean = answer->sum / (double)answer->count;
	if (series->head.kind == THRUM_COUNTER_CUMULATIVE)
		rate = answer->sum / answer->seconds;
	else if (series->head.kind == THRUM_COUNTER_DISTRIBUTION)
		rate = (double)answer->count / answer->seconds;
	if (answer->seconds > 0)
		answer->rate = rate;
	if (series->sketches && answer->count > 0)
		find_percentiles(counts, answer);
}
