/* SPDX-License-Identifier: ISC */
/*
 * `thrum attach`: starts, stops or copies the recording of a process that runs already, or says why that
 * is impossible.
 */
#include "capture/attach.h"

#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <thrum/trace.h>
#include <time.h>
#include <unistd.h>

#include "capture/pattern.h"
#include "line/command.h"
#include "line/text.h"
#include "source/request.h"
#include "trace/input.h"

#define SIZE_DEFAULT (UINT64_C(1) << 30)
#define WAIT_DEFAULT INT64_C(5000000000)
#define LOOK_EVERY 10000000 /* ns */

enum {
	STATUS_NOT_YET = 3, /* the process was asked, but has made no call since */
};

struct attach_options {
	const char *output;
	bool start, stop, snapshot, counters_only;
	uint64_t size;
	int full;
	int64_t wait;
};

/* ---- The process ----------------------------------------------------------------------------- */

static int explain(const char *name, long pid)
{
	struct output out;
	int status, closed;

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	status = doctor_process(&out, name, pid);
	closed = output_close(&out);
	return status == STATUS_FAILED || closed != STATUS_OK ? STATUS_FAILED : 1;
}

/* Whether the process sees the same files under the same names. */
static bool shares_files(long pid)
{
	static const char *const names[] = {"root/", "ns/mnt"};
	char path[64], own[64];
	struct stat here, there;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%ld/%s", pid, names[i]);
		snprintf(own, sizeof(own), "/proc/self/%s", names[i]);
		if (stat(path, &there) == 0 && stat(own, &here) == 0 &&
			(here.st_dev != there.st_dev || here.st_ino != there.st_ino))
			return false;
	}
	return true;
}

