/* SPDX-License-Identifier: ISC */
/* `thrum record`: runs a program with its recorder switched on, and doesn't disturb it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/calls.h"
#include "capture/pattern.h"
#include "capture/preload.h"
#include "capture/program.h"
#include "capture/recorded.h"
#include "capture/scheduled.h"
#include "capture/segments.h"
#include "format/format.h"
#include "line/text.h"
#include "source/zstd.h"
#include "trace/input.h"

#define SIZE_DEFAULT (UINT64_C(1) << 30)
#define SIZE_UNSET UINT64_MAX
#define SIZE_LEAST (UINT64_C(256) << 10)
#define SEGMENT_LEAST (UINT64_C(1) << 20)
#define RING_LEAST (UINT64_C(64) << 20) /* from which segments are cut */
#define SIZE_MOST (UINT64_C(64) << 30)

enum {
	STATUS_NOT_EXECUTABLE = 126,
	STATUS_NO_PROGRAM = 127
};

struct record_options {
	const char *output;
	uint64_t size;
	bool counters_only, later;
	uint64_t segment, keep;
	bool compress, sched;
	struct scheduled_options also;
	int full;
	struct preload_options preload;
};

static const char *const full_words[] = {"overwrite", "discard"};

/* ---- Checks before the start ----------------------------------------------------------------- */

/* Whether there is room for the tables, with which a recording begins. */
static int check_room(const struct record_options *options, const char *directory)
{
	struct thrum__header layout = {0};
	struct statvfs device;
	char needed[32], left[32];
	uint64_t least, room;

	if (options->later || statvfs(directory, &device) < 0 || device.f_blocks == 0)
		return STATUS_OK;
	if (options->counters_only)
		thrum__format_lay_out_counters(&layout, (uint64_t)sysconf(_SC_PAGESIZE));
	else if (thrum__format_lay_out(&layout, options->size, (uint64_t)sysconf(_SC_PAGESIZE)) < 0)
		return STATUS_OK;
	least = layout.packet.offset;
	room = (uint64_t)device.f_bfree * device.f_frsize;
	if (room >= least)
		return STATUS_OK;
	*put_size(needed, least) = *put_size(left, room) = '\0';
	complain(
		"%s: no space: a recording begins with %s, and %s are free (a smaller --size needs less)",
		directory, needed, left);
	return STATUS_FAILED;
}

/* Checks that a recording can be created. The recorder itself is silent when it can't create
 * one. */
static int check_directory(const struct record_options *options, const char *pattern)
{
	char part[PATH_MAX], directory[PATH_MAX];
	struct stat status;
	char *slash;

	snprintf(part, sizeof(part), "%s", pattern);
	slash = strrchr(part, '/');
	slash[slash == part] = '\0';
	/* The directory depends on the program's name or process id. */
	if (!pattern_name(part, directory))
		return STATUS_OK;
	if (stat(directory, &status) == 0 && !S_ISDIR(status.st_mode))
		errno = ENOTDIR;
	else if (access(directory, W_OK | X_OK) == 0)
		return check_room(options, directory);
	complain("%s: no recording can be created there: %s", directory, strerror(errno));
	return STATUS_FAILED;
}

static int check_place(const struct record_options *options, const char *pattern)
{
	char name[PATH_MAX];
	int status = check_directory(options, pattern);

	if (status == STATUS_OK && pattern_name(pattern, name))
		status = input_may_replace(name);
	return status;
}

static int set_environment(const struct record_options *options, const char *pattern)
{
	char size[24];

	if (options->later)
		return unsetenv("THRUM_TRACE") < 0 ? STATUS_FAILED : STATUS_OK;
	snprintf(size, sizeof(size), "%" PRIu64, options->counters_only ? 0 : options->size);
	if (setenv("THRUM_TRACE", pattern, 1) < 0 || setenv("THRUM_SIZE", size, 1) < 0 ||
		setenv("THRUM_FULL", full_words[options->full], 1) < 0) {
		complain("out of memory");
		return STATUS_FAILED;
	}
	return STATUS_OK;
}

/* ---- Signals --------------------------------------------------------------------------------- */

/*
 * While the program runs, thrum does nothing for the keyboard's signals: the terminal sends them to
 * the program too, which decides. thrum passes on the signals that others send to thrum itself. All
 * stay blocked, and wait_for waits for them: there are no handlers.
 */
