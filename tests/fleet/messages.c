/* SPDX-License-Identifier: ISC */
/* Recordings become messages, and these become the same recordings: whatever is refused, repeated,
 * lost or damaged on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <thrum/trace.h>
#include <cmocka.h>

#include "fleet/fleet.h"
#include "recording.h"

#define START 2000000u /* ticks */
#define MESSAGES 4096
#define WHOLE ((size_t)4 << 20) /* no recording here is larger */

/* A server in memory. */
struct store {
	struct thrum__fleet_outlet outlet;
	struct {
		char subject[THRUM__FLEET_SUBJECT], id[128], info[THRUM__FLEET_INFO];
		uint8_t *bytes;
		size_t size;
	} messages[MESSAGES];
	size_t count;
	unsigned refuses; /* of 8 messages so many, but for 0; they change with each try */
	unsigned tries;
	size_t tables; /* that came, also again */
};

struct fixture {
	struct recording recording;
	struct thrum__input input;
	struct thrum__fleet_sender *sender;
	struct store store;
	uint8_t *gathered;
	int64_t now;
};

static bool is_there(struct store *store, const struct thrum__fleet_message *m, size_t *at)
{
	for (*at = 0; *at < store->count; ++*at)
		if (m->id ? strcmp(store->messages[*at].id, m->id) == 0
			  : strcmp(store->messages[*at].subject, m->subject) == 0)
			return true;
	return false;
}

static void keep(struct store *store, const struct thrum__fleet_message *m)
{
	size_t at;
	bool is_again = is_there(store, m, &at);

	store->tables += !m->id;
	if (is_again && m->id)
		return;
	assert_true(at < MESSAGES);
	if (is_again)
		free(store->messages[at].bytes);
	snprintf(store->messages[at].subject, THRUM__FLEET_SUBJECT, "%s", m->subject);
	snprintf(store->messages[at].id, 128, "%s", m->id ? m->id : "");
	snprintf(store->messages[at].info, THRUM__FLEET_INFO, "%s", m->info ? m->info : "");
	store->messages[at].bytes = malloc(m->size + 1);
	assert_non_null(store->messages[at].bytes);
	memcpy(store->messages[at].bytes, m->bytes, m->size);
	store->messages[at].size = m->size;
	store->count += !is_again;
}

static int store_send(void *owner, const struct thrum__fleet_message *messages, size_t count,
	bool *stored, struct thrum_error_info *info)
{
	struct store *store = owner;
	int error = 0;

	(void)info;
	assert_in_range(count, 1, THRUM__FLEET_BATCH);
	for (size_t i = 0; i < count; i++) {
		assert_true(messages[i].size <= store->outlet.room || !messages[i].id);
		stored[i] = store->tries++ * 5 % 8 >= store->refuses;
		if (stored[i])
			keep(store, &messages[i]);
		else
			error = -THRUM_E_SYSTEM;
	}
	return error;
}

/* ---- The recording -------------------------------------------------------------------------- */

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof *f);

	assert_non_null(f);
	recording_init(&f->recording, THRUM__SIZE_MIN);
	f->recording.header->state = THRUM__RECORDING;
	f->input = recording_input(&f->recording);
	f->store.outlet = (struct thrum__fleet_outlet){&f->store, 1024, 0, store_send};
	f->gathered = calloc(1, WHOLE);
	assert_non_null(f->gathered);
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &f->sender, NULL), 0);
	assert_string_equal(thrum__fleet_sender_key(f->sender),
		"test.web.30313233343536373839616263646566");
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	thrum__fleet_sender_destroy(f->sender);
	for (size_t i = 0; i < f->store.count; i++)
		free(f->store.messages[i].bytes);
	recording_finish(&f->recording);
	free(f->gathered);
	free(f);
	return 0;
}

