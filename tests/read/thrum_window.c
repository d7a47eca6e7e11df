/* SPDX-License-Identifier: ISC */
/* Parts of large recordings: packets that are copied in chunks, and reading from a time on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "read/read.h"
#include "thrum_helper.h"

#define START 1000000u /* ticks; one is 10 ns */
#define LARGE (1u << 20)

static void add(struct packet_writer *writer, uint64_t ticks, struct thrum__record record)
{
	assert_true(packet_writer_add(writer, &record, START + ticks));
}

/* ---- Chunks --------------------------------------------------------------------------------- */

static void begin_large(struct recording *recording)
{
	struct thrum__header *h;

	recording_init(recording, 16 * LARGE);
	h = recording->header;
	h->packet_size = LARGE;
	h->packets = (uint32_t)(h->packet.size / LARGE);
}

static const char *text_of(unsigned number)
{
	static char text[THRUM_TEXT_MAX + 1];
	size_t size = number * 37 % THRUM_TEXT_MAX + 1;

	memset(text, 'a' + (int)(number % 26), size);
	text[size] = '\0';
	return text;
}

/* Fills a packet with texts of all lengths, and with names and keys, which lie apart from their events.
 * Returns how many records it has. */
static unsigned fill(struct packet_writer *writer)
{
	struct thrum__record name = {.type = THRUM__R_NAME}, tag = {.type = THRUM__R_TAG};
	struct thrum__record log = {.type = THRUM__R_LOG};
	struct thrum__record key = {.type = THRUM__R_LINK_SEND,
		.key = (const uint8_t *)"a key",
		.key_size = 5};
	unsigned count = 0;

	for (;; count += 4) {
		name.text = log.text = text_of(count);
		if (writer->at + 2 * 600 > LARGE)
			return count;
		add(writer, count, name);
		add(writer, count + 1, tag);
		add(writer, count + 2, log);
		add(writer, count + 3, key);
	}
}

/* Reads events as `fill` wrote them; returns how many there are before the first other one, which *last
 * becomes. */
static unsigned read_filled(struct thrum_trace *trace, struct thrum_event *last, char note[160])
{
	const struct thrum_event *events;
	unsigned seen = 0;
	size_t count;

	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			unsigned number = seen / 3 * 4, kind = seen % 3;

			*last = events[i];
			if (events[i].type == THRUM_EVENT_LOST ||
				events[i].type == THRUM_EVENT_DAMAGED) {
				snprintf(note, 160, "%s", events[i].text);
				return seen;
			}
			assert_int_equal(events[i].time, (number + kind + 1) * 10);
			assert_string_equal(events[i].text, kind == 2 ? "a key" : text_of(number));
			seen++;
		}
	return seen;
}

static void reads_large_packets_in_chunks(void **state)
{
	struct recording recording;
	struct thrum_event last;
	char note[160];

	(void)state;
	begin_large(&recording);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, START);
	unsigned count = fill(&writer);
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_true(writer.at > LARGE - 1200);
	assert_int_equal(read_filled(trace, &last, note), count / 4 * 3);
	assert_int_equal(last.type, THRUM_EVENT_LINK_SEND);
	assert_int_equal(thrum_trace_info(trace)->damaged, 0);
	assert_int_equal(thrum_trace_info(trace)->content_bytes, writer.at);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

static void tells_where_a_large_packet_is_cut_off(void **state)
{
	struct recording recording;
	struct thrum_event last;
	char note[160], expected[160];

	(void)state;
	begin_large(&recording);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, START);
	unsigned count = fill(&writer);
	uint64_t size = recording.header->packet.offset + LARGE / 2;
	struct thrum_trace *trace;

	assert_int_equal(thrum_trace_open_memory(recording.bytes, size, &trace, NULL), 0);
	assert_in_range(read_filled(trace, &last, note), count / 4 * 3 / 3, count / 4 * 3 - 1);
	assert_int_equal(last.type, THRUM_EVENT_DAMAGED);
	snprintf(expected, sizeof expected, "truncated at byte %llu", (unsigned long long)size);
	assert_string_equal(note, expected);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* An input whose first packet is reused when its second half is read. */
