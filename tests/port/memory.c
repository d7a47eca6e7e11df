/* SPDX-License-Identifier: ISC */
/* Private memory: allocation, detaching from a file, and wiping in a forked child. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "port/port.h"

#define PAGE 4096

static void it_is_empty(void **state)
{
	uint8_t *memory = thrum__port_allocate(3 * PAGE);

	(void)state;
	assert_non_null(memory);
	assert_int_equal((uintptr_t)memory % PAGE, 0);
	for (size_t i = 0; i < 3 * PAGE; i++)
		assert_int_equal(memory[i], 0);
	assert_null(thrum__port_allocate(SIZE_MAX - PAGE));
}

static void populating_keeps_what_is_there(void **state)
{
	uint8_t *memory = thrum__port_allocate(4 * PAGE);

	(void)state;
	memory[PAGE + 1] = 42;
	errno = 4711;
	int error = thrum__port_populate(memory, 4 * PAGE);

	assert_true(error == 0 || error == -THRUM_E_SYSTEM);
	assert_int_equal(errno, 4711);
	assert_int_equal(memory[PAGE + 1], 42);
}

/* After thrum__port_detach, writes to the mapping no longer reach the file. */
static void detaching(void **state)
{
	char name[] = "/tmp/thrum-test-XXXXXX", found[6] = "";
	int fd = mkstemp(name);

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	char *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_ptr_not_equal(memory, MAP_FAILED);
	memcpy(memory, "before", 6);
	thrum__port_detach(memory, 2 * PAGE);
	assert_int_equal(memory[0], 0);
	memcpy(memory, "after!", 6);
	assert_int_equal(pread(fd, found, 6, 0), 6);
	assert_memory_equal(found, "before", 6);
	close(fd);
}

static void wiped_in_a_child(void **state)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page = thrum__port_allocate(size);
	int status;

	(void)state;
	thrum__port_wipe_on_fork(page, size);
	page[7] = 42;
	pid_t child = fork();

	if (child == 0)
		_exit(page[7]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(page[7], 42);
}

static void reading(void **state)
{
	size_t page = thrum__port_page_size();
	uint8_t *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	(void)state;
	assert_true(memory != MAP_FAILED);
	errno = 4711;
	assert_true(thrum__port_can_read(memory + page - 8));
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	assert_true(thrum__port_can_read(memory + page - 8));
	assert_false(thrum__port_can_read(memory + page));
	assert_int_equal(munmap(memory, 2 * page), 0);
	assert_false(thrum__port_can_read(memory));
	assert_false(thrum__port_can_read(NULL));
	assert_int_equal(errno, 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_empty),
		cmocka_unit_test(populating_keeps_what_is_there),
		cmocka_unit_test(detaching),
		cmocka_unit_test(wiped_in_a_child),
		cmocka_unit_test(reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
