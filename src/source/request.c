/* SPDX-License-Identifier: ISC */
/* Asks the recorder in another process to start or stop its recording. */
#define _GNU_SOURCE
#include "source/request.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "format/request.h"
#include "read/read.h"
#include "source/control.h"
#include "source/input.h"

#define CHUNK 65536u /* bytes of the process's memory that are looked through at a time */
#define OFFSET(member) offsetof(struct thrum__request, member)

struct thrum__source_request {
	int64_t pid;
	uint32_t own_pid; /* the process's id as it knows it itself */
	int lock;         /* /proc/PID, locked against others who ask */
	uint64_t address, mask;
	struct thrum__request request;
};

/* ---- The process's memory -------------------------------------------------------------------- */

/* Both return 0 or an errno. */
static int peek(int64_t pid, uint64_t from, void *to, size_t size)
{
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)from, size};
	ssize_t n = process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0);

	return n == (ssize_t)size ? 0 : n < 0 ? errno : EFAULT;
}

static int poke(int64_t pid, uint64_t to, const void *from, size_t size)
{
	struct iovec here = {(void *)(uintptr_t)from, size}, there = {(void *)(uintptr_t)to, size};
	ssize_t n = process_vm_writev((pid_t)pid, &here, 1, &there, 1, 0);

	/* The stores of one call come before those of the next. */
	atomic_thread_fence(memory_order_seq_cst);
	return n == (ssize_t)size ? 0 : n < 0 ? errno : EFAULT;
}

/* ---- Refusals -------------------------------------------------------------------------------- */

/* Returns the number in a file, or -1. */
static int read_number(const char *path)
{
	FILE *file = fopen(path, "re");
	int number = -1;

	if (file && fscanf(file, "%d", &number) != 1)
		number = -1;
	if (file)
		fclose(file);
	return number;
}

/* Tells why the kernel refuses, and how it wouldn't. */
static int report_refusal(int64_t pid, struct thrum_error_info *info)
{
	int scope = read_number("/proc/sys/kernel/yama/ptrace_scope");
	char path[64];
	struct stat status;

	snprintf(path, sizeof path, "/proc/%" PRId64, pid);
	if (geteuid() == 0)
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"the kernel forbids to change process %" PRId64
			": root needs the capability CAP_SYS_PTRACE here%s",
			pid, scope == 3 ? ", and kernel.yama.ptrace_scope below 3" : "");
	if (stat(path, &status) == 0 && status.st_uid != geteuid())
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"process %" PRId64 " belongs to another user: ask as that user or as root",
			pid);
	if (scope > 0)
		return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
			"the kernel lets %s change process %" PRId64
			" (kernel.yama.ptrace_scope is %d): ask as root, or allow it by: sudo "
			"sysctl kernel.yama.ptrace_scope=0",
			scope == 1 ? "none but its parents" : "nobody but root", pid, scope);
	return thrum__read_error_set(info, -THRUM_E_ACCESS, 0,
		"the kernel forbids to change process %" PRId64
		", as it has changed its user or wants no dumps: ask as root",
		pid);
}

/* `number`: errno. */
static int report_errno(int64_t pid, int number, struct thrum_error_info *info)
{
	if (number == ESRCH || number == ENOENT)
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"there is no process %" PRId64, pid);
	if (number == EPERM || number == EACCES)
		return report_refusal(pid, info);
	return thrum__read_error_set(info, thrum__source_error_of(number), 0,
		"the memory of process %" PRId64 " can't be reached: %s", pid, strerror(number));
}

/* ---- Finding the place ----------------------------------------------------------------------- */

/* Whether these bytes of the process, which lie at the address, are the place. */
static bool is_place(const uint8_t *bytes, uint64_t address)
{
	struct thrum__request *self;

	memcpy(&self, bytes + OFFSET(self), sizeof self);
	return memcmp(bytes, THRUM__REQUEST_MAGIC, sizeof THRUM__REQUEST_MAGIC) == 0 &&
		(uintptr_t)self == address;
}

