/* SPDX-License-Identifier: ISC */
/* The glue to libuv, with memory failing at each allocation in turn. Each call fails with -ENOMEM
 * or succeeds, and nothing leaks. */
#include "uv_helper.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Consumes a promise that ends with 0 or -ENOMEM. Returns whether it was resolved. */
static bool done(struct thrum_promise *promise)
{
	int code = settle(promise);

	assert_true(code == 0 || code == -ENOMEM);
	return code == 0;
}

/* Returns the value of a promise, or NULL if it failed for lack of memory. */
static void *given(struct thrum_promise *promise)
{
	if (code_of(settled(promise)) == 0)
		return value_of(promise);
	assert_int_equal(code_of(promise), -ENOMEM);
	thrum_promise_unref(promise);
	return NULL;
}

static void try_time(struct world *world)
{
	done(thrum_sleep(world->loop, 0));
	done(thrum_timeout(thrum_sleep(world->loop, 0), 100000));
}

static void talk(struct world *world, struct thrum_listener *listener,
	const struct sockaddr_in *address)
{
	struct thrum_promise *connect = thrum_tcp_connect(world->loop, (const void *)address);
	struct thrum_connection *client = given(connect), *server = NULL;

	if (client)
		server = given(thrum_timeout(thrum_listener_accept(listener), 100000));
	if (server) {
		done(thrum_connection_write(client, token_value(world, 1), 1));
		done(thrum_connection_shutdown(client));
		done(thrum_timeout(thrum_connection_read(server), 100000));
		thrum_promise_unref(thrum_connection_close(server));
	}
	if (client)
		done(thrum_connection_close(client));
}

static void try_connections(struct world *world)
{
	struct thrum_listener *listener = NULL;
	struct sockaddr_in address;
	int code;

	assert_int_equal(uv_ip4_addr("127.0.0.1", 0, &address), 0);
	code = thrum_tcp_listen(world->loop, (struct sockaddr *)&address, 4, &listener);
	assert_true(code == 0 || code == -ENOMEM);
	if (code == 0) {
		address.sin_port = htons((uint16_t)thrum_listener_port(listener));
		talk(world, listener, &address);
		done(thrum_listener_close(listener));
	}
	done(thrum_getaddrinfo(world->loop, "127.0.0.1", "80", NULL));
}

static void try_files(struct world *world)
{
	const char *path = scratch("file");
	struct thrum_file *file = given(thrum_file_open(world->loop, path, O_RDWR | O_CREAT, 0600));

	if (file) {
		done(thrum_file_write(file, token_value(world, 1), 1, 0));
		done(thrum_file_sync(file));
		done(thrum_file_read(file, 10, 0));
		done(thrum_file_close(file));
		done(thrum_file_stat(world->loop, path));
		done(thrum_file_load(world->loop, path));
	}
	done(thrum_file_open(world->loop, path, O_RDWR | O_CREAT, 0600));
	done(thrum_file_load(world->loop, "/proc/self/maps"));
}

static int nothing(void *data, struct thrum_value *result)
{
	return 0;
}

static void try_others(struct world *world)
{
	char *arguments[] = {(char[]){"true"}, NULL};
	uv_process_options_t options = {.file = "true", .args = arguments};
	struct thrum_process *process = NULL;
	int code = thrum_process_spawn(world->loop, &options, &process);

	assert_true(code == 0 || code == -ENOMEM);
	if (code == 0) {
		done(thrum_process_wait(process));
		thrum_process_destroy(process);
	}
	done(thrum_work(world->loop, NULL, nothing, token_new(world, 1), token_destroy));
	thrum_promise_unref(thrum_signal_wait(world->loop, 10));
}

/* Fails the n-th allocation, or all from there on, with room for only so many promises. */
static bool try(void (*part)(struct world *world), size_t n, bool all, size_t promises)
{
	struct world world;
	struct hoard kept;
	bool reached;

	world_init(&world);
	hoard(&kept, &world, promises);
	world.fail_from = world.allocations + n;
	world.fail_to = all ? SIZE_MAX : world.fail_from;
	part(&world);
	reached = world.allocations >= world.fail_from;
	world.fail_from = SIZE_MAX;
	hoard_free(&kept, &world);
	world_finish(&world);
	return reached;
}

static void try_all(void (*part)(struct world *world), size_t at_least)
{
	size_t n;

	for (n = 1; try(part, n, false, 100); n++)
		(void)try(part, n, true, 100);
	assert_in_range(n, at_least, 200);
	for (n = 0; n < 12; n++)
		(void)try(part, SIZE_MAX / 2, false, n);
}

static void test_time(void **state)
{
	try_all(try_time, 4);
}

static void test_connections(void **state)
{
	try_all(try_connections, 10);
}

static void test_files(void **state)
{
	try_all(try_files, 10);
}

static void test_others(void **state)
{
	try_all(try_others, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time),
		cmocka_unit_test(test_connections),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