/* Writes the lane's packet number `seq`, with one record. */
static struct packet_writer packet(struct fixture *f, uint32_t index, uint64_t seq,
	const char *text)
{
	struct packet_writer writer = packet_writer_begin(&f->recording, index, 0, seq,
		START + 10 * seq);

	packet_writer_log(&writer, START + 10 * seq, text);
	return writer;
}

static int64_t step(struct fixture *f, bool is_due, bool is_over)
{
	const struct thrum__fleet_moment moment = {is_over ? 0 : START + 1000, f->now, is_over,
		is_over, is_due};

	return thrum__fleet_sender_step(f->sender, &f->store.outlet, &moment, NULL);
}

/* ---- Reading back --------------------------------------------------------------------------- */

static int write_gathered(void *owner, uint64_t offset, const void *from, size_t size)
{
	struct fixture *f = owner;

	assert_true(offset <= WHOLE && size <= WHOLE - offset);
	memcpy(f->gathered + offset, from, size);
	return 0;
}

static void give_tables(struct fixture *f, struct thrum__fleet_gather *g)
{
	uint32_t part;

	for (size_t i = 0; i < f->store.count; i++)
		if (*f->store.messages[i].subject && !*f->store.messages[i].id) {
			assert_true(thrum__fleet_get_part(f->store.messages[i].subject, &part));
			assert_int_equal(thrum__fleet_gather_table(g, part,
						 f->store.messages[i].bytes,
						 f->store.messages[i].size),
				0);
		}
}

static void give_pieces(struct fixture *f, struct thrum__fleet_gather *g)
{
	struct thrum__fleet_piece piece;

	for (size_t i = f->store.count; i-- > 0;)
		if (*f->store.messages[i].id) {
			assert_true(thrum__fleet_get_piece(f->store.messages[i].info, &piece));
			assert_int_equal(thrum__fleet_gather_piece(g, &piece,
						 f->store.messages[i].bytes,
						 f->store.messages[i].size),
				0);
		}
}

/* Gathers all messages, and checks the texts of the events, the losses and the end. */
static void check(struct fixture *f, const char *expected, uint64_t lost, enum thrum_ending ending)
{
	struct thrum__output output = {f, write_gathered};
	struct thrum__fleet_gather *g;
	const struct thrum_event *events;
	struct thrum_trace *trace;
	char texts[512] = "";
	size_t count;

	memset(f->gathered, 0, WHOLE);
	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	give_pieces(f, g);
	give_pieces(f, g);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_end(g), 0);
	thrum__fleet_gather_destroy(g);
	assert_int_equal(thrum_trace_open_memory(f->gathered, WHOLE, &trace, NULL), 0);
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			strcat(texts, events[i].text);
			strcat(texts, ";");
		}
	assert_string_equal(texts, expected);
	assert_int_equal(thrum_trace_info(trace)->lost_total, lost);
	assert_int_equal(thrum_trace_info(trace)->ending, ending);
	thrum_trace_close(trace);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void sends_packets_as_they_grow(void **state)
{
	struct fixture *f = *state;
	struct packet_writer last;

	last = packet(f, 0, 0, "zero");
	assert_int_equal(step(f, false, false), 0);
	assert_int_equal(f->store.count, 0);
	assert_int_equal(step(f, true, false), 0);
	check(f, "zero;", 0, THRUM_ENDING_COPIED);
	packet_writer_log(&last, START + 1, "more");
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, false, false), 1);
	check(f, "zero;more;", 0, THRUM_ENDING_COPIED);
	size_t before = f->store.count;

	/* All is there: only the one that is not finished follows. */
	assert_int_equal(step(f, true, true), 1);
	assert_int_equal(f->store.count, before + 1);
	assert_true(thrum__fleet_sender_is_done(f->sender));
	check(f, "zero;more;one;", 0, THRUM_ENDING_GONE);
	assert_int_equal(thrum__fleet_sender_count(f->sender)->packets, 2);
}

