/* SPDX-License-Identifier: ISC */
/* `thrum fleet`: the machines and programs of which a NATS server keeps recordings. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "answer/why.h"
#include "base/json.h"
#include "fleet/fleet.h"
#include "line/interrupt.h"
#include "line/output.h"
#include "line/text.h"
#include "port/port.h"
#include "server/fleet_findings.h"
#include "source/input.h"
#include "trace/input.h"
#include "trace/load.h"
#include "words/words.h"

#define SECOND INT64_C(1000000000)
#define SILENT (10 * SECOND) /* an agent reports each four seconds at least */
/* top looks for findings after this time at the earliest, and no more than a tenth of the time. */
#define FINDINGS_PAUSE (10 * SECOND)
#define FINDINGS_SHARE 9
#define FINDINGS_TIME (600 * SECOND) /* so far back, if the address names no time */

enum {
	FORMAT_TEXT,
	FORMAT_TSV,
	FORMAT_JSON
};

struct fleet_options {
	int format;
	bool findings;
	int64_t interval;
	uint64_t count;
};

struct row {
	struct thrum__fleet_known known;
	uint64_t lost;        /* events that the recorder couldn't record */
	uint64_t overwritten; /* packets that weren't stored in time */
	const char *state;
	const struct fleet_found *found; /* NULL: it wasn't looked at */
};

struct fleet {
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server;
	const char *name; /* the address, as it was given */
	struct row *rows;
	size_t count;
	int64_t now;
	struct fleet_findings *found; /* NULL: they aren't asked for */
};

/* ---- Looking --------------------------------------------------------------------------------- */

static const char *state_of(const struct thrum__fleet_known *known, int64_t now)
{
	switch (atomic_load(&known->header.ending)) {
	case THRUM__ENDED_STOPPED: return "stopped";
	case THRUM__ENDED_EXITED: return "exited";
	case THRUM__ENDED_KILLED: return "killed";
	case THRUM__ENDED_GONE: return "gone";
	default: return now - known->told > SILENT ? "silent" : "running";
	}
}

static int add_row(void *context, const struct thrum__fleet_known *known)
{
	struct fleet *fleet = context;
	struct row *rows = realloc(fleet->rows, (fleet->count + 1) * sizeof(*rows)), *row;

	if (!rows)
		return -THRUM_E_MEMORY;
	fleet->rows = rows;
	row = &rows[fleet->count++];
	*row = (struct row){.known = *known, .state = state_of(known, fleet->now)};
	for (unsigned i = 0; i < THRUM__LOST_CAUSES; i++)
		if (i != THRUM__LOST_OVERWRITTEN && i != THRUM__LOST_LIVE_TASKS)
			row->lost += atomic_load(&known->header.lost[i]);
	row->overwritten = atomic_load(&known->header.lost[THRUM__LOST_OVERWRITTEN]);
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	const struct thrum__fleet_known *a = &((const struct row *)left)->known,
					*b = &((const struct row *)right)->known;
	int order = strcmp(a->host, b->host);

	order = order ? order : strcmp(a->program, b->program);
	return order ? order : a->began < b->began ? -1 : a->began > b->began;
}

/* How urgent a recording is: its findings, then its losses, then that nothing is heard of it. */
static int urgency(const struct row *row)
{
	bool goes_on = atomic_load(&row->known.header.ending) == 0;

	if (row->found && row->found->count > 0)
		return 4;
	return !goes_on                                 ? 0
		: row->overwritten > 0 || row->lost > 0 ? 3
		: strcmp(row->state, "silent") == 0     ? 2
							: 1;
}

/* The worst first; of those that are as bad the one with the greatest rate. */
static int compare_urgencies(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	uint64_t of_a = a->known.count.record_rate, of_b = b->known.count.record_rate;

	if (urgency(a) != urgency(b))
		return urgency(b) - urgency(a);
	if (urgency(a) == 4 && a->found->count != b->found->count)
		return a->found->count > b->found->count ? -1 : 1;
	if (of_a != of_b)
		return of_a > of_b ? -1 : 1;
	return compare_names(left, right);
}

/* Asks the server for all recordings. Returns STATUS_OK, or STATUS_FAILED after a message. */
static int sample(struct fleet *fleet)
{
	struct thrum_error_info error = {0};

	fleet->count = 0;
	fleet->now = (int64_t)thrum__port_realtime();
	int result = thrum__fleet_know(fleet->server, &fleet->address, NULL, add_row, fleet,
		&error);

	if (result == -THRUM_E_MEMORY)
		return load_no_memory();
	if (result < 0)
		return input_failed(fleet->name, &error);
	if (fleet->count > 0)
		qsort(fleet->rows, fleet->count, sizeof(*fleet->rows), compare_names);
	return STATUS_OK;
}

