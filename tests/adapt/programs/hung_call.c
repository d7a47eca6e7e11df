/* SPDX-License-Identifier: ISC */
/*
 * A loop takes news out of a pipe, which a thread writes, and makes a system call that no adapter
 * sees. It knows nothing of thrum. SIGALRM ends it.
 *
 * hung_call lock	the loop waits for the lock of a file that another descriptor of it has
 * hung_call fifo	it opens a FIFO that nobody reads
 *
 * In these nothing is wrong:
 *
 * hung_call free	nobody has the lock
 * hung_call rest	a thread beside the loop reads a pipe into which nothing comes so far
 */
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

#define LIFE 6 /* s; `thrum record` looks every half second */
#define NEWS \
	24 /* after which the loop makes its call; the first may come too early to be recorded */
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

		syscall(SYS_flock, held, LOCK_EX);
		syscall(SYS_flock, again, LOCK_EX);
	} else if (strcmp(how, "free") == 0) {
		syscall(SYS_flock, open("free.lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600), LOCK_EX);
	} else if (strcmp(how, "fifo") == 0) {
		mkfifo("counts.fifo", 0600);
		syscall(SYS_openat, AT_FDCWD, "counts.fifo", O_WRONLY);
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
	alarm(LIFE);
	epoll_ctl(all, EPOLL_CTL_ADD, news[0], &event);
	pthread_create(&teller, NULL, tell_news, NULL);
	if (strcmp(how, "rest") == 0)
		pthread_create(&reader, NULL, read_quiet, NULL);
	while (epoll_wait(all, &event, 1, -1) == 1 && read(news[0], &byte, 1) == 1)
		if (++taken == NEWS)
			call_out(how);
	return 0;
}