static void splits_large_packets(void **state)
{
	struct fixture *f = *state;
	struct packet_writer writer = packet(f, 0, 0, "first");
	char text[200];

	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (unsigned i = 1; i < 15; i++)
		packet_writer_log(&writer, START + i, text);
	packet_writer_log(&writer, START + 20, "last");
	assert_int_equal(step(f, true, true), 1);
	assert_int_equal(thrum__fleet_sender_count(f->sender)->packets, 1);
	struct thrum__output output = {f, write_gathered};
	struct thrum__fleet_gather *g;
	struct thrum__fleet_gathered gathered;

	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	/* Without its beginning it is none. */
	for (size_t i = 0; i < f->store.count; i++) {
		struct thrum__fleet_piece piece;

		if (*f->store.messages[i].id &&
			thrum__fleet_get_piece(f->store.messages[i].info, &piece) && piece.from > 0)
			assert_int_equal(thrum__fleet_gather_piece(g, &piece,
						 f->store.messages[i].bytes,
						 f->store.messages[i].size),
				0);
	}
	thrum__fleet_gather_look(g, &gathered);
	assert_int_equal(gathered.packets, 0);
	assert_int_equal(gathered.incomplete, 1);
	give_pieces(f, g);
	thrum__fleet_gather_look(g, &gathered);
	assert_int_equal(gathered.packets, 1);
	assert_int_equal(gathered.incomplete, 0);
	thrum__fleet_gather_destroy(g);
}

static void sends_again_what_is_refused(void **state)
{
	struct fixture *f = *state;
	struct packet_writer writer;
	char text[16], expected[512] = "";

	f->store.refuses = 5;
	for (unsigned i = 0; i < 20; i++) {
		snprintf(text, sizeof text, "%u", i);
		strcat(expected, text);
		strcat(expected, ";more;");
		writer = packet(f, i, i, text);
		packet_writer_log(&writer, START + 10 * i + 1, "more");
		(void)step(f, true, false);
	}
	for (unsigned i = 0; i < 1000 && !thrum__fleet_sender_is_done(f->sender); i++)
		(void)step(f, true, true);
	assert_true(thrum__fleet_sender_is_done(f->sender));
	check(f, expected, 0, THRUM_ENDING_GONE);
	assert_int_equal(thrum__fleet_sender_count(f->sender)->overwritten, 0);
}

static void counts_what_is_overwritten(void **state)
{
	struct fixture *f = *state;

	packet(f, 0, 0, "zero");
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, true, false), 1);
	f->store.refuses = 8;
	packet(f, 2, 2, "two");
	assert_true(step(f, true, false) < 0);
	/* While nothing is stored, the recorder goes round: 2 is seen and lost, 3 is never seen. */
	packet(f, 2, 3, "three");
	packet(f, 2, 4, "four");
	packet(f, 3, 5, "five");
	f->store.refuses = 0;
	assert_int_equal(step(f, true, true), 2);
	assert_int_equal(thrum__fleet_sender_count(f->sender)->overwritten, 2);
	check(f, "zero;one;2 packets overwritten;four;five;", 2, THRUM_ENDING_GONE);
}

static void counts_what_is_stored(void **state)
{
	struct fixture *f = *state;
	const struct thrum__fleet_count *count = thrum__fleet_sender_count(f->sender);
	struct packet_writer writer = packet(f, 0, 0, "first");
	struct thrum__fleet_piece piece;
	size_t at = 0;

	f->now = INT64_C(1900000000) * 1000000000;
	assert_in_range(step(f, true, false), 0, 1);
	assert_int_equal(count->records, 1);
	while (!f->store.messages[at].id[0])
		at++;
	assert_true(thrum__fleet_get_piece(f->store.messages[at].info, &piece));
	assert_int_equal(count->late, f->now - piece.begin);
	assert_int_equal(count->record_rate, 0);
	/* Four more in two seconds. */
	writer = packet(f, 1, 1, "second");
	for (int i = 1; i <= 3; i++)
		packet_writer_log(&writer, START + 10 + i, "more");
	f->now += 2000000000;
	assert_in_range(step(f, true, false), 0, 2);
	assert_int_equal(count->records, 5);
	assert_int_equal(count->record_rate, 2);
	assert_true(count->byte_rate > 0);
	/* The rates are those of the last seconds. */
	for (int i = 0; i < 12; i++) {
		f->now += 1000000000;
		assert_int_equal(step(f, true, false), 0);
	}
	assert_int_equal(count->record_rate, 0);
	assert_int_equal(count->records, 5);
}

