/* SPDX-License-Identifier: ISC */
/* Fuzzes files with the history of counters: reads one, asks for several times, goes on with it and
 * asks again. As such a file is long, the input is also taken as slots and sketches, each behind
 * two bytes that tell its place, of a file that is right otherwise. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct thrum__monitor_history *history, uint64_t now)
{
	const uint64_t lengths[] = {0, 299, 301, 90000, UINT64_MAX};
	struct thrum__monitor_history_answer answer;

	for (uint32_t i = 0; i < history->count; i++)
		for (unsigned k = 0; k < sizeof lengths / sizeof *lengths; k++) {
			thrum__monitor_history_ask(history->series[i],
				lengths[k] > now ? 0 : now - lengths[k], now, &answer);
			if (answer.count > 0 &&
				(answer.least > answer.most || isinf(answer.rate) ||
					isinf(answer.mean)))
				abort();
		}
}

static void read_file(const void *data, size_t size)
{
	struct thrum__monitor_history_piece pieces[THRUM__HISTORY_PIECES];
	struct thrum__read_bucket buckets[] = {{-31, -30, 2}, {5, 5, 3}, {1024, 1087, 1}};
	struct thrum__read_counter items[] = {
		{.path = "net/bytes",
			.name = "bytes",
			.kind = THRUM_COUNTER_CUMULATIVE,
			.value = 7},
		{.path = "a", .name = "a", .kind = THRUM_COUNTER_GAUGE, .value = -7},
		{.path = "d",
			.name = "d",
			.kind = THRUM_COUNTER_DISTRIBUTION,
			.count = 6,
			.sum = 900,
			.least = -30,
			.most = 1050,
			.buckets = buckets,
			.bucket_count = 3},
	};
	struct thrum__read_counters counters = {.items = items, .count = 3};
	struct thrum__monitor_history history = {0};
	const uint64_t now = 1700000000;

	if (thrum__monitor_history_load(&history, data, size) < 0)
		return;
	if (history.count > 0 && history.size > size)
		abort();
	ask(&history, now);
	ask(&history, UINT64_MAX);
	for (uint64_t i = 0; i < 3; i++) {
		if (thrum__monitor_history_add(&history, &counters, now + i, 1000000000) < 0)
			abort();
		buckets[i].count += 1 + i;
		items[2].count += 1 + i;
		for (uint32_t k = 0; k < history.count; k++) {
			unsigned count = thrum__monitor_history_pieces(&history, k, pieces);

			while (count-- > 0)
				if (pieces[count].offset + pieces[count].size > history.size)
					abort();
		}
	}
	ask(&history, now + 2);
	thrum__monitor_history_finish(&history);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct thrum__monitor_history_head head = {.path = "d",
		.kind = THRUM_COUNTER_DISTRIBUTION};
	const size_t slot = sizeof(struct thrum__monitor_history_slot),
		     sketch = sizeof(struct thrum__monitor_history_sketch);
	size_t whole = sizeof(struct thrum__monitor_history_header) +
		THRUM__HISTORY_DISTRIBUTION_BYTES;
	struct thrum__monitor_history none = {0};
	struct thrum__monitor_history_header header = thrum__monitor_history_header(&none);
	uint8_t *file = calloc(1, whole);

	read_file(data, size);
	if (!file)
		return 0;
	header.series = 1;
	memcpy(file, &header, sizeof header);
	memcpy(file + sizeof header, &head, sizeof head);
	for (; size >= 2 + slot + sketch; data += 2 + slot + sketch, size -= 2 + slot + sketch) {
		size_t at = ((size_t)data[0] | (size_t)data[1] << 8) % THRUM__HISTORY_SLOTS;
		uint8_t *to = file + sizeof header + sizeof head;

		memcpy(to + at * slot, data + 2, slot);
		memcpy(to + THRUM__HISTORY_SLOTS * slot + at * sketch, data + 2 + slot, sketch);
	}
	read_file(file, whole);
	free(file);
	return 0;
}
