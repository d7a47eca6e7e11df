/* SPDX-License-Identifier: ISC */
/* Reads /proc. Nothing here allocates. */
#define _GNU_SOURCE
#include "adapt/base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adapt/base/base.h"

/* Places in "/stat" behind the process's name: see proc_pid_stat(5). */
#define PARENT_FIELD 2
#define GROUP_FIELD 3
#define IGNORED_FIELD 31

char *thrum__adapt_process_path(char *to, pid_t process)
{
	return thrum__adapt_put_number(stpcpy(to, "/proc/"), (uint64_t)process);
}

void thrum__adapt_process_descriptor(char path[64], pid_t process, int fd)
{
	*thrum__adapt_put_number(stpcpy(thrum__adapt_process_path(path, process), "/fd/"),
		(uint64_t)fd) = '\0';
}

const char *thrum__adapt_thread_file(char name[48], uint32_t tid, const char *file)
{
	strcpy(tid ? thrum__adapt_put_number(stpcpy(name, "/task/"), tid) : name, file);
	return name;
}

uint64_t thrum__adapt_number_behind(const char *text, const char *word, int base)
{
	const char *at = strstr(text, word);

	return at ? strtoull(at + strlen(word), NULL, base) : 0;
}

static int open_of(pid_t process, const char *name, int flags)
{
	char path[64];

	strcpy(thrum__adapt_process_path(path, process), name);
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags);
}

/* Reads the beginning of a file to `size` bytes with a NUL. Returns its length: 0 if there is nothing. */
static size_t read_to(pid_t process, const char *name, char *text, size_t size)
{
	int fd = open_of(process, name, 0);
	ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, size - 1);

	if (fd >= 0)
		syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

size_t thrum__adapt_process_read(pid_t process, const char *name, char text[PROCESS_TEXT])
{
	return read_to(process, name, text, PROCESS_TEXT);
}

size_t thrum__adapt_process_read_info(pid_t process, int fd, char *text, size_t size)
{
	char name[32];

	*thrum__adapt_put_number(stpcpy(name, "/fdinfo/"), (uint64_t)fd) = '\0';
	return read_to(process, name, text, size);
}

/* Closes the directory, which is negative if there is none. */
static bool each_number(int directory, thrum__adapt_visit *visit, void *context)
{
	char buffer[2048] __attribute__((aligned(8)));
	long size = 0;

	if (directory < 0)
		return false;
	while ((size = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0)
		for (long at = 0; at < size;) {
			const struct {
				uint64_t inode, next;
				unsigned short size;
				unsigned char type;
				char name[];
			} *entry = (const void *)(buffer + at);

			if (entry->name[0] >= '0' && entry->name[0] <= '9')
				visit(context, directory, entry->name);
			at += entry->size;
		}
	syscall(SYS_close, directory);
	return size == 0;
}

bool thrum__adapt_each_process(thrum__adapt_visit *visit, void *context)
{
	return each_number((int)syscall(SYS_openat, AT_FDCWD, "/proc",
				   O_RDONLY | O_CLOEXEC | O_DIRECTORY),
		visit, context);
}

bool thrum__adapt_process_each(pid_t process, const char *name, thrum__adapt_visit *visit,
	void *context)
{
	return each_number(open_of(process, name, O_DIRECTORY), visit, context);
}

bool thrum__adapt_each_line(const char *path, thrum__adapt_visit_line *visit, void *context)
{
	char text[4096];
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	size_t kept = 0;
	bool is_found = false;
	ssize_t n;

	while (fd >= 0 && !is_found &&
		(n = syscall(SYS_read, fd, text + kept, sizeof text - 1 - kept)) > 0) {
		char *line = text, *end;

		text[kept + (size_t)n] = '\0';
		for (; !is_found && (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			is_found = visit(context, line);
		}
		kept = strlen(line);
		memmove(text, line, kept);
	}
	if (fd >= 0)
		syscall(SYS_close, fd);
	return is_found;
}

struct threads {
	struct found_processes *found;
	pid_t process;
	unsigned count;
};

static void add_children(void *context, int directory, const char *name)
{
	struct threads *threads = context;
	struct found_processes *found = threads->found;
	char path[48], text[PROCESS_TEXT], *at = text, *end;

	threads->count++;
	strcpy(stpcpy(stpcpy(path, "/task/"), name), "/children");
	if (thrum__adapt_process_read(threads->process, path, text) == PROCESS_TEXT - 1)
		found->is_whole = false;
	for (long child; (child = strtol(at, &end, 10)) > 0; at = end)
		if (found->count < found->room)
			found->list[found->count++] = (pid_t)child;
		else
			found->is_whole = false;
}

unsigned thrum__adapt_process_children(pid_t process, struct found_processes *found)
{
	struct threads threads = {found, process, 0};

	thrum__adapt_process_each(process, "/task", add_children, &threads);
	return threads.count;
}

static void count_thread(void *context, int directory, const char *name)
{
	++*(unsigned *)context;
}

bool thrum__adapt_process_is_single(pid_t process)
{
	unsigned count = 0;

	thrum__adapt_process_each(process, "/task", count_thread, &count);
	return count == 1;
}

bool thrum__adapt_process_copy(pid_t process, uintptr_t address, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)address, size};

	return !is_limited() && process_vm_readv(process, &here, 1, &there, 1, 0) == (ssize_t)size;
}