static void rests_while_nothing_comes(void **state)
{
	struct fixture *f = *state;
	size_t before, pieces;

	packet(f, 0, 0, "zero");
	f->now = INT64_C(1900000000) * 1000000000;
	for (int i = 0; i < 2; i++)
		assert_in_range(step(f, true, false), 0, 1);
	/* The header changes, but isn't sent for some seconds. */
	before = f->store.tables;
	for (int i = 0; i < 3; i++) {
		f->now += 1000000000;
		atomic_fetch_add(&f->recording.header->lost[0], 1);
		assert_int_equal(step(f, true, false), 0);
	}
	assert_int_equal(f->store.tables, before);
	f->now += 1000000000;
	assert_int_equal(step(f, true, false), 0);
	assert_true(f->store.tables > before);
	/* New packets are sent at once. */
	pieces = thrum__fleet_sender_count(f->sender)->pieces;
	f->now += 1000000000;
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, true, false), 1);
	assert_true(thrum__fleet_sender_count(f->sender)->pieces > pieces);
}

static void begins_again(void **state)
{
	struct fixture *f = *state;
	struct thrum__fleet_sender *sender;
	uint64_t streams = 0;
	size_t size, before;
	const void *saved;
	void *copy;

	packet(f, 0, 0, "zero");
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, true, false), 1);
	saved = thrum__fleet_sender_save(f->sender, 17, &size);
	copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, saved, size);
	before = f->store.count;
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL), 0);
	thrum__fleet_sender_destroy(f->sender);
	f->sender = sender;
	for (size_t cut = 0; cut < size; cut += 1 + cut / 16)
		assert_false(thrum__fleet_sender_restore(sender, copy, cut, &streams));
	assert_int_equal(streams, 0);
	assert_true(thrum__fleet_sender_restore(sender, copy, size, &streams));
	assert_int_equal(streams, 17);
	free(copy);
	packet(f, 2, 2, "two");
	assert_int_equal(step(f, true, true), 2);
	/* Only the new packet is sent; each part of the tables replaces itself. */
	assert_int_equal(f->store.count, before + 1);
	check(f, "zero;one;two;", 0, THRUM_ENDING_GONE);
	/* An agent that has lost its positions sends all again, and nothing is there twice. */
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL), 0);
	thrum__fleet_sender_destroy(f->sender);
	f->sender = sender;
	assert_int_equal(step(f, true, true), 3);
	check(f, "zero;one;two;", 0, THRUM_ENDING_GONE);
}

/* The server drops what is old: parts of the tables come again before, not all at once. */
static void sends_tables_again(void **state)
{
	struct fixture *f = *state;
	size_t parts, sent;

	packet(f, 0, 0, "zero");
	f->now = 1000000;
	assert_int_equal(step(f, true, false), 0);
	parts = f->store.count - 1;
	sent = f->store.tables;
	assert_in_range(parts, 3, 16);
	/* It keeps all. */
	f->now += 1000000;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent);
	f->store.outlet.age = 1600000;
	f->now += 25000;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent + parts);
	f->now += 399999;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent + parts);
	f->now += 25000;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent + parts + 1);
	f->now += 375000;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent + 2 * parts);
	/* The clock is set back. */
	f->now = 0;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.tables, sent + 3 * parts);
	check(f, "zero;", 0, THRUM_ENDING_COPIED);
}

