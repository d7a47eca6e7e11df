/* SPDX-License-Identifier: ISC */
/* Copying a recording, also while somebody writes to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/format.h"
#include "recording.h"

#define SIZE THRUM__SIZE_MIN

/* ---- An input that changes while it is read, and an output in memory ------------------------ */

struct input {
	struct recording recording;
	uint64_t size; /* where the file ends */
	int reads, fail_at;
	/* Called before each read; plays the recorder that goes on writing. */
	void (*meanwhile)(struct input *, uint64_t offset);
};

struct output {
	uint8_t bytes[2 * SIZE];
	uint64_t end;
	int writes, fail_at;
};

static int64_t read_input(void *owner, uint64_t offset, void *to, size_t size)
{
	struct input *input = owner;
	if (input->fail_at && ++input->reads == input->fail_at)
		return -THRUM_E_SYSTEM;
	if (input->meanwhile)
		input->meanwhile(input, offset);
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

static int write_output(void *owner, uint64_t offset, const void *from, size_t size)
{
	struct output *output = owner;
	if (output->fail_at && ++output->writes == output->fail_at)
		return -THRUM_E_SPACE;
	assert_true(offset + size <= sizeof output->bytes);
	memcpy(output->bytes + offset, from, size);
	if (output->end < offset + size)
		output->end = offset + size;
	return 0;
}

static struct output output;

static int copy(struct input *input, uint64_t *overwritten)
{
	struct thrum__input from = {input, read_input, input_size};
	struct thrum__output to = {&output, write_output};
	int fail_at = output.fail_at;
	memset(&output, 0, sizeof output);
	output.fail_at = fail_at;
	return thrum__format_copy(&from, &to, 0, overwritten);
}

/* ---- The recording to copy: five packets of two lanes, not in order ------------------------ */

static const struct {
	uint32_t index;
	uint64_t lane, seq, begin;
} packets[] = {
	{0, 1, 0, 5000000},
	{1, 0, 1, 2000000},
	{2, 0, 0, 1000000},
	{4, 1, 1, 6000000},
	{5, 0, 2, 3000000},
};
#define PACKETS (sizeof packets / sizeof *packets)

static struct thrum__live_task *live_task(struct recording *recording, unsigned cell)
{
	return (struct thrum__live_task *)(void *)(recording->bytes +
		       recording->header->live_tasks.offset) +
		cell;
}

static void fill_packet(struct recording *recording, size_t i)
{
	struct packet_writer writer = packet_writer_begin(recording, packets[i].index,
		packets[i].lane, packets[i].seq, packets[i].begin);
	for (unsigned n = 0; n < 10; n++) {
		struct thrum__record record = {.type = THRUM__R_WAIT, .task = n, .other = i};
		assert_true(packet_writer_add(&writer, &record, packets[i].begin + n));
	}
}

static void begin(struct input *input)
{
	*input = (struct input){.size = SIZE};
	struct recording *recording = &input->recording;
	recording_init(recording, SIZE);
	input->size = recording->header->size;
	for (size_t i = 0; i < PACKETS; i++)
		fill_packet(recording, i);
	recording_define(recording, 1, THRUM__DEFINES_TAG, 0, "tag", 4);
	recording_define(recording, 2, THRUM__DEFINES_COUNTER, 0, "counter", 8);
	strcpy((char *)recording->bytes + recording->header->metadata.offset, "metadata");
	strcpy((char *)recording->bytes + recording->header->counters.offset, "counters");
	for (unsigned cell = 7; cell < 10; cell++) {
		struct thrum__live_task *task = live_task(recording, cell);
		task->created = 100 + cell;
		strcpy(task->label, "hangs");
		atomic_store(&task->tag, cell);
	}
	atomic_store(&recording->header->waiters, 6);
	atomic_store(&recording->header->progress, 7);
	atomic_store(&recording->header->state, THRUM__RECORDING);
	atomic_store(&recording->header->lost[THRUM__LOST_FULL], 8);
	atomic_store(&recording->header->lost[THRUM__LOST_OVERWRITTEN], 9);
}

static void end(struct input *input)
{
	recording_finish(&input->recording);
}

/* ---- Looking at the copy ------------------------------------------------------------------- */

static const struct thrum__header *header(void)
{
	const struct thrum__header *copied = (const void *)output.bytes;
	const char *what = NULL;
	uint64_t offset;
	assert_int_equal(thrum__format_check_header(copied, &what, &offset), 0);
	assert_int_equal(copied->size, output.end);
	assert_int_equal(atomic_load(&copied->state), THRUM__SNAPSHOT);
	return copied;
}

static int64_t read_output(void *owner, uint64_t offset, void *to, size_t size)
{
	(void)owner;
	assert_true(offset + size <= output.end);
	memcpy(to, output.bytes + offset, size);
	return (int64_t)size;
}

/* Reads packet `index` of the copy. Returns the result of thrum__format_packet_read. */
static int read_packet(uint32_t index, struct thrum__packet *packet, size_t *bytes)
{
	const struct thrum__input input = {NULL, read_output, NULL};
	uint8_t *buffer = malloc(header()->packet_size);
	assert_non_null(buffer);
	int result = thrum__format_packet_read(&input, header(), index, buffer, bytes);
	memcpy(packet, buffer, sizeof *packet);
	free(buffer);
	return result;
}

static const struct thrum__live_task *copied_live_task(unsigned cell)
{
	return (const struct thrum__live_task *)(const void *)(output.bytes +
		       header()->live_tasks.offset) +
		cell;
}

/* The copy's packets have these sequence numbers. Lane 0's come first because they are older. */
static void assert_packets(const uint64_t *begins, size_t count)
{
	assert_int_equal(header()->packets, count);
	assert_int_equal(atomic_load(&header()->packets_used), count);
	for (uint32_t i = 0; i < count; i++) {
		struct thrum__packet packet;
		size_t bytes;
		assert_int_equal(read_packet(i, &packet, &bytes), 1);
		assert_int_equal(packet.begin, begins[i]);
		assert_int_equal(bytes, sizeof packet + 10 * 12);
		const uint8_t *rest = output.bytes + header()->packet.offset +
			(uint64_t)i * header()->packet_size + bytes;
		static const uint8_t zeros[4096];
		assert_memory_equal(rest, zeros, header()->packet_size - bytes);
	}
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* A copy shows a recording up to the end of that, or else up to the time at which it was made, or a later one
 * at which the process lived. */
static void keeps_the_end(void **state)
{
	static const struct {
		uint64_t ended;
		uint32_t ending;
		uint64_t expected;
	} cases[] = {
		{0, 0, 9000000},
		{7000000, THRUM__ENDED_STOPPED, 7000000},
		{7000000, 0, 9000000},
		{9500000, 0, 9500000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct input input;
		struct thrum__input from = {&input, read_input, input_size};
		struct thrum__output to = {&output, write_output};

		begin(&input);
		memset(&output, 0, sizeof output);
		atomic_store(&input.recording.header->ended, cases[i].ended);
		atomic_store(&input.recording.header->ending, cases[i].ending);
		assert_int_equal(thrum__format_copy(&from, &to, 9000000, NULL), 0);
		assert_int_equal(atomic_load(&header()->ended), cases[i].expected);
		end(&input);
	}
}

static void copies_everything(void **state)
{
	(void)state;
	struct input input;
	uint64_t overwritten = 77;
	begin(&input);
	assert_int_equal(copy(&input, &overwritten), 0);
	assert_int_equal(overwritten, 0);
	assert_packets((const uint64_t[]){1000000, 2000000, 3000000, 5000000, 6000000}, 5);

	const struct thrum__header *to = header(), *from = input.recording.header;
	assert_true(to->size < from->size);
	assert_memory_equal(to->uuid, from->uuid, sizeof to->uuid);
	assert_string_equal(to->program, from->program);
	assert_int_equal(to->pid, from->pid);
	assert_memory_equal(&to->start, &from->start, sizeof to->start);
	assert_memory_equal(to->latest, from->latest, sizeof to->latest);
	assert_int_equal(atomic_load(&to->waiters), 0);
	assert_int_equal(atomic_load(&to->progress), 0);
	assert_int_equal(atomic_load(&to->lost[THRUM__LOST_FULL]), 8);
	assert_int_equal(atomic_load(&to->lost[THRUM__LOST_OVERWRITTEN]), 9);
	assert_memory_equal(output.bytes + to->definitions.offset,
		input.recording.bytes + from->definitions.offset, from->definitions.size);
	assert_memory_equal(output.bytes + to->live_tasks.offset,
		input.recording.bytes + from->live_tasks.offset, from->live_tasks.size);
	assert_string_equal((char *)output.bytes + to->metadata.offset, "metadata");
	assert_string_equal((char *)output.bytes + to->counters.offset, "counters");
	end(&input);
}

static void copies_nothing_to_nothing(void **state)
{
	(void)state;
	struct input input = {.size = SIZE};
	recording_init(&input.recording, SIZE);
	assert_int_equal(copy(&input, NULL), 0);
	assert_int_equal(header()->packets, 0);
	assert_int_equal(header()->packet.offset, output.end);
	end(&input);
}

static bool is_in(struct thrum__section section, uint64_t offset)
{
	return offset >= section.offset && offset - section.offset < section.size;
}

/* Strikes while live tasks are read, after the packets were listed. */
static void overwrite_two(struct input *input, uint64_t offset)
{
	if (!is_in(input->recording.header->live_tasks, offset))
		return;
	input->meanwhile = NULL;
	packet_writer_begin(&input->recording, packets[2].index, 1, 2, 7000000);
	struct packet_writer writer = packet_writer_begin(&input->recording, packets[1].index, 0, 3,
		7000000);
	atomic_store(&writer.packet->ticket, 0);
}

static void leaves_out_and_counts_what_is_overwritten(void **state)
{
	(void)state;
	struct input input;
	uint64_t overwritten;
	begin(&input);
	input.meanwhile = overwrite_two;
	assert_int_equal(copy(&input, &overwritten), 0);
	assert_null(input.meanwhile);
	assert_int_equal(overwritten, 2);
	assert_packets((const uint64_t[]){3000000, 5000000, 6000000}, 3);
	assert_int_equal(atomic_load(&header()->lost[THRUM__LOST_OVERWRITTEN]), 9 + 2);
	end(&input);
}

/* Each read of the packet finds another packet in its place. */
static void overwrite_always(struct input *input, uint64_t offset)
{
	const struct thrum__header *from = input->recording.header;
	if (is_in(from->packet, offset) &&
		(offset - from->packet.offset) / from->packet_size == packets[4].index)
		packet_writer_begin(&input->recording, packets[4].index, 0, 9, 9000000);
}

static void gives_up_on_a_packet_that_never_rests(void **state)
{
	(void)state;
	struct input input;
	uint64_t overwritten;
	begin(&input);
	input.meanwhile = overwrite_always;
	assert_int_equal(copy(&input, &overwritten), 0);
	assert_int_equal(overwritten, 1);
	assert_packets((const uint64_t[]){1000000, 2000000, 5000000, 6000000}, 4);
	end(&input);
}

/* Cell 7: resolved. Cell 8: resolved, and taken by another task. */
static void resolve_tasks(struct input *input, uint64_t offset)
{
	struct recording *recording = &input->recording;
	if (!is_in(recording->header->live_tasks, offset) || ++input->reads < 3)
		return;
	atomic_store(&live_task(recording, 7)->tag, 0);
	strcpy(live_task(recording, 8)->label, "another");
	atomic_store(&live_task(recording, 8)->tag, 4096 + 8);
}

static void takes_a_live_task_only_whole(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	input.meanwhile = resolve_tasks;
	assert_int_equal(copy(&input, NULL), 0);
	assert_true(input.reads >= 3);
	static const struct thrum__live_task empty;
	assert_memory_equal(copied_live_task(7), &empty, sizeof empty);
	assert_memory_equal(copied_live_task(8), &empty, sizeof empty);
	assert_string_equal(copied_live_task(9)->label, "hangs");
	assert_int_equal(copied_live_task(9)->created, 109);
	end(&input);
}

/* A definition made while packets are copied is copied, too, because a packet might name it. */
static void define_late(struct input *input, uint64_t offset)
{
	if (!is_in(input->recording.header->packet, offset))
		return;
	recording_define(&input->recording, 3, THRUM__DEFINES_TAG, 0, "late", 5);
}

static void copies_late_definitions(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	input.meanwhile = define_late;
	assert_int_equal(copy(&input, NULL), 0);
	const struct thrum__definition *cells = (const void *)(output.bytes +
		header()->definitions.offset);
	assert_int_equal(atomic_load(&cells[3].type), THRUM__DEFINES_TAG);
	assert_string_equal(cells[3].text, "late");
	end(&input);
}

/* The first of the latest readings changes at each read; the second one is half written. */
static void read_clocks(struct input *input, uint64_t offset)
{
	if (offset > 0 && offset < sizeof(struct thrum__header)) {
		atomic_fetch_add(&input->recording.header->latest[0].ticket, 1);
		input->recording.header->latest[0].ticks += 1000;
	}
	input->recording.header->latest[1].ticks = 55;
}

static void takes_a_clock_reading_only_whole(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	input.meanwhile = read_clocks;
	assert_int_equal(copy(&input, NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(atomic_load(&header()->latest[i].ticket), 0);
		assert_int_equal(header()->latest[i].ticks, 0);
	}
	assert_int_equal(header()->start.ticks, input.recording.header->start.ticks);
	end(&input);
}

static void cuts_a_packet_that_the_file_ends_in(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	const struct thrum__header *from = input.recording.header;
	input.size = from->packet.offset + 5 * (uint64_t)from->packet_size +
		sizeof(struct thrum__packet) + 50;
	assert_int_equal(copy(&input, NULL), 0);
	struct thrum__packet packet;
	size_t bytes;
	assert_int_equal(header()->packets, 5);
	assert_int_equal(read_packet(2, &packet, &bytes), 1);
	assert_int_equal(packet.begin, 3000000);
	assert_int_equal(bytes, sizeof packet + 50);

	/* The file ends within the packet's header. */
	input.size -= 60;
	assert_int_equal(copy(&input, NULL), 0);
	assert_packets((const uint64_t[]){1000000, 2000000, 5000000, 6000000}, 4);
	end(&input);
}

static void keeps_damage_visible(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	struct thrum__header *from = input.recording.header;
	uint8_t *bad = input.recording.bytes + from->packet.offset + from->packet_size;
	bad[0] ^= 1;
	assert_int_equal(copy(&input, NULL), 0);
	struct thrum__packet packet;
	size_t bytes;
	assert_int_equal(header()->packets, 5);
	assert_int_equal(read_packet(1, &packet, &bytes), -THRUM_E_DAMAGED);
	assert_memory_equal(output.bytes + header()->packet.offset + from->packet_size, bad,
		from->packet_size);
	end(&input);
}

static void refuses_what_is_no_recording(void **state)
{
	(void)state;
	struct input input;
	uint64_t overwritten = 77;
	begin(&input);
	input.recording.header->magic[0] ^= 1;
	assert_int_equal(copy(&input, &overwritten), -THRUM_E_FORMAT);
	input.recording.header->magic[0] ^= 1;
	input.recording.header->definitions.size = UINT64_MAX - 127;
	assert_int_equal(copy(&input, &overwritten), -THRUM_E_DAMAGED);
	input.recording.header->definitions.size = 128;
	input.size = input.recording.header->live_tasks.offset + 96;
	assert_int_equal(copy(&input, &overwritten), -THRUM_E_TRUNCATED);
	input.size = 0;
	assert_int_equal(copy(&input, &overwritten), -THRUM_E_FORMAT);
	assert_int_equal(output.end, 0);
	assert_int_equal(overwritten, 77);
	end(&input);
}

static void passes_on_failures(void **state)
{
	(void)state;
	struct input input;
	begin(&input);
	int result;
	for (input.fail_at = 1; (input.reads = 0, result = copy(&input, NULL)) != 0;
		input.fail_at++)
		assert_int_equal(result, -THRUM_E_SYSTEM);
	assert_true(input.fail_at > 30);
	input.fail_at = 0;
	for (output.fail_at = 1; (result = copy(&input, NULL)) != 0; output.fail_at++)
		assert_int_equal(result, -THRUM_E_SPACE);
	assert_true(output.fail_at > 9);
	output.fail_at = 0;
	end(&input);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_everything),
		cmocka_unit_test(keeps_the_end),
		cmocka_unit_test(copies_nothing_to_nothing),
		cmocka_unit_test(leaves_out_and_counts_what_is_overwritten),
		cmocka_unit_test(gives_up_on_a_packet_that_never_rests),
		cmocka_unit_test(takes_a_live_task_only_whole),
		cmocka_unit_test(copies_late_definitions),
		cmocka_unit_test(takes_a_clock_reading_only_whole),
		cmocka_unit_test(cuts_a_packet_that_the_file_ends_in),
		cmocka_unit_test(keeps_damage_visible),
		cmocka_unit_test(refuses_what_is_no_recording),
		cmocka_unit_test(passes_on_failures),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
