/* SPDX-License-Identifier: ISC */
/* The choice of the file, the files that may be replaced, and that no other file is touched. */
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
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/format.h"
#include "port/port.h"
#include "record_helper.h"

#define SIZE (256 << 10)
#define NOBODY 65534

static int start(const char *file)
{
	return thrum_start(&(struct thrum_config){.file = file, .size = SIZE});
}

/* Makes a recording of this one line. */
static void record(const char *file, const char *line)
{
	assert_int_equal(start(file), 0);
	thrum_log(line);
	thrum_stop();
}

static void check_line(const char *file, const char *line)
{
	struct events events = events_of_file(file);

	assert_int_equal(events_count(&events, THRUM_EVENT_LOG), 1);
	assert_string_equal(events_find(&events, THRUM_EVENT_LOG, 0)->text, line);
	events_free(&events);
}

static void write_text(const char *file, const char *text)
{
	FILE *to = fopen(file, "w");

	assert_non_null(to);
	fputs(text, to);
	fclose(to);
}

static void check_text(const char *file, const char *text)
{
	char found[100] = "";
	FILE *from = fopen(file, "r");

	assert_non_null(from);
	size_t size = fread(found, 1, sizeof found - 1, from);

	fclose(from);
	assert_int_equal(size, strlen(text));
	assert_string_equal(found, text);
}

static mode_t mode_of(const char *file)
{
	struct stat st;

	assert_int_equal(lstat(file, &st), 0);
	return st.st_mode & 07777;
}