/* A packet that grows for long is sent again from its beginning. */
static void sends_beginnings_again(void **state)
{
	struct fixture *f = *state;
	struct packet_writer writer = packet(f, 0, 0, "zero");
	size_t before;

	f->store.outlet.age = 1600000;
	f->now = 1000000;
	assert_int_equal(step(f, true, false), 0);
	f->now += 150000;
	packet_writer_log(&writer, START + 1, "one");
	assert_int_equal(step(f, true, false), 0);
	/* Nothing is new in it. */
	f->now += 150000;
	before = f->store.count;
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.count, before);
	packet_writer_log(&writer, START + 2, "two");
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(f->store.count, before + 1);
	/* The server drops the older messages. */
	for (size_t i = 0; i + 1 < f->store.count; i++)
		if (*f->store.messages[i].id)
			*f->store.messages[i].subject = *f->store.messages[i].id = '\0';
	check(f, "zero;one;two;", 0, THRUM_ENDING_COPIED);
}

static void definitions_come_first(void **state)
{
	struct fixture *f = *state;
	struct thrum__output output = {f, write_gathered};
	struct thrum__fleet_gather *g;
	struct packet_writer writer = packet(f, 0, 0, "zero");

	assert_int_equal(step(f, true, false), 0);
	recording_define(&f->recording, 1, THRUM__DEFINES_TAG, 0, "urgent", 7);
	packet_writer_log(&writer, START + 1, "more");
	packet(f, 1, 1, "one");
	size_t before = f->store.count;

	assert_int_equal(step(f, false, false), 1);
	/* The part that has it was replaced before the piece came. */
	assert_int_equal(f->store.count, before + 1);
	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	assert_int_equal(thrum__fleet_gather_end(g), 0);
	const struct thrum__definition *cells = (const void *)(f->gathered +
		thrum__fleet_gather_header(g)->definitions.offset);

	assert_string_equal(cells[1].text, "urgent");
	thrum__fleet_gather_destroy(g);
}

/* The recording's file is shorter than its header says. */
static uint64_t size_without_table(void *owner)
{
	const struct recording *recording = owner;

	return recording->header->size - recording->header->off_cpu.size;
}

static void leaves_out_a_damaged_table(void **state)
{
	struct fixture *f = *state;
	struct thrum__fleet_sender *sender;

	f->input.size = size_without_table;
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL), 0);
	thrum__fleet_sender_destroy(f->sender);
	f->sender = sender;
	packet(f, 0, 0, "zero");
	assert_int_equal(step(f, true, false), 0);
	packet(f, 1, 1, "one");
	f->recording.header->off_cpu = (struct thrum__section){f->recording.header->size - 4096,
		4096};
	assert_int_equal(step(f, true, true), 2);
	assert_true(thrum__fleet_sender_is_done(f->sender));
	check(f, "zero;one;", 0, THRUM_ENDING_GONE);
	/* It stays so if the agent looks again. */
	assert_int_equal(step(f, true, true), 0);
	check(f, "zero;one;", 0, THRUM_ENDING_GONE);
}

/* At the end the recording has more packets than it had room for. */
static void takes_packets_that_were_added(void **state)
{
	struct fixture *f = *state;
	const uint32_t packets = f->recording.header->packets;
	struct thrum__fleet_sender *sender;

	f->recording.header->packets = 1;
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL), 0);
	thrum__fleet_sender_destroy(f->sender);
	f->sender = sender;
	packet(f, 0, 0, "zero");
	assert_int_equal(step(f, true, false), 0);
	f->recording.header->packets = packets;
	packet(f, packets - 1, 1, "one");
	assert_int_equal(step(f, true, true), 2);
	assert_true(thrum__fleet_sender_is_done(f->sender));
	check(f, "zero;one;", 0, THRUM_ENDING_GONE);
}

