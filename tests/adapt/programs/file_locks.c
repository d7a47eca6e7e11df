/* SPDX-License-Identifier: ISC */
/*
 * Processes that lock files. The argument says how; with a second one all is well. SIGALRM ends it.
 *
 * hook		a thread has a lock and waits for a child, which wants it
 * anew		the same, and the child executes the program anew
 * whole	the same with a lock of fcntl(), in a process with a single thread
 * kept		a child in the background keeps a lock that it got by fork
 * circle	two processes want each other's lock
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
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static bool is_fine;
static const char *program;

static int lock_file(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX))
		exit(1);
	return fd;
}

static int lock_whole(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fd < 0 || fcntl(fd, F_SETLKW, &whole))
		exit(1);
	return fd;
}

/* Returns 0 in the child. */
static pid_t start(const char *name)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
	}
	return child;
}

static void *draw(void *unused)
{
	for (;;)
		usleep(20000);
	return unused;
}

/* The child wants the lock that its parent has; where all is well, the parent gives it back after a while. */
static void run_hook(int lock(const char *), bool executes)
{
	int fd = lock("lock");
	pid_t child = start("hook");

	if (child == 0 && executes) {
		execl(program, program, "take", NULL);
		_exit(1);
	}
	if (child == 0) {
		if (is_fine)
			close(fd);
		close(lock("lock"));
		_exit(0);
	}
	if (is_fine) {
		usleep(150000);
		close(fd);
	}
	waitpid(child, NULL, 0);
	if (!is_fine)
		close(fd);
}

static void hook(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, draw, NULL);
	run_hook(lock_file, false);
}

static void anew(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, draw, NULL);
	run_hook(lock_file, true);
}

static void whole(void)
{
	run_hook(lock_whole, false);
}

/* Where all is well, it ends after a while. */
static void kept(void)
{
	int fd = lock_file("lock");
	pid_t child = start("background");

	if (child == 0) {
		usleep(150000);
		while (!is_fine)
			usleep(100000);
		_exit(0);
	}
	close(fd);
	/* The child has its name by then. */
	usleep(50000);
	close(lock_file("lock"));
	waitpid(child, NULL, 0);
}

static void circle(void)
{
	int ends[2], fd = lock_file("lock");
	char byte = 0;
	pid_t child;

	if (pipe(ends))
		exit(1);
	child = start("other");
	if (child == 0) {
		close(fd);
		fd = lock_file("second");
		if (write(ends[1], &byte, 1) != 1)
			_exit(1);
		if (is_fine)
			close(fd);
		close(lock_file("lock"));
		_exit(0);
	}
	if (read(ends[0], &byte, 1) != 1)
		exit(1);
	usleep(150000); /* until the other waits */
	close(lock_file("second"));
	close(fd);
	waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"hook", hook}, {"anew", anew}, {"whole", whole}, {"kept", kept},
		{"circle", circle}};

	if (argc > 1 && strcmp(argv[1], "take") == 0) {
		close(lock_file("lock"));
		return 0;
	}
	program = argv[0];
	is_fine = argc > 2;
	end_after(is_fine ? 20 : 2);
	for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	puts("done");
	return 0;
}
