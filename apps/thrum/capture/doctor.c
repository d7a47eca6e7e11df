/* SPDX-License-Identifier: ISC */
/* `thrum doctor`: says how much of a program thrum can see, and what to do about the rest. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/attach.h"
#include "capture/program.h"
#include "line/command.h"
#include "line/output.h"
#include "line/text.h"
#include "trace/input.h"

enum {
	STATUS_UNSEEN = 1, /* nothing of the program can be seen */
};

/* The libraries whose calls are recorded, by the beginning of their names. */
static const struct {
	const char *library, *seen;
} seen_libraries[] = {
	{"libthrum-promise.so", "promises, conditions, mailboxes and so on, as it records them"},
	{"libthrum.so", "its own tasks, as it records them with thrum.h"},
	{"libuv.so", "requests, handles, the loop's waiting, work in the thread pool"},
	{"libevent", "events, timers, bufferevents, listeners, names"},
	{"libgio-2.0.so", "GTask, calls over D-Bus, processes, files and streams"},
	{"libglib-2.0.so", "sources of the main loop, with their names"},
	{"liburing.so", "operations from submission to result, the waiting for results"},
	{"libc.so", "threads, locks, conditions; waits in epoll, poll, select and other calls"},
};

static bool needs(const struct program *program, const char *library)
{
	for (size_t i = 0; i < program->library_count; i++)
		if (strncmp(program->libraries[i], library, strlen(library)) == 0)
			return true;
	return false;
}

/* Whether the program records its own tasks. A process under the adapters has libthrum because of
 * them. */
static bool records_itself(const struct program *program)
{
	return needs(program, "libthrum") && !needs(program, "libthrum-adapt");
}

/* Prints a line for each library whose calls are seen. Returns how many there are. */
static unsigned print_libraries(struct output *out, const struct program *program)
{
	char line[256];
	unsigned count = 0;

	for (size_t i = 0; i < sizeof(seen_libraries) / sizeof(seen_libraries[0]); i++) {
		size_t size = strlen(seen_libraries[i].library);

		if (strcmp(seen_libraries[i].library, "libthrum.so") == 0 &&
			!records_itself(program))
			continue;
		for (size_t j = 0; j < program->library_count; j++) {
			if (strncmp(program->libraries[j], seen_libraries[i].library, size) != 0)
				continue;
			snprintf(line, sizeof(line), "  %-20s  %s\n", program->libraries[j],
				seen_libraries[i].seen);
			output_text(out,
				count++ == 0 ? "thrum record can see the calls of:\n" : "");
			output_text(out, line);
		}
	}
	return count;
}

/* Names the libraries that the program contains: calls inside a program can't be seen. */
static void print_parts(struct output *out, const struct program *program)
{
	static const struct {
		enum program_part part;
		const char *library, *name;
	} parts[] = {
		{PROGRAM_LIBUV, "libuv.so", "libuv"},
		{PROGRAM_GLIB, "libglib-2.0.so", "GLib"},
		{PROGRAM_LIBEVENT, "libevent", "libevent"},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (needs(program, parts[i].library) || !program_mentions(program, parts[i].part))
			continue;
		output_text(out, "It contains ");
		output_text(out, parts[i].name);
		output_text(out, " itself, so the calls of that library can't be seen.\n");
	}
}

static void print_missing(struct output *out, const struct program *program)
{
	for (size_t i = 0; i < program->missing_count; i++) {
		output_text(out, "The dynamic linker doesn't find ");
		output_text(out, program->missing[i]);
		output_text(out, ", so the program can't start.\n");
	}
}

/* Prints the program and its kind: "/usr/bin/ctest is linked dynamically." */
static void print_kind(struct output *out, const struct program *program)
{
	static const char *const kinds[] = {
		[PROGRAM_DYNAMIC] = "is linked dynamically.",
		[PROGRAM_STATIC] = "is linked statically.",
		[PROGRAM_FOREIGN] = "is made for another kind of processor.",
		[PROGRAM_NO_GLIBC] =
			"is linked dynamically with another C library than the GNU one.",
		[PROGRAM_UNKNOWN] = "is neither an ELF program nor a script.",
	};

	if (program->script[0]) {
		output_text(out, program->script);
		output_text(out, " is a script. Its interpreter runs:\n");
	}
	output_text(out, program->path);
	output_text(out, " ");
	output_text(out, kinds[program->kind]);
	output_text(out, "\n");
}

