/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: a leak of handles: for files that have not changed since the last backup, store_file returns before it closes them. The handles "file etc/hosts", "file etc/motd" and "file home/notes" stay open to the end; the backup itself completes.
 *   culprit: file (etc/hosts|etc/motd|home/notes)
 *   victim: backup|store (etc/hosts|etc/motd|home/notes)
 */
/* snapback: an incremental backup of a few files, two at a time. */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <thrum.h>
#include <unistd.h>

static bool leaks;
static struct file {
	const char *path;
	bool changed;
	int blocks;
	int descriptor, timer;
	thrum_task store, handle, read;
} files[] = {{"etc/passwd", true, 2}, {"etc/hosts", false, 1}, {"etc/fstab", true, 1},
	{"home/mail", true, 6}, {"etc/motd", false, 1}, {"home/todo", true, 3},
	{"home/notes", false, 1}, {"var/log", true, 5}, {"var/spool", true, 2}};
#define FILES (int)(sizeof(files) / sizeof(*files))
#define LANES 2
static struct file *busy[LANES];
static int next_file, stored;
static thrum_task backup;

static void read_block(struct file *file)
{
	struct itimerspec soon = {.it_value = {0, 8000000}};

	file->read = thrum_task_create(THRUM_KIND_REQUEST, "read block");
	thrum_task_wait(file->store, file->read);
	timerfd_settime(file->timer, 0, &soon, NULL);
}

static void open_file(struct file *file)
{
	file->store = thrum_task_createf(THRUM_KIND_TASK, "store %s", file->path);
	thrum_task_should_resolve(file->store);
	thrum_task_wait(backup, file->store);
	THRUM_RUN (file->store) {
		file->handle = thrum_task_createf(THRUM_KIND_HANDLE, "file %s", file->path);
		file->descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);
		file->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		read_block(file);
	}
}

static void close_file(struct file *file)
{
	close(file->descriptor);
	thrum_task_resolve(file->handle);
}

/* Returns true when the file is done. */
static bool store_file(struct file *file)
{
	bool done = false;

	THRUM_RUN (file->store) {
		thrum_task_read(file->store, file->read);
		thrum_task_resolve(file->read);
		if (!file->changed) {
			thrum_log("unchanged");
			if (!leaks)
				close_file(file);
			thrum_task_resolve(file->store);
			done = true;
		} else if (--file->blocks > 0) {
			read_block(file);
		} else {
			close_file(file);
			thrum_task_resolve(file->store);
			done = true;
		}
	}
	if (done) {
		close(file->timer);
		stored++;
	}
	return done;
}

int main(int argc, char **argv)
{
	struct pollfd polled[LANES];
	thrum_task catalog;
	uint64_t ticks;

	leaks = argc > 1 && !strcmp(argv[1], "bad");
	catalog = thrum_task_create(THRUM_KIND_HANDLE, "catalog"); /* stays open */
	(void)catalog;
	backup = thrum_task_create(THRUM_KIND_TASK, "backup");
	thrum_task_should_resolve(backup);
	while (stored < FILES) {
		for (int i = 0; i < LANES; i++) {
			if (!busy[i] && next_file < FILES) {
				busy[i] = &files[next_file++];
				THRUM_RUN (backup)
					open_file(busy[i]);
			}
			polled[i] = (struct pollfd){busy[i] ? busy[i]->timer : -1, POLLIN, 0};
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polled, LANES, -1);
		thrum_resume();
		for (int i = 0; i < LANES; i++)
			if (polled[i].revents && read(polled[i].fd, &ticks, sizeof(ticks)) > 0 &&
				store_file(busy[i]))
				busy[i] = NULL;
	}
	thrum_task_resolve(backup);
	printf("%d files\n", stored);
	return 0;
}
