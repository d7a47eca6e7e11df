/* SPDX-License-Identifier: ISC */
/* The file tells when its process died, also of SIGKILL with nobody there to note it. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record_helper.h"

#define SIZE (256 << 10)
#define SLEPT 400000    /* µs */
#define AT_LEAST 300000 /* µs; the file system's clock ticks seldom */

#define XFS_MAGIC 0x58465342

/* Skips where the file system may not note the first write to a page, or the kernel doesn't mark mutexes. */
static const char *make_path(const char *name)
{
	const char *path = scratch(name);
	struct statfs fs;
	void *head;
	size_t size;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	bool notes = fd >= 0 && fstatfs(fd, &fs) == 0 &&
		(fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
			fs.f_type == XFS_MAGIC);

	if (fd >= 0)
		close(fd);
	unlink(path);
	if (syscall(SYS_get_robust_list, 0, &head, &size)) {
		printf("skipped: the kernel knows no robust mutexes\n");
		skip();
	}
	if (!notes) {
		printf("skipped: the tests' folder is not on ext4, btrfs or xfs\n");
		skip();
	}
	return path;
}

static void start(const char *file)
{
	if (thrum_start(&(struct thrum_config){.file = file, .size = SIZE}))
		_exit(2);
	thrum_log("the last event");
}

/* Runs a child, and kills it a while after it has told through the pipe that it is ready. */
static void kill_after_sleep(const char *file, void (*live)(const char *file))
{
	int ready[2], status;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid_t child = fork();

	if (child == 0) {
		live(file);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	usleep(SLEPT);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	close(ready[0]);
	close(ready[1]);
}

/* How long the process is known to have lived after its last event, in µs. */
static int64_t lived_on(const char *file)
{
	struct events events = events_of_file(file);
	const struct thrum_event *last = events_find(&events, THRUM_EVENT_LOG, 0);
	int64_t us = events.info.end > last->time ? (events.info.end - last->time) / 1000 : 0;

	assert_int_equal(events.info.ending, THRUM_ENDING_GONE);
	events_free(&events);
	return us;
}

static void a_killed_process(void **state)
{
	const char *file = make_path("killed"), *copy = scratch("copy"),
		   *snapshot = scratch("snapshot");
	char command[1024];

	(void)state;
	kill_after_sleep(file, start);
	assert_in_range(lived_on(file), AT_LEAST, 60000000);

	/* A snapshot keeps that. */
	int to = open(snapshot, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(thrum_trace_snapshot(file, to, NULL, NULL), 0);
	close(to);
	assert_in_range(lived_on(snapshot), AT_LEAST, 60000000);

	/* A plain copy was changed at another time, and tells nothing. */
	snprintf(command, sizeof command, "sleep 0.3; cp %s %s", file, copy);
	assert_int_equal(system(command), 0);
	assert_int_equal(lived_on(copy), 0);

	/* The file itself keeps it when it is changed. */
	usleep(SLEPT);
	assert_int_equal(thrum_trace_trim(file, NULL), 0);
	assert_int_equal(lived_on(file), lived_on(snapshot));
}

/* Somebody sets the file's time of change to a later one: it tells nothing of the process. */
static void a_time_that_was_set(void **state)
{
	const char *file = make_path("set");
	struct timespec times[2] = {{0, UTIME_OMIT}, {time(NULL) + 3600, 0}};

	(void)state;
	kill_after_sleep(file, start);
	assert_in_range(lived_on(file), AT_LEAST, 60000000);
	assert_int_equal(utimensat(AT_FDCWD, file, times, 0), 0);
	assert_int_equal(lived_on(file), 0);
}

/* A recording that was stopped has an end. */
static void a_stopped_recording(void **state)
{
	const char *file = make_path("stopped");
	struct timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
	struct events before, after;

	(void)state;
	start(file);
	thrum_stop();
	before = events_of_file(file);
	usleep(SLEPT);
	assert_int_equal(utimensat(AT_FDCWD, file, now, 0), 0);
	assert_int_equal(thrum_trace_note_end(file, THRUM_ENDING_EXITED, 0, NULL), 0);
	after = events_of_file(file);
	assert_int_equal(after.info.end, before.info.end);
	events_free(&before);
	events_free(&after);
}

static void *start_there(void *file)
{
	start(file);
	return NULL;
}

/* The thread that began to record ends first: then it is known that the process lived until then. */
static void live_without_the_thread(const char *file)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start_there, (void *)(uintptr_t)file))
		_exit(2);
	pthread_join(thread, NULL);
}

static void an_ended_thread(void **state)
{
	const char *file = make_path("thread");

	(void)state;
	kill_after_sleep(file, live_without_the_thread);
	assert_in_range(lived_on(file), 0, AT_LEAST - 1);
}

/* The children of a process say nothing of its end. */
static void live_with_a_child(const char *file)
{
	start(file);
	pid_t child = fork();

	if (child == 0) {
		usleep(SLEPT);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	usleep(SLEPT);
}

static void a_child_that_ends(void **state)
{
	const char *file = make_path("child");

	(void)state;
	kill_after_sleep(file, live_with_a_child);
	assert_in_range(lived_on(file), 2 * SLEPT + AT_LEAST, 60000000);
}

static void *stop_there(void *data)
{
	thrum_stop();
	return data;
}

/* The program's own robust mutexes work also after another thread has stopped the recording. */
static void other_robust_mutexes(void **state)
{
	pthread_mutex_t mutex;
	pthread_mutexattr_t attributes;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_mutexattr_init(&attributes), 0);
	assert_int_equal(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST), 0);
	assert_int_equal(pthread_mutex_init(&mutex, &attributes), 0);
	for (int i = 0; i < 3; i++) {
		start(scratch("mutexes"));
		assert_int_equal(pthread_mutex_lock(&mutex), 0);
		assert_int_equal(pthread_create(&thread, NULL, stop_there, NULL), 0);
		pthread_join(thread, NULL);
		assert_int_equal(pthread_mutex_unlock(&mutex), 0);
		assert_int_equal(pthread_mutex_lock(&mutex), 0);
		assert_int_equal(pthread_mutex_unlock(&mutex), 0);
	}
	pthread_mutex_destroy(&mutex);
	pthread_mutexattr_destroy(&attributes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_process),
		cmocka_unit_test(a_time_that_was_set),
		cmocka_unit_test(a_stopped_recording),
		cmocka_unit_test(an_ended_thread),
		cmocka_unit_test(a_child_that_ends),
		cmocka_unit_test(other_robust_mutexes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