/* Prints what can be seen of a program. Returns whether there is anything. */
static bool print_program(struct output *out, const struct program *program)
{
	print_kind(out, program);
	if (program->gains_rights) {
		output_text(out,
			"It gets rights that you don't have (setuid, setgid or capabilities). "
			"Such programs ignore\nLD_PRELOAD and THRUM_TRACE. Record it as the user "
			"whose rights it gets.\n");
		return false;
	}
	if (program->is_sanitized) {
		output_text(out,
			"It is built for a sanitizer, whose library must be loaded before any "
			"other, so nothing can be\nloaded into it.\n");
		if (!needs(program, "libthrum"))
			return false;
		output_text(out,
			"It uses libthrum: thrum record can see the tasks that it records itself.\n");
		return true;
	}
	switch (program->kind) {
	case PROGRAM_DYNAMIC:
		print_missing(out, program);
		print_parts(out, program);
		if (print_libraries(out, program) == 0)
			return false;
		if (records_itself(program))
			output_text(out,
				"As it records its own tasks, only waits of threads that tell "
				"nothing are recorded\nbesides, unless --only names more.\n");
		return true;
	case PROGRAM_STATIC:
		if (program_mentions(program, PROGRAM_LIBTHRUM)) {
			output_text(out,
				"It contains libthrum: thrum record can see the tasks that it "
				"records itself.\n");
			return true;
		}
		output_text(out,
			"Nothing can be loaded into it. Link it dynamically, or let it record "
			"its tasks with thrum.h.\n");
		return false;
	case PROGRAM_NO_GLIBC:
		output_text(out,
			"Only the tasks that it records itself with thrum.h can be seen.\n");
		return false;
	default: output_text(out, "thrum record can see nothing of it.\n"); return false;
	}
}

static void print_command(struct output *out, const char *name)
{
	output_text(out, "Try: thrum record -- ");
	output_text(out, name);
	output_text(out, "\n");
}

static int complain_program(const char *name, int error)
{
	if (error == ENOENT && !strchr(name, '/'))
		complain("%s: no such program in PATH", name);
	else
		complain("%s: %s", name, strerror(error));
	return STATUS_FAILED;
}

/* Tells about a running process. Only one that has libthrum can be recorded now. */
int doctor_process(struct output *out, const char *name, long pid)
{
	struct program program;
	int error = program_of_process(pid, &program);
	bool is_seen;

	if (error != 0)
		return complain_program(name, error);
	is_seen = print_program(out, &program);
	if (is_seen &&
		(needs(&program, "libthrum") || program_mentions(&program, PROGRAM_LIBTHRUM))) {
		output_text(out, "Try: thrum attach --start ");
		output_text(out, name);
		output_text(out, "\n");
	} else if (is_seen) {
		output_text(out,
			"Libraries that it loads later don't count yet. Nothing can be loaded into "
			"a process that runs:\nstart it under thrum record, with --later if the "
			"recording is to begin later.\n");
	}
	program_free(&program);
	return is_seen ? STATUS_OK : STATUS_UNSEEN;
}

static int examine_file(struct output *out, const char *name)
{
	struct program program;
	int error = program_of_file(name, &program);
	bool is_seen;

	if (error != 0)
		return complain_program(name, error);
	is_seen = print_program(out, &program);
	if (is_seen)
		print_command(out, name);
	program_free(&program);
	return is_seen ? STATUS_OK : STATUS_UNSEEN;
}

struct doctor_options {
	int unused;
};

static int run_doctor(const struct command *command, int argc, char **argv)
{
	struct doctor_options options = {0};
	struct output out;
	uint64_t pid;
	int status, closed;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	if (access(argv[0], F_OK) != 0 && parse_id(argv[0], strlen(argv[0]), &pid))
		status = doctor_process(&out, argv[0], (long)pid);
	else
		status = examine_file(&out, argv[0]);
	closed = output_close(&out);
	return closed == STATUS_OK ? status : closed;
}

static const struct option options_of_doctor[] = {{0}};

const struct command command_doctor = {
	.name = "doctor",
	.purpose = "say how much of a program thrum can see",
	.arguments = "PROGRAM|PID",
	.min = 1,
	.max = 1,
	.options = options_of_doctor,
	.more = "Reads the program's file, or the process's mappings, and names the libraries\n"
		"whose calls thrum record can see. It runs the dynamic linker, not the program.",
	.examples = "thrum doctor ctest\n"
		    "thrum doctor ./server\n"
		    "thrum doctor 4711",
	.statuses = "0  something can be seen\n"
		    "1  nothing can be seen\n"
		    "2  there is no such program or process, or it can't be read\n"
		    "64 usage error",
	.run = run_doctor,
};
