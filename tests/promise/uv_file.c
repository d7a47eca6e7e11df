/* SPDX-License-Identifier: ISC */
/* Files. */
#include "uv_helper.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct thrum_file *open_file(struct world *world, const char *path, int flags)
{
	return value_of(settled(thrum_file_open(world->loop, path, flags, 0600)));
}

static void assert_holds(struct thrum_promise *promise, const char *text)
{
	const struct thrum_bytes *bytes = thrum_promise_value(settled(promise));

	assert_int_equal(code_of(promise), 0);
	assert_non_null(bytes);
	assert_int_equal(bytes->size, strlen(text));
	assert_memory_equal(bytes->data, text, bytes->size);
	thrum_promise_unref(promise);
}

static int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void test_file(void **state)
{
	const char *path = scratch("file");
	struct thrum_promise *promise;
	struct thrum_file *file;
	struct world world;

	world_init(&world);
	file = open_file(&world, path, O_RDWR | O_CREAT | O_TRUNC);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_static("hello "), 6, -1)), 0);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_static("world"), 5, -1)), 0);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_static("W"), 1, 6)), 0);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_none(), 0, 6)), 0);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_none(), 1, 6)), -EINVAL);
	assert_int_equal(settle(thrum_file_sync(file)), 0);
	assert_holds(thrum_file_read(file, 100, 0), "hello World");
	assert_holds(thrum_file_read(file, 3, 6), "Wor");
	promise = settled(thrum_file_read(file, 100, 11));
	assert_int_equal(code_of(promise), 0);
	assert_null(thrum_promise_value(promise));
	thrum_promise_unref(promise);
	assert_int_equal(settle(thrum_file_read(file, 0, 0)), -EINVAL);
	assert_int_equal(settle(thrum_file_close(file)), 0);
	assert_holds(thrum_file_load(world.loop, path), "hello World");

	promise = settled(thrum_file_stat(world.loop, path));
	assert_int_equal(((uv_stat_t *)thrum_promise_value(promise))->st_size, 11);
	thrum_promise_unref(promise);
	assert_int_equal(settle(thrum_file_stat(world.loop, scratch("none"))), -ENOENT);
	assert_int_equal(settle(thrum_file_load(world.loop, scratch("none"))), -ENOENT);
	assert_int_equal(settle(thrum_file_load(world.loop, "/")), -EISDIR);
	assert_int_equal(settle(thrum_file_open(world.loop, scratch("none"), O_RDONLY, 0)),
		-ENOENT);
	assert_int_equal(settle(thrum_file_open(world.loop, NULL, O_RDONLY, 0)), -EINVAL);
	world_finish(&world);
}

/* Sizes that stat doesn't know, empty files, and files longer than the first read. */
static void test_load(void **state)
{
	const char *path = scratch("big");
	struct thrum_promise *promise;
	const struct thrum_bytes *bytes;
	struct thrum_file *file;
	struct world world;
	size_t size = (size_t)17 << 20;
	char *data = malloc(size);

	world_init(&world);
	assert_non_null(data);
	memset(data, 'x', size);
	file = open_file(&world, path, O_WRONLY | O_CREAT);
	promise = thrum_file_write(file, thrum_value_own(data, free), size, -1);
	/* The file is closed after the operations that are under way. */
	assert_int_equal(settle(thrum_file_close(file)), 0);
	assert_int_equal(settle(promise), 0);
	promise = settled(thrum_file_load(world.loop, path));
	bytes = thrum_promise_value(promise);
	assert_int_equal(bytes->size, size);
	assert_int_equal(bytes->data[size - 1], 'x');
	thrum_promise_unref(promise);

	promise = settled(thrum_file_load(world.loop, "/proc/self/status"));
	bytes = thrum_promise_value(promise);
	assert_true(bytes->size > 100);
	thrum_promise_unref(promise);
	promise = settled(thrum_file_load(world.loop, "/dev/null"));
	bytes = thrum_promise_value(promise);
	assert_non_null(bytes);
	assert_int_equal(bytes->size, 0);
	thrum_promise_unref(promise);
	world_finish(&world);
}

/* At each stage cancelled promises end at once, and no descriptor stays open. */
static void test_cancel(void **state)
{
	const char *path = scratch("cancel");
	struct thrum_promise *promise;
	struct thrum_file *file;
	struct world world;
	int before, rounds;

	world_init(&world);
	file = open_file(&world, path, O_RDWR | O_CREAT);
	before = descriptors();
	for (rounds = 0; rounds < 5; rounds++) {
		struct thrum_promise *all[] = {thrum_file_open(world.loop, path, O_RDONLY, 0),
			thrum_file_load(world.loop, path), thrum_file_stat(world.loop, path),
			thrum_file_read(file, 10, 0),
			thrum_file_write(file, token_value(&world, 1), 4, 0)};

		for (int i = 0; i < rounds * rounds; i++) {
			go_round(&world, 1);
			usleep(100);
		}
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
			thrum_promise_cancel(all[i]);
			assert_int_not_equal(code_of(all[i]), 1);
			thrum_promise_unref(all[i]);
		}
	}
	uv_run(&world.uv, UV_RUN_DEFAULT);
	assert_int_equal(descriptors(), before);
	promise = thrum_file_read(file, 1, 0);
	assert_int_equal(settle(thrum_file_close(file)), 0);
	assert_int_equal(code_of(promise), 0);
	thrum_promise_unref(promise);
	assert_int_equal(descriptors(), before - 1);
	world_finish(&world);
}