bool thrum__adapt_process_call(pid_t process, uint32_t tid, struct process_call *call)
{
	char text[PROCESS_TEXT], name[48], *at = text;

	thrum__adapt_thread_file(name, tid, "/syscall");
	if (thrum__adapt_process_read(process, name, text) == 0 || *text < '0' || *text > '9')
		return false;
	call->number = strtol(text, &at, 10);
	for (int i = 0; i < 6; i++)
		call->arguments[i] = strtoul(at, &at, 16);
	return true;
}

/* Reads how long and how often a thread had a processor. Returns false if that can't be seen. */
static bool read_schedule(pid_t process, uint32_t tid, char text[PROCESS_TEXT])
{
	char name[48];

	return thrum__adapt_process_read(process, thrum__adapt_thread_file(name, tid, "/schedstat"),
		       text) != 0;
}

uint64_t thrum__adapt_process_ran(pid_t process, uint32_t tid)
{
	char text[PROCESS_TEXT];
	uint64_t sum = 1;

	if (!read_schedule(process, tid, text))
		return 0;
	for (const char *at = text; *at; at++)
		sum = (sum ^ (unsigned char)*at) * UINT64_C(0x9e3779b97f4a7c15);
	return sum | 1;
}

uint64_t thrum__adapt_process_turns(pid_t process, uint32_t tid)
{
	char text[PROCESS_TEXT];
	const char *turns = read_schedule(process, tid, text) ? strrchr(text, ' ') : NULL;

	return turns ? strtoull(turns, NULL, 10) : 0;
}

bool thrum__adapt_call_is_poll(const struct process_call *call)
{
#ifdef SYS_poll
	if (call->number == SYS_poll)
		return true;
#endif
	return call->number == SYS_ppoll;
}

bool thrum__adapt_call_is_epoll(const struct process_call *call)
{
#ifdef SYS_epoll_wait
	if (call->number == SYS_epoll_wait)
		return true;
#endif
	return call->number == SYS_epoll_pwait;
}

bool thrum__adapt_call_is_pause(const struct process_call *call)
{
#ifdef SYS_pause
	if (call->number == SYS_pause)
		return true;
#endif
	return call->number == SYS_rt_sigsuspend;
}

bool thrum__adapt_call_is_endless(const struct process_call *call)
{
	const unsigned long *arguments = call->arguments;

	switch (call->number) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_accept:
	case SYS_accept4:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_flock: return true;
	case SYS_futex: return arguments[3] == 0;
	case SYS_ppoll: return arguments[2] == 0;
#ifdef SYS_poll
	case SYS_poll: return (int)arguments[2] < 0;
#endif
	default:
		return thrum__adapt_call_is_pause(call) ||
			(thrum__adapt_call_is_epoll(call) && (int)arguments[3] < 0);
	}
}

#define LIBRARYS (UINT64_C(3) << 31) /* signals that the C library handles for itself */

/* Reads the signals of a process, or of one of its threads, from its file "/status". Returns false if they
 * aren't known. */
static bool read_signals(pid_t process, const char *name, struct process_signals *signals)
{
	char text[4096];

	read_to(process, name, text, sizeof text);
	*signals = (struct process_signals){.pending = thrum__adapt_number_behind(text,
						    "\nShdPnd:", 16),
		.own = thrum__adapt_number_behind(text, "\nSigPnd:", 16),
		.blocked = thrum__adapt_number_behind(text, "\nSigBlk:", 16),
		.ignored = thrum__adapt_number_behind(text, "\nSigIgn:", 16),
		.handled = thrum__adapt_number_behind(text, "\nSigCgt:", 16)};
	return strstr(text, "\nSigCgt:") != NULL;
}