static void set_found(struct fleet *fleet)
{
	for (size_t i = 0; i < fleet->count; i++)
		fleet->rows[i].found = fleet->found
			? fleet_found(fleet->found, fleet->rows[i].known.key)
			: NULL;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Writes a text for people to a column. */
static void put_column(struct output *out, const char *text, size_t columns)
{
	output_display(out, text, strlen(text), columns);
	for (size_t size = strlen(text); size < columns + 2; size++)
		output_text(out, " ");
}

static void put_right(struct output *out, const char *text, size_t columns)
{
	for (size_t size = strlen(text); size < columns; size++)
		output_text(out, " ");
	output_text(out, text);
}

static void put_number(struct output *out, int64_t number)
{
	char cell[32];

	snprintf(cell, sizeof(cell), "%" PRId64, number);
	output_text(out, cell);
}

static void write_heads(struct output *out)
{
	output_text(out,
		"host              program               pid  state    since                "
		"  records/s     stored/s   packets      stored  overwritten   lost\n");
}

/* Writes a rate, unless nobody knows it now. */
static void put_rate(struct output *out, const struct row *row, uint64_t rate, bool is_size)
{
	char cell[NUMBER_ROOM + 2] = "";
	char *end = is_size ? put_size(cell, rate) : put_count(cell, rate);

	strcpy(end, is_size ? "/s" : "");
	put_right(out, strcmp(row->state, "running") == 0 ? cell : "", is_size ? 13 : 11);
}

static void write_text(struct output *out, const struct row *row)
{
	char cell[64], since[64];

	put_column(out, row->known.host, 16);
	put_column(out, row->known.program, 16);
	snprintf(cell, sizeof(cell), "%" PRIu32, row->known.header.pid);
	put_right(out, cell, 7);
	output_text(out, "  ");
	put_column(out, row->state, 7);
	*put_date(since, row->known.began, 0) = '\0';
	since[19] = '\0'; /* without the time zone */
	put_column(out, since, 19);
	put_rate(out, row, row->known.count.record_rate, false);
	put_rate(out, row, row->known.count.byte_rate, true);
	*put_count(cell, row->known.count.packets) = '\0';
	put_right(out, cell, 10);
	*put_size(cell, row->known.count.bytes) = '\0';
	put_right(out, cell, 12);
	*put_count(cell, row->overwritten) = '\0';
	put_right(out, cell, 13);
	*put_count(cell, row->lost) = '\0';
	put_right(out, cell, 7);
	output_text(out, "\n");
}

static void write_tsv(struct output *out, const struct row *row)
{
	const struct thrum__fleet_count *count = &row->known.count;
	const struct fleet_found *found = row->found;
	char line[300];

	output_put(out, row->known.host, strlen(row->known.host), put_escaped, 4);
	output_text(out, "\t");
	output_put(out, row->known.program, strlen(row->known.program), put_escaped, 4);
	snprintf(line, sizeof(line),
		"\t%" PRIu32 "\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t",
		row->known.header.pid, row->state, row->known.began, row->known.told,
		count->packets, count->bytes, row->overwritten, row->lost, count->records,
		count->record_rate, count->byte_rate);
	output_text(out, line);
	if (found && found->clock_error >= 0)
		put_number(out, found->clock_error);
	output_text(out, "\t");
	if (found)
		put_number(out, found->count);
	output_text(out, "\t");
	if (found)
		output_put(out, found->worst, strlen(found->worst), put_escaped, 4);
	output_text(out, "\n");
}

static void write_json(struct output *out, const struct row *row)
{
	const struct thrum__fleet_count *count = &row->known.count;
	const struct fleet_found *found = row->found;
	char line[400];

	output_text(out, "{\"host\":\"");
	output_put(out, row->known.host, strlen(row->known.host), thrum__base_json_escape, 6);
	output_text(out, "\",\"program\":\"");
	output_put(out, row->known.program, strlen(row->known.program), thrum__base_json_escape, 6);
	snprintf(line, sizeof(line),
		"\",\"pid\":%" PRIu32 ",\"state\":\"%s\",\"began\":%" PRId64 ",\"told\":%" PRId64
		",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"overwritten\":%" PRIu64
		",\"lost\":%" PRIu64 ",\"records\":%" PRIu64 ",\"record-rate\":%" PRIu64
		",\"byte-rate\":%" PRIu64,
		row->known.header.pid, row->state, row->known.began, row->known.told,
		count->packets, count->bytes, row->overwritten, row->lost, count->records,
		count->record_rate, count->byte_rate);
	output_text(out, line);
	if (found && found->clock_error >= 0) {
		output_text(out, ",\"clock-error\":");
		put_number(out, found->clock_error);
	}
	if (found) {
		output_text(out, ",\"findings\":");
		put_number(out, found->count);
		output_text(out, ",\"worst\":\"");
		output_put(out, found->worst, strlen(found->worst), thrum__base_json_escape, 6);
		output_text(out, "\"");
	}
	output_text(out, "}\n");
}

static int print_list(const struct fleet *fleet, int format)
{
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (format == FORMAT_TEXT && fleet->count > 0)
		write_heads(&out);
	else if (format == FORMAT_TSV)
		output_text(&out,
			"host\tprogram\tpid\tstate\tbegan\ttold\tpackets\tbytes\t"
			"overwritten\tlost\trecords\trecord-rate\tbyte-rate\tclock-error\t"
			"findings\tworst\n");
	for (size_t i = 0; i < fleet->count; i++) {
		if (format == FORMAT_TEXT)
			write_text(&out, &fleet->rows[i]);
		else
			(format == FORMAT_TSV ? write_tsv : write_json)(&out, &fleet->rows[i]);
	}
	return output_close(&out);
}

/* ---- Findings -------------------------------------------------------------------------------- */

/* The latest findings of top. */
struct found {
	int fd;         /* has their text; -1: there are none so far */
	uint64_t bytes; /* so many were stored then */
	int64_t next;   /* monotonic ns: not again before that */
};

/* Looks for findings, if it is time and more was stored since. */
static int find_again(const struct command *command, const struct fleet *fleet, struct found *found)
{
	struct thrum__fleet_address a = fleet->address;
	bool is_bounded = a.from != INT64_MIN || a.until != INT64_MAX, is_recent = is_bounded;
	int64_t began = (int64_t)thrum__port_monotonic(), took;
	uint64_t bytes = 0;
	int status;

	for (size_t i = 0; i < fleet->count; i++) {
		bytes += fleet->rows[i].known.count.bytes;
		is_recent |= fleet->now - fleet->rows[i].known.told < 60 * SECOND;
	}
	if (began < found->next || bytes == found->bytes || !is_recent)
		return STATUS_OK;
	if (found->fd >= 0)
		close(found->fd);
	found->fd = memfd_create("findings", MFD_CLOEXEC);
	if (found->fd < 0)
		return load_no_memory();
	if (!is_bounded)
		a.from = fleet->now - FINDINGS_TIME;
	status = fleet_find(command, fleet->name, &a, found->fd, fleet->found);
	took = (int64_t)thrum__port_monotonic() - began;
	found->bytes = bytes;
	found->next = began + took +
		(took * FINDINGS_SHARE > FINDINGS_PAUSE ? took * FINDINGS_SHARE : FINDINGS_PAUSE);
	return status;
}

static int print_found(const struct found *found)
{
	if (found->fd < 0)
		return STATUS_OK;
	lseek(found->fd, 0, SEEK_SET);
	return output_copy(found->fd, "findings", STDOUT_FILENO);
}

/* ---- Top -------------------------------------------------------------------------------------- */

static int print_top(struct fleet *fleet, bool is_terminal)
{
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (fleet->count > 0)
		qsort(fleet->rows, fleet->count, sizeof(*fleet->rows), compare_urgencies);
	output_text(&out, is_terminal ? "\033[H\033[J" : "");
	write_heads(&out);
	for (size_t i = 0; i < fleet->count; i++)
		write_text(&out, &fleet->rows[i]);
	return output_close(&out);
}

static int run_top(const struct command *command, struct fleet *fleet,
	const struct fleet_options *options)
{
	const struct timespec pause = {options->interval / SECOND, options->interval % SECOND};
	bool is_terminal = isatty(STDOUT_FILENO);
	struct found found = {.fd = -1};
	int status = STATUS_OK;

	interrupt_catch();
	for (uint64_t i = 0; status == STATUS_OK && !is_interrupted; i++) {
		if (options->count > 0 && i >= options->count)
			break;
		if (i > 0)
			nanosleep(&pause, NULL);
		if (is_interrupted)
			break;
		status = sample(fleet);
		if (status == STATUS_OK && options->findings)
			status = find_again(command, fleet, &found);
		set_found(fleet);
		if (status == STATUS_OK)
			status = print_top(fleet, is_terminal);
		if (status == STATUS_OK)
			status = print_found(&found);
	}
	if (found.fd >= 0)
		close(found.fd);
	return status;
}

/* ---- List ------------------------------------------------------------------------------------ */

static int run_list(const struct command *command, struct fleet *fleet,
	const struct fleet_options *options)
{
	bool is_text = options->format == FORMAT_TEXT;
	int status = sample(fleet);

	if (status == STATUS_OK && is_text)
		status = print_list(fleet, options->format);
	if (status == STATUS_OK && options->findings && fleet->count > 0)
		status = fleet_find(command, fleet->name, &fleet->address,
			is_text ? STDOUT_FILENO : -1, fleet->found);
	set_found(fleet);
	return status == STATUS_OK && !is_text ? print_list(fleet, options->format) : status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run_fleet(const struct command *command, int argc, char **argv)
{
	struct fleet_options options = {.interval = 2 * SECOND};
	struct thrum_error_info error = {0};
	struct fleet fleet = {0};
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	bool is_top = strcmp(argv[0], "top") == 0;

	if (!is_top && strcmp(argv[0], "list") != 0)
		return complain_usage(command, "there are thrum fleet list and top, not %s",
			argv[0]);
	if (options.interval <= 0)
		return complain_usage(command, "--interval must be longer than 0");
	if (is_top && options.format != FORMAT_TEXT)
		return complain_usage(command, "--format is for list");
	fleet.name = argv[1];
	if (thrum__fleet_parse(argv[1], (int64_t)thrum__port_realtime(), &fleet.address, &error) <
		0)
		return complain_usage(command, "%s: %s", argv[1], error.message);
	if (thrum__fleet_connect(&fleet.address, &fleet.server, &error) < 0)
		return input_failed(argv[1], &error);
	if (options.findings)
		fleet.found = calloc(1, sizeof(*fleet.found));
	if (options.findings && !fleet.found)
		status = load_no_memory();
	else
		status = (is_top ? run_top : run_list)(command, &fleet, &options);
	free(fleet.found);
	free(fleet.rows);
	thrum__fleet_close(fleet.server);
	return status;
}

#define OFFSET(member) offsetof(struct fleet_options, member)

static const struct option options_of_fleet[] = {
	{"format", 'f', OPTION_CHOICE, OFFSET(format), NULL, "text|tsv|json",
		"list: text is for people, tsv and json for programs"},
	{"findings", 0, OPTION_FLAG, OFFSET(findings), NULL, NULL,
		"also read all as one trace, and show the errors of\n"
		"the machines' clocks and the findings; in tsv and\n"
		"json as columns"},
	{"interval", 'i', OPTION_TIME, OFFSET(interval), "TIME", NULL,
		"top: time between two samples (default: 2s)"},
	{"count", 'n', OPTION_COUNT, OFFSET(count), "N", NULL, "top: end after N samples"},
	{0},
};

const struct command command_fleet = {
	.name = "fleet",
	.purpose = "list the recordings that a NATS server keeps",
	.arguments = "list|top nats://SERVER[/PATTERN]",
	.min = 2,
	.max = 2,
	.options = options_of_fleet,
	.more = "Each agent (thrum ship) reports within 4 seconds. A program that hasn't ended is\n"
		"silent if there was no report for 10 seconds: its agent or its machine is down,\n"
		"or can't reach the server. Overwritten packets were gone before they could be\n"
		"stored. For lost events the recorder had no room. The rates are of the last 5 to\n"
		"10 seconds. top shows the worst first: programs with findings, then those that\n"
		"lose events, then silent ones, then the busiest. ?last=1h selects the recordings\n"
		"with a report in that time. top --findings looks again when more was stored,\n"
		"after 10 seconds at the earliest and for a tenth of the time at most; at the\n"
		"last ten minutes, unless the address names a time.",
	.examples = "thrum fleet list nats://trace.example.org\n"
		    "thrum fleet list 'nats://trace.example.org/web*?last=1h' --format=tsv\n"
		    "thrum fleet list --findings 'nats://trace.example.org/?last=10m'\n"
		    "thrum fleet top nats://trace.example.org",
	.statuses = "0  success\n"
		    "2  the server can't be reached, or keeps no recordings\n"
		    "64 usage error",
	.run = run_fleet,
};
