/* SPDX-License-Identifier: ISC */
/* Reading packets while their owner changes them: a change between any two reads leaves the packet
 * whole, or it is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/packet.h"
#include "recording.h"

/* An input in which something happens before the n-th read. */
struct input {
	struct recording recording;
	struct packet_writer writer;
	uint64_t size; /* where the file ends */
	int reads, happens_at;
	void (*happen)(struct input *);
	int error_at;
};

static int64_t read_input(void *owner, uint64_t offset, void *to, size_t size)
{
	struct input *input = owner;

	input->reads++;
	if (input->reads == input->error_at)
		return -THRUM_E_SYSTEM;
	if (input->reads == input->happens_at)
		input->happen(input);
	if (offset >= input->size)
		return 0;
	if (size > input->size - offset)
		size = (size_t)(input->size - offset);
	memcpy(to, input->recording.bytes + offset, size);
	return (int64_t)size;
}

static uint64_t input_size(void *owner)
{
	return ((struct input *)owner)->size;
}

static void add(struct input *input, const char *text)
{
	assert_true(packet_writer_add(&input->writer,
		&(struct thrum__record){.type = THRUM__R_LOG, .text = text}, 1000001));
}

/* A recording whose packet 2 is lane 5's, with one event. */
static void set_up(struct input *input)
{
	memset(input, 0, sizeof *input);
	recording_init(&input->recording, THRUM__SIZE_MIN);
	input->size = input->recording.header->size;
	input->writer = packet_writer_begin(&input->recording, 2, 5, 9, 1000000);
	add(input, "one");
}

static int read_packet(struct input *input, uint8_t *to, size_t *bytes)
{
	struct thrum__input from = {input, read_input, input_size};
	int result;

	input->reads = 0;
	result = thrum__format_packet_read(&from, input->recording.header, 2, to, bytes);
	return result;
}

static uint64_t seq_of(const uint8_t *bytes)
{
	struct thrum__packet packet;

	memcpy(&packet, bytes, sizeof packet);
	return packet.seq;
}

static void copies_a_packet(void **state)
{
	struct input input;
	uint8_t to[4096];
	size_t bytes = 0;

	(void)state;
	set_up(&input);
	memset(to, 0xaa, sizeof to);
	assert_int_equal(read_packet(&input, to, &bytes), 1);
	assert_int_equal(bytes, input.writer.at);
	assert_memory_equal(to, input.writer.packet, bytes);
	/* Only the content is copied. */
	assert_int_equal(to[bytes], 0xaa);
	recording_finish(&input.recording);
}

static void finds_nothing(void **state)
{
	struct input input;
	uint8_t to[4096];
	size_t bytes;

	(void)state;
	set_up(&input);
	atomic_store(&input.writer.packet->ticket, 0);
	assert_int_equal(read_packet(&input, to, &bytes), 0);
	recording_finish(&input.recording);
}

static void becomes_another(struct input *input)
{
	input->writer = packet_writer_begin(&input->recording, 2, 5, 10, 1000050);
	add(input, "of the next packet");
}

static void is_taken_away(struct input *input)
{
	atomic_store(&input->writer.packet->ticket, 0);
}

static void grows(struct input *input)
{
	add(input, "two");
}

/* The packet is overwritten once, at any step: the copy is all of the old packet or of the new. */
static void reads_what_is_overwritten_once(void **state)
{
	(void)state;
	for (int step = 1; step <= 5; step++) {
		struct input input;
		uint8_t old[4096], to[4096];
		size_t bytes;

		set_up(&input);
		size_t old_size = input.writer.at;

		memcpy(old, input.writer.packet, old_size);
		input.happens_at = step;
		input.happen = becomes_another;
		assert_int_equal(read_packet(&input, to, &bytes), 1);
		if (seq_of(to) == 9) {
			/* A packet takes four reads, so nothing happened. */
			assert_int_equal(step, 5);
			assert_int_equal(bytes, old_size);
			assert_memory_equal(to, old, bytes);
		} else {
			assert_int_equal(bytes, input.writer.at);
			assert_memory_equal(to, input.writer.packet, bytes);
		}
		recording_finish(&input.recording);
	}
}