struct reader {
	pid_t process;
	uint64_t signals;
	bool reads;
};

static void look_at_reader(void *context, int directory, const char *name)
{
	struct reader *reader = context;
	char text[PROCESS_TEXT];

	thrum__adapt_process_read_info(reader->process, atoi(name), text, sizeof text);
	reader->reads |= (thrum__adapt_number_behind(text, "\nsigmask:", 16) & reader->signals) !=
		0;
}

/* Whether it has a signalfd for any of them. */
static bool reads_signals(pid_t process, uint64_t signals)
{
	struct reader reader = {process, signals, false};

	return !thrum__adapt_process_each(process, "/fd", look_at_reader, &reader) || reader.reads;
}

bool thrum__adapt_process_reads_signal(pid_t process, int number)
{
	return reads_signals(process, UINT64_C(1) << (number - 1));
}

bool thrum__adapt_process_has_handlers(pid_t process)
{
	struct process_signals signals;

	return !read_signals(process, "/status", &signals) || signals.handled & ~LIBRARYS;
}

bool thrum__adapt_process_may_handle(pid_t process, uint32_t tid)
{
	struct process_signals signals;
	char name[48];

	if (!read_signals(process, thrum__adapt_thread_file(name, tid, "/status"), &signals))
		return true;
	signals.handled &= ~LIBRARYS;
	/* One that looks holds them back meanwhile. */
	return signals.handled & ~signals.blocked ||
		(signals.handled && reads_signals(process, signals.handled));
}

int thrum__adapt_process_held_signal(pid_t process)
{
	struct process_signals signals;
	uint64_t held;

	read_signals(process, "/status", &signals);
	held = (signals.own | signals.pending) & signals.blocked & ~signals.ignored;
	return held ? __builtin_ctzll(held) + 1 : 0;
}

struct blocked {
	pid_t process;
	uint64_t by_all;
};

static void look_at_blocked(void *context, int directory, const char *name)
{
	struct blocked *blocked = context;
	struct process_signals signals;
	char path[48];

	strcpy(stpcpy(stpcpy(path, "/task/"), name), "/status");
	blocked->by_all &= read_signals(blocked->process, path, &signals) ? signals.blocked : 0;
}

bool thrum__adapt_process_signals(pid_t process, struct process_signals *signals)
{
	struct blocked blocked = {process, UINT64_MAX};

	if (!read_signals(process, "/status", signals) ||
		!thrum__adapt_process_each(process, "/task", look_at_blocked, &blocked))
		return false;
	signals->blocked = blocked.by_all;
	return true;
}

/* Returns the fields behind a process's name, "S 123 ..."; "": there is no such process. */
static const char *read_stat(pid_t process, char text[PROCESS_TEXT])
{
	const char *end = thrum__adapt_process_read(process, "/stat", text) ? strrchr(text, ')')
									    : NULL;

	return end && end[1] ? end + 2 : "";
}

bool thrum__adapt_process_is_over(pid_t process)
{
	char text[PROCESS_TEXT];

	if (is_limited())
		return false;
	const char *fields = read_stat(process, text);

	return *fields == '\0' || *fields == 'Z' || *fields == 'X';
}

bool thrum__adapt_process_is_stopped(pid_t process)
{
	char text[PROCESS_TEXT];

	return *read_stat(process, text) == 'T';
}

