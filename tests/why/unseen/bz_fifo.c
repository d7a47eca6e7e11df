/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: fifo
 *   run: kill 4000
 *   ask: why
 *   truth: the loop opens a FIFO that nobody reads by a raw openat, and takes no news any more
 *   culprit: openat|fifo|call_out
 *   victim: main
 * case: healthy
 *   args: rest
 *   run: kill 4000
 *   ask: why
 *   culprit: nothing
 */

/* A loop that takes news of a thread and makes a system call past the C library. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEWS 8 /* after which the loop makes its call */
#define GAP 50000

static int news[2], quiet[2];

static void *tell_news(void *unused)
{
	do
		usleep(GAP); /* the loop waits when something comes */
	while (write(news[1], "n", 1) == 1);
	return unused;
}

static void *read_quiet(void *unused)
{
	char byte;

	syscall(SYS_read, quiet[0], &byte, 1);
	return unused;
}

static void call_out(const char *how)
{
	if (strcmp(how, "lock") == 0) {
		int held = open("counts.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		int again = open("counts.lock", O_RDWR | O_CLOEXEC);

		unlink("counts.lock");
		syscall(SYS_flock, held, LOCK_EX);
		syscall(SYS_flock, again, LOCK_EX);
	} else if (strcmp(how, "free") == 0) {
		syscall(SYS_flock, open("free.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX);
	} else if (strcmp(how, "fifo") == 0) {
		mkfifo("/tmp/bz_counts.fifo", 0600);
		syscall(SYS_openat, AT_FDCWD, "/tmp/bz_counts.fifo", O_WRONLY);
	}
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "lock";
	struct epoll_event event = {.events = EPOLLIN};
	int all = epoll_create1(EPOLL_CLOEXEC), taken = 0;
	pthread_t teller, reader;
	char byte;

	if (pipe2(news, O_CLOEXEC) < 0 || pipe2(quiet, O_CLOEXEC) < 0)
		return 1;
	epoll_ctl(all, EPOLL_CTL_ADD, news[0], &event);
	pthread_create(&teller, NULL, tell_news, NULL);
	if (strcmp(how, "rest") == 0)
		pthread_create(&reader, NULL, read_quiet, NULL);
	while (epoll_wait(all, &event, 1, -1) == 1 && read(news[0], &byte, 1) == 1)
		if (++taken == NEWS)
			call_out(how);
	return 0;
}