static void refuses_what_is_taken_away(void **state)
{
	(void)state;
	for (int step = 1; step <= 4; step++) {
		struct input input;
		uint8_t to[4096];
		size_t bytes;

		set_up(&input);
		input.happens_at = step;
		input.happen = is_taken_away;
		assert_int_equal(read_packet(&input, to, &bytes), 0);
		recording_finish(&input.recording);
	}
}

/* The copy holds whole events and the size that belongs to them. */
static void reads_what_grows(void **state)
{
	(void)state;
	for (int step = 1; step <= 4; step++) {
		struct input input;
		uint8_t to[4096];
		size_t bytes;
		struct thrum__packet packet;

		set_up(&input);
		size_t before = input.writer.at;

		input.happens_at = step;
		input.happen = grows;
		assert_int_equal(read_packet(&input, to, &bytes), 1);
		assert_int_equal(bytes, step <= 2 ? input.writer.at : before);
		memcpy(&packet, to, sizeof packet);
		assert_int_equal(packet.content_size, bytes * 8);
		recording_finish(&input.recording);
	}
}

static void becomes_another_each_time(struct input *input)
{
	becomes_another(input);
	input->happens_at += 4;
}

static void gives_up_on_what_changes_all_the_time(void **state)
{
	struct input input;
	uint8_t to[4096];
	size_t bytes;

	(void)state;
	set_up(&input);
	input.happens_at = 3;
	input.happen = becomes_another_each_time;
	assert_int_equal(read_packet(&input, to, &bytes), THRUM__REUSED);
	assert_int_equal(input.reads, 12);
	recording_finish(&input.recording);
}

static void says_what_is_wrong(void **state)
{
	struct input input;
	struct thrum__packet good;
	uint8_t to[4096];
	size_t bytes;

	(void)state;
	set_up(&input);
	struct thrum__packet *packet = input.writer.packet;

	memcpy(&good, packet, sizeof good);
#define EXPECT_DAMAGED(change) \
	change; \
	assert_int_equal(read_packet(&input, to, &bytes), -THRUM_E_DAMAGED); \
	memcpy(packet, &good, sizeof good)
	EXPECT_DAMAGED(packet->magic++);
	EXPECT_DAMAGED(packet->uuid[0]++);
	EXPECT_DAMAGED(packet->content_size = 0);
	EXPECT_DAMAGED(packet->content_size = (sizeof *packet - 1) * 8);
	EXPECT_DAMAGED(packet->content_size++);
	EXPECT_DAMAGED(packet->content_size = UINT32_MAX);
	EXPECT_DAMAGED(packet->content_size = (input.recording.header->packet_size + 1) * 8);
	EXPECT_DAMAGED(packet->packet_size -= 8);
#undef EXPECT_DAMAGED
	assert_int_equal(read_packet(&input, to, &bytes), 1);
	for (int step = 1; step <= 4; step++) {
		input.error_at = step;
		assert_int_equal(read_packet(&input, to, &bytes), -THRUM_E_SYSTEM);
	}
	recording_finish(&input.recording);
}

static void says_where_the_file_ends(void **state)
{
	struct input input;
	uint8_t to[4096];
	size_t bytes;

	(void)state;
	set_up(&input);
	uint64_t begin = (uint64_t)((uint8_t *)input.writer.packet - input.recording.bytes);
	for (uint64_t size = begin; size < begin + input.writer.at; size++) {
		input.size = size;
		assert_int_equal(read_packet(&input, to, &bytes), -THRUM_E_TRUNCATED);
		if (size >= begin + sizeof(struct thrum__packet)) {
			assert_int_equal(bytes, size - begin);
			assert_memory_equal(to, input.writer.packet, bytes);
		}
	}
	input.size = begin + input.writer.at;
	assert_int_equal(read_packet(&input, to, &bytes), 1);
	recording_finish(&input.recording);
}

