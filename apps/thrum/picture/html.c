/* SPDX-License-Identifier: ISC */
/* `thrum html`: writes the browser viewer and traces as one file. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "capture/bundle.h"
#include "convert/pack.h"
#include "format/packet.h"
#include "line/progress.h"
#include "line/text.h"
#include "picture/as.h"
#include "read/read.h"
#include "source/input.h"
#include "stage/stage.h"
#include "trace/file.h"
#include "trace/input.h"
#include "trace/load.h"
#include "trace/relatives.h"
#include "trace/times.h"
#include "world/bundle.h"

/* The page without traces, which apps/web builds; NULL if it could not be built. */
extern const char thrum_page_start[] __attribute__((weak)), thrum_page_end[] __attribute__((weak));

/* The place for the traces in it. */
static const char place[] = "<!--data-->";

struct html_options {
	const char *output, *scene, *title;
	struct as_options as;
	struct times times;
	bool viewer, together;
};

#define SPARSE (32 << 20) /* bytes of unused room that are worth a copy */

struct source {
	char path[PATH_MAX];
	struct thrum__input input;
	uint64_t size;
	bool is_killed; /* its program was killed while it recorded */
};

struct html {
	const struct command *command;
	struct html_options options;
	struct source sources[THRUM__STAGE_MAX];
	size_t count;
	struct progress progress;
	uint64_t done, all; /* bytes */
};

/* ---- Opening traces -------------------------------------------------------------------------- */

static int source_failed(const struct source *source, int result)
{
	struct thrum_error_info error = {.code = result};

	snprintf(error.message, sizeof(error.message), "%s", thrum_error_message(result));
	return input_failed(source->path, &error);
}

/* Whether much of a recording has never been used, as its program was killed early. */
static bool is_sparse(const struct thrum__header *header)
{
	uint64_t unused = header->packets - atomic_load(&header->packets_used);

	return header->packets >= unused && unused * header->packet_size > SPARSE;
}

/* Reads a copy from now on, which the source then owns. `result`: of the copying. */
static int use_copy(struct source *source, int fd, int result)
{
	struct thrum__input copy;

	if (result == 0)
		result = thrum__source_input_of(fd, &copy);
	else
		close(fd);
	if (result < 0)
		return source_failed(source, result);
	thrum__source_close(source->input.owner);
	source->input = copy;
	return STATUS_OK;
}

/* Leaves only a part of a recording's time. */
static int take_part(struct source *source, const struct times *times)
{
	struct thrum_error_info error = {0};
	int fd;

	if (times_are_all(times))
		return STATUS_OK;
	fd = thrum__source_temporary_file();
	if (fd < 0)
		return source_failed(source, fd);
	if (thrum__source_copy_times(&source->input, fd, times->start, times->end, &error) < 0) {
		close(fd);
		return input_failed(source->path, &error);
	}
	return use_copy(source, fd, 0);
}

/* Copies a trace that a program still writes, so that the page holds one state of it; one that has
 * addresses, with their names, as the page can't look them up; and one with much unused room, without
 * that. Remembers whether the program was killed, as the page can't find that out itself. */
static int take_copy(struct source *source)
{
	struct thrum__header header;
	uint32_t unnamed;
	bool is_named;
	int fd, result;

	if (thrum__source_header(&source->input, &header, NULL) < 0)
		return STATUS_OK;
	source->is_killed = thrum__source_was_killed(&source->input, &header);
	is_named = thrum__source_has_addresses(&source->input, &header) && thrum__source_can_name();
	if (!is_named && !is_sparse(&header) &&
		!thrum__source_is_recorded_to(&source->input, &header))
		return STATUS_OK;
	fd = thrum__source_temporary_file();
	if (fd < 0)
		return source_failed(source, fd);
	result = is_named ? thrum__source_copy_named(&source->input, fd, NULL, &unnamed)
			  : thrum__source_copy(&source->input, fd, NULL);
	return use_copy(source, fd, result);
}

