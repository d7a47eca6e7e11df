/* SPDX-License-Identifier: ISC */
#include "numbers_helper.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LANES 4096

struct numbers {
	struct {
		uint64_t lost; /* reported as lost, and not yet found missing */
		uint64_t clock;
		uint32_t thread, number;
		bool anything; /* any number may come next: some packets are missing */
	} lanes[LANES];
	uint32_t last[NUMBERS_THREADS];
	uint64_t seen, missing;
	char complaint[200];
};

struct numbers *numbers_create(void)
{
	struct numbers *numbers = calloc(1, sizeof *numbers);

	if (!numbers)
		abort();
	for (size_t i = 0; i < LANES; i++)
		numbers->lanes[i].anything = true;
	return numbers;
}

void numbers_destroy(struct numbers *numbers)
{
	free(numbers);
}

__attribute__((format(printf, 2, 3))) static void complain(struct numbers *numbers,
	const char *format, ...)
{
	va_list arguments;

	if (numbers->complaint[0])
		return;
	va_start(arguments, format);
	vsnprintf(numbers->complaint, sizeof numbers->complaint, format, arguments);
	va_end(arguments);
}

static void see_number(struct numbers *numbers, uint32_t lane, uint32_t thread, uint32_t number)
{
	uint32_t before = numbers->lanes[lane].thread == thread ? numbers->lanes[lane].number : 0;

	if (thread >= NUMBERS_THREADS) {
		complain(numbers, "lane %u: no thread has the number %u", lane, thread);
		return;
	}
	if (number <= numbers->last[thread])
		complain(numbers, "lane %u, thread %u: %u after %u", lane, thread, number,
			numbers->last[thread]);
	if (!numbers->lanes[lane].anything && number != before + 1) {
		if (number - before - 1 != numbers->lanes[lane].lost)
			complain(numbers, "lane %u, thread %u: %u after %u, %llu lost", lane,
				thread, number, before,
				(unsigned long long)numbers->lanes[lane].lost);
	}
	numbers->missing += number - before - 1;
	numbers->seen++;
	numbers->last[thread] = number;
	numbers->lanes[lane].thread = thread;
	numbers->lanes[lane].number = number;
	numbers->lanes[lane].lost = 0;
	numbers->lanes[lane].anything = false;
}

/* Checks the order by the recording's own clock; ns are an estimate that gets better. */
static void see_clock(struct numbers *numbers, uint32_t lane, uint64_t clock)
{
	if (clock < numbers->lanes[lane].clock)
		complain(numbers, "lane %u: time runs back by %llu ticks", lane,
			(unsigned long long)(numbers->lanes[lane].clock - clock));
	numbers->lanes[lane].clock = clock;
}

static void see(struct numbers *numbers, const struct thrum_event *event)
{
	uint32_t lane = event->lane;

	if (event->flags & THRUM_EVENT_REMEMBERED)
		return;
	if (event->type == THRUM_EVENT_DAMAGED)
		complain(numbers, "damaged: %s", event->text);
	if (lane >= LANES) {
		complain(numbers, "lane %u", lane);
		return;
	}
	if (event->type != THRUM_EVENT_LOST && event->type != THRUM_EVENT_DAMAGED)
		see_clock(numbers, lane, event->clock);
	if (event->type == THRUM_EVENT_LOST) {
		numbers->lanes[lane].lost += (uint64_t)event->value;
		numbers->lanes[lane].anything |= !(event->flags & THRUM_EVENT_HAS_VALUE);
	} else if (event->type == THRUM_EVENT_CREATE && event->kind == THRUM_KIND_THREAD) {
		/* Another thread has this lane now. */
		numbers->lanes[lane].thread = UINT32_MAX;
		numbers->lanes[lane].lost = 0;
		numbers->lanes[lane].anything = false;
	} else if (event->type == THRUM_EVENT_WAIT) {
		see_number(numbers, lane, (uint32_t)event->task - NUMBERS_WHO,
			(uint32_t)event->other);
	}
}

void numbers_see(struct numbers *numbers, const struct thrum_event *events, size_t count)
{
	for (size_t i = 0; i < count; i++)
		see(numbers, &events[i]);
}

int numbers_read(struct numbers *numbers, struct thrum_trace *trace)
{
	const struct thrum_event *events;
	size_t count;
	int result;

	while ((result = thrum_trace_next(trace, &events, &count, NULL)) == 1)
		numbers_see(numbers, events, count);
	return result;
}

const char *numbers_complaint(const struct numbers *numbers)
{
	return numbers->complaint[0] ? numbers->complaint : NULL;
}

uint32_t numbers_last(const struct numbers *numbers, uint32_t thread)
{
	return numbers->last[thread];
}

uint64_t numbers_seen(const struct numbers *numbers)
{
	return numbers->seen;
}

uint64_t numbers_missing(const struct numbers *numbers)
{
	return numbers->missing;
}