static void peeks(void **state)
{
	struct input input;
	struct thrum__input from = {&input, read_input, input_size};
	uint8_t to[4096];
	size_t bytes;

	(void)state;
	set_up(&input);
	memset(to, 0xaa, sizeof to);
	assert_int_equal(thrum__format_packet_peek(&from, input.recording.header, 2, to,
				 sizeof(struct thrum__packet) + 4, &bytes),
		1);
	assert_int_equal(bytes, sizeof(struct thrum__packet) + 4);
	assert_memory_equal(to, input.writer.packet, bytes);
	assert_int_equal(to[bytes], 0xaa);
	recording_finish(&input.recording);
}

/* Each member of the header that a reader relies on, with a value that it must not have. */
static void checks_headers(void **state)
{
	struct recording recording;
	const char *what;
	uint64_t offset;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	struct thrum__header good, *h = recording.header;

	memcpy(&good, h, sizeof good);
	assert_int_equal(thrum__format_check_header(h, &what, &offset), 0);
#define EXPECT(change, error, member) \
	change; \
	what = NULL; \
	assert_int_equal(thrum__format_check_header(h, &what, &offset), -(error)); \
	assert_non_null(what); \
	assert_int_equal(offset, offsetof(struct thrum__header, member)); \
	memcpy(h, &good, sizeof good)
	EXPECT(h->magic[7]++, THRUM_E_FORMAT, magic);
	EXPECT(h->version++, THRUM_E_VERSION, version);
	EXPECT(h->version = 0, THRUM_E_DAMAGED, version);
	EXPECT(h->header_size++, THRUM_E_DAMAGED, header_size);
	EXPECT(h->size = 0, THRUM_E_DAMAGED, size);
	EXPECT(h->size = UINT64_MAX, THRUM_E_DAMAGED, size);
	EXPECT(h->packet_size = 0, THRUM_E_DAMAGED, packet_size);
	EXPECT(h->packet_size = UINT32_MAX - 7, THRUM_E_DAMAGED, packet_size);
	EXPECT(h->packet_size++, THRUM_E_DAMAGED, packet_size);
	EXPECT(h->packets++, THRUM_E_DAMAGED, packet);
	EXPECT(h->packet.size++, THRUM_E_DAMAGED, packet);
	EXPECT(h->packet.offset = 0, THRUM_E_DAMAGED, packet);
	EXPECT(h->packet.offset = UINT64_MAX - 7, THRUM_E_DAMAGED, packet);
	EXPECT(h->metadata.offset = h->size, THRUM_E_DAMAGED, metadata);
	EXPECT(h->definitions.size++, THRUM_E_DAMAGED, definitions);
	EXPECT(h->definitions.offset += 4, THRUM_E_DAMAGED, definitions);
	EXPECT(h->counters.size = UINT64_MAX, THRUM_E_DAMAGED, counters);
	EXPECT(h->live_tasks.size -= sizeof(struct thrum__live_task), THRUM_E_DAMAGED, live_tasks);
	EXPECT(h->live_tasks.offset = 8, THRUM_E_DAMAGED, live_tasks);
	EXPECT(h->clock_frequency = 0, THRUM_E_DAMAGED, clock_frequency);
	EXPECT(h->clock_frequency = UINT64_MAX, THRUM_E_DAMAGED, clock_frequency);
#undef EXPECT
	/* No table at all is fine. */
	h->live_tasks.size = 0;
	h->definitions.size = 0;
	assert_int_equal(thrum__format_check_header(h, &what, &offset), 0);
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_a_packet),
		cmocka_unit_test(finds_nothing),
		cmocka_unit_test(reads_what_is_overwritten_once),
		cmocka_unit_test(refuses_what_is_taken_away),
		cmocka_unit_test(reads_what_grows),
		cmocka_unit_test(gives_up_on_what_changes_all_the_time),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(says_where_the_file_ends),
		cmocka_unit_test(peeks),
		cmocka_unit_test(checks_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
