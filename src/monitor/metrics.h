/* SPDX-License-Identifier: ISC */
/*
 * The state of recordings as metrics, in the text formats of OpenMetrics 1.0
 * (https://prometheus.io/docs/specs/om/open_metrics_spec/) and of Prometheus 0.0.4.
 *
 * A counter's path becomes a name: "server/latency-us" is server_latency_seconds, since metrics are
 * in seconds and bytes. Gauges become gauges, cumulative counters counters (…_total), distributions
 * histograms with two buckets for each power of two. Native histograms are not written: neither text
 * format has them. Each sample has the labels program and pid.
 */
#ifndef MONITOR_METRICS_H
#define MONITOR_METRICS_H

#include "base/text.h"
#include "monitor/sample.h"
#include "read/counters.h"

/* A recording. */
struct thrum__monitor_source {
	const char *program;
	uint32_t pid;
	bool has_ended;
	const struct thrum__monitor_sample *sample; /* with all parts */
	const struct thrum__read_counters *counters;
};

enum thrum__monitor_format {
	THRUM__METRICS_OPENMETRICS,
	THRUM__METRICS_PROMETHEUS,
};

#define THRUM__METRICS_LABELS 200 /* so many labels of live tasks; the rest is "(others)" */

/* Writes the metrics of all sources. Returns 0 or -THRUM_E_MEMORY. */
THRUM__MUST_USE int thrum__monitor_metrics(const struct thrum__monitor_source *sources,
	size_t count, enum thrum__monitor_format, struct thrum__base_text *to);

#endif
