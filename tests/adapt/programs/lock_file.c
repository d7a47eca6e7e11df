/* SPDX-License-Identifier: ISC */
/*
 * Files that are locks, and FIFOs. SIGALRM ends it where it hangs.
 *
 * lock_file killed	a child was killed while it had the lock
 * lock_file late	it is killed while its parent tries
 * lock_file own	the process wants a lock that it has
 * lock_file slow	a child has the lock for some time
 * lock_file handed	a child makes the lock, and is killed; a process that it forked removes it
 * lock_file again	another process has made the lock anew after a child that was killed
 * lock_file breaks	it removes the lock that a child has left, and goes on without
 * lock_file flag	makes sure several times that a file exists
 * lock_file log	makes sure that a file exists, and writes to it, several times
 * lock_file fifo	opens a FIFO for which nobody comes for some time
 * lock_file crossed	two threads open two FIFOs in opposite order
 * lock_file met	in the same order
 * lock_file shared	they open two that a child opens after some time
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define WHILE 400000 /* µs */

static void take(void)
{
	int fd;

	while ((fd = open("index.lock", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600)) < 0) {
		if (errno != EEXIST)
			exit(1);
		usleep(5000);
	}
	close(fd);
}

static void die(void)
{
	raise(SIGKILL);
}

static void die_late(void)
{
	usleep(WHILE);
	raise(SIGKILL);
}

static void give_back(void)
{
	usleep(WHILE);
	unlink("index.lock");
}

static void hand_over(void)
{
	if (fork() == 0) {
		give_back();
		_exit(0);
	}
	raise(SIGKILL);
}

/* A child has the lock. */
static pid_t start(void with_lock(void))
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_NAME, "collector");
		take();
		with_lock();
		_exit(0);
	}
	while (access("index.lock", F_OK))
		usleep(1000);
	return child;
}

static void take_after(void with_lock(void), bool waits)
{
	pid_t child = start(with_lock);

	if (waits)
		waitpid(child, NULL, 0);
	take();
	if (!waits)
		waitpid(child, NULL, 0);
}

static void killed(void)
{
	take_after(die, true);
}

static void late(void)
{
	take_after(die_late, false);
}

static void own(void)
{
	take();
	take();
}

static void slow(void)
{
	take_after(give_back, false);
}

static void handed(void)
{
	take_after(hand_over, true);
}

static void again(void)
{
	waitpid(start(die), NULL, 0);
	unlink("index.lock");
	take_after(give_back, false);
}

static void breaks(void)
{
	waitpid(start(die), NULL, 0);
	for (int i = 0; i < 30; i++) {
		if (open("index.lock", O_CREAT | O_EXCL | O_RDWR, 0600) >= 0)
			exit(1);
		usleep(5000);
	}
	unlink("index.lock");
}

static void flag(void)
{
	for (int i = 0; i < 30; i++) {
		close(open("index.lock", O_CREAT | O_EXCL | O_WRONLY, 0600));
		usleep(5000);
	}
	puts("done");
	exit(0);
}

static void add_line(const char *line)
{
	int fd = open("index.lock", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST)
		fd = open("index.lock", O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0 || write(fd, line, strlen(line)) < 0)
		exit(1);
	close(fd);
}

static void log_lines(void)
{
	for (int i = 0; i < 30; i++) {
		add_line("line\n");
		usleep(5000);
	}
}

static void *sleep_long(void *unused)
{
	pause();
	return unused;
}

static void fifo(void)
{
	pthread_t thread;
	int fd;

	if (mkfifo("pipe", 0600) || pthread_create(&thread, NULL, sleep_long, NULL))
		exit(1);
	if (fork() == 0) {
		usleep(WHILE);
		_exit(open("pipe", O_WRONLY) < 0);
	}
	fd = open("pipe", O_RDONLY);
	wait(NULL);
	close(fd);
}

static char folder[] = "./fifos-XXXXXX", request[32], reply[32];
static bool is_crossed;

static int open_or_exit(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		exit(1);
	return fd;
}

static void *answer(void *unused)
{
	int first = is_crossed ? open_or_exit(reply, O_WRONLY) : open_or_exit(request, O_RDONLY);

	close(is_crossed ? open_or_exit(request, O_RDONLY) : open_or_exit(reply, O_WRONLY));
	close(first);
	return unused;
}

/* A child's, which reads both. */
static void read_both(void)
{
	usleep(WHILE);
	close(open_or_exit(reply, O_RDONLY));
	close(open_or_exit(request, O_RDONLY));
	_exit(0);
}

static void make_fifos(void)
{
	if (!mkdtemp(folder))
		exit(1);
	snprintf(request, sizeof request, "%s/request", folder);
	snprintf(reply, sizeof reply, "%s/reply", folder);
	if (mkfifo(request, 0600) || mkfifo(reply, 0600))
		exit(1);
}

static void open_both(bool crosses)
{
	pthread_t thread;
	int first;

	is_crossed = crosses;
	make_fifos();
	if (pthread_create(&thread, NULL, answer, NULL))
		exit(1);
	first = open_or_exit(request, O_WRONLY);
	close(open_or_exit(reply, O_RDONLY));
	close(first);
	pthread_join(thread, NULL);
}

static void crossed(void)
{
	open_both(true);
}

static void met(void)
{
	open_both(false);
}

/* Here the child answers, and the thread only writes. */
static void *write_reply(void *unused)
{
	close(open_or_exit(reply, O_WRONLY));
	return unused;
}

static void shared(void)
{
	pthread_t thread;

	make_fifos();
	if (fork() == 0)
		read_both();
	if (pthread_create(&thread, NULL, write_reply, NULL))
		exit(1);
	close(open_or_exit(request, O_WRONLY));
	pthread_join(thread, NULL);
	wait(NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"killed", killed}, {"late", late}, {"own", own}, {"slow", slow},
		{"handed", handed}, {"again", again}, {"breaks", breaks}, {"flag", flag},
		{"log", log_lines}, {"fifo", fifo}, {"crossed", crossed}, {"met", met},
		{"shared", shared}};

	end_after(6); /* on a busy machine two looks take some time */
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	unlink("index.lock");
	unlink("pipe");
	puts("done");
	return 0;
}