struct signals {
	sigset_t before, waited;
	struct sigaction child;
};

static const int passed_signals[] = {SIGINT, SIGQUIT, SIGTSTP, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2,
	SIGALRM, SIGIO, SIGPWR, SIGURG, SIGWINCH};

static void take_signals(struct signals *signals)
{
	struct sigaction standard = {.sa_handler = SIG_DFL};

	sigemptyset(&signals->waited);
	sigaddset(&signals->waited, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_signals) / sizeof(passed_signals[0]); i++)
		sigaddset(&signals->waited, passed_signals[i]);
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		sigaddset(&signals->waited, number);
	sigprocmask(SIG_BLOCK, &signals->waited, &signals->before);
	/* If SIGCHLD were ignored, the kernel would drop the program's exit status. */
	sigaction(SIGCHLD, &standard, &signals->child);
}

/* In the child: restores the signals as thrum itself got them. */
static void give_back_signals(const struct signals *signals)
{
	sigaction(SIGCHLD, &signals->child, NULL);
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

/* Returns whether thrum is the foreground job of a terminal, whose shell waits for it to stop. */
static bool in_foreground(void)
{
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	bool is = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();

	if (terminal >= 0)
		close(terminal);
	return is;
}

/* Stops thrum after the program has stopped, so that the shell sees its job stopped; both continue
 * together. */
static void stop_too(pid_t child)
{
	if (!in_foreground())
		return;
	raise(SIGSTOP);
	kill(child, SIGCONT);
}

/* Passes signals on until the program has ended; returns its status as waitpid(2) does. Notes from
 * time to time that the program lives: thrum may be killed together with it. */
static int wait_for(const struct recorded *recorded, const struct signals *signals)
{
	static const struct timespec pause = {0, 500000000};
	pid_t child = recorded->pid;

	for (;;) {
		siginfo_t signal;
		int status;

		if (sigtimedwait(&signals->waited, &signal, &pause) < 0) {
			if (errno == EAGAIN) {
				recorded_note_alive(recorded);
				recorded_note_dead(recorded);
				calls_look(recorded);
			}
			continue;
		}
		if (signal.si_signo != SIGCHLD) {
			/* Those of the kernel, as of a terminal, go to the program, too. */
			if (signal.si_code <= 0)
				kill(child, signal.si_signo);
			continue;
		}
		while (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				return status;
			stop_too(child);
		}
	}
}

/* ---- The program ----------------------------------------------------------------------------- */

/* Whether it is a file that the kernel can run only with the help of an emulator. */
static bool is_foreign(const struct program *program)
{
	return program->kind == PROGRAM_FOREIGN && !program->script[0];
}

static void execute(const struct program *program, char **argv, const struct signals *signals,
	int report)
{
	int error;

	give_back_signals(signals);
	/* execvp would take it for a shell's script. */
	if (is_foreign(program))
		execv(program->path, argv);
	else
		execvp(argv[0], argv);
	error = errno;
	if (write(report, &error, sizeof(error)) != sizeof(error))
		_exit(STATUS_NOT_EXECUTABLE);
	_exit(error == ENOENT ? STATUS_NO_PROGRAM : STATUS_NOT_EXECUTABLE);
}

/* Starts the program, and before it what listens to its threads, unless that is NULL. Returns
 * STATUS_OK, or the exit status after a message. */
static int start_program(const struct program *program, char **argv, const struct signals *signals,
	struct scheduled *scheduled, const struct scheduled_options *also, pid_t *child)
{
	int pipes[2], go[2], error = 0;
	char byte;
	ssize_t n;

	/* Closed by a successful exec. */
	if (pipe2(pipes, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0 || (*child = fork()) < 0) {
		complain("%s: %s", argv[0], strerror(errno));
		return STATUS_FAILED;
	}
	if (*child == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) < 0) /* until the parent closes it */
			_exit(STATUS_NOT_EXECUTABLE);
		execute(program, argv, signals, pipes[1]);
	}
	if (scheduled)
		(void)scheduled_start(scheduled, *child, also);
	close(go[0]);
	close(go[1]);
	close(pipes[1]);
	do
		n = read(pipes[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(pipes[0]);
	if (n <= 0)
		return STATUS_OK;
	waitpid(*child, NULL, 0);
	if (error == ENOENT && !strchr(argv[0], '/'))
		complain("%s: no such program in PATH", argv[0]);
	else
		complain("%s: can't be executed: %s", argv[0],
			error == ENOEXEC && is_foreign(program)
				? "it is made for another kind of processor"
				: strerror(error));
	return error == ENOENT ? STATUS_NO_PROGRAM : STATUS_NOT_EXECUTABLE;
}

/* Begins a new line, as far as it is known that the program left one unfinished: at a terminal, a line
 * of spaces fills the rest of this line or nothing but an empty one. */
static void begin_line(void)
{
	struct winsize size;
	struct stat file;
	char last = '\n';

	if (ioctl(2, TIOCGWINSZ, &size) == 0) {
		if (size.ws_col > 0)
			fprintf(stderr, "%*s\r", size.ws_col, "");
	} else if (fstat(2, &file) == 0 && S_ISREG(file.st_mode)) {
		off_t end = lseek(2, 0, SEEK_CUR);
		int fd = end > 0 ? open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC) : -1;

		if (fd >= 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n')
			fputc('\n', stderr);
		if (fd >= 0)
			close(fd);
	}
}

/* Says why there is no recording. */
static void tell_nothing(const char *name, const struct program *program,
	const struct preload_options *options, bool is_preloaded, int error)
{
	const char *why = "neither it nor its children use libthrum, or none could create a file";

	if (program->gains_rights)
		why = "it is a setuid program, in which libthrum ignores THRUM_TRACE";
	else if (program->kind == PROGRAM_STATIC && !options->none)
		why = "it is linked statically, so that nothing can be loaded into it, and it "
		      "doesn't use libthrum";
	else if (program->kind == PROGRAM_FOREIGN && !options->none)
		why = "it is made for another kind of processor, so that nothing can be loaded "
		      "into it, and it doesn't use libthrum";
	else if (program->kind == PROGRAM_NO_GLIBC && !options->none)
		why = "it is linked with another C library than the GNU one, so that nothing can "
		      "be loaded into it, and it doesn't use libthrum";
	else if (program->is_sanitized && !options->none)
		why = "it is built for a sanitizer, whose library must be loaded before any other, "
		      "and it doesn't use libthrum";
	else if (is_preloaded && (options->only || options->without))
		why = "it does nothing that the chosen adapters see, and doesn't use libthrum";
	else if (is_preloaded && options->follow)
		why = "neither it nor the programs that it runs start threads, wait for events, "
		      "or use libuv, libevent, GLib or libthrum";
	else if (is_preloaded)
		why = "it doesn't start threads, wait for events, or use libuv, libevent, "
		      "GLib or libthrum; programs that it runs are recorded with --follow-children";
	if (error == -THRUM_E_SPACE || error == -THRUM_E_MEMORY || error == -THRUM_E_SIZE)
		why = "a limit, or a full disk, left its recording no room";
	else if (error)
		why = thrum_error_message(error);
	complain("%s recorded nothing: %s", name, why);
}

/* Ends as the program ended, possibly by the same signal, but without a core dump of thrum. */
static int end_like(int status, const struct signals *signals)
{
	int number;
	sigset_t set;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	number = WTERMSIG(status);
	give_back_signals(signals);
	prctl(PR_SET_DUMPABLE, 0);
	signal(number, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
	return 128 + number;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Says how several recordings are read as one. */
static void tell_together(const struct recorded *recorded, size_t count)
{
	char name[PATH_MAX];

	if (count < 2 || recorded->segments)
		return;
	if (pattern_name(recorded->pattern, name))
		complain("thrum why %s explains all of them", recorded_shorten(name));
	else
		complain("thrum why --together with all their names explains them as one");
}

/* Waits for the program that has started, and finishes its recordings. Returns its status. */
static int finish_program(const struct record_options *options, const char *name,
	const struct program *program, struct recorded *recorded, struct scheduled *scheduled,
	struct signals *signals)
{
	struct segments segments = {0};
	const struct thrum__source_segments_options kept = {.size = options->segment,
		.keep = options->keep,
		.compress = options->compress};
	size_t count;
	int status;

	recorded->scheduled = scheduled->is_running ? scheduled : NULL;
	if (options->segment && segments_start(&segments, recorded, &kept) == STATUS_OK)
		recorded->segments = &segments;
	recorded->status = wait_for(recorded, signals);
	recorded->ended = recorded_now();
	begin_line();
	scheduled_stop(scheduled);
	if (recorded->segments)
		segments_stop(&segments);
	count = recorded_report(recorded);
	tell_together(recorded, count);
	if (count == 0 && !options->later)
		tell_nothing(name, program, &options->preload, recorded->may_be_empty,
			recorded->forks ? atomic_load(&recorded->forks->own_error) : 0);
	preload_tell_forks(recorded->forks);
	status = end_like(recorded->status, signals);
	segments_finish(&segments);
	return status;
}

static int record_program(const struct record_options *options, char **program)
{
	struct recorded recorded = {.compress = options->compress};
	struct scheduled scheduled = {0};
	struct signals signals;
	struct program file;
	int status;
	pid_t child;

	status = pattern_make(options->output, recorded.pattern, sizeof(recorded.pattern));
	if (status == STATUS_OK)
		status = check_place(options, recorded.pattern);
	if (status == STATUS_OK)
		status = set_environment(options, recorded.pattern);
	if (status == STATUS_OK && options->sched)
		status = scheduled_check(&options->also);
	if (status != STATUS_OK)
		return status;
	if (recorded_before(&recorded) < 0) {
		complain("out of memory");
		return STATUS_FAILED;
	}
	program_of_file(program[0], &file); /* if that fails, so does the start */
	recorded.may_be_empty = preload_adapters(&options->preload, &file, &recorded.forks);
	take_signals(&signals);
	status = start_program(&file, program, &signals, options->sched ? &scheduled : NULL,
		&options->also, &child);
	if (status == STATUS_OK) {
		recorded.pid = child;
		status = finish_program(options, program[0], &file, &recorded, &scheduled,
			&signals);
	}
	scheduled_finish(&scheduled);
	program_free(&file);
	recorded_finish(&recorded);
	return status;
}

static int run_record(const struct command *command, int argc, char **argv)
{
	struct record_options options = {.output = "%e-%p.thrum", .size = SIZE_UNSET};
	int count, status;

	count = options_parse(command, argc, argv, &options, &status);
	if (count < 0)
		return status;
	if (options.size == SIZE_UNSET)
		options.size = !options.segment          ? SIZE_DEFAULT
			: options.segment < RING_LEAST   ? RING_LEAST
			: options.segment < SIZE_DEFAULT ? options.segment
							 : SIZE_DEFAULT;
	if (options.size < SIZE_LEAST || options.size > SIZE_MOST)
		return complain_usage(command, "--size must be between 256K and 64G");
	if (options.segment && options.segment < SEGMENT_LEAST)
		return complain_usage(command, "--segment must be at least 1M");
	if (options.keep && !options.segment)
		return complain_usage(command, "--keep needs --segment");
	if (options.segment && (options.later || options.counters_only || options.full == 1))
		return complain_usage(command, "--segment can't be combined with %s",
			options.later                   ? "--later"
				: options.counters_only ? "--counters-only"
							: "--full=discard");
	if (options.compress && !thrum__source_can_compress())
		return complain_usage(command, "--compress: this thrum was built without libzstd");
	options.sched |= options.also.wakes || options.also.faults || options.also.kernel;
	if (options.sched && options.counters_only)
		return complain_usage(command, "%s can't be combined with --counters-only",
			options.also.kernel           ? "--kernel"
				: options.also.wakes  ? "--wakes"
				: options.also.faults ? "--faults"
						      : "--sched");
	options.preload.none |= options.counters_only;
	/* argv has room for this NULL: at the latest at argv[argc]. */
	argv[count] = NULL;
	return record_program(&options, argv);
}

#define OFFSET(member) offsetof(struct record_options, member)

static const struct option options_of_record[] = {
	{"output", 'o', OPTION_STRING, OFFSET(output), "FILE", NULL,
		"record to FILE (default: ./%e-%p.thrum); in its name\n"
		"%e stands for the program's name, %p for its process\n"
		"id"},
	{"size", 's', OPTION_SIZE, OFFSET(size), "SIZE", NULL,
		"the greatest size of a recording (default: 1G; with\n"
		"--segment the size of a segment, from 64M to 1G); a\n"
		"file takes only as much disk as its content needs"},
	{"counters-only", 0, OPTION_FLAG, OFFSET(counters_only), NULL, NULL,
		"record no events: keep nothing but the counters of\n"
		"the program, at no cost; implies --no-preload"},
	{"segment", 0, OPTION_SIZE, OFFSET(segment), "SIZE", NULL,
		"while the program runs, copy its events to files of\n"
		"SIZE: NAME.0001.thrum and so on for NAME.thrum. Each\n"
		"opens by itself. NAME.thrum has only the latest\n"
		"events and is removed at the end"},
	{"keep", 0, OPTION_COUNT, OFFSET(keep), "COUNT", NULL,
		"keep the newest COUNT of these files (default: all)"},
	{"compress", 0, OPTION_FLAG, OFFSET(compress), NULL, NULL,
		"compress the files with zstd: FILE.zst. All commands\n"
		"read them"},
	{"sched", 0, OPTION_FLAG, OFFSET(sched), NULL, NULL,
		"also record when each thread was off its processor:\n"
		"preempted, although it could run, or blocked. Needs\n"
		"no rights where kernel.perf_event_paranoid is at\n"
		"most 2"},
	{"faults", 0, OPTION_FLAG, OFFSET(also.faults), NULL, NULL,
		"like --sched, and record the page faults of each\n"
		"thread. Needs no more rights"},
	{"wakes", 0, OPTION_FLAG, OFFSET(also.wakes), NULL, NULL,
		"like --sched, and record who woke each thread:\n"
		"another one or an interrupt. Needs root or\n"
		"CAP_PERFMON"},
	{"kernel", 0, OPTION_FLAG, OFFSET(also.kernel), NULL, NULL,
		"like --wakes and --faults, and record what the\n"
		"kernel does for all programs: interrupts, on a lane\n"
		"for each CPU, and requests to block devices"},
	{"full", 0, OPTION_CHOICE, OFFSET(full), NULL, "overwrite|discard",
		"once it is full, overwrite the oldest events\n"
		"(default) or discard the new ones"},
	{"only", 0, OPTION_SET, OFFSET(preload.only), NULL, PRELOAD_ADAPTERS,
		"in a program that knows nothing of thrum, record\n"
		"only these: threads and locks; waiting in epoll,\n"
		"poll and select; other calls that wait, such as\n"
		"read; libuv; libevent; GLib and GIO; liburing"},
	{"without", 0, OPTION_SET, OFFSET(preload.without), NULL, PRELOAD_ADAPTERS,
		"record all but these"},
	{"no-preload", 0, OPTION_FLAG, OFFSET(preload.none), NULL, NULL,
		"load nothing into PROGRAM (LD_PRELOAD): only what it\n"
		"reports itself through libthrum is recorded"},
	{"follow-children", 0, OPTION_FLAG, OFFSET(preload.follow), NULL, NULL,
		"load the same into its children: each records to a\n"
		"file of its own"},
	{"later", 0, OPTION_FLAG, OFFSET(later), NULL, NULL,
		"record nothing yet: thrum attach PID --start does"},
	{0},
};

const struct command command_record = {
	.name = "record",
	.purpose = "run a program and record what its tasks do",
	.arguments = "[--] PROGRAM [ARGUMENT...]",
	.min = 1,
	.max = 0,
	.options = options_of_record,
	.more = "PROGRAM may be any dynamically linked program: thrum sees its threads, locks,\n"
		"loops, libuv, libevent and GLib, and all that it reports itself with thrum.h.\n"
		"Children that use libthrum are recorded too, each to a file of its own. thrum\n"
		"passes signals on, leaves the program's input and output alone, and exits with\n"
		"its status. Then thrum why FILE says what hangs, and thrum view FILE shows it.",
	.examples = "thrum record -- ./server --port 8080\n"
		    "thrum record -o server.thrum --size=64M -- ./server\n"
		    "thrum record --segment=100M --keep=10 --compress -- ./server\n"
		    "thrum record --full=discard make test",
	.statuses = "PROGRAM's own; if a signal ended it, thrum ends by the same signal\n"
		    "2   PROGRAM could not be started, or no recording can be created\n"
		    "64  usage error\n"
		    "126 PROGRAM can't be executed\n"
		    "127 PROGRAM was not found",
	.run = run_record,
};