/* Returns 0, and r->address if it is there, or an errno. */
static int search_mapping(struct thrum__source_request *r, uint64_t start, uint64_t end)
{
	static const size_t step = THRUM__REQUEST_ALIGNMENT;
	uint8_t *chunk = malloc(CHUNK);
	int error = chunk ? 0 : ENOMEM;

	for (; !error && !r->address && start < end; start += CHUNK) {
		size_t size = end - start < CHUNK ? end - start : CHUNK;

		error = peek(r->pid, start, chunk, size);
		for (size_t at = 0; !error && !r->address && at + step <= size; at += step)
			if (is_place(chunk + at, start + at))
				r->address = start + at;
	}
	free(chunk);
	/* A part of a mapping may be beyond the end of its file. */
	return error == EFAULT || error == EIO ? 0 : error;
}

/* Looks through the initialized data of the program and its libraries. */
static int search(struct thrum__source_request *r, struct thrum_error_info *info)
{
	char path[64], *line = NULL;
	size_t room = 0;
	int error = 0;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/maps", r->pid);
	FILE *maps = fopen(path, "re");

	if (!maps)
		return report_errno(r->pid, errno, info);
	while (!error && !r->address && getline(&line, &room, maps) > 0) {
		uint64_t start, end, inode;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " rw-p %*s %*s %" SCNu64, &start, &end,
			    &inode) == 3 &&
			inode > 0)
			error = search_mapping(r, start, end);
	}
	free(line);
	fclose(maps);
	if (error)
		return report_errno(r->pid, error, info);
	if (!r->address)
		return thrum__read_error_set(info, -THRUM_E_FORMAT, 0,
			"process %" PRId64 " has no recorder that can be asked", r->pid);
	return 0;
}

/* Returns the id that the process has in its own namespace. */
static uint32_t find_own_pid(int64_t pid)
{
	char path[64], line[256];
	unsigned own = (unsigned)pid;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof line, file)) {
		const char *last = strrchr(line, '\t');

		if (strncmp(line, "NSpid:", 6) == 0 && last)
			sscanf(last, "%u", &own);
	}
	if (file)
		fclose(file);
	return own;
}