static int open_source(struct html *html, const char *argument)
{
	struct source *source = &html->sources[html->count];
	struct thrum_error_info error = {0};
	struct thrum_trace *trace;
	int status = input_find(html->command, argument, source->path, sizeof(source->path));

	if (status != STATUS_OK)
		return status;
	if (thrum__source_open(source->path, &source->input, &error) < 0)
		return input_failed(source->path, &error);
	html->count++;
	status = take_part(source, &html->options.times);
	if (status == STATUS_OK)
		status = take_copy(source);
	if (status != STATUS_OK)
		return status;
	/* A page must be able to open its traces. */
	if (thrum__world_open(&source->input, NULL, &trace, &error) < 0)
		return input_failed(source->path, &error);
	thrum_trace_close(trace);
	source->size = source->input.size(source->input.owner);
	html->all += source->size;
	return STATUS_OK;
}

/* Takes several traces as one, a bundle of copies, if they are. Sets *is_done then. */
static int open_together(struct html *html, char *const *arguments, int count, bool is_run,
	bool *is_done)
{
	struct source *source = &html->sources[0];
	struct input joined;
	int status = input_join(html->command, arguments, count, is_run || html->options.together,
		&joined);
	int fd, result;

	*is_done = status == STATUS_OK && joined.trace;
	if (!*is_done)
		return status;
	input_close(&joined);
	memcpy(source->path, joined.path, sizeof source->path);
	fd = thrum__source_temporary_file();
	if (fd < 0)
		return source_failed(source, fd);
	status = bundle_write(html->command, arguments, count, source->path, fd);
	if (status != STATUS_OK) {
		close(fd);
		return status;
	}
	result = thrum__source_input_of(fd, &source->input);
	if (result < 0)
		return source_failed(source, result);
	html->count = 1;
	html->all = source->size = source->input.size(source->input.owner);
	return STATUS_OK;
}

/* Opens the traces: as one, or one above the other. */
static int open_sources(struct html *html, char **arguments, int count)
{
	const struct html_options *options = &html->options;
	bool is_done = false, is_whole = times_are_all(&options->times) && !options->as.pair;
	struct thrum__source_run run = {NULL, 0, 0};
	int status = is_whole ? relatives_of(arguments, count, &run) : STATUS_OK;

	if (run.count > 0) {
		arguments = run.paths;
		count = run.count;
	}
	if (status == STATUS_OK && count > 1 && times_are_all(&options->times))
		status = open_together(html, arguments, count, run.count > 0, &is_done);
	if (status == STATUS_OK && !is_done)
		status = input_check_beside(html->command, count);
	for (int i = 0; i < count && status == STATUS_OK && !is_done; i++)
		status = open_source(html, arguments[i]);
	thrum__source_run_free(&run);
	if (status == STATUS_OK && options->as.pair)
		status = open_source(html, options->as.pair);
	return status;
}

/* ---- Checking --view ------------------------------------------------------------------------- */

static int read_model(struct source *source, struct thrum__model **model)
{
	struct thrum_error_info error = {0};
	struct thrum_trace *trace;
	int result = thrum__world_open(&source->input, NULL, &trace, &error);

	if (result < 0)
		return input_failed(source->path, &error);
	result = thrum__model_create(trace, model);
	if (result == 0)
		result = thrum__model_load(*model, trace, NULL, NULL, &error);
	thrum_trace_close(trace);
	if (result == 0)
		return STATUS_OK;
	return *error.message ? input_failed(source->path, &error) : load_no_memory();
}

static int add_part(struct thrum__stage *stage, const struct thrum__model *model)
{
	static const struct thrum__scene_options options = {.by_lane = true};
	struct thrum__scene *scene;

	if (thrum__scene_create(model, &options, NULL, NULL, &scene) < 0 ||
		thrum__stage_add(stage, scene, "") < 0)
		return load_no_memory();
	return STATUS_OK;
}

