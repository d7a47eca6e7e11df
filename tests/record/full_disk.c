/* SPDX-License-Identifier: ISC */
/* A device without space: nothing crashes, lost events are counted, and a recording for which there
 * is no room is not started. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/format.h"
#include "numbers_helper.h"

#define THREADS 4
#define EACH 200000u

static const char *device; /* where it is mounted */

/* Mounts a small device for this test alone. Returns false if that is not permitted. */
static bool mount_device(const char *size)
{
	char options[40];

	snprintf(options, sizeof options, "size=%s", size);
	device = strdup(scratch("device"));
	return mkdir(device, 0755) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		mount("none", device, "tmpfs", 0, options) == 0;
}

static const char *on_device(const char *name)
{
	static char paths[4][300];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "%.200s/%s", device, name);
	return path;
}

static int fill_device(void)
{
	static const char zeros[65536];
	int fd = open(on_device("ballast"), O_WRONLY | O_CREAT, 0600);

	if (fd < 0)
		return -1;
	while (write(fd, zeros, sizeof zeros) > 0)
		;
	for (size_t size = sizeof zeros; size > 0; size /= 2)
		while (write(fd, zeros, size) > 0)
			;
	return close(fd);
}

static int count_files(void)
{
	DIR *directory = opendir(device);
	int count = -2;

	if (!directory)
		return -1;
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void *count(void *number)
{
	for (uint32_t n = 1; n <= EACH; n++)
		numbers_record((uint32_t)(uintptr_t)number, n);
	return NULL;
}

/* ---- Each in a process of its own; returns the failed check, or NULL ----------------------- */

static const char *check_recording(const char *file)
{
	struct numbers *numbers = numbers_create();
	struct events events;

	if (events_read(&events, NULL, 0, file))
		return "it can't be read";
	numbers_see(numbers, events.list, events.count);
	const char *complaint = numbers_complaint(numbers);

	if (complaint)
		return complaint;
	if (events.info.damaged)
		return "damaged";
	if (events.info.lost[THRUM__LOST_NO_SPACE] == 0)
		return "no loss was counted";
	if (numbers_seen(numbers) < 1000)
		return "hardly anything is there";
	return NULL;
}

static const char *the_device_fills_up(void)
{
	pthread_t threads[THREADS];
	struct thrum_config config = {.size = 16 << 20};

	if (!mount_device("4M"))
		return "skipped";
	config.file = on_device("recording");
	if (thrum_start(&config))
		return "start";
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, count, (void *)i))
			return "threads";
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Another file takes the rest of the device. */
	if (fill_device())
		return "ballast";
	count((void *)THREADS);
	thrum_stop();
	return check_recording(on_device("recording"));
}

static const char *somebody_else_fills_it(void)
{
	struct thrum_config config = {.size = 16 << 20};

	if (!mount_device("8M"))
		return "skipped";
	config.file = on_device("recording");
	if (thrum_start(&config))
		return "start";
	for (uint32_t n = 1; n <= 2000; n++)
		numbers_record(0, n);
	if (fill_device())
		return "ballast";
	count((void *)1);
	thrum_stop();
	return check_recording(on_device("recording"));
}

static const char *there_was_never_any_space(void)
{
	struct thrum_config config = {.size = 16 << 20};

	if (!mount_device("4M"))
		return "skipped";
	config.file = on_device("recording");
	if (fill_device())
		return "ballast";
	if (thrum_start(&config) != -THRUM_E_SPACE)
		return "start on a full device";
	if (thrum_enabled() || thrum_file())
		return "it records all the same";
	return count_files() == 1 ? NULL : "something is left behind";
}

static const char *a_snapshot_has_no_space(void)
{
	if (!mount_device("1M"))
		return "skipped";
	if (thrum_start(&(struct thrum_config){.file = scratch("elsewhere"), .size = 4 << 20}))
		return "start";
	count(NULL);
	if (thrum_snapshot(on_device("snapshot")) != -THRUM_E_SPACE)
		return "snapshot on a full device";
	if (count_files() != 0)
		return "something is left behind";
	thrum_log("and goes on");
	thrum_stop();
	return NULL;
}

static void run(const char *(*test)(void))
{
	pid_t child = fork_child();

	if (child == 0) {
		if (unshare(CLONE_NEWNS) && unshare(CLONE_NEWUSER | CLONE_NEWNS))
			_exit(77);
		const char *wrong = test();

		if (wrong && strcmp(wrong, "skipped") != 0)
			print_error("%s\n", wrong);
		umount2(device, MNT_DETACH);
		_exit(!wrong ? 0 : strcmp(wrong, "skipped") == 0 ? 77 : 1);
	}
	int result = child_result(child);

	rmdir(scratch("device"));
	if (result == 77) {
		print_message("skipped: no device may be mounted here\n");
		skip();
	}
	assert_int_equal(result, 0);
}

static void a_device_that_fills_up(void **state)
{
	(void)state;
	run(the_device_fills_up);
}

static void a_device_that_others_fill(void **state)
{
	(void)state;
	run(somebody_else_fills_it);
}

static void a_device_that_is_full(void **state)
{
	(void)state;
	run(there_was_never_any_space);
}

static void a_snapshot(void **state)
{
	(void)state;
	run(a_snapshot_has_no_space);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_fills_up),
		cmocka_unit_test(a_device_that_others_fill),
		cmocka_unit_test(a_device_that_is_full),
		cmocka_unit_test(a_snapshot),
	};

	scratch("");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
