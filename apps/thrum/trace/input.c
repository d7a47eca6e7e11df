/* SPDX-License-Identifier: ISC */
/* Finds, opens and checks a command's trace. */
#define _GNU_SOURCE
#include "trace/input.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "line/text.h"
#include "source/input.h"
#include "stage/stage.h"
#include "trace/relatives.h"
#include "words/words.h"

int input_failed(const char *path, const struct thrum_error_info *error)
{
	const char *name = strcmp(path, "-") == 0 ? "standard input" : path;

	if (error->offset > 0)
		complain("%s: byte %" PRIu64 ": %s", name, error->offset, error->message);
	else
		complain("%s: %s", name, error->message);
	return STATUS_FAILED;
}

/* Returns a process id, or -1. */
static int64_t parse_pid(const char *argument)
{
	uint64_t pid;

	/* INT32_MAX is larger than any process id of Linux, and fits pid_t. */
	if (!parse_id(argument, strlen(argument), &pid) || pid == 0 || pid > INT32_MAX)
		return -1;
	return (int64_t)pid;
}

/* Whether a process is `thrum record`, by this very file. */
static bool is_record(int64_t pid)
{
	char path[64], words[64] = "";
	struct stat here, there;
	FILE *file;
	int letter;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%" PRId64 "/exe", pid);
	if (stat("/proc/self/exe", &here) < 0 || stat(path, &there) < 0 ||
		here.st_dev != there.st_dev || here.st_ino != there.st_ino)
		return false;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/cmdline", pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* The name may be as long as any path. */
	while ((letter = fgetc(file)) != '\0' && letter != EOF)
		;
	n = fread(words, 1, sizeof(words) - 1, file);
	words[n] = '\0';
	fclose(file);
	return strcmp(words, "record") == 0;
}

int64_t input_process(int64_t pid)
{
	char path[64];
	int64_t child = 0;
	FILE *file;

	if (!is_record(pid))
		return pid;
	snprintf(path, sizeof(path), "/proc/%" PRId64 "/task/%" PRId64 "/children", pid, pid);
	file = fopen(path, "re");
	if (file && fscanf(file, "%" SCNd64, &child) != 1)
		child = 0;
	if (file)
		fclose(file);
	return child > 0 ? child : pid;
}

