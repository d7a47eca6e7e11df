/* SPDX-License-Identifier: ISC */
/*
 * Leaves all that it began with, as daemons and sandboxes do, and goes on with threads and pipes.
 *
 *     detached HOW [early]
 *
 * HOW: loop, range (closes all descriptors), dup (takes 300 numbers), standard (closes the first three),
 * clear (its environment), empty (runs a program without one), double (forks twice), pid, user (own
 * namespaces), pivot (another root). early: something is recorded before that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hang.h"

#define MOMENT 60000 /* us */
#define MANY 300

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool is_held;

static void *hold(void *unused)
{
	pthread_mutex_lock(&lock);
	is_held = true;
	do
		usleep(MOMENT);
	while (!has_waiter(&lock));
	pthread_mutex_unlock(&lock);
	return unused;
}

static void wait_for(pid_t child)
{
	int status = -1;

	if (waitpid(child, &status, 0) > 0)
		printf("status %x\n", (unsigned)status);
}

/* Waits for a thread, and for a child by a pipe. */
static void work(void)
{
	pthread_t thread;
	pid_t child;
	int ends[2];
	char byte;

	is_held = false;
	if (pthread_create(&thread, NULL, hold, NULL) == 0) {
		while (!is_held)
			usleep(MOMENT);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		pthread_join(thread, NULL);
	}
	if (pipe(ends) != 0)
		return;
	printf("pipe %d %d\n", ends[0], ends[1]);
	child = fork();
	if (child == 0) {
		usleep(MOMENT);
		_exit(write(ends[1], "x", 1) != 1);
	}
	if (read(ends[0], &byte, 1) != 1)
		puts("no byte");
	close(ends[0]);
	close(ends[1]);
	wait_for(child);
}

static void run(void)
{
	static char *words[] = {(char *)(uintptr_t) "/usr/bin/env", NULL}, *none[] = {NULL};

	execve(words[0], words, none);
	_exit(EXIT_FAILURE);
}

static void close_all(const char *how)
{
	if (strcmp(how, "range") == 0)
		syscall(SYS_close_range, 3, ~0u, 0);
	for (int fd = 3; fd < 5000 && strcmp(how, "loop") == 0; fd++)
		close(fd);
	for (int fd = 3; fd < MANY && strcmp(how, "dup") == 0; fd++)
		if (dup2(STDOUT_FILENO, fd) != fd)
			printf("no %d\n", fd);
}

static void close_standard(void)
{
	int out = dup(STDOUT_FILENO), fd;

	for (fd = 0; fd < 3; fd++)
		close(fd);
	fd = open("/dev/null", O_RDWR);
	dprintf(out, "%d %d %d\n", fd, dup(fd), dup(fd));
	work();
	dup2(out, STDOUT_FILENO);
}

/* Goes on in a child of a child. */
static void fork_twice(void)
{
	pid_t child = fork();

	if (child > 0) {
		wait_for(child);
		return;
	}
	setsid();
	child = fork();
	if (child > 0) {
		wait_for(child);
		_exit(3);
	}
	work();
	_exit(4);
}

/* Once the first process of the namespace is over, this one can't fork any more. */
static int enter(int spaces)
{
	if (unshare(spaces) != 0) {
		puts("not allowed");
		return 6;
	}
	pid_t child = fork();

	if (child == 0) {
		printf("process %d, user %d\n", (int)getpid(), (int)getuid());
		work();
		_exit(5);
	}
	wait_for(child);
	return 6;
}

static void change_root(void)
{
	char old[] = "root/old";

	if (mkdir("root", 0700) != 0 || unshare(CLONE_NEWNS) != 0 ||
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount("tmpfs", "root", "tmpfs", 0, NULL) != 0 || mkdir(old, 0700) != 0 ||
		chdir("root") != 0 || syscall(SYS_pivot_root, ".", "old") != 0 ||
		umount2("/old", MNT_DETACH) != 0)
		puts("not allowed");
	printf("%d\n", open("/dev/null", O_RDONLY));
}

int main(int count, char **words)
{
	const char *how = words[1];

	setvbuf(stdout, NULL, _IONBF, 0);
	if (count > 2)
		work();
	close_all(how);
	if (strcmp(how, "standard") == 0)
		close_standard();
	if (strcmp(how, "clear") == 0) {
		clearenv();
		if (fork() == 0)
			run();
		wait_for(-1);
	}
	if (strcmp(how, "double") == 0)
		fork_twice();
	if (strcmp(how, "pid") == 0)
		return enter(CLONE_NEWPID);
	if (strcmp(how, "user") == 0)
		return enter(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID);
	if (strcmp(how, "pivot") == 0)
		change_root();
	work();
	if (strcmp(how, "empty") == 0)
		run();
	printf("next %d\n", dup(STDOUT_FILENO));
	return 7;
}
