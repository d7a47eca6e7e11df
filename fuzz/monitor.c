/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes the sampling of a running process: takes any bytes as a recording, samples its tasks,
 * lanes and counters twice, and writes them as metrics. Fails unless shares of time are shares and the
 * metrics are lines.
 */
#include <stdlib.h>
#include <string.h>

#include "monitor/labels.h"
#include "monitor/metrics.h"
#include "monitor/sample.h"
#include "read/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct thrum__monitor_sample *sample)
{
	for (uint32_t i = 0; i < sample->lane_count; i++) {
		const struct thrum__monitor_lane *lane = &sample->lanes[i];

		require(lane->span >= 0 && lane->in_tasks >= 0 && lane->in_own >= 0);
		require(!(thrum__monitor_load(lane) > 1.001));
	}
	for (uint32_t i = 0; i < sample->task_count; i++)
		require(sample->tasks[i].group < sample->group_count ||
			sample->tasks[i].group == THRUM__MONITOR_NO_GROUP);
}

/* Adds the counters by label, if the bytes can be read as a trace. */
static void add_labels(const struct thrum__input *input, struct thrum__read_counters *counters)
{
	const struct thrum_event *events;
	struct thrum__monitor_labels *labels;
	struct thrum_trace *trace;
	size_t count;

	if (thrum__read_open(input, NULL, &trace, NULL) < 0)
		return;
	require(thrum__monitor_labels_create(&labels) == 0);
	while (thrum_trace_next(trace, &events, &count, NULL) > 0)
		require(thrum__monitor_labels_add(labels, events, count) == 0);
	require(thrum__monitor_labels_put(labels, counters) == 0);
	thrum__monitor_labels_destroy(labels);
	thrum_trace_close(trace);
}

static void write_metrics(const struct thrum__input *input, const struct thrum__header *header,
	const struct thrum__monitor_sample *sample, enum thrum__monitor_format format)
{
	struct thrum__base_text text = thrum__base_text_growing();
	struct thrum__read_counters counters;

	if (thrum__read_counters(input, header, &counters) == 0) {
		const struct thrum__monitor_source source = {"p", 1, false, sample, &counters};

		add_labels(input, &counters);
		require(thrum__monitor_metrics(&source, 1, format, &text) == 0);
		require(text.size > 0 && strlen(text.bytes) == text.size &&
			text.bytes[text.size - 1] == '\n');
		thrum__read_counters_free(&counters);
	}
	thrum__base_text_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__read_memory memory = {data, size};
	const struct thrum__input input = thrum__read_memory_input(&memory);
	const struct thrum__monitor_sample *sample;
	struct thrum__monitor *monitor;
	struct thrum__header header;
	const char *culprit;
	uint64_t offset;

	if (size < sizeof header)
		return 0;
	memcpy(&header, data, sizeof header);
	if (thrum__format_check_header(&header, &culprit, &offset) != 0)
		return 0;
	require(thrum__monitor_create(&input, &header, &monitor) == 0);
	for (uint64_t now = 0; now < UINT64_C(20000000000); now += UINT64_C(10000000000)) {
		if (thrum__monitor_take_sample(monitor, THRUM__MONITOR_TASKS | THRUM__MONITOR_LANES,
			    now, &sample) != 0)
			break;
		check(sample);
		write_metrics(&input, &header, sample,
			now ? THRUM__METRICS_PROMETHEUS : THRUM__METRICS_OPENMETRICS);
	}
	thrum__monitor_destroy(monitor);
	return 0;
}
