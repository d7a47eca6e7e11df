/* SPDX-License-Identifier: ISC */
/* Samples a recording. */
#include "monitor/sample.h"

#include <stdlib.h>
#include <string.h>

#include "format/clock.h"
#include "format/packet.h"
#include "monitor/parts.h"

int thrum__monitor_create(const struct thrum__input *input, const struct thrum__header *header,
	struct thrum__monitor **monitor)
{
	struct thrum__monitor *m = calloc(1, sizeof *m);

	if (!m)
		return -THRUM_E_MEMORY;
	m->input = *input;
	memcpy(&m->header, header, sizeof m->header);
	*monitor = m;
	return 0;
}

void thrum__monitor_destroy(struct thrum__monitor *m)
{
	if (!m)
		return;
	free(m->sample.tasks);
	free(m->sample.groups);
	free(m->sample.lanes);
	free(m->sample.exemplars);
	free(m->places);
	thrum__base_keys_free(&m->groups);
	free(m->states);
	free(m->packets);
	free(m->bytes);
	free(m);
}

int64_t thrum__monitor_ns(const struct thrum__monitor *m, uint64_t ticks)
{
	uint64_t ns = thrum__format_multiply_divide(ticks, 1000000000, m->frequency);

	return ns < INT64_MAX ? (int64_t)ns : INT64_MAX;
}

/* Returns the recording's clock at the time of the sample, or at the recording's end. */
static uint64_t ticks_of(const struct thrum__header *header, uint64_t monotonic)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(header);

	if (header->ended != 0)
		return header->ended;
	if (monotonic == 0)
		return latest ? latest->ticks : 0;
	/* In a virtual machine that is seen from its host, the clock is another. */
	if (header->host_clock.boot)
		monotonic -= (uint64_t)header->host_clock.ahead;
	return thrum__format_ticks_at(header, monotonic);
}

/* Reads the words that change while the program records. The rest stays as the caller of
 * thrum__monitor_create has checked it, whatever the file says now. */
static int look_at_header(struct thrum__monitor *m, uint64_t monotonic)
{
	size_t from = offsetof(struct thrum__header, state);
	struct thrum__metadata clock;
	int64_t got = thrum__format_input_read(&m->input, from, (uint8_t *)&m->header + from,
		sizeof m->header - from);

	if (got < 0)
		return (int)got;
	if ((size_t)got < sizeof m->header - from)
		return -THRUM_E_TRUNCATED;
	int error = thrum__format_read_clocks(&m->input, &m->header);

	if (error)
		return error;
	thrum__format_set_clock(&clock, &m->header);
	m->frequency = clock.frequency;
	m->sample.time = monotonic;
	m->sample.ticks = ticks_of(&m->header, monotonic);
	m->sample.is_recording = m->header.state == THRUM__RECORDING;
	m->sample.lost_events = 0;
	for (int i = 0; i < THRUM__LOST_CAUSES; i++) {
		m->sample.lost[i] = m->header.lost[i];
		if (i != THRUM__LOST_DEFINITIONS && i != THRUM__LOST_LIVE_TASKS)
			m->sample.lost_events += m->header.lost[i];
	}
	return 0;
}

int thrum__monitor_take_sample(struct thrum__monitor *m, unsigned parts, uint64_t monotonic,
	const struct thrum__monitor_sample **sample)
{
	int error = look_at_header(m, monotonic);

	m->sample.task_count = m->sample.group_count = m->sample.lane_count = 0;
	if (error == 0 && parts & THRUM__MONITOR_TASKS)
		error = thrum__monitor_sample_tasks(m);
	if (error == 0 && parts & THRUM__MONITOR_LANES)
		error = thrum__monitor_sample_lanes(m);
	if (error == 0)
		*sample = &m->sample;
	return error;
}
