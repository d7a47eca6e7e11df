/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   ask: diff healthy
 *   truth: cache_key also hashes the stamp of the build, so that no object of the first build is found
 *     in the second one: "run compiler" happens 24 times instead of 12, for each file again.
 *   culprit: run compiler|run_compiler
 *   victim: build \d|compile \w+\.c
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/*
 * After reports about ccache: each compilation is a miss, since something that changes with each
 * build, such as a time stamp, goes into the key. A build tool with a cache of objects, which builds
 * twice.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

#define FILES 12
#define JOBS 2

static const char *const files[FILES] = {"arena.c", "buffer.c", "codec.c", "dict.c", "error.c",
	"file.c", "graph.c", "hash.c", "intern.c", "json.c", "lexer.c", "main.c"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t cache[4 * FILES];
static int cached, next_file, compiled;
static thrum_task build_task;
static char build_stamp[32];
static bool broken;

static void work(long milliseconds)
{
	struct timespec pause = {0, milliseconds * 1000000};

	nanosleep(&pause, NULL);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

/* Returns the key of all that the object depends on. */
static uint64_t cache_key(const char *file)
{
	uint64_t key = hash_text(UINT64_C(0xcbf29ce484222325), file);

	key = hash_text(key, "-O2 -g -Wall");
	if (broken)
		key = hash_text(key, build_stamp);
	return key;
}

static bool cache_find(uint64_t key)
{
	bool found = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < cached && !found; i++)
		found = cache[i] == key;
	pthread_mutex_unlock(&lock);
	return found;
}

static void cache_add(uint64_t key)
{
	pthread_mutex_lock(&lock);
	cache[cached++] = key;
	compiled++;
	pthread_mutex_unlock(&lock);
}

static void read_object(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "read object");

	THRUM_RUN (task) {
		work(1);
		thrum_task_resolve(task);
	}
}

static void run_compiler(void)
{
	thrum_task task = thrum_task_create(THRUM_KIND_TASK, "run compiler");

	THRUM_RUN (task) {
		work(20);
		thrum_task_resolve(task);
	}
}

static void compile(const char *file)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "compile %s", file);
	uint64_t key = cache_key(file);

	thrum_task_should_resolve(task);
	THRUM_RUN (task) {
		if (cache_find(key)) {
			read_object();
		} else {
			run_compiler();
			cache_add(key);
		}
		thrum_task_resolve(task);
	}
}

static void *run_job(void *data)
{
	thrum_lane_name(data);
	THRUM_RUN (build_task) {
		for (;;) {
			int file;

			pthread_mutex_lock(&lock);
			file = next_file++;
			pthread_mutex_unlock(&lock);
			if (file >= FILES)
				break;
			compile(files[file]);
		}
	}
	return NULL;
}

static void build(int number)
{
	static const char *const names[JOBS] = {"job 1", "job 2"};
	pthread_t jobs[JOBS];

	build_task = thrum_task_createf(THRUM_KIND_TASK, "build %d", number);
	thrum_task_should_resolve(build_task);
	snprintf(build_stamp, sizeof(build_stamp), "built as number %d", number);
	next_file = 0;
	compiled = 0;
	for (int i = 0; i < JOBS; i++)
		pthread_create(&jobs[i], NULL, run_job, (void *)(uintptr_t)names[i]);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	for (int i = 0; i < JOBS; i++)
		pthread_join(jobs[i], NULL);
	thrum_resume();
	thrum_task_resolve(build_task);
	printf("build %d: %d of %d compiled\n", number, compiled, FILES);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (thrum_start(NULL))
		fprintf(stderr, "not recorded\n");
	build(1);
	build(2);
	thrum_stop();
	return EXIT_SUCCESS;
}