/* Locks the process against others who ask. Their writing would get mixed up. */
static int lock_process(struct thrum__source_request *r, struct thrum_error_info *info)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRId64, r->pid);
	r->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (r->lock < 0)
		return report_errno(r->pid, errno, info);
	if (flock(r->lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
		return thrum__read_error_set(info, -THRUM_E_SYSTEM, 0,
			"somebody else is asking process %" PRId64 " just now", r->pid);
	return 0;
}

static int check_place(struct thrum__source_request *r, struct thrum_error_info *info)
{
	/* A part of it, as another version's may be smaller. */
	int error = peek(r->pid, r->address, &r->request, OFFSET(state));

	if (error)
		return report_errno(r->pid, error, info);
	if (r->request.version != THRUM__REQUEST_VERSION || r->request.size != sizeof r->request)
		return thrum__read_error_set(info, -THRUM_E_VERSION, 0,
			"process %" PRId64 " has a libthrum that wants to be asked otherwise "
			"(version %" PRIu32 ", here %u): use the thrum that belongs to it",
			r->pid, r->request.version, THRUM__REQUEST_VERSION);
	r->mask = (uintptr_t)r->request.mask;
	return 0;
}

int thrum__source_request_open(int64_t pid, struct thrum__source_request **request,
	struct thrum_error_info *info)
{
	struct thrum__source_request *r = calloc(1, sizeof *r);

	if (!r)
		return thrum__read_error_set(info, -THRUM_E_MEMORY, 0, "out of memory");
	r->pid = pid;
	r->own_pid = find_own_pid(pid);
	int error = lock_process(r, info);

	if (!error)
		error = search(r, info);
	if (!error)
		error = check_place(r, info);
	if (error)
		thrum__source_request_close(r);
	else
		*request = r;
	return error;
}

void thrum__source_request_close(struct thrum__source_request *r)
{
	if (r && r->lock >= 0)
		close(r->lock);
	free(r);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Sets all bits of the mask, if none is set, so that the next call leaves the fast path. */
static int wake(const struct thrum__source_request *r)
{
	uint64_t mask;
	int error = peek(r->pid, r->mask, &mask, sizeof mask);

	if (error || mask)
		return error;
	mask = UINT64_MAX;
	return poke(r->pid, r->mask, &mask, sizeof mask);
}

/*
 * Ends the recording at once, by its mask. Then waits so long that each thread's next event leaves the
 * fast path, once the mask is set again. A recording that can't be controlled goes on until some thread
 * leaves it by itself.
 */
static void silence(const struct thrum__source_request *r)
{
	struct thrum__source_control *control;
	char file[4096];

	if (thrum_process_recording(r->pid, file, sizeof file, NULL) ||
		thrum__source_control_open(file, &control, NULL))
		return;
	int64_t gap = thrum__source_control_silence(control);

	thrum__source_control_close(control);
	nanosleep(&(struct timespec){.tv_sec = gap / 1000000000, .tv_nsec = gap % 1000000000},
		NULL);
}

int thrum__source_request_ask(struct thrum__source_request *r,
	const struct thrum__source_start *start, struct thrum_error_info *info)
{
	struct thrum__request *q = &r->request;
	uint32_t state = THRUM__REQUEST_NONE;
	int error = poke(r->pid, r->address + OFFSET(state), &state, sizeof state);

	q->pid = r->own_pid;
	q->verb = start ? THRUM__REQUEST_START : THRUM__REQUEST_STOP;
	q->full = start && start->discard ? THRUM_FULL_DISCARD : THRUM_FULL_OVERWRITE;
	q->counters_only = start && start->counters_only;
	q->error = 0;
	q->file_size = start ? start->size : 0;
	memset(q->file, 0, sizeof q->file);
	if (start && start->file) {
		if (strlen(start->file) >= sizeof q->file)
			return thrum__read_error_set(info, -THRUM_E_ARGUMENT, 0,
				"the file's name is too long");
		memcpy(q->file, start->file, strlen(start->file));
	}
	if (!error)
		error = poke(r->pid, r->address + OFFSET(pid), &q->pid, sizeof *q - OFFSET(pid));
	/* Last, when the request is whole. */
	state = THRUM__REQUEST_ASKED;
	if (!error)
		error = poke(r->pid, r->address + OFFSET(state), &state, sizeof state);
	if (!error && !start)
		silence(r);
	if (!error)
		error = wake(r);
	return error ? report_errno(r->pid, error, info) : 0;
}

int thrum__source_request_look(struct thrum__source_request *r, const char **file,
	struct thrum_error_info *info)
{
	struct thrum__request *q = &r->request;
	int error = peek(r->pid, r->address, q, sizeof *q);

	if (error == ESRCH)
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"process %" PRId64 " has ended", r->pid);
	/* A process that runs another program has other memory. */
	if (error == EFAULT || (!error && !is_place((const uint8_t *)q, r->address)))
		return thrum__read_error_set(info, -THRUM_E_NOT_FOUND, 0,
			"process %" PRId64 " has ended or runs another program now", r->pid);
	if (error)
		return report_errno(r->pid, error, info);
	if (atomic_load(&q->state) != THRUM__REQUEST_DONE) {
		/* A child that shares its memory may have cleared the mask. But while the process starts, it
		 * sets the mask itself. */
		error = atomic_load(&q->state) == THRUM__REQUEST_ASKED ? wake(r) : 0;
		return error && error != ESRCH ? report_errno(r->pid, error, info) : 0;
	}
	if (q->error) {
		/* The process may write anything there. */
		error = q->error < 0 ? q->error : -THRUM_E_DAMAGED;
		return thrum__read_error_set(info, error, 0, "process %" PRId64 ": %s", r->pid,
			thrum_error_message(error));
	}
	q->file[sizeof q->file - 1] = '\0';
	*file = q->file[0] ? q->file : NULL;
	return 1;
}
