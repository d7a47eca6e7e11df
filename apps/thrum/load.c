/* SPDX-License-Identifier: ISC */
/* Reads a command's trace into a model, with progress. */
#define _GNU_SOURCE
#include "load.h"

#include "progress.h"

/* The context of show_progress. */
struct watch {
	struct progress progress;
	const struct thrum_trace_info *info;
};

static bool show_progress(void *context, const struct thrum__model *model)
{
	struct watch *watch = context;

	progress_show(&watch->progress, watch->info->content_bytes, watch->info->file_size);
	return true;
}

int load_no_memory(void)
{
	complain("out of memory");
	return STATUS_FAILED;
}

int load_input(struct load *load)
{
	struct thrum_error_info error = {0};
	struct watch watch;
	int status = STATUS_OK, result;

	if (thrum__model_create(load->input.trace, &load->model) < 0) {
		input_close(&load->input);
		return load_no_memory();
	}
	watch.info = load->input.info;
	progress_start(&watch.progress);
	result = thrum__model_load(load->model, load->input.trace, show_progress, &watch, &error);
	progress_end(&watch.progress);
	if (result < 0) {
		status = *error.message ? input_failed(load->input.path, &error) : load_no_memory();
		load_finish(load);
	}
	return status;
}

int load_trace(const struct command *command, const char *argument, struct load *load)
{
	int status = input_open(command, argument, &load->input);

	return status == STATUS_OK ? load_input(load) : status;
}

int load_traces(const struct command *command, char *const *arguments, int count, bool is_together,
	struct load *load)
{
	int status = input_open_all(command, arguments, count, is_together, &load->input);

	return status == STATUS_OK ? load_input(load) : status;
}

void load_finish(struct load *load)
{
	thrum__model_destroy(load->model);
	input_close(&load->input);
	load->model = NULL;
}
