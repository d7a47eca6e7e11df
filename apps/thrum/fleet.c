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

#include "base/json.h"
#include "clocks.h"
#include "fleet/fleet.h"
#include "input.h"
#include "interrupt.h"
#include "load.h"
#include "output.h"
#include "port/port.h"
#include "source/input.h"
#include "text.h"
#include "why.h"
#include "words/words.h"

#define SECOND INT64_C(1000000000)
#define SILENT (10 * SECOND) /* an agent reports every second */
#define FINDINGS_MAX 10
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
	bool has_rate;
	uint64_t rate; /* bytes a second */
};

struct fleet {
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server;
	const char *name; /* the address, as it was given */
	struct row *rows;
	size_t count;
	int64_t now;
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

/* The greatest rate first. */
static int compare_rates(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->rate != b->rate)
		return a->rate > b->rate ? -1 : 1;
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

static void write_heads(struct output *out, bool has_rates)
{
	output_text(out, "host              program           ");
	output_text(out, "    pid  state    since                ");
	output_text(out, has_rates ? "   rate    " : "");
	output_text(out, "   packets      stored  overwritten   lost\n");
}

static void write_text(struct output *out, const struct row *row, bool has_rates)
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
	if (has_rates) {
		*put_size(cell, row->rate) = '\0';
		strcat(cell, "/s");
		put_right(out, row->has_rate ? cell : "", 12);
	}
	*put_count(cell, row->known.count.packets) = '\0';
	put_right(out, cell, has_rates ? 9 : 10);
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
	char line[200];

	output_put(out, row->known.host, strlen(row->known.host), put_escaped, 4);
	output_text(out, "\t");
	output_put(out, row->known.program, strlen(row->known.program), put_escaped, 4);
	snprintf(line, sizeof(line),
		"\t%" PRIu32 "\t%s\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64
		"\t%" PRIu64 "\n",
		row->known.header.pid, row->state, row->known.began, row->known.told,
		row->known.count.packets, row->known.count.bytes, row->overwritten, row->lost);
	output_text(out, line);
}

static void write_json(struct output *out, const struct row *row)
{
	char line[300];

	output_text(out, "{\"host\":\"");
	output_put(out, row->known.host, strlen(row->known.host), thrum__base_json_escape, 6);
	output_text(out, "\",\"program\":\"");
	output_put(out, row->known.program, strlen(row->known.program), thrum__base_json_escape, 6);
	snprintf(line, sizeof(line),
		"\",\"pid\":%" PRIu32 ",\"state\":\"%s\",\"began\":%" PRId64 ",\"told\":%" PRId64
		",\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"overwritten\":%" PRIu64
		",\"lost\":%" PRIu64 "}\n",
		row->known.header.pid, row->state, row->known.began, row->known.told,
		row->known.count.packets, row->known.count.bytes, row->overwritten, row->lost);
	output_text(out, line);
}