/* Appends the texts of what a trace has further. Returns as thrum_trace_refresh does. */
static int read_on(struct thrum_trace *trace, char texts[512])
{
	const struct thrum_event *events;
	size_t count;
	int result = thrum_trace_refresh(trace, 0, NULL);

	texts[0] = '\0';
	while (thrum_trace_next(trace, &events, &count, NULL) == 1)
		for (size_t i = 0; i < count; i++) {
			strcat(texts, events[i].text);
			strcat(texts, ";");
		}
	return result;
}

/* Gives all that has come to a recording that goes on. */
static void give_news(struct fixture *f, struct thrum__fleet_gather *g, bool is_over)
{
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_write_tables(g), 0);
	give_pieces(f, g);
	assert_int_equal(thrum__fleet_gather_write_header(g, is_over), 0);
}

static void goes_on(void **state)
{
	struct fixture *f = *state;
	struct thrum__output output = {f, write_gathered};
	const uint32_t packets = f->recording.header->packets;
	struct thrum__fleet_gather *g;
	struct thrum_trace *trace;
	struct packet_writer writer = packet(f, 0, 0, "zero");
	char texts[512], expected[512];

	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	give_pieces(f, g);
	assert_int_equal(thrum__fleet_gather_go_on(g, INT64_MIN), 0);
	assert_int_equal(thrum_trace_open_memory(f->gathered, WHOLE, &trace, NULL), 0);
	assert_string_equal(thrum_trace_info(trace)->state, "recording");
	assert_int_equal(read_on(trace, texts), 1);
	assert_string_equal(texts, "zero;");
	packet_writer_log(&writer, START + 1, "more");
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, true, false), 1);
	give_news(f, g, false);
	assert_int_equal(read_on(trace, texts), 1);
	assert_string_equal(texts, "more;one;");
	/* A reader that doesn't look while the ring goes round is told. Each packet is stored. */
	for (uint32_t seq = 2; seq < packets + 12; seq++) {
		snprintf(texts, sizeof texts, "%u", seq);
		packet(f, seq % packets, seq, seq + 2 < packets + 12 ? "." : texts);
		assert_int_equal(step(f, true, false), 1);
	}
	for (size_t i = 0; i < f->store.count; i++) {
		struct thrum__fleet_piece piece;

		if (thrum__fleet_get_piece(f->store.messages[i].info, &piece))
			assert_int_equal(thrum__fleet_gather_piece(g, &piece,
						 f->store.messages[i].bytes,
						 f->store.messages[i].size),
				0);
	}
	assert_false(thrum__fleet_gather_has_ending(g));
	assert_int_equal(step(f, true, true), 1);
	give_tables(f, g);
	assert_true(thrum__fleet_gather_has_ending(g));
	assert_int_equal(thrum__fleet_gather_write_header(g, true), 0);
	assert_int_equal(read_on(trace, texts), 1);
	assert_non_null(strstr(texts, ";10 packets overwritten;.;"));
	snprintf(expected, sizeof expected, ".;%u;%u;", packets + 10, packets + 11);
	assert_string_equal(texts + strlen(texts) - strlen(expected), expected);
	assert_int_equal(thrum_trace_info(trace)->ending, THRUM_ENDING_GONE);
	assert_int_equal(read_on(trace, texts), 0);
	thrum_trace_close(trace);
	thrum__fleet_gather_destroy(g);
}

static void refuses_copies(void **state)
{
	struct fixture *f = *state;
	struct thrum__fleet_sender *sender;

	f->recording.header->state = THRUM__SNAPSHOT;
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL),
		-THRUM_E_ARGUMENT);
	f->recording.header->magic[0] = 'x';
	assert_int_equal(thrum__fleet_sender_create(&f->input, NULL, "web", &sender, NULL),
		-THRUM_E_FORMAT);
}

