/* SPDX-License-Identifier: ISC */
/* A sample has the live tasks by label and the time that lanes spent, of good recordings and of
 * damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "format/counters.h"
#include "monitor/metrics.h"
#include "recording.h"

#define SIZE (512 << 10)
#define START 1000000u /* ticks of the reading; a tick is 10 ns */
#define OWN 64

static struct thrum__monitor *monitor;
static const struct thrum__monitor_sample *sample;

static void look_at(struct recording *recording)
{
	const struct thrum__input input = recording_input(recording);

	assert_int_equal(thrum__monitor_create(&input, recording->header, &monitor), 0);
}

/* Samples at the time START + ticks. */
static void sample_at(struct recording *recording, uint64_t ticks)
{
	recording->header->ended = START + ticks;
	assert_int_equal(thrum__monitor_take_sample(monitor,
				 THRUM__MONITOR_TASKS | THRUM__MONITOR_LANES, 0, &sample),
		0);
}

static void add_live(struct recording *recording, uint64_t id, const char *label, unsigned flags,
	uint64_t age)
{
	struct thrum__header *header = recording->header;
	uint64_t cells = header->live_tasks.size / sizeof(struct thrum__live_task);
	struct thrum__live_task *cell = (struct thrum__live_task *)(recording->bytes +
						header->live_tasks.offset) +
		id % cells;

	cell->tag = (uint32_t)id;
	cell->id_high = (uint32_t)(id >> 32);
	cell->created = START + 1000000 - age;
	cell->kind = THRUM_KIND_REQUEST;
	cell->flags = (uint8_t)flags;
	strcpy(cell->label, label);
}

static void tasks_are_grouped_by_label(void **state)
{
	const uint64_t high = UINT64_C(5) << 32;
	struct recording recording;

	(void)state;
	recording_init(&recording, SIZE);
	add_live(&recording, 1, "GET /user/17", THRUM__LIVE_LABELLED, 200);
	add_live(&recording, 2, "GET /user/4", THRUM__LIVE_SHOULD_RESOLVE, 300);
	add_live(&recording, high + 3, "", 0, 1000000);
	add_live(&recording, 4, "(request)", THRUM__LIVE_LABELLED, 0);
	add_live(&recording, OWN, "loop", THRUM__LIVE_LANE, 5);
	add_live(&recording, 6, "a label of forty-seven byt\xc3\xa9s that is cut off h\xc3",
		THRUM__LIVE_CUT, 5);
	look_at(&recording);
	for (int i = 0; i < 2; i++) {
		sample_at(&recording, 1000000);
		assert_int_equal(sample->task_count, 6);
		assert_int_equal(sample->group_count, 4);
		assert_string_equal(sample->groups[0].label, "GET /user/#");
		assert_int_equal(sample->groups[0].count, 2);
		assert_int_equal(sample->groups[0].should_resolve, 1);
		assert_int_equal(sample->groups[0].oldest, 3000);
		assert_int_equal(sample->groups[0].youngest, 2000);
		assert_int_equal(sample->tasks[sample->groups[0].oldest_task].id, 2);
		assert_string_equal(sample->groups[1].label, "(request)");
		assert_int_equal(sample->groups[1].oldest, 10000000);
		assert_false(sample->groups[1].is_labelled);
		assert_string_equal(sample->groups[2].label, "(request)");
		assert_true(sample->groups[2].is_labelled);
		assert_non_null(strstr(sample->groups[3].label, "off h\xe2\x80\xa6"));
		assert_int_equal(thrum__monitor_find(monitor, high + 3)->age, 10000000);
		assert_int_equal(thrum__monitor_find(monitor, OWN)->group, THRUM__MONITOR_NO_GROUP);
		assert_null(thrum__monitor_find(monitor, 3));
		assert_null(thrum__monitor_find(monitor, 0));
	}
	thrum__monitor_destroy(monitor);
	recording_finish(&recording);
}

static void add(struct packet_writer *writer, enum thrum__record_type type, uint64_t task,
	uint64_t ticks)
{
	assert_true(packet_writer_add(writer,
		&(struct thrum__record){.type = type, .task = task, .other = task}, START + ticks));
}

static void add_value(struct packet_writer *writer, uint16_t definition, int64_t value,
	uint64_t ticks)
{
	assert_true(packet_writer_add(writer,
		&(struct thrum__record){.type = THRUM__R_COUNTER,
			.def = definition,
			.value = value},
		START + ticks));
}