/* A number of "/stat", counted behind the process's name; 0: it isn't known. */
static uint64_t stat_number(pid_t process, int field)
{
	char text[512];
	const char *at = read_to(process, "/stat", text, sizeof text) ? strrchr(text, ')') : NULL;

	for (int i = 0; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

pid_t thrum__adapt_process_parent(pid_t process)
{
	return (pid_t)stat_number(process, PARENT_FIELD);
}

pid_t thrum__adapt_process_group(pid_t process)
{
	return (pid_t)stat_number(process, GROUP_FIELD);
}

bool thrum__adapt_process_ignores(pid_t process, int number)
{
	return stat_number(process, IGNORED_FIELD) >> (number - 1) & 1;
}

bool thrum__adapt_process_is_told(pid_t process, int number)
{
	char text[PROCESS_TEXT];
	size_t size = thrum__adapt_process_read(process, "/cmdline", text);

	for (size_t i = 0; i < size; i++) {
		char *end = text + i;

		if (text[i] < '0' || text[i] > '9')
			continue;
		if (strtol(text + i, &end, 10) == number)
			return true;
		i = (size_t)(end - text);
	}
	return size == 0 || size == PROCESS_TEXT - 1;
}

bool thrum__adapt_process_is_other(pid_t self, pid_t process)
{
	char path[2][64], target[2][PROCESS_TEXT];
	ssize_t length[2];

	for (int i = 0; i < 2; i++) {
		strcpy(thrum__adapt_process_path(path[i], i ? process : self), "/exe");
		length[i] = readlink(path[i], target[i], PROCESS_TEXT);
	}
	return length[0] != length[1] || length[0] < 0 ||
		memcmp(target[0], target[1], (size_t)length[0]) != 0;
}

/* Whether a file never writes to an eventfd by itself. */
static bool is_harmless(const char *name)
{
	static const char *const others[] = {"/dev/null", "/dev/zero", "/dev/tty", "/dev/pts/",
		"/dev/shm/", "/dev/random", "/dev/urandom", "/memfd:", "pipe:[", "socket:[",
		"anon_inode:[eventfd]", "anon_inode:[eventpoll]", "anon_inode:[timerfd]",
		"anon_inode:[signalfd]", "anon_inode:[pidfd]", "anon_inode:inotify"};

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strncmp(name, others[i], strlen(others[i])) == 0)
			return true;
	return *name == '/' && strncmp(name, "/dev/", strlen("/dev/")) != 0 &&
		strncmp(name, "/sys/", strlen("/sys/")) != 0 && !strstr(name, "cgroup");
}

static void look_at_file(void *context, int directory, const char *name)
{
	char target[PROCESS_TEXT];
	ssize_t length = readlinkat(directory, name, target, sizeof target - 1);

	if (length < 0 && errno == ENOENT)
		return; /* another thread has closed it since */
	target[length > 0 ? length : 0] = '\0';
	*(bool *)context |= !is_harmless(target);
}

static bool is_of_requests(void *is_read, const char *line)
{
	*(bool *)is_read = true;
	return strstr(line, "/[aio]") != NULL;
}

/* Whether a process may have input or output that goes on meanwhile (io_setup): that has a mapping
 * of its own. */
static bool has_requests(pid_t process)
{
	char path[48];
	bool is_read = false;

	strcpy(thrum__adapt_process_path(path, process), "/maps");
	return thrum__adapt_each_line(path, is_of_requests, &is_read) || !is_read;
}

bool thrum__adapt_process_has_kernel_writes(pid_t process)
{
	bool has_others = false;

	return !thrum__adapt_process_each(process, "/fd", look_at_file, &has_others) ||
		has_others || has_requests(process);
}

bool thrum__adapt_process_is_copy(pid_t self, pid_t process)
{
	char text[2][PROCESS_TEXT];
	/* Each program that is executed gets other addresses. */
	size_t size = thrum__adapt_process_read(self, "/auxv", text[0]);

	return size > 0 && thrum__adapt_process_read(process, "/auxv", text[1]) == size &&
		memcmp(text[0], text[1], size) == 0;
}

void thrum__adapt_note_name(_Atomic uint64_t name[2])
{
	uint64_t own[2] = {0, 0};

	prctl(PR_GET_NAME, own);
	for (int part = 0; part < 2; part++)
		atomic_store(&name[part], own[part]);
}

void thrum__adapt_copy_name(char to[16], const _Atomic uint64_t name[2])
{
	for (int part = 0; part < 2; part++)
		memcpy(to + part * 8, &(uint64_t){atomic_load(&name[part])}, 8);
	to[15] = '\0';
}

char *thrum__adapt_put_named(char *to, pid_t process, const char *name)
{
	to = thrum__adapt_put_number(to, (uint64_t)process);
	return stpcpy(stpcpy(stpcpy(to, " ("), name), ")");
}

bool thrum__adapt_process_wrote(pid_t process)
{
	char text[PROCESS_TEXT];

	thrum__adapt_process_read(process, "/io", text);
	return !strstr(text, "\nsyscw:") || thrum__adapt_number_behind(text, "\nsyscw:", 10) > 0;
}
