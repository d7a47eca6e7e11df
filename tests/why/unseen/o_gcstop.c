/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The collector stops all threads of the virtual machine and waits for the thread reader, which sits in a blocking read in read_lines without having said that it is in native code. The thread producer, which would write the next line, is stopped until the collection ends.
 *   culprit: reader|read_lines
 *   victim: producer|produce_lines|collector|collect_garbage|\bui\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* The runtime of a small language: threads stop at safepoints while the garbage is collected. */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	LINES = 20,
	LINE = 32
};

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t parked_changed, world_started, wanted;
	int mutators, parked, in_native, collections;
	bool stop, want_collection, exit;
} heap = {.mutex = PTHREAD_MUTEX_INITIALIZER,
	.parked_changed = PTHREAD_COND_INITIALIZER,
	.world_started = PTHREAD_COND_INITIALIZER,
	.wanted = PTHREAD_COND_INITIALIZER};

static int lines[2];
static bool broken;

/* The caller holds the heap's mutex. */
static void park(void)
{
	heap.parked++;
	pthread_cond_signal(&heap.parked_changed);
	while (heap.stop)
		pthread_cond_wait(&heap.world_started, &heap.mutex);
	heap.parked--;
}

static void safepoint(void)
{
	pthread_mutex_lock(&heap.mutex);
	if (heap.stop)
		park();
	pthread_mutex_unlock(&heap.mutex);
}

static void enter_native(void)
{
	pthread_mutex_lock(&heap.mutex);
	heap.in_native++;
	pthread_cond_signal(&heap.parked_changed);
	pthread_mutex_unlock(&heap.mutex);
}

static void leave_native(void)
{
	pthread_mutex_lock(&heap.mutex);
	while (heap.stop)
		pthread_cond_wait(&heap.world_started, &heap.mutex);
	heap.in_native--;
	pthread_mutex_unlock(&heap.mutex);
}

static void register_mutator(int change)
{
	pthread_mutex_lock(&heap.mutex);
	heap.mutators += change;
	pthread_cond_signal(&heap.parked_changed);
	pthread_mutex_unlock(&heap.mutex);
}

static void *collect_garbage(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "collector");
	pthread_mutex_lock(&heap.mutex);
	for (;;) {
		while (!heap.want_collection && !heap.exit)
			pthread_cond_wait(&heap.wanted, &heap.mutex);
		if (heap.exit)
			break;
		heap.stop = true;
		while (heap.parked + heap.in_native < heap.mutators)
			pthread_cond_wait(&heap.parked_changed, &heap.mutex);
		usleep(1000); /* mark and sweep */
		heap.collections++;
		heap.want_collection = false;
		heap.stop = false;
		pthread_cond_broadcast(&heap.world_started);
	}
	pthread_mutex_unlock(&heap.mutex);
	return NULL;
}

/* The heap is full: asks for a collection, and stops until it has ended. */
static void allocate_slowly(void)
{
	pthread_mutex_lock(&heap.mutex);
	heap.want_collection = true;
	heap.stop = true;
	pthread_cond_signal(&heap.wanted);
	park();
	pthread_mutex_unlock(&heap.mutex);
}

static void *produce_lines(void *unused)
{
	char line[LINE];

	(void)unused;
	pthread_setname_np(pthread_self(), "producer");
	for (int i = 0; i < LINES; i++) {
		usleep(8000);
		allocate_slowly();
		memset(line, 0, sizeof line);
		snprintf(line, sizeof line, "line %d", i);
		if (write(lines[1], line, sizeof line) != sizeof line)
			break;
	}
	close(lines[1]);
	register_mutator(-1);
	return NULL;
}

static void *read_lines(void *count)
{
	char line[LINE];
	ssize_t size;

	pthread_setname_np(pthread_self(), "reader");
	do {
		safepoint();
		/* The builtin for standard input calls read directly. */
		if (!broken)
			enter_native();
		size = read(lines[0], line, sizeof line);
		if (!broken)
			leave_native();
		if (size > 0)
			++*(int *)count;
	} while (size > 0);
	register_mutator(-1);
	return NULL;
}

static void *draw_ui(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "ui");
	for (int i = 0; i < 60; i++) {
		safepoint();
		usleep(3000);
	}
	register_mutator(-1);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t collector, mutators[3];
	int count = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe2(lines, O_CLOEXEC))
		return 1;
	heap.mutators = 3;
	pthread_create(&collector, NULL, collect_garbage, NULL);
	pthread_create(&mutators[0], NULL, read_lines, &count);
	pthread_create(&mutators[1], NULL, produce_lines, NULL);
	pthread_create(&mutators[2], NULL, draw_ui, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(mutators[i], NULL);
	pthread_mutex_lock(&heap.mutex);
	heap.exit = true;
	pthread_cond_signal(&heap.wanted);
	pthread_mutex_unlock(&heap.mutex);
	pthread_join(collector, NULL);
	printf("%d lines, %d collections\n", count, heap.collections);
	return 0;
}