static void check_lane(uint32_t index, int64_t span, int64_t in_tasks, int64_t in_own,
	int64_t suspended, uint64_t records)
{
	const struct thrum__monitor_lane *lane = &sample->lanes[index];

	assert_true(index < sample->lane_count);
	assert_int_equal(lane->span, span * 10);
	assert_int_equal(lane->in_tasks, in_tasks * 10);
	assert_int_equal(lane->in_own, in_own * 10);
	assert_int_equal(lane->suspended, suspended * 10);
	assert_int_equal(lane->records, records);
}

static void lanes_tell_how_they_spent_their_time(void **state)
{
	struct recording recording;

	(void)state;
	recording_init(&recording, SIZE);
	add_live(&recording, OWN, "loop 1", THRUM__LIVE_LANE, 5);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 3, 0, START);

	writer.packet->own = writer.packet->running = OWN;
	add(&writer, THRUM__R_SWITCH, 7, 100);
	add(&writer, THRUM__R_SWITCH, OWN, 400);
	add(&writer, THRUM__R_SUSPEND, 0, 500);
	look_at(&recording);
	sample_at(&recording, 1000);
	assert_int_equal(sample->lane_count, 1);
	assert_int_equal(sample->lanes[0].number, 3);
	assert_string_equal(sample->lanes[0].name, "loop 1");
	assert_true(sample->lanes[0].is_alive && sample->lanes[0].is_suspended);
	check_lane(0, 1000, 300, 200, 500, 3);
	/* Nothing new. */
	sample_at(&recording, 1500);
	check_lane(0, 500, 0, 0, 500, 0);
	/* More in the same packet; then another packet and another lane. */
	add(&writer, THRUM__R_RESUME, 0, 1600);
	sample_at(&recording, 1700);
	check_lane(0, 200, 0, 100, 100, 1);
	add(&writer, THRUM__R_SWITCH, UINT64_C(1) << 50, 1800);
	struct packet_writer next = packet_writer_begin(&recording, 1, 3, 1, START + 1900);

	next.packet->own = OWN;
	next.packet->running = UINT64_C(1) << 50;
	add(&next, THRUM__R_SWITCH, OWN, 2000);
	struct packet_writer other = packet_writer_begin(&recording, 2, 1, 0, START + 2000);

	other.packet->own = other.packet->running = 9;
	sample_at(&recording, 2100);
	assert_int_equal(sample->lane_count, 2);
	assert_int_equal(sample->lanes[0].number, 1);
	assert_false(sample->lanes[0].is_alive);
	check_lane(0, 100, 0, 100, 0, 0);
	check_lane(1, 400, 200, 200, 0, 2);
	assert_int_equal(sample->lanes[1].running, OWN);
	/* The lane went on, and its packets were overwritten. */
	struct packet_writer late = packet_writer_begin(&recording, 1, 3, 7, START + 9000);

	late.packet->own = OWN;
	late.packet->running = 11;
	add(&late, THRUM__R_SUSPEND, 0, 9500);
	sample_at(&recording, 10000);
	check_lane(1, 1000, 500, 0, 500, 1);
	thrum__monitor_destroy(monitor);
	recording_finish(&recording);
}

static void exemplars_are_the_greatest_of_a_look(void **state)
{
	static const char path[] = "net/latency";
	struct recording recording;

	(void)state;
	recording_init(&recording, SIZE);
	recording_define(&recording, 3, THRUM__DEFINES_COUNTER, THRUM_COUNTER_DISTRIBUTION, path,
		sizeof path);
	struct packet_writer writer = packet_writer_begin(&recording, 0, 0, 0, START);

	writer.packet->own = writer.packet->running = OWN;
	add_value(&writer, 3, 1000, 10); /* outside of tasks */
	add(&writer, THRUM__R_SWITCH, 7, 20);
	add_value(&writer, 3, 50, 30);
	add_value(&writer, 9, 50, 31); /* there is no such definition */
	add(&writer, THRUM__R_SWITCH, 8, 40);
	add_value(&writer, 3, -6, 50);
	look_at(&recording);
	sample_at(&recording, 60);
	assert_int_equal(sample->exemplar_count, 1);
	assert_string_equal(sample->exemplars[0].path, path);
	assert_int_equal(sample->exemplars[0].value, 50);
	assert_int_equal(sample->exemplars[0].task, 7);
	sample_at(&recording, 70);
	assert_int_equal(sample->exemplars[0].task, 7);
	add_value(&writer, 3, -(INT64_C(1) << 40), 80);
	sample_at(&recording, 90);
	assert_int_equal(sample->exemplars[0].task, 8);
	assert_int_equal(sample->exemplars[0].value, -(INT64_C(1) << 40));
	thrum__monitor_destroy(monitor);
	recording_finish(&recording);
}