/* The pool has one thread: a job that is queued behind a step holds up the next step. */
struct gate {
	uv_sem_t open;
	_Atomic bool reached;
};

static int wait_at_gate(void *data, struct thrum_value *result)
{
	struct gate *gate = data;

	atomic_store(&gate->reached, true);
	uv_sem_wait(&gate->open);
	return 0;
}

/* Lets one step run; the next one waits behind the second gate. */
static void step_on(struct world *world, struct gate *next, struct gate *last)
{
	thrum_promise_unref(thrum_work(world->loop, NULL, wait_at_gate, next, NULL));
	if (last)
		uv_sem_post(&last->open);
	while (!atomic_load(&next->reached))
		continue;
	go_round(world, 2);
}

/* Cancelled before the n-th step begins, also before the one that closes the file. */
static void test_cancel_steps(void **state)
{
	const char *path = scratch("steps");
	int before = descriptors();
	struct thrum_promise *load;
	struct gate gate[7];
	struct world world;

	close(open(path, O_CREAT | O_WRONLY, 0600));
	for (int steps = 1; steps < 7; steps++) {
		world_init(&world);
		load = thrum_file_load(world.loop, path);
		for (int i = 0; i < steps; i++) {
			gate[i].reached = false;
			assert_int_equal(uv_sem_init(&gate[i].open, 0), 0);
			step_on(&world, &gate[i], i > 0 ? &gate[i - 1] : NULL);
		}
		thrum_promise_cancel(load);
		assert_int_equal(code_of(load), steps < 4 ? THRUM_CANCELED : 0);
		thrum_promise_unref(load);
		uv_sem_post(&gate[steps - 1].open);
		world_finish(&world);
		for (int i = 0; i < steps; i++)
			uv_sem_destroy(&gate[i].open);
		assert_int_equal(descriptors(), before);
	}
}

/* Loading a file that never ends. */
static void test_endless(void **state)
{
	struct thrum_promise *load;
	struct world world;

	world_init(&world);
	load = thrum_file_load(world.loop, "/dev/zero");
	go_round(&world, 3);
	thrum_promise_cancel(load);
	thrum_promise_unref(load);
	uv_run(&world.uv, UV_RUN_DEFAULT);
	world_finish(&world);
}

/* Files that nobody took are closed, also those of loops that are destroyed in the middle. */
static void test_dropped(void **state)
{
	const char *path = scratch("dropped");
	int before = descriptors();
	struct thrum_file *file;
	struct world world;

	world_init(&world);
	assert_int_equal(settle(thrum_file_open(world.loop, path, O_RDWR | O_CREAT, 0600)), 0);
	file = open_file(&world, path, O_RDWR);
	thrum_promise_unref(thrum_file_write(file, thrum_value_static("x"), 1, -1));
	thrum_promise_unref(thrum_file_open(world.loop, path, O_RDONLY, 0));
	thrum_promise_unref(thrum_file_load(world.loop, path));
	world_finish(&world);
	assert_int_equal(descriptors(), before);
}

static void test_trace(void **state)
{
	const char *path = scratch("named");
	const struct seen_task *open, *file_task;
	struct thrum_file *file;
	struct world world;
	struct seen seen;
	char label[300];

	record();
	world_init(&world);
	file = open_file(&world, path, O_RDWR | O_CREAT);
	assert_int_equal(settle(thrum_file_write(file, thrum_value_static("x"), 1, -1)), 0);
	assert_int_equal(settle(thrum_file_close(file)), 0);
	world_finish(&world);
	seen = seen_all();
	snprintf(label, sizeof(label), "file open %s", path);
	open = seen_task(&seen, THRUM_KIND_REQUEST, label);
	snprintf(label, sizeof(label), "file %s", path);
	file_task = seen_task(&seen, THRUM_KIND_HANDLE, label);
	assert_int_equal(file_task->parent, open->id);
	assert_int_equal(file_task->end, THRUM_EVENT_RESOLVE);
	snprintf(label, sizeof(label), "file write %s", path);
	assert_int_equal(seen_task(&seen, THRUM_KIND_REQUEST, label)->end, THRUM_EVENT_RESOLVE);
	seen_free(&seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_load),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_cancel_steps),
		cmocka_unit_test(test_endless),
		cmocka_unit_test(test_dropped),
		cmocka_unit_test(test_trace),
	};

	setenv("UV_THREADPOOL_SIZE", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