/* Returns the number of files in a folder, hidden ones included. */
static int count_files(const char *folder)
{
	DIR *directory = opendir(folder);
	int count = -2; /* itself and its parent */

	assert_non_null(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

/* A new, empty folder. */
static const char *new_folder(const char *name)
{
	const char *folder = scratch(name);

	assert_int_equal(mkdir(folder, 0755), 0);
	return folder;
}

/* Valid until the 40th call from now. */
static const char *in(const char *folder, const char *name)
{
	static char paths[40][512];
	static unsigned next;
	char *path = paths[next++ % 40];

	snprintf(path, sizeof paths[0], "%.200s/%.300s", folder, name);
	return path;
}

/* ---- Files in the way -------------------------------------------------------------------- */

static void what_is_not_ours_stays(void **state)
{
	const char *folder = new_folder("in the way");
	const char *text = in(folder, "text"), *link = in(folder, "link");
	const char *dangling = in(folder, "dangling"), *pipe = in(folder, "pipe");

	(void)state;
	write_text(text, "precious");
	assert_int_equal(symlink(text, link), 0);
	assert_int_equal(symlink(in(folder, "nothing"), dangling), 0);
	assert_int_equal(mkfifo(pipe, 0600), 0);
	assert_int_equal(start(text), -THRUM_E_EXISTS);
	assert_int_equal(start(link), -THRUM_E_SYMLINK);
	assert_int_equal(start(dangling), -THRUM_E_SYMLINK);
	assert_int_equal(start(pipe), -THRUM_E_EXISTS);
	assert_int_equal(start("/dev/null"), -THRUM_E_EXISTS);
	assert_int_equal(start(folder), -THRUM_E_EXISTS);
	assert_int_equal(start(in(folder, "no/such/folder")), -THRUM_E_NOT_FOUND);
	assert_int_equal(start(in(folder, "")), -THRUM_E_ARGUMENT);
	assert_false(thrum_enabled());
	check_text(text, "precious");
	assert_int_equal(count_files(folder), 4);
	/* After a refusal, a recording can be started elsewhere. */
	record(in(folder, "fine"), "fine");
	check_line(in(folder, "fine"), "fine");
}

static void what_is_nobodys_is_replaced(void **state)
{
	const char *folder = new_folder("replaced"), *file = in(folder, "file");
	struct stat before, after;

	(void)state;
	write_text(file, "");
	assert_int_equal(chmod(file, 0666), 0);
	record(file, "first");
	check_line(file, "first");
	assert_int_equal(mode_of(file), 0600);
	assert_int_equal(stat(file, &before), 0);
	/* A reader of the old file can go on. */
	int old = open(file, O_RDONLY);

	assert_true(old >= 0);
	record(file, "second");
	check_line(file, "second");
	assert_int_equal(stat(file, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(fstat(old, &after), 0);
	assert_int_equal(after.st_size, before.st_size);
	close(old);
	assert_int_equal(count_files(folder), 1);
}

/* Starts as the user nobody if we are root. */
static int start_as_nobody(const char *file)
{
	if (geteuid() == 0 && setresuid(NOBODY, NOBODY, NOBODY))
		return 1;
	return start(file) == -THRUM_E_ACCESS ? 0 : 2;
}

static void a_folder_that_may_not_be_written(void **state)
{
	const char *folder = new_folder("closed"), *file = in(folder, "file");

	(void)state;
	assert_int_equal(chmod(scratch(""), 0755), 0);
	assert_int_equal(chmod(folder, 0555), 0);
	pid_t child = fork_child();

	if (child == 0)
		_exit(start_as_nobody(file));
	assert_int_equal(child_result(child), 0);
	assert_int_equal(chmod(folder, 0755), 0);
	assert_int_equal(count_files(folder), 0);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void patterns(void **state)
{
	const char *folder = new_folder("patterns");
	char expected[600];

	(void)state;
	assert_int_equal(start(in(folder, "%e and %p, 100%% %x%")), 0);
	snprintf(expected, sizeof expected, "%s/%s and %d, 100%% %%x%%", folder,
		program_invocation_short_name, (int)getpid());
	assert_string_equal(thrum_file(), expected);
	thrum_stop();
	assert_int_equal(access(expected, R_OK), 0);
	assert_int_equal(count_files(folder), 1);
}

static void names_that_are_too_long(void **state)
{
	static char file[9000];

	(void)state;
	memset(file, 'x', 290);
	assert_true(start(in(new_folder("long"), file)) < 0);
	memset(file, '/', sizeof file - 1);
	assert_int_equal(start(file), -THRUM_E_ARGUMENT);
	for (size_t i = 0; i + 1 < sizeof file; i += 2)
		memcpy(file + i, "%e", 2);
	assert_int_equal(start(file), -THRUM_E_ARGUMENT);
	assert_int_equal(count_files(scratch("long")), 0);
}

/* Starts without a name, and checks that the file is in this folder, which is our own. */
static void check_default(const char *folder)
{
	char expected[300];

	unsetenv("THRUM_TRACE");
	assert_int_equal(thrum_start(NULL), 0);
	snprintf(expected, sizeof expected, "%s/%s-%d.thrum", folder, program_invocation_short_name,
		(int)getpid());
	assert_string_equal(thrum_file(), expected);
	assert_int_equal(mode_of(folder), 0700);
	assert_int_equal(mode_of(expected), 0600);
	thrum_stop();
	assert_int_equal(unlink(expected), 0);
}

static void the_default_folder(void **state)
{
	const char *runtime = new_folder("runtime");
	char shared[64];
	mode_t before = umask(0);

	(void)state;
	snprintf(shared, sizeof shared, "/dev/shm/thrum-%u", (unsigned)geteuid());
	setenv("XDG_RUNTIME_DIR", runtime, 1);
	check_default(in(runtime, "thrum"));
	check_default(in(runtime, "thrum"));
	/* A folder that others can write to, or that is no folder, is not used. */
	assert_int_equal(chmod(in(runtime, "thrum"), 0777), 0);
	check_default(shared);
	assert_int_equal(rmdir(in(runtime, "thrum")), 0);
	assert_int_equal(symlink("/tmp", in(runtime, "thrum")), 0);
	check_default(shared);
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	check_default(shared);
	unsetenv("XDG_RUNTIME_DIR");
	check_default(shared);
	umask(before);
}

/* ---- Several processes --------------------------------------------------------------------- */

#define RACERS 20

struct race {
	_Atomic int ready, recording;
	_Atomic int pids[RACERS];
};
static struct race *race;

static void wait_until(_Atomic int *count, int all)
{
	atomic_fetch_add(count, 1);
	while (atomic_load(count) < all)
		usleep(200);
}

static void run_race(const char *file, int number)
{
	char line[20];

	atomic_store(&race->pids[number], (int)getpid());
	snprintf(line, sizeof line, "racer %d", number);
	wait_until(&race->ready, RACERS);
	int error = start(file);

	thrum_log(line);
	wait_until(&race->recording, RACERS);
	thrum_stop();
	_exit(-error);
}

/* Starts many recordings at once with one name; each gets a file of its own. */
static void race_for(const char *folder, const char *file)
{
	pid_t children[RACERS];
	bool found[RACERS] = {false};

	race = shared_memory(sizeof *race);
	for (int i = 0; i < RACERS; i++) {
		children[i] = fork_child();
		if (children[i] == 0)
			run_race(file, i);
	}
	for (int i = 0; i < RACERS; i++)
		assert_int_equal(child_result(children[i]), 0);
	assert_int_equal(count_files(folder), RACERS);
	for (int i = -1; i < RACERS; i++) {
		char name[300];
		struct events events;

		snprintf(name, sizeof name, "%s.%d", file, i < 0 ? 0 : race->pids[i]);
		if (events_read(&events, NULL, 0, i < 0 ? file : name))
			continue;
		const struct thrum_event *line = events_find(&events, THRUM_EVENT_LOG, 0);

		assert_non_null(line);
		found[atoi(line->text + strlen("racer "))] = true;
		events_free(&events);
	}
	for (int i = 0; i < RACERS; i++)
		assert_true(found[i]);
}

static void the_same_file_for_all(void **state)
{
	const char *folder = new_folder("race");

	(void)state;
	race_for(folder, in(folder, "file"));
}

/* On a busy machine, a start may wait in vain for the lock of the folder. */
static void the_same_file_for_all_without_the_lock_of_the_folder(void **state)
{
	(void)state;
	for (int round = 0; round < 5; round++) {
		char name[20];

		snprintf(name, sizeof name, "race %d", round);
		const char *folder = new_folder(name), *file = in(folder, "file");
		int fd = open(folder, O_RDONLY | O_DIRECTORY);

		/* An older recording is replaced, in some rounds. */
		if (round % 2)
			record(file, "old");
		assert_int_equal(flock(fd, LOCK_EX), 0);
		race_for(folder, file);
		close(fd);
	}
}

static void the_second_takes_another_name(void **state)
{
	const char *file = scratch("taken.thrum");
	char other[300];

	(void)state;
	assert_int_equal(start(file), 0);
	thrum_log("the first");
	pid_t child = fork_child();

	if (child == 0) {
		int error = start(file);

		thrum_log("the second");
		thrum_stop();
		_exit(-error);
	}
	snprintf(other, sizeof other, "%s.%d", file, (int)child);
	assert_int_equal(child_result(child), 0);
	thrum_stop();
	check_line(file, "the first");
	check_line(other, "the second");
}

/* A process of another container, whose id tells nothing here, records to the file. */
static void a_process_of_another_container(void **state)
{
	const char *file = scratch("container.thrum");
	int ready[2], go_on[2];
	char other[300], byte = 0;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(go_on), 0);
	pid_t child = fork_child();

	if (child == 0) {
		uint32_t pid = (uint32_t)getppid();
		int error = start(file), fd = open(file, O_WRONLY);

		/* Both containers have a process of this number. */
		if (pwrite(fd, &pid, sizeof pid, offsetof(struct thrum__header, pid)) < 0 ||
			write(ready[1], "", 1) < 0 || read(go_on[0], &byte, 1) < 0)
			_exit(1);
		thrum_log("the first");
		thrum_stop();
		_exit(-error);
	}
	assert_int_equal(read(ready[0], &byte, 1), 1);
	record(file, "the second");
	assert_int_equal(write(go_on[1], "", 1), 1);
	assert_int_equal(child_result(child), 0);
	snprintf(other, sizeof other, "%s.%d", file, (int)getpid());
	check_line(file, "the first");
	check_line(other, "the second");
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(go_on[i]);
	}
}

/* Its lock is released, so the file is as good as one of long ago, whatever its process id. */
static void a_recording_of_a_killed_process(void **state)
{
	const char *file = scratch("killed.thrum");
	int fd;

	(void)state;
	pid_t child = fork_child();

	if (child == 0) {
		uint32_t pid = (uint32_t)getppid();

		if (start(file) || (fd = open(file, O_WRONLY)) < 0 ||
			pwrite(fd, &pid, sizeof pid, offsetof(struct thrum__header, pid)) < 0)
			_exit(1);
		raise(SIGKILL);
	}
	assert_int_equal(child_result(child), -SIGKILL);
	record(file, "the next");
	check_line(file, "the next");
}

static void leftovers_of_killed_processes(void **state)
{
	const char *folder = new_folder("leftovers"), *file = in(folder, "file");
	const char *old = in(folder, ".file.0123456789abcdef.thrum~");
	const char *held = in(folder, ".file.0123456789abcde0.thrum~");

	(void)state;
	write_text(old, "old");
	write_text(held, "held");
	write_text(in(folder, ".file.0123456789abcdef~"), "editor's");
	write_text(in(folder, "file.0123456789abcdef.thrum~"), "visible");
	int fd = open(held, O_RDWR);

	assert_true(thrum__port_file_lock(fd));
	record(file, "new");
	assert_int_equal(access(old, F_OK), -1);
	check_text(held, "held");
	assert_int_equal(count_files(folder), 4);
	close(fd);
	record(file, "newer");
	assert_int_equal(count_files(folder), 3);
}

/* Nobody gets the lock of the folder, so that each start takes the others' files for leftovers. */
static void starts_at_once_without_the_lock_of_the_folder(void **state)
{
	const char *folder = new_folder("unlocked");
	int fd = open(folder, O_RDONLY | O_DIRECTORY), children[8];

	(void)state;
	assert_int_equal(flock(fd, LOCK_EX), 0);
	for (int i = 0; i < 8; i++) {
		children[i] = fork_child();
		if (children[i])
			continue;
		for (int round = 0; round < 5; round++) {
			if (start(in(folder, "%p")))
				_exit(1);
			thrum_stop();
		}
		_exit(0);
	}
	for (int i = 0; i < 8; i++)
		assert_int_equal(child_result(children[i]), 0);
	assert_int_equal(count_files(folder), 8);
	close(fd);
}

/* ---- Memory --------------------------------------------------------------------------------- */

#if defined(__GLIBC__) && !UNDER_ASAN && !UNDER_TSAN
void *__libc_malloc(size_t size);

static _Atomic unsigned allocations;

void *malloc(size_t size)
{
	atomic_fetch_add(&allocations, 1);
	return __libc_malloc(size);
}

/* A signal's handler may start a recording while the program is in malloc(). */
static void a_start_needs_no_heap(void **state)
{
	const char *folder = new_folder("heap"), *file = in(folder, "file");
	unsigned before;

	(void)state;
	record(file, "first");
	before = atomic_load(&allocations);
	record(file, "again");
	assert_int_equal(atomic_load(&allocations), before);
}
#else
static void a_start_needs_no_heap(void **state)
{
	(void)state;
	print_message("skipped: allocations are counted with glibc alone\n");
	skip();
}
#endif

/* ---- Descriptors --------------------------------------------------------------------------- */

static void *record_some(void *unused)
{
	for (int i = 0; i < 3000; i++)
		thrum_logf("line %d", i);
	return unused;
}

/* A daemon closes all descriptors; if the recorder kept one, its number would be reused. */
static void closing_all_descriptors(void **state)
{
	const char *folder = new_folder("closing"), *file = in(folder, "file");
	char name[20];

	(void)state;
	pid_t child = fork_child();

	if (child == 0) {
		if (start(file))
			_exit(1);
		record_some(NULL);
		syscall(SYS_close_range, 3, ~0U, 0);
		for (int i = 0; i < 30; i++) {
			snprintf(name, sizeof name, "own %d", i);
			if (open(in(folder, name), O_RDWR | O_CREAT, 0600) != 3 + i)
				_exit(2);
			if (write(3 + i, name, strlen(name)) < 0)
				_exit(3);
		}
		for (int i = 0; i < 5; i++) {
			pthread_t thread;

			pthread_create(&thread, NULL, record_some, NULL);
			pthread_join(thread, NULL);
		}
		if (thrum_snapshot(in(folder, "snapshot")))
			_exit(4);
		thrum_stop();
		for (int i = 0; i < 30; i++)
			if (close(3 + i))
				_exit(5);
		_exit(close(3 + 30) ? 0 : 6);
	}
	assert_int_equal(child_result(child), 0);
	for (int i = 0; i < 30; i++) {
		snprintf(name, sizeof name, "own %d", i);
		check_text(in(folder, name), name);
	}
	struct events events = events_of_file(file);

	assert_true(events_count(&events, THRUM_EVENT_LOG) > 1000);
	assert_int_equal(events.info.damaged, 0);
	events_free(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_ours_stays),
		cmocka_unit_test(what_is_nobodys_is_replaced),
		cmocka_unit_test(a_folder_that_may_not_be_written),
		cmocka_unit_test(patterns),
		cmocka_unit_test(names_that_are_too_long),
		cmocka_unit_test(the_default_folder),
		cmocka_unit_test(the_same_file_for_all),
		cmocka_unit_test(the_same_file_for_all_without_the_lock_of_the_folder),
		cmocka_unit_test(the_second_takes_another_name),
		cmocka_unit_test(a_process_of_another_container),
		cmocka_unit_test(a_recording_of_a_killed_process),
		cmocka_unit_test(leftovers_of_killed_processes),
		cmocka_unit_test(starts_at_once_without_the_lock_of_the_folder),
		cmocka_unit_test(a_start_needs_no_heap),
		cmocka_unit_test(closing_all_descriptors),
	};

	scratch("");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