static struct thrum__input plain;
static struct thrum__packet *victim;

static int64_t read_and_reuse(void *owner, uint64_t offset, void *to, size_t size)
{
	const struct recording *recording = owner;

	if (victim && offset > recording->header->packet.offset + LARGE / 2) {
		atomic_store(&victim->ticket, 77);
		victim = NULL;
	}
	return plain.read(owner, offset, to, size);
}

static void notices_that_a_large_packet_is_reused(void **state)
{
	struct recording recording;
	struct thrum_event last;
	char note[160];

	(void)state;
	begin_large(&recording);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, START);
	unsigned count = fill(&writer);
	struct thrum__input input = plain = recording_input(&recording);
	struct thrum_trace *trace;

	input.read = read_and_reuse;
	assert_int_equal(thrum__read_open(&input, NULL, &trace, NULL), 0);
	victim = writer.packet;
	assert_in_range(read_filled(trace, &last, note), count / 4 * 3 / 3, count / 4 * 3 - 1);
	assert_int_equal(last.type, THRUM_EVENT_LOST);
	assert_string_equal(note, "packet overwritten while reading");
	assert_null(victim);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* ---- From a time on ------------------------------------------------------------------------- */

static void log_at(struct recording *recording, uint32_t index, uint64_t lane, uint64_t seq,
	uint64_t ticks)
{
	struct packet_writer writer = packet_writer_begin(recording, index, lane, seq,
		START + ticks);

	for (unsigned i = 0; i < 4; i++)
		add(&writer, ticks + i * 100,
			(struct thrum__record){.type = THRUM__R_LOG, .text = i ? "more" : "first"});
}

static void remember(struct recording *recording, uint32_t id, uint64_t ticks, const char *label)
{
	struct thrum__live_task *task = (void *)(recording->bytes +
		recording->header->live_tasks.offset);

	task += id;
	task->created = START + ticks;
	task->kind = THRUM_KIND_TASK;
	strcpy(task->label, label);
	atomic_store(&task->flags, THRUM__LIVE_LABELLED);
	atomic_store(&task->tag, id);
}

static void leaves_out_what_is_earlier(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	log_at(&recording, 0, 0, 0, 0);
	log_at(&recording, 1, 0, 1, 1000);
	log_at(&recording, 2, 0, 2, 2000);
	log_at(&recording, 3, 5, 0, 1150);
	/* Its creation lies in the packet that is left out. */
	remember(&recording, 9, 100, "old");
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_true(thrum__read_from(trace, 11500));
	thrum_helper_assert_more(trace,
		"1000 0 create* - 9 - task\n"
		"1000 0 label* 9 - - old\n"
		"11500 1 log 6 - - first\n"
		"12000 0 log 1 - - more\n"
		"12500 1 log 6 - - more\n"
		"13000 0 log 1 - - more\n"
		"13500 1 log 6 - - more\n"
		"14500 1 log 6 - - more\n"
		"20000 0 log 1 - - first\n"
		"21000 0 log 1 - - more\n"
		"22000 0 log 1 - - more\n"
		"23000 0 log 1 - - more\n");
	/* The first lane's beginning is missing, the second one's isn't. */
	assert_int_equal(thrum_trace_lane(trace, 0)->first_seq, 2);
	assert_int_equal(thrum_trace_lane(trace, 1)->first_seq, 0);
	thrum_trace_close(trace);
	recording_finish(&recording);
}