/* Prints a file of the process: "4711 records to /tmp/x.thrum". */
static void say_file(const char *name, const char *what, const char *file)
{
	if (file[0] != '/' || shares_files(strtol(name, NULL, 10)))
		complain("%s %s %s", name, what, file);
	else
		complain("%s %s %s of its own file system: here it is /proc/%s/root%s", name, what,
			file, name, file);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Waits until the process has done what it was asked for. Returns the answer, or 0: not yet. */
static int await(struct thrum__source_request *request, const struct attach_options *options,
	const char **file, struct thrum_error_info *error)
{
	int64_t waited = 0;
	int answer;

	while ((answer = thrum__source_request_look(request, file, error)) == 0 &&
		waited < options->wait) {
		nanosleep(&(struct timespec){.tv_nsec = LOOK_EVERY}, NULL);
		waited += LOOK_EVERY;
	}
	return answer;
}

/* Asks the process to start or stop (NULL). Returns the status, and prints why it is not STATUS_OK. */
static int ask(const char *name, const struct attach_options *options,
	const struct thrum__source_start *start, char file[PATH_MAX])
{
	struct thrum__source_request *request = NULL;
	struct thrum_error_info error = {0};
	const char *answered = NULL;
	long pid = strtol(name, NULL, 10);
	int result = thrum__source_request_open(pid, &request, &error);

	if (result == 0)
		result = thrum__source_request_ask(request, start, &error);
	if (result == 0) {
		result = await(request, options, &answered, &error);
		if (result == 0)
			complain("asked; %s %s at its next event, and has had none for %.3g s",
				name, start ? "starts to record" : "stops recording",
				(double)options->wait / 1e9);
	}
	snprintf(file, PATH_MAX, "%s", answered ? answered : "memory");
	/* The process may be another user's. */
	for (char *p = file; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	thrum__source_request_close(request);
	if (result < 0)
		complain("%s", error.message);
	if (result == -THRUM_E_FORMAT)
		return explain(name, pid);
	return result > 0                          ? STATUS_OK
		: result == 0                      ? STATUS_NOT_YET
		: result == -THRUM_E_NOT_RECORDING ? 1
						   : STATUS_FAILED;
}

static int start_recording(const struct command *command, const char *name,
	const struct attach_options *options)
{
	struct thrum__source_start start = {.size = options->size,
		.discard = options->full == 1,
		.counters_only = options->counters_only};
	char path[PATH_MAX], file[PATH_MAX];
	const char *output = options->output;
	long pid = strtol(name, NULL, 10);
	int status = STATUS_OK;

	if (thrum_process_recording(pid, path, sizeof(path), NULL) == 0) {
		complain("%s records already, to %s", name, path);
		return 1;
	}
	if (shares_files(pid)) {
		status = pattern_make(output ? output : "%e-%p.thrum", path, sizeof(path));
		start.file = path;
	} else if (output && output[0] != '/') {
		return complain_usage(command,
			"process %s sees other files: -o needs a path of its file system that "
			"begins with /",
			name);
	} else {
		start.file = output;
	}
	if (status == STATUS_OK)
		status = ask(name, options, &start, file);
	if (status == STATUS_OK)
		say_file(name, "records to", file);
	return status;
}

static int stop_recording(const char *name, const struct attach_options *options)
{
	char file[PATH_MAX];
	int status = ask(name, options, NULL, file);

	if (status == STATUS_OK)
		say_file(name, "has stopped recording to", file);
	return status;
}

static int copy_recording(const char *name, long pid, const struct attach_options *options)
{
	struct thrum_error_info error = {0};
	char path[PATH_MAX];

	int result = thrum_process_recording(pid, path, sizeof(path), &error);

	if (result == 0)
		return snapshot_to_file(path, options->output);
	complain("%s", error.message);
	return result == -THRUM_E_NOT_RECORDING ? explain(name, pid) : STATUS_FAILED;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run_attach(const struct command *command, int argc, char **argv)
{
	struct attach_options options = {.size = SIZE_DEFAULT, .wait = WAIT_DEFAULT, .full = 0};
	char name[NUMBER_ROOM];
	uint64_t pid;
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	if (!parse_id(argv[0], strlen(argv[0]), &pid) || pid == 0 || pid > INT_MAX)
		return complain_usage(command, "%s is no process id", argv[0]);
	if (options.start + options.stop + options.snapshot > 1)
		return complain_usage(command, "give one of --start, --stop and --snapshot");
	pid = (uint64_t)input_process((int64_t)pid);
	snprintf(name, sizeof(name), "%" PRIu64, pid);
	if (options.start)
		return start_recording(command, name, &options);
	if (options.stop)
		return stop_recording(name, &options);
	return copy_recording(name, (long)pid, &options);
}

#define OFFSET(member) offsetof(struct attach_options, member)

static const struct option options_of_attach[] = {
	{"start", 0, OPTION_FLAG, OFFSET(start), NULL, NULL,
		"start a recording in a process that has libthrum or\n"
		"the adapters, and doesn't record now"},
	{"stop", 0, OPTION_FLAG, OFFSET(stop), NULL, NULL, "stop its recording"},
	{"snapshot", 0, OPTION_FLAG, OFFSET(snapshot), NULL, NULL,
		"copy its recording, which goes on (default)"},
	{"output", 'o', OPTION_STRING, OFFSET(output), "FILE", NULL,
		"record or copy to FILE (default: ./%e-%p.thrum as\n"
		"for record; NAME-snapshot.thrum for a copy)"},
	{"size", 's', OPTION_SIZE, OFFSET(size), "SIZE", NULL,
		"the greatest size of the recording (default: 1G)"},
	{"counters-only", 0, OPTION_FLAG, OFFSET(counters_only), NULL, NULL,
		"record no events, only the program's counters"},
	{"full", 0, OPTION_CHOICE, OFFSET(full), NULL, "overwrite|discard",
		"once it is full, overwrite the oldest events\n"
		"(default) or discard the new ones"},
	{"wait", 0, OPTION_TIME, OFFSET(wait), "TIME", NULL,
		"wait this long for the process to start or stop\n"
		"(default: 5s)"},
	{0},
};

const struct command command_attach = {
	.name = "attach",
	.purpose = "start, stop or copy the recording of a running process",
	.arguments = "PID",
	.min = 1,
	.max = 1,
	.options = options_of_attach,
	.more = "The process starts or stops by itself, at its next event, on the thread that\n"
		"makes it: a process that waits for input does so when it gets some. It needs\n"
		"libthrum, its own or that of thrum record --later. About any other process,\n"
		"thrum says what thrum record could see of it. The process writes FILE, with its\n"
		"rights. You must be its user or root, and the kernel must allow it.",
	.examples = "thrum attach 4711 --start -o /tmp/now.thrum --size=64M\n"
		    "thrum attach 4711 --stop\n"
		    "thrum attach $(pidof server) -o copy.thrum",
	.statuses = "0  the process has started or stopped, or its recording is copied\n"
		    "1  there is nothing to stop or copy, it records already, or it can't record\n"
		    "2  there is no such process, it may not be changed, or FILE can't be written\n"
		    "3  asked, but the process has made no event since\n"
		    "64 usage error",
	.run = run_attach,
};