static int print_list(const struct fleet *fleet, int format)
{
	struct output out;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (format == FORMAT_TEXT && fleet->count > 0)
		write_heads(&out, false);
	else if (format == FORMAT_TSV)
		output_text(&out,
			"host\tprogram\tpid\tstate\tbegan\ttold\tpackets\tbytes\t"
			"overwritten\tlost\n");
	for (size_t i = 0; i < fleet->count; i++) {
		if (format == FORMAT_TEXT)
			write_text(&out, &fleet->rows[i], false);
		else
			(format == FORMAT_TSV ? write_tsv : write_json)(&out, &fleet->rows[i]);
	}
	return output_close(&out);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static void write_finding(struct output *out, const struct thrum__model *model,
	const struct thrum__finding *finding)
{
	const char *process = thrum__model_process(model, finding->steps[0].task);

	if (*process) {
		output_display(out, process, strlen(process), 60);
		output_text(out, ": ");
	}
	why_write_headline(out, model, finding, false);
}

/* Loads the recordings of an address as one trace, or as many as can be one: *left weren't loaded. */
static int load_fleet(const struct command *command, const char *name,
	const struct thrum__fleet_address *address, struct load *load, size_t *left)
{
	struct thrum_error_info error = {0};
	int fd = thrum__source_fetch(address, left, &error), status;
	char path[64];

	if (fd < 0)
		return input_failed(name, &error);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	status = input_open(command, path, &load->input);
	close(fd);
	if (status != STATUS_OK)
		return status;
	snprintf(load->input.path, sizeof(load->input.path), "%s", name);
	return load_input(load);
}

/* Reads the recordings of an address, and writes what is wrong in them to a file. */
static int write_findings(const struct command *command, const char *name,
	const struct thrum__fleet_address *address, int fd)
{
	struct thrum__findings findings;
	struct load load = {0};
	struct output out;
	char line[120];
	size_t left;
	int status = load_fleet(command, name, address, &load, &left);

	if (status != STATUS_OK)
		return status;
	if (thrum__why_make(load.model, &findings) < 0) {
		load_finish(&load);
		return load_no_memory();
	}
	status = output_open(&out, fd) < 0 ? STATUS_FAILED : STATUS_OK;
	if (status == STATUS_OK) {
		output_text(&out, "\n");
		clocks_write(&out, load.input.trace, 0, INT64_MAX);
		for (uint32_t i = 0; i < findings.count && i < FINDINGS_MAX; i++)
			write_finding(&out, load.model, &findings.findings[i]);
		if (findings.count == 0)
			output_text(&out, "no findings\n");
		if (left > 0) {
			snprintf(line, sizeof(line),
				"not looked at: %zu recording%s, as at most %d can be one trace\n",
				left, left == 1 ? "" : "s", THRUM__FLEET_PARTS_MAX);
			output_text(&out, line);
		}
		status = output_close(&out);
		if (fd == STDOUT_FILENO)
			input_warn(&load.input);
	}
	thrum__why_free(&findings);
	load_finish(&load);
	return status;
}

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
	status = write_findings(command, fleet->name, &a, found->fd);
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

/* ---- Rates ----------------------------------------------------------------------------------- */

/* Sets the rates of rows from what was stored since an earlier sample. Both are sorted by name. */
static void set_rates(struct fleet *fleet, const struct row *before, size_t count)
{
	size_t i = 0;

	for (size_t k = 0; k < fleet->count; k++) {
		struct row *row = &fleet->rows[k];

		while (i < count && compare_names(&before[i], row) < 0)
			i++;
		if (i == count || compare_names(&before[i], row) != 0)
			continue;
		const struct thrum__fleet_known *old = &before[i].known;
		int64_t time = row->known.told - old->told;

		row->has_rate = true;
		if (time > 0 && row->known.count.bytes > old->count.bytes)
			row->rate = (uint64_t)((double)(row->known.count.bytes - old->count.bytes) *
				1e9 / (double)time);
	}
}

static int print_top(const struct fleet *fleet, bool is_terminal)
{
	struct row *rows = malloc((fleet->count + 1) * sizeof(*rows));
	struct output out;

	if (!rows)
		return load_no_memory();
	memcpy(rows, fleet->rows, fleet->count * sizeof(*rows));
	if (fleet->count > 0)
		qsort(rows, fleet->count, sizeof(*rows), compare_rates);
	int status = output_open(&out, STDOUT_FILENO) < 0 ? STATUS_FAILED : STATUS_OK;

	if (status == STATUS_OK) {
		output_text(&out, is_terminal ? "\033[H\033[J" : "");
		write_heads(&out, true);
		for (size_t i = 0; i < fleet->count; i++)
			write_text(&out, &rows[i], true);
		status = output_close(&out);
	}
	free(rows);
	return status;
}

static int run_top(const struct command *command, struct fleet *fleet,
	const struct fleet_options *options)
{
	const struct timespec pause = {options->interval / SECOND, options->interval % SECOND};
	bool is_terminal = isatty(STDOUT_FILENO);
	struct row *before = NULL;
	size_t before_count = 0;
	struct found found = {.fd = -1};
	int status = sample(fleet);

	interrupt_catch();
	for (uint64_t i = 0; status == STATUS_OK && !is_interrupted; i++) {
		if (options->count > 0 && i >= options->count)
			break;
		free(before);
		before = fleet->rows;
		before_count = fleet->count;
		fleet->rows = NULL;
		nanosleep(&pause, NULL);
		if (is_interrupted)
			break;
		status = sample(fleet);
		set_rates(fleet, before, before_count);
		if (status == STATUS_OK && options->findings)
			status = find_again(command, fleet, &found);
		if (status == STATUS_OK)
			status = print_top(fleet, is_terminal);
		if (status == STATUS_OK)
			status = print_found(&found);
	}
	if (found.fd >= 0)
		close(found.fd);
	free(before);
	return status;
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
	if (options.findings && options.format != FORMAT_TEXT)
		return complain_usage(command, "--findings are text");
	fleet.name = argv[1];
	if (thrum__fleet_parse(argv[1], (int64_t)thrum__port_realtime(), &fleet.address, &error) <
		0)
		return complain_usage(command, "%s: %s", argv[1], error.message);
	if (thrum__fleet_connect(&fleet.address, &fleet.server, &error) < 0)
		return input_failed(argv[1], &error);
	if (is_top) {
		status = run_top(command, &fleet, &options);
	} else {
		status = sample(&fleet);
		if (status == STATUS_OK)
			status = print_list(&fleet, options.format);
		if (status == STATUS_OK && options.findings && fleet.count > 0)
			status = write_findings(command, fleet.name, &fleet.address, STDOUT_FILENO);
	}
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
		"the machines' clocks and the findings"},
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
	.more = "Each agent (thrum ship) reports every second. A program that hasn't ended is\n"
		"silent if there was no report for 10 seconds: its agent or its machine is down,\n"
		"or can't reach the server. Overwritten packets were gone before they could be\n"
		"stored. For lost events the recorder had no room. top shows how much is stored\n"
		"each second, the busiest first. ?last=1h selects the recordings with a report in\n"
		"that time. top --findings looks again when more was stored, after 10 seconds at\n"
		"the earliest and for a tenth of the time at most; at the last ten minutes,\n"
		"unless the address names a time.",
	.examples = "thrum fleet list nats://trace.example.org\n"
		    "thrum fleet list 'nats://trace.example.org/web*?last=1h' --format=tsv\n"
		    "thrum fleet list --findings 'nats://trace.example.org/?last=10m'\n"
		    "thrum fleet top nats://trace.example.org",
	.statuses = "0  success\n"
		    "2  the server can't be reached, or keeps no recordings\n"
		    "64 usage error",
	.run = run_fleet,
};
