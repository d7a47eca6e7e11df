/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "format/clock.h"
#include "format/packet.h"

#define SECOND UINT64_C(1000000000) /* ns */
/* From this distance on, in ns, two readings give a better frequency than the header does. */
#define DISTANCE_MIN UINT64_C(100000000)

uint64_t thrum__format_multiply_divide(uint64_t a, uint64_t b, uint64_t c)
{
	/* high:low = a * b, by halves */
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
	uint64_t high = (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
	low = a * b;

	if (high >= c)
		return UINT64_MAX;
	/* Long division, bit by bit: high is the remainder, and the quotient moves into low. */
	for (int bit = 0; bit < 64; bit++) {
		bool carry = high >> 63;
		high = high << 1 | low >> 63;
		low <<= 1;
		if (carry || high >= c) {
			high -= c;
			low |= 1;
		}
	}
	return low;
}

static int read_reading(const struct thrum__input *input, uint64_t offset,
	struct thrum__reading *to)
{
	memset(to, 0, sizeof *to);
	for (int tries = 0; tries < 3; tries++) {
		struct thrum__reading reading;
		uint32_t before[2], after[2]; /* only a read of 8 bytes is surely one access */
		int64_t got = thrum__format_input_read(input, offset, before, sizeof before);
		/* Partner: the release store of the ticket. */
		atomic_thread_fence(memory_order_acquire);
		if (got == sizeof before)
			got = thrum__format_input_read(input, offset, &reading, sizeof reading);
		atomic_thread_fence(memory_order_acquire);
		if (got == sizeof reading)
			got = thrum__format_input_read(input, offset, after, sizeof after);
		if (got != sizeof after)
			return got < 0 ? (int)got : 0;
		if (before[0] == after[0]) {
			if (before[0] != 0)
				memcpy(to, &reading, sizeof reading);
			return 0;
		}
	}
	return 0;
}

int thrum__format_read_clocks(const struct thrum__input *input, struct thrum__header *header)
{
	struct thrum__reading *readings[] = {&header->start, &header->latest[0],
		&header->latest[1]};
	int error = 0;
	for (size_t i = 0; error == 0 && i < sizeof readings / sizeof *readings; i++)
		error = read_reading(input, (uint64_t)((char *)readings[i] - (char *)header),
			readings[i]);
	return error;
}

const struct thrum__reading *thrum__format_latest_clock(const struct thrum__header *header)
{
	const struct thrum__reading *latest = &header->start;
	for (int i = 0; i < 2; i++) {
		const struct thrum__reading *reading = &header->latest[i];
		if (atomic_load(&reading->ticket) != 0 &&
			(atomic_load(&latest->ticket) == 0 || reading->ticks > latest->ticks))
			latest = reading;
	}
	return atomic_load(&latest->ticket) != 0 ? latest : NULL;
}

/* See thrum__format_set_clock. */
static uint64_t choose_frequency(const struct thrum__header *header)
{
	const struct thrum__reading *start = &header->start,
				    *latest = thrum__format_latest_clock(header);
	uint64_t known = header->clock_frequency;
	if (atomic_load(&start->ticket) == 0 || !latest || latest->ticks < start->ticks ||
		latest->monotonic < start->monotonic ||
		latest->monotonic - start->monotonic < DISTANCE_MIN)
		return known;
	uint64_t measured = thrum__format_multiply_divide(latest->ticks - start->ticks, SECOND,
		latest->monotonic - start->monotonic);
	return measured / 2 < known && measured > known / 2 ? measured : known;
}

uint64_t thrum__format_ticks_at(const struct thrum__header *header, uint64_t monotonic)
{
	const struct thrum__reading *latest = thrum__format_latest_clock(header);

	bool is_odd = header->clock_kind == THRUM__CLOCK_GIVEN && !header->host_clock.boot;

	if (!latest || is_odd || monotonic < latest->monotonic)
		return 0;
	uint64_t since = thrum__format_multiply_divide(monotonic - latest->monotonic,
		choose_frequency(header), SECOND);

	return since < UINT64_MAX - latest->ticks ? latest->ticks + since : 0;
}

void thrum__format_set_clock(struct thrum__metadata *metadata, const struct thrum__header *header)
{
	const struct thrum__reading *start = &header->start;
	uint64_t second = choose_frequency(header);
	metadata->frequency = second;
	metadata->offset_s = 0;
	metadata->offset = 0;
	/* One that nobody checked may have no frequency. */
	if (atomic_load(&start->ticket) == 0 || second == 0)
		return;
	/* Wall time at the first reading less the clock's value, both in seconds and ticks. */
	uint64_t wall = thrum__format_multiply_divide(start->realtime % SECOND, second, SECOND);
	uint64_t clock = start->ticks % second;
	/* A damaged header's may be any numbers. */
	uint64_t seconds = start->realtime / SECOND - start->ticks / second - (wall < clock);

	metadata->offset_s = (int64_t)seconds;
	if (wall < clock)
		wall += second;
	metadata->offset = wall - clock;
}