int input_find(const struct command *command, const char *argument, char *path, size_t size)
{
	struct thrum_error_info error = {0};
	struct stat status;
	int64_t pid = parse_pid(argument);

	if (strcmp(argument, "-") == 0 && isatty(STDIN_FILENO))
		return complain_usage(command,
			"standard input is a terminal; redirect a trace to it: < FILE");
	if (pid > 0 && stat(argument, &status) < 0) {
		if (thrum_process_recording(input_process(pid), path, size, &error) == 0)
			return STATUS_OK;
		complain("%s", error.message);
		return STATUS_FAILED;
	}
	if ((size_t)snprintf(path, size, "%s", argument) >= size) {
		complain("%.60s...: the name is too long", argument);
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

int input_open(const struct command *command, const char *argument, struct input *input)
{
	struct thrum_error_info error = {0};
	int status = input_find(command, argument, input->path, sizeof(input->path));

	if (status != STATUS_OK)
		return status;
	if (thrum_trace_open(input->path, &input->trace, &error) < 0)
		return input_failed(input->path, &error);
	input->info = thrum_trace_info(input->trace);
	return STATUS_OK;
}

const char *input_path(const char *path)
{
	const char *host = strstr(path, "://");

	if (strcmp(path, "-") == 0)
		return "standard input";
	return host && skip_user(host + 3) != host + 3 ? skip_user(host + 3) : path;
}

/* "a.thrum + b.thrum", without folders; "a.thrum + 2 more" for the recordings of a run. */
static void name_together(char *const *arguments, int count, char *to, size_t size)
{
	size_t used = 0;

	*to = '\0';
	if (count > 2 &&
		thrum__source_are_named_as_run((const char *const *)arguments, (size_t)count)) {
		snprintf(to, size, "%s + %d more", thrum__source_name(arguments[0]), count - 1);
		return;
	}
	for (int i = 0; i < count && used < size; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", i ? " + " : "",
			thrum__source_name(arguments[i]));
}

/* Opens traces as one. If they are not, input->trace is NULL, and it is no error unless the user
 * said that they are. */
static int join(const char *const *files, size_t count, bool is_together, struct input *input)
{
	struct thrum_error_info error = {0};
	uint64_t messages;
	size_t which;
	int result = thrum__source_open_together(files, count, &input->trace, &messages, &which,
		&error);

	if (result < 0) {
		input->trace = NULL;
		return is_together
			? input_failed(which < count ? files[which] : input->path, &error)
			: STATUS_OK;
	}
	input->info = thrum_trace_info(input->trace);
	if (messages == 0 && !is_together)
		input_close(input);
	else if (!is_together)
		complain("%zu traces taken as one, with %" PRIu64 " message%s between them", count,
			messages, messages == 1 ? "" : "s");
	return STATUS_OK;
}

int input_join(const struct command *command, char *const *arguments, int count, bool is_together,
	struct input *input)
{
	char(*paths)[PATH_MAX] = calloc((size_t)count, sizeof *paths);
	const char **files = calloc((size_t)count, sizeof *files);
	int status = paths && files ? STATUS_OK : STATUS_FAILED;
	bool has_pipe = false;

	input->trace = NULL;
	if (status != STATUS_OK)
		complain("out of memory");
	for (int i = 0; i < count && status == STATUS_OK; i++) {
		files[i] = paths[i];
		has_pipe |= strcmp(arguments[i], "-") == 0;
		status = input_find(command, arguments[i], paths[i], sizeof paths[i]);
	}
	name_together(arguments, count, input->path, sizeof input->path);
	if (status == STATUS_OK && !has_pipe && !is_together)
		is_together = thrum__source_are_of_run(files, count);
	if (status == STATUS_OK && has_pipe && is_together)
		status = complain_usage(command, "standard input can't be one of several traces");
	else if (status == STATUS_OK && !has_pipe)
		status = join(files, (size_t)count, is_together, input);
	free(paths);
	free(files);
	return status;
}

int input_check_beside(const struct command *command, int count)
{
	return count <= THRUM__STAGE_MAX
		? STATUS_OK
		: complain_usage(command,
			  "at most %d traces stand beside each other; --together takes\n"
			  "up to %d as one",
			  THRUM__STAGE_MAX, INPUTS_MAX);
}

int input_open_all(const struct command *command, char *const *arguments, int count,
	bool is_together, struct input *input)
{
	int status;

	if (count == 1)
		return input_open(command, arguments[0], input);
	status = input_join(command, arguments, count, is_together, input);
	if (status != STATUS_OK || input->trace)
		return status;
	/* A trace that can't be read is worth a message of its own. */
	for (int i = 0; i < count && status == STATUS_OK; i++) {
		status = input_open(command, arguments[i], input);
		if (status == STATUS_OK)
			input_close(input);
	}
	return status != STATUS_OK
		? status
		: complain_usage(command,
			  "no message goes from one of these traces to another;\n"
			  "--together takes them as one all the same");
}

void input_close(struct input *input)
{
	thrum_trace_close(input->trace);
	input->trace = NULL;
}

static bool is_recording(const char *path)
{
	struct thrum_trace *trace;
	bool is;

	if (thrum_trace_open(path, &trace, NULL) < 0)
		return false;
	is = strcmp(thrum_trace_info(trace)->format, "mirage-profile") != 0;
	thrum_trace_close(trace);
	return is;
}

int input_may_replace(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return STATUS_OK;
	if (S_ISLNK(status.st_mode)) {
		complain("%s: a symbolic link is in the way", path);
		return STATUS_FAILED;
	}
	if (S_ISREG(status.st_mode) && (status.st_size == 0 || is_recording(path)))
		return STATUS_OK;
	complain("%s: a file that is not a recording is in the way", path);
	return STATUS_FAILED;
}

void input_warn(const struct input *input)
{
	const char *name = input_path(input->path);
	char words[1000];

	if (thrum__words_missing(input->info, words, sizeof words) > 0)
		complain("%s: %s", name, words);
}

void input_program(const char *path, const char *program, char name[64])
{
	const char *file = thrum__source_name(path);
	size_t size = strlen(file);

	if (size > 6 && strcmp(file + size - 6, ".thrum") == 0)
		size -= 6;
	if (strncmp(file, program, strlen(program)) == 0)
		snprintf(name, 64, "%.63s", program);
	else
		snprintf(name, 64, "%.*s", size < 63 ? (int)size : 63, file);
}
