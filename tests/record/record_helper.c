/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "record_helper.h"

#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Places -------------------------------------------------------------------------------- */

void *shared_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		abort();
	return memory;
}

static char folder[64];
static pid_t folder_owner;

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *position)
{
	(void)st, (void)type, (void)position;
	return remove(path);
}

static void remove_folder(void)
{
	if (getpid() == folder_owner)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *scratch(const char *name)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % 8];

	if (!folder[0]) {
		snprintf(folder, sizeof folder, "/tmp/thrum-test-XXXXXX");
		if (!mkdtemp(folder))
			abort();
		folder_owner = getpid();
		atexit(remove_folder);
	}
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}

/* ---- Recording ----------------------------------------------------------------------------- */

_Atomic uint64_t hand_time = 16000000, hand_step = 16;

static uint64_t look_at_hand(void *context)
{
	(void)context;
	return atomic_fetch_add(&hand_time, atomic_load(&hand_step)) + atomic_load(&hand_step);
}

const struct thrum_clock hand_clock = {look_at_hand, NULL, 100000000};

const void *start_in_memory(uint64_t size, const struct thrum_clock *clock)
{
	void *memory = shared_memory(size);

	assert_int_equal(thrum_start(&(struct thrum_config){.size = size,
				 .memory = memory,
				 .clock = clock}),
		0);
	return memory;
}

int fork_child(void)
{
	pid_t parent = getpid(), child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
	}
	assert_int_not_equal(child, -1);
	return child;
}

void skip_unless_threads_vanish(void)
{
	if (SANITIZED) {
		print_message("skipped: sanitizers want to hear of each thread's end\n");
		skip();
	}
#ifndef __GLIBC__
	print_message("skipped: musl's pthread_join waits for a thread that ends by itself\n");
	skip();
#endif
}

int child_result(int pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return 1000;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void append(struct events *events, size_t *room, const struct thrum_event *from,
	size_t count)
{
	if (events->count + count > *room) {
		*room = (events->count + count) * 2;
		events->list = realloc(events->list, *room * sizeof *events->list);
		if (!events->list)
			abort();
	}
	for (size_t i = 0; i < count; i++) {
		struct thrum_event *event = &events->list[events->count++];

		*event = from[i];
		if (from[i].text_size == 0) {
			event->text = "";
			continue;
		}
		char *text = malloc(from[i].text_size + 1);

		if (!text)
			abort();
		memcpy(text, from[i].text, from[i].text_size);
		text[from[i].text_size] = '\0';
		event->text = text;
	}
}

int events_read(struct events *events, const void *memory, size_t size, const char *file)
{
	struct thrum_trace *trace;
	const struct thrum_event *batch;
	size_t count, room = 0;
	int result = memory ? thrum_trace_open_memory(memory, size, &trace, NULL)
			    : thrum_trace_open(file, &trace, NULL);

	*events = (struct events){0};
	if (result)
		return result;
	while ((result = thrum_trace_next(trace, &batch, &count, NULL)) == 1)
		append(events, &room, batch, count);
	/* The texts are freed with the trace; the numbers stay. */
	events->info = *thrum_trace_info(trace);
	thrum_trace_close(trace);
	return result;
}

struct events events_of_memory(const void *memory, size_t size)
{
	struct events events;

	assert_int_equal(events_read(&events, memory, size, NULL), 0);
	return events;
}

struct events events_of_file(const char *file)
{
	struct events events;

	assert_int_equal(events_read(&events, NULL, 0, file), 0);
	return events;
}

void events_free(struct events *events)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].text_size)
			free((char *)(uintptr_t)events->list[i].text);
	free(events->list);
	*events = (struct events){0};
}

size_t events_count(const struct events *events, enum thrum_event_type type)
{
	size_t count = 0;

	for (size_t i = 0; i < events->count; i++)
		count += events->list[i].type == type;
	return count;
}

const struct thrum_event *events_find(const struct events *events, enum thrum_event_type type,
	size_t n)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].type == type && n-- == 0)
			return &events->list[i];
	return NULL;
}

const struct thrum_event *events_find_text(const struct events *events, enum thrum_event_type type,
	const char *text)
{
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].type == type && strcmp(events->list[i].text, text) == 0)
			return &events->list[i];
	return NULL;
}