/* Checks --view as the page will read it. Its meaning depends on the traces. */
static int check_view(struct html *html)
{
	struct thrum__model *models[THRUM__STAGE_MAX] = {0};
	struct thrum_error_info error = {0};
	struct thrum__stage *stage;
	int status = STATUS_OK;

	if (!html->options.scene)
		return STATUS_OK;
	if (thrum__stage_create(&stage) < 0)
		return load_no_memory();
	for (size_t i = 0; i < html->count && status == STATUS_OK; i++) {
		status = read_model(&html->sources[i], &models[i]);
		if (status == STATUS_OK)
			status = add_part(stage, models[i]);
	}
	if (status == STATUS_OK && thrum__stage_state_parse(stage, html->options.scene, &error) < 0)
		status = complain_usage(html->command, "--view: %s", error.message);
	thrum__stage_destroy(stage);
	for (size_t i = 0; i < html->count; i++)
		thrum__model_destroy(models[i]);
	return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static const char *name_of(const struct source *source)
{
	return strcmp(source->path, "-") == 0 ? "standard input" : thrum__source_name(source->path);
}

/* Writes a JSON string for a script element, where a "<" could end the element. */
static void put_text(struct output *out, const char *text)
{
	output_text(out, "\"");
	for (;;) {
		size_t size = strcspn(text, "<");

		output_put(out, text, size, thrum__base_json_escape, THRUM__JSON_BYTES);
		if (!text[size])
			break;
		output_text(out, "\\u003c");
		text += size + 1;
	}
	output_text(out, "\"");
}

static void put_head(const struct html *html, struct output *out)
{
	char number[NUMBER_ROOM];

	output_text(out, "<script type=\"application/json\" id=\"traces\">{\"title\":");
	put_text(out, html->options.title ? html->options.title : "");
	output_text(out, ",\"view\":");
	put_text(out, html->options.scene ? html->options.scene : "");
	output_text(out, ",\"traces\":[");
	for (size_t i = 0; i < html->count; i++) {
		uint64_t blocks = (html->sources[i].size + PACK_BLOCK - 1) / PACK_BLOCK;

		output_text(out, i > 0 ? ",{\"name\":" : "{\"name\":");
		put_text(out, name_of(&html->sources[i]));
		output_text(out, ",\"blocks\":");
		output_bytes(out, number, (size_t)(put_unsigned(number, blocks) - number));
		output_text(out, html->sources[i].is_killed ? ",\"state\":\"killed\"}" : "}");
	}
	output_text(out, "]}</script>\n");
}

static int put_source(struct html *html, const struct source *source, struct output *out)
{
	uint8_t *block = malloc(PACK_BLOCK);
	int status = block ? STATUS_OK : load_no_memory();

	for (uint64_t at = 0; status == STATUS_OK && at < source->size && !out->error;
		at += PACK_BLOCK) {
		uint64_t rest = source->size - at;
		size_t size = rest < PACK_BLOCK ? (size_t)rest : PACK_BLOCK;
		int64_t got = thrum__format_input_read(&source->input, at, block, size);

		progress_show(&html->progress, html->done + at, html->all);
		if (got < 0) {
			status = source_failed(source, (int)got);
		} else {
			output_text(out, "<script type=\"text/plain\" class=\"block\">");
			if (pack_block(out, block, (size_t)got) < 0)
				status = load_no_memory();
			output_text(out, "</script>\n");
		}
	}
	html->done += source->size;
	free(block);
	return status;
}

static int put_page(struct html *html, struct output *out)
{
	size_t size = (size_t)(thrum_page_end - thrum_page_start);
	const char *data = memmem(thrum_page_start, size, place, sizeof(place) - 1);
	int status = STATUS_OK;

	output_bytes(out, thrum_page_start, (size_t)(data - thrum_page_start));
	if (html->count > 0)
		put_head(html, out);
	for (size_t i = 0; i < html->count && status == STATUS_OK; i++)
		status = put_source(html, &html->sources[i], out);
	data += sizeof(place) - 1;
	output_bytes(out, data, (size_t)(thrum_page_end - data));
	return status;
}

static int write_page(void *context, const char *path, int fd)
{
	struct html *html = context;
	struct output out;
	int status;

	if (output_open(&out, fd) < 0)
		return STATUS_FAILED;
	progress_start(&html->progress);
	status = put_page(html, &out);
	progress_end(&html->progress);
	if (fd != STDOUT_FILENO && status == STATUS_OK) {
		output_flush(&out);
		if (out.error)
			complain("%s: %s", path, strerror(out.error));
		status = out.error ? STATUS_FAILED : STATUS_OK;
		out.error = 0;
	}
	return output_close(&out) == STATUS_OK ? status : STATUS_FAILED;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int check(const struct html *html, int count)
{
	const struct html_options *options = &html->options;
	const struct command *command = html->command;

	if (!options->output)
		return complain_usage(command, "html needs -o FILE");
	if (options->viewer && count > 0)
		return complain_usage(command, "--viewer writes a page without traces");
	if (options->viewer && options->scene)
		return complain_usage(command, "--view needs a trace");
	if (options->together && !times_are_all(&options->times))
		return complain_usage(command,
			"--together keeps all times, as messages at other times tell\n"
			"how far clocks are apart; --view=t=FROM..TO shows a part first");
	if (!options->viewer && count == 0)
		return complain_usage(command, "html needs a trace, or --viewer");
	if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
		return complain_usage(command,
			"a page can't be shown on a terminal; redirect it: > FILE");
	if (!thrum_page_start) {
		complain("this thrum was built without its page; \"tools/setup web\" installs the "
			 "tools for it, then build thrum again");
		return STATUS_FAILED;
	}
	if (!pack_is_possible() && count > 0) {
		complain("this thrum was built without zlib and can only write --viewer");
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

static int make_page(struct html *html, int count, char **arguments)
{
	int status = check(html, count);

	if (status == STATUS_OK)
		status = open_sources(html, arguments, count);
	if (status == STATUS_OK)
		status = check_view(html);
	if (status == STATUS_OK)
		status = file_write(html->options.output, FILE_OUTPUT, write_page, html);
	for (size_t i = 0; i < html->count; i++)
		thrum__source_close(html->sources[i].input.owner);
	return status;
}

static int run_html(const struct command *command, int argc, char **argv)
{
	struct html *html = calloc(1, sizeof(*html));
	char *state = NULL;
	int status, count;

	if (!html)
		return load_no_memory();
	html->command = command;
	html->options.as.as = -1;
	html->options.times = (struct times)TIMES_ALL;
	count = options_parse(command, argc, argv, &html->options, &status);
	if (count >= 0)
		status = times_check(command, &html->options.times);
	if (count >= 0 && status == STATUS_OK)
		status = as_check_pair(command, &html->options.as, count);
	if (count >= 0 && status == STATUS_OK)
		status = as_state(command, &html->options.as, html->options.scene, &state);
	if (state)
		html->options.scene = state;
	if (count >= 0 && status == STATUS_OK)
		status = make_page(html, count, argv);
	free(state);
	free(html);
	return status;
}

#define OPTION(member) offsetof(struct html_options, member)

static const struct option options_of_html[] = {
	{"output", 'o', OPTION_STRING, OPTION(output), "FILE", NULL,
		"write to FILE, or with - to standard output"},
	{"title", 0, OPTION_STRING, OPTION(title), "TEXT", NULL,
		"the page's title (default: the traces' names)"},
	TIMES_OPTIONS(struct html_options, times, "keep what happened"),
	TOGETHER_OPTION(OPTION(together)),
	AS_OPTIONS(struct html_options, as),
	{"view", 0, OPTION_STRING, OPTION(scene), "STATE", NULL,
		"show this first; STATE is as for thrum render"},
	{"viewer", 0, OPTION_FLAG, OPTION(viewer), NULL, NULL,
		"write a page without traces, which opens dropped\n"
		"files"},
	{0},
};

const struct command command_html = {
	.name = "html",
	.purpose = "write traces as a page to explore in any browser",
	.arguments = "TRACE|PID|-...",
	.min = 0,
	.max = INPUTS_MAX,
	.options = options_of_html,
	.reads_traces = true,
	.more = "The page is one file that needs nothing else: no server, no network, no thrum.\n"
		"Others can open it as it is. Recordings TRACE.PID of the same run are read with\n"
		"TRACE. Several other traces are one if messages go between them, else they stand\n"
		"one above the other on one scale of time. Traces of which only a part is kept\n"
		"are never one: messages at other times tell how far clocks are apart. The part\n"
		"after # of the page's address says what it shows, so that a copied link shows\n"
		"the same. An older FILE is replaced, but never a trace or a symbolic link.",
	.examples = "thrum html server.thrum -o server.html\n"
		    "thrum html good.ctf bad.ctf -o both.html\n"
		    "thrum html 4711 -o now.html\n"
		    "thrum html --start=1.2s --duration=50ms server.thrum -o slow.html\n"
		    "thrum html --viewer -o viewer.html",
	.statuses = "0  success, even if data is lost or damaged (the page says so)\n"
		    "2  not a trace, or FILE could not be written\n"
		    "64 usage error",
	.run = run_html,
};