static void refuses_bad_messages(void **state)
{
	struct fixture *f = *state;
	struct thrum__output output = {f, write_gathered};
	struct thrum__fleet_gather *g;
	struct thrum__fleet_piece piece = {0, 1, 0, 4096, 0, 0};
	const uint32_t beyond[] = {THRUM__FLEET_PART, 1, 0}, cut[] = {0, 9, 0};
	const struct {
		uint32_t offset, size;
		struct thrum__section section;
	} moved = {offsetof(struct thrum__header, off_cpu), sizeof moved.section, {8, UINT64_MAX}};
	uint8_t byte = 0;

	packet(f, 0, 0, "zero");
	assert_int_equal(step(f, true, false), 0);
	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), -THRUM_E_DAMAGED);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	assert_int_equal(thrum__fleet_gather_table(g, 1, beyond, 9), -THRUM_E_DAMAGED);
	assert_int_equal(thrum__fleet_gather_table(g, 1, cut, sizeof cut), -THRUM_E_DAMAGED);
	assert_int_equal(thrum__fleet_gather_table(g, 1, cut, 5), -THRUM_E_DAMAGED);
	assert_int_equal(thrum__fleet_gather_table(g, 2000, NULL, 0), -THRUM_E_DAMAGED);
	assert_int_equal(thrum__fleet_gather_piece(g, &piece, &byte, 0), -THRUM_E_DAMAGED);
	piece.from = 4096;
	assert_int_equal(thrum__fleet_gather_piece(g, &piece, &byte, 1), -THRUM_E_DAMAGED);
	piece.packet_size = 8192;
	assert_int_equal(thrum__fleet_gather_piece(g, &piece, &byte, 1), -THRUM_E_DAMAGED);
	/* A later header doesn't change the layout. */
	assert_int_equal(thrum__fleet_gather_table(g, 0, &moved, sizeof moved), 0);
	assert_int_equal(thrum__fleet_gather_end(g), 0);
	const struct thrum__header *header = (const void *)f->gathered;

	assert_int_equal(header->off_cpu.size, 0);
	thrum__fleet_gather_destroy(g);
}

/* A later header without one would make the recording unreadable. */
static void keeps_the_frequency(void **state)
{
	struct fixture *f = *state;
	struct thrum__output output = {f, write_gathered};
	const struct thrum__header *header = (const void *)f->gathered;
	uint64_t frequency = f->recording.header->clock_frequency;
	struct thrum__fleet_gather *g;
	struct {
		uint32_t offset, size;
		uint8_t header[sizeof *header];
	} damaged = {0, sizeof *header, {0}};

	packet(f, 0, 0, "zero");
	packet(f, 1, 1, "one");
	assert_int_equal(step(f, true, false), 1);
	assert_int_equal(thrum__fleet_gather_create(&output, &g), 0);
	give_tables(f, g);
	assert_int_equal(thrum__fleet_gather_begin(g, NULL), 0);
	give_pieces(f, g);
	f->recording.header->clock_frequency = 0;
	memcpy(damaged.header, f->recording.header, sizeof *header);
	assert_int_equal(thrum__fleet_gather_table(g, 0, &damaged, sizeof damaged), 0);
	assert_int_equal(thrum__fleet_gather_end(g), 0);
	assert_int_equal(header->clock_frequency, frequency);
	thrum__fleet_gather_destroy(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sends_packets_as_they_grow, set_up, tear_down),
		cmocka_unit_test_setup_teardown(splits_large_packets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sends_again_what_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_what_is_overwritten, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_what_is_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rests_while_nothing_comes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(begins_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sends_tables_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sends_beginnings_again, set_up, tear_down),
		cmocka_unit_test_setup_teardown(definitions_come_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(leaves_out_a_damaged_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(takes_packets_that_were_added, set_up, tear_down),
		cmocka_unit_test_setup_teardown(goes_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_copies, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refuses_bad_messages, set_up, tear_down),
		cmocka_unit_test_setup_teardown(keeps_the_frequency, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