/* Adds times off the CPU of lane 0, of 50 ticks each, in place of the last packet. */
static void leave_cpu(struct recording *recording, const uint64_t *ticks, size_t count)
{
	struct thrum__header *h = recording->header;

	h->packets--;
	h->off_cpu.offset = h->packet.offset + (uint64_t)h->packets * h->packet_size;
	h->off_cpu.size = count * sizeof(struct thrum__off_cpu);
	struct thrum__off_cpu *entries = (void *)(recording->bytes + h->off_cpu.offset);

	for (size_t i = 0; i < count; i++)
		entries[i] = (struct thrum__off_cpu){.begin = START + ticks[i],
			.end = START + ticks[i] + 50,
			.kind = THRUM__OFF_BLOCKED};
}

static void keeps_what_begins_with_the_part(void **state)
{
	static const uint64_t ticks[] = {10, 149, 150, 250};
	struct recording recording;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	log_at(&recording, 0, 0, 0, 0);
	leave_cpu(&recording, ticks, 4);
	struct thrum_trace *trace = thrum_helper_open(&recording);

	assert_true(thrum__read_from(trace, 1500));
	thrum_helper_assert_more(trace,
		"1500 0 off-cpu - - 500 blocked\n"
		"2000 0 log 1 - - more\n"
		"2500 0 off-cpu - - 500 blocked\n"
		"3000 0 log 1 - - more\n");
	thrum_trace_close(trace);
	recording_finish(&recording);
}

struct part {
	bool is_part;
	int64_t from, until;
};

static struct part choose(const struct recording *recording, uint64_t most, int64_t from,
	int64_t until)
{
	struct thrum_trace *trace = thrum_helper_open(recording);
	struct part part = {false, from, until};

	part.is_part = thrum__read_window(trace, most, &part.from, &part.until);
	thrum_trace_close(trace);
	return part;
}

#define NEAR(a, b) assert_in_range((a) + 20, (b), (b) + 40)

static void chooses_a_part_of_the_right_size(void **state)
{
	struct recording recording;
	struct part part;

	(void)state;
	recording_init(&recording, THRUM__SIZE_MIN);
	/* Ten packets of 10,000 ns each. */
	for (uint32_t i = 0; i < 10; i++)
		log_at(&recording, i, 0, i, i * 1000);
	uint64_t packet = recording.bytes ? sizeof(struct thrum__packet) + 4 * 4 + 6 + 3 * 5 : 0;

	part = choose(&recording, 11 * packet, INT64_MIN, INT64_MAX);
	assert_false(part.is_part);
	assert_true(part.from == INT64_MIN && part.until == INT64_MAX);
	/* The end, if nothing is asked for; the last part of what is asked for, if that is too large. */
	part = choose(&recording, 2 * packet, INT64_MIN, INT64_MAX);
	assert_true(part.is_part && part.until == INT64_MAX);
	NEAR(part.from, 80000);
	part = choose(&recording, 2 * packet, 10000, 50000);
	assert_int_equal(part.until, 50000);
	NEAR(part.from, 30000);
	/* As much on both sides; more on one where the other has less. */
	part = choose(&recording, 4 * packet, 45000, 55000);
	NEAR(part.from, 30000);
	NEAR(part.until, 70000);
	part = choose(&recording, 4 * packet, 5000, 6000);
	NEAR(part.from, 0);
	NEAR(part.until, 40000);
	part = choose(&recording, 4 * packet, 95000, 96000);
	NEAR(part.from, 60000);
	assert_int_equal(part.until, 96000);
	/* Times outside the trace. */
	part = choose(&recording, 2 * packet, INT64_MAX - 1, INT64_MAX);
	NEAR(part.from, 80000);
	part = choose(&recording, 2 * packet, -50, -5);
	NEAR(part.until, 20000);
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_large_packets_in_chunks),
		cmocka_unit_test(tells_where_a_large_packet_is_cut_off),
		cmocka_unit_test(notices_that_a_large_packet_is_reused),
		cmocka_unit_test(leaves_out_what_is_earlier),
		cmocka_unit_test(keeps_what_begins_with_the_part),
		cmocka_unit_test(chooses_a_part_of_the_right_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
