/* SPDX-License-Identifier: ISC */
/*
 * Looks at the threads of the program and its forked children, a few at a time, and remembers those that stay
 * in one system call and use no processor. No adapter sees a call that the program makes past the C library.
 * Calls in which a healthy thread rests, such as poll, are left out. Where /proc tells nothing, so does this.
 */
#define _GNU_SOURCE
#include "capture/calls.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "adapt/forks.h"
#include "port/port.h"
#include "source/switches/switches.h"

#define LOOKS_MAX 64  /* threads that are looked at in one round */
#define KEPT_MAX 64   /* threads that are in such a call */
#define PATH_MOST 120 /* bytes of a file's name that are told */
#define SECOND INT64_C(1000000000)

enum argument {
	NOTHING,
	DESCRIPTOR,
	FIRST_PATH,
	SECOND_PATH,
};

static const struct call {
	long number;
	const char *name;
	enum argument argument;
} calls[] = {
#include "capture/calls.def"
};

/* A thread, as the last look saw it. */
struct thread {
	struct thrum__source_call call; /* its name is made when it is written */
	const struct call *kind;
	uint64_t arguments[2], stack, place, worked;
	char target[PATH_MOST];
};

static struct thread kept[KEPT_MAX];
static size_t kept_count;
static long next_thread; /* how many threads of the process come before the next one */

/* ---- /proc --------------------------------------------------------------------------------- */

/* Reads a short file of a thread. Returns whether it could be read. */
static bool read_of_thread(pid_t process, pid_t tid, const char *name, char *to, size_t size)
{
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)process, (int)tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, to, size - 1);
	close(fd);
	to[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* Reads the call of a thread that is blocked in one of the table. */
static bool read_call(pid_t process, pid_t tid, struct thread *thread)
{
	uint64_t all[6];
	char line[256];
	long number;

	if (!read_of_thread(process, tid, "syscall", line, sizeof(line)) ||
		sscanf(line,
			"%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			" %" SCNx64 " %" SCNx64,
			&number, &all[0], &all[1], &all[2], &all[3], &all[4], &all[5],
			&thread->stack, &thread->place) != 9)
		return false;
	thread->arguments[0] = all[0];
	thread->arguments[1] = all[1];
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !thread->kind; i++)
		if (calls[i].number == number)
			thread->kind = &calls[i];
	if (!thread->kind || !read_of_thread(process, tid, "schedstat", line, sizeof(line)))
		return false;
	thread->worked = strtoull(line, NULL, 10);
	return true;
}

/* Reads the name of the file that a call is about. Returns whether the thread may well rest there. */
static bool read_target(pid_t process, struct thread *thread)
{
	static const char *const rests[] = {"/dev/", "anon_inode:", "inotify"};
	char path[64], *to = thread->target;
	ssize_t size = 0;

	if (thread->kind->argument == DESCRIPTOR) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process,
			(int)thread->arguments[0]);
		size = readlink(path, to, sizeof(thread->target) - 1);
	} else if (thread->kind->argument != NOTHING) {
		uint64_t from = thread->arguments[thread->kind->argument == SECOND_PATH];
		struct iovec own = {to, sizeof(thread->target) - 1};
		/* The text may end right before a page that isn't there. */
		struct iovec parts[2] = {{(void *)(uintptr_t)from, 4096 - from % 4096}, {NULL, 0}};

		if (parts[0].iov_len > own.iov_len)
			parts[0].iov_len = own.iov_len;
		size = process_vm_readv(process, &own, 1, parts, 1, 0);
	}
	to[size > 0 ? size : 0] = '\0';
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++)
		if (thread->kind->argument == DESCRIPTOR &&
			strncmp(to, rests[i], strlen(rests[i])) == 0)
			return true;
	return false;
}

/* ---- Looks --------------------------------------------------------------------------------- */

static struct thread *find(pid_t process, pid_t tid)
{
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].call.process == (uint32_t)process && kept[i].call.tid == (uint32_t)tid)
			return &kept[i];
	return NULL;
}

static bool is_same(const struct thread *a, const struct thread *b)
{
	return a->kind == b->kind && a->stack == b->stack && a->place == b->place &&
		a->worked == b->worked &&
		memcmp(a->arguments, b->arguments, sizeof(a->arguments)) == 0;
}

static void look_at(pid_t process, pid_t tid)
{
	struct thread *known = find(process, tid), thread = {0};
	uint64_t now = (uint64_t)recorded_now();

	if (!read_call(process, tid, &thread)) {
		if (known)
			*known = kept[--kept_count];
		return;
	}
	if (known && is_same(known, &thread)) {
		known->call.to = now;
		return;
	}
	if (read_target(process, &thread)) {
		if (known)
			*known = kept[--kept_count];
		return;
	}
	thread.call = (struct thrum__source_call){.process = (uint32_t)process,
		.tid = (uint32_t)tid,
		.start = thrum__port_process_start((uint32_t)process),
		.from = now,
		.to = now};
	if (!known && kept_count == KEPT_MAX)
		return;
	*(known ? known : &kept[kept_count++]) = thread;
}

/* Looks at the threads of a process, as many as are left. Returns whether that were all. */
static bool look_at_process(pid_t process, int *left)
{
	char path[32];
	struct dirent *entry;
	long number = 0;
	DIR *all;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
	all = opendir(path);
	while (all && *left > 0 && (entry = readdir(all))) {
		if (entry->d_name[0] == '.' || number++ < next_thread)
			continue;
		look_at(process, (pid_t)atoi(entry->d_name));
		next_thread++;
		--*left;
	}
	if (all)
		closedir(all);
	return *left > 0;
}

/* The number of processes, or the one with a number; 0: it has ended. */
static pid_t process_of(const struct recorded *recorded, uint32_t number)
{
	struct thrum__adapt_forks *forks = recorded->forks;

	if (number == 0)
		return recorded->pid;
	return atomic_load(&forks->child[number - 1].ended)
		? 0
		: atomic_load(&forks->child[number - 1].process);
}

void calls_look(const struct recorded *recorded)
{
	uint32_t forks = recorded->forks ? atomic_load(&recorded->forks->begun) : 0;
	uint32_t count = 1 + (forks < FORKS_MAX ? forks : FORKS_MAX);
	static uint32_t next; /* the process at which the round begins */
	int left = LOOKS_MAX;

	for (uint32_t i = 0; i < count; i++) {
		pid_t process = process_of(recorded, next % count);

		if (process > 0 && !look_at_process(process, &left))
			return;
		next = (next + 1) % count;
		next_thread = 0;
	}
}

/* ---- The end ------------------------------------------------------------------------------- */

int calls_write(const char *path, struct thrum_error_info *info)
{
	struct thrum__source_call found[KEPT_MAX];
	size_t count = 0;

	for (size_t i = 0; i < kept_count; i++) {
		struct thread *thread = &kept[i];
		struct thrum__source_call *call = &found[count];
		bool has_number = thread->kind->argument == DESCRIPTOR;
		int size;

		if (thread->call.to - thread->call.from < SECOND * 9 / 10)
			continue;
		*call = thread->call;
		size = snprintf(call->name, sizeof(call->name), has_number ? "%s(%d)" : "%s",
			thread->kind->name, (int)thread->arguments[0]);
		if (thread->target[0])
			snprintf(call->name + size, sizeof(call->name) - (size_t)size, " on %s",
				thread->target);
		count++;
	}
	return thrum__source_calls_write(found, count, path, info);
}
