/* SPDX-License-Identifier: ISC */
/* The layout of recordings of all sizes: each section has its place, and no two overlap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"

#define PAGE 4096u
#define KIB (UINT64_C(1) << 10)
#define GIB (UINT64_C(1) << 30)

static struct thrum__header laid_out(uint64_t size, uint64_t page)
{
	struct thrum__header header = {{0}};

	assert_int_equal(thrum__format_lay_out(&header, size, page), 0);
	return header;
}

static void assert_divided(uint64_t size, uint64_t page)
{
	struct thrum__header h = laid_out(size, page);
	const struct thrum__section sections[] = {h.metadata, h.definitions, h.counters,
		h.live_tasks, h.control, h.packet};
	uint64_t end = h.header_size;

	assert_true(end >= sizeof h);
	for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
		assert_true(sections[i].offset >= end);
		assert_int_equal(sections[i].offset % PAGE, 0);
		assert_true(sections[i].size > 0);
		end = sections[i].offset + sections[i].size;
	}
	assert_int_equal(h.counters.offset % page, 0);
	assert_int_equal(h.witness.size, size / page >= 64 ? page : 0);
	assert_int_equal(h.witness.offset % page, 0);
	assert_true(h.witness.offset + h.witness.size <= h.packet.offset);
	assert_true(end <= h.size);
	assert_true(h.size <= size);
	assert_int_equal(h.packet.size, (uint64_t)h.packets * h.packet_size);
	/* The rest is too small for one more packet. */
	assert_true(size - h.size < h.packet_size + PAGE);
}

static void assert_useful(uint64_t size)
{
	struct thrum__header h = laid_out(size, PAGE);
	uint64_t cells = h.live_tasks.size / sizeof(struct thrum__live_task);
	uint64_t definitions = h.definitions.size / sizeof(struct thrum__definition);
	const char *what;
	uint64_t offset;

	assert_true(h.packet.size >= size / 16 * 9);
	assert_true(h.packet_size >= PAGE);
	assert_int_equal(h.packet_size & (h.packet_size - 1), 0);
	/* Its bits have to fit the packet's 32. */
	assert_true((uint64_t)h.packet_size * 8 <= UINT32_MAX);
	assert_true(h.packets >= 32);
	assert_int_equal(cells & (cells - 1), 0);
	assert_true(cells >= 64);
	/* Their numbers have 16 bits. */
	assert_in_range(definitions, 64, THRUM__DEFINITIONS_MAX);
	h.clock_frequency = 100000000;
	assert_int_equal(thrum__format_check_header(&h, &what, &offset), 0);
}

static void everything_has_its_place(void **state)
{
	(void)state;
	for (uint64_t size = 256 * KIB; size <= 64 * GIB; size *= 2) {
		const uint64_t near[] = {size, size + 1, size + PAGE, size + size / 3,
			size + size / 2 + 4095, 2 * size - 1};

		for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
			if (near[i] > 64 * GIB)
				continue;
			for (uint64_t page = PAGE; page <= 16 * PAGE; page *= 4)
				assert_divided(near[i], page);
			assert_useful(near[i]);
		}
	}
}

static void there_are_about_a_thousand_packets(void **state)
{
	(void)state;
	for (uint64_t size = 4096 * KIB; size <= 64 * GIB; size *= 2)
		assert_in_range(laid_out(size, PAGE).packets, 896, 2048);
	assert_int_equal(laid_out(16384 * KIB, PAGE).packet_size, 16 * KIB);
}

static void other_sizes_are_refused(void **state)
{
	const uint64_t sizes[] = {0, 1, PAGE, 256 * KIB - 1, 64 * GIB + PAGE, UINT64_MAX / 2,
		UINT64_MAX};
	struct thrum__header untouched, header;

	(void)state;
	memset(&untouched, 0x5a, sizeof untouched);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		memset(&header, 0x5a, sizeof header);
		assert_int_equal(thrum__format_lay_out(&header, sizes[i], PAGE), -THRUM_E_SIZE);
		assert_memory_equal(&header, &untouched, sizeof header);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_has_its_place),
		cmocka_unit_test(there_are_about_a_thousand_packets),
		cmocka_unit_test(other_sizes_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
