/* SPDX-License-Identifier: ISC */
/*
 * Chooses a part of a recording that is too large to be read whole. The packets' headers tell how
 * many bytes lie between two times, if a packet's bytes are spread evenly over its time. Packets that
 * end before the part are never read.
 */
#include "read/thrum/reader.h"

#define HALVINGS 48 /* a part of a recording's time that is short enough */

struct window {
	const struct reader *reader;
	uint64_t end; /* ticks of the last packets' ends */
};

static const struct packet_ref *packet_at(const struct reader *r, size_t i)
{
	return &r->packets[r->order[i]];
}

/* Returns about when a packet ends. Nothing tells it for a lane's last one, which is taken to be filled as
 * fast as the one before. */
static uint64_t end_of(const struct window *w, const struct lane *lane, size_t at)
{
	const struct packet_ref *ref = packet_at(w->reader, at), *before;

	if (at + 1 < lane->end)
		return packet_at(w->reader, at + 1)->begin;
	if (at == lane->next)
		return w->end;
	before = packet_at(w->reader, at - 1);
	double ticks = (double)(ref->first - before->first) / before->content * ref->content;

	return ticks < (double)(w->end - ref->first) ? ref->first + (uint64_t)ticks : w->end;
}

/* Returns the bytes of all packets before a time. */
static double bytes_before(const struct window *w, uint64_t ticks)
{
	const struct reader *r = w->reader;
	double bytes = 0;

	for (uint32_t i = 0; i < r->lane_count; i++) {
		const struct lane *lane = &r->lanes[i];

		for (size_t k = lane->next; k < lane->end; k++) {
			const struct packet_ref *ref = packet_at(r, k);
			uint64_t end = end_of(w, lane, k);

			if (ref->first >= ticks)
				break;
			bytes += end <= ticks ? ref->content
					      : ref->content *
					((double)(ticks - ref->first) / (double)(end - ref->first));
		}
	}
	return bytes;
}

/* Returns the time before which so many bytes lie. */
static uint64_t time_at(const struct window *w, double bytes)
{
	uint64_t low = w->reader->clock.base, high = w->end;

	for (int i = 0; i < HALVINGS && high - low > 1; i++) {
		uint64_t middle = low + (high - low) / 2;

		if (bytes_before(w, middle) < bytes)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static uint64_t ticks_at(const struct clock *clock, int64_t ns, uint64_t end)
{
	double ticks = ns > 0 ? (double)ns / clock->ns_per_tick : 0;

	return ticks < (double)(end - clock->base) ? clock->base + (uint64_t)ticks : end;
}

bool thrum__read_window(struct thrum_trace *trace, uint64_t most, int64_t *from, int64_t *until)
{
	struct reader *r = (struct reader *)trace;
	struct window w = {.reader = r};

	if (trace->format != &thrum__read_thrum_format)
		return false;
	w.end = ticks_at(&r->clock, trace->info.end, UINT64_MAX);
	for (size_t i = 0; i < r->packet_count; i++)
		if (r->packets[i].state == PACKET_GOOD && r->packets[i].first >= w.end)
			w.end = r->packets[i].first + 1;
	double all = bytes_before(&w, w.end), before, after, spare;

	if (all <= (double)most || w.end <= r->clock.base)
		return false;
	before = bytes_before(&w, ticks_at(&r->clock, *from, w.end));
	after = all - bytes_before(&w, ticks_at(&r->clock, *until, w.end));
	spare = (double)most - (all - before - after);
	if (spare < 0) {
		before -= spare;
	} else {
		/* As much before the time that is asked for as after it, where there is as much. */
		double half = spare / 2, most_before = spare - (after < half ? after : half);

		before -= before < most_before ? before : most_before;
	}
	*from = clock_ns(&r->clock, time_at(&w, before));
	if (spare >= 0 && before + (double)most < all)
		*until = clock_ns(&r->clock, time_at(&w, before + (double)most) + 1);
	return true;
}

bool thrum__read_from(struct thrum_trace *trace, int64_t from)
{
	struct reader *r = (struct reader *)trace;
	uint64_t ticks;

	if (trace->format != &thrum__read_thrum_format)
		return false;
	ticks = ticks_at(&r->clock, from, UINT64_MAX);
	r->skipped = ticks;
	for (uint32_t i = 0; i < r->lane_count; i++) {
		struct lane *lane = &r->lanes[i];

		while (lane->next + 1 < lane->end && packet_at(r, lane->next + 1)->begin <= ticks)
			lane->next++;
		/* Its beginning is left out, as if it were overwritten. */
		if (lane->next < lane->end && packet_at(r, lane->next)->first < ticks)
			lane->shown.first_seq = packet_at(r, lane->next)->seq + 1;
	}
	thrum__read_off_cpu_skip(r, ticks);
	thrum__read_merge_restart(r);
	return true;
}