/* Reads the counters and writes everything as metrics, which must be whole lines. */
static void write_metrics(struct recording *recording)
{
	const struct thrum__input input = recording_input(recording);
	struct thrum__read_counters counters;
	struct thrum__base_text text = thrum__base_text_growing();

	assert_int_equal(thrum__read_counters(&input, recording->header, &counters), 0);
	const struct thrum__monitor_source source = {"pro\"gram\n", 7, false, sample, &counters};

	assert_int_equal(thrum__monitor_metrics(&source, 1, THRUM__METRICS_OPENMETRICS, &text), 0);
	assert_int_equal(strlen(text.bytes), text.size);
	assert_int_equal(strcmp(text.bytes + text.size - 6, "# EOF\n"), 0);
	for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n"))
		assert_true(line[0] == '#' || strchr(line, '}'));
	thrum__base_text_free(&text);
	thrum__read_counters_free(&counters);
}

/* Makes counters of each kind, as the recorder's pages have them. */
static void add_counters(struct recording *recording)
{
	struct thrum__counters_page *page = (struct thrum__counters_page *)(recording->bytes +
		recording->header->counters.offset);
	const char *const paths[] = {"a/gauge", "a/latency-us", "b\xff"};

	page->version = THRUM__COUNTERS_VERSION;
	for (unsigned i = 0; i < 3; i++) {
		struct thrum__counters_name *name = (struct thrum__counters_name *)page->words[i];

		name->kind = i == 1 ? THRUM_COUNTER_DISTRIBUTION : i;
		strcpy(name->path, paths[i]);
		page->tags[i] = thrum__format_counters_tag(THRUM__COUNTERS_NAME, i);
	}
	page->tags[3] = thrum__format_counters_tag(THRUM__COUNTERS_VALUES, 0);
	page->words[3][0] = 5;
	page->tags[4] = thrum__format_counters_tag(THRUM__COUNTERS_SUMS, 1);
	page->tags[5] = thrum__format_counters_tag(THRUM__COUNTERS_BUCKETS + 7, 1);
	page->words[5][3] = 12;
}

/* Samples a recording, a part of which changes at random between the samples. */
static void damage_does_no_harm(void **state)
{
	struct recording recording;
	uint32_t random = 1;

	(void)state;
	recording_init(&recording, SIZE);
	add_live(&recording, OWN, "loop 1", THRUM__LIVE_LANE, 5);
	add_live(&recording, 7, "task", 0, 5);
	for (unsigned p = 0; p < 4; p++) {
		struct packet_writer writer = packet_writer_begin(&recording, p, p / 2, p % 2,
			START + p);

		writer.packet->own = writer.packet->running = OWN;
		for (unsigned i = 0; i < 50; i++)
			add(&writer, i % 3 ? THRUM__R_SWITCH : THRUM__R_SUSPEND, i, 10 * i + p);
	}
	add_counters(&recording);
	look_at(&recording);
	for (unsigned i = 0; i < 20000; i++) {
		uint64_t at;

		random = random * 1664525 + 1013904223;
		at = recording.header->live_tasks.offset +
			(random >> 8) % (SIZE - recording.header->live_tasks.offset);
		/* Most of the packets' bytes are never read. */
		if (i % 2)
			at = recording.header->packet.offset +
				random % 4 * recording.header->packet_size + (random >> 8) % 700;
		if (i % 5 == 0)
			at = recording.header->counters.offset + (random >> 8) % 1000;
		recording.bytes[at] = (uint8_t)(random >> 20);
		recording.header->packets_used = i % 100 ? 4 : UINT32_MAX;
		sample_at(&recording, i);
		if (i % 50 == 0)
			write_metrics(&recording);
	}
	thrum__monitor_destroy(monitor);
	recording_finish(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_are_grouped_by_label),
		cmocka_unit_test(lanes_tell_how_they_spent_their_time),
		cmocka_unit_test(exemplars_are_the_greatest_of_a_look),
		cmocka_unit_test(damage_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
