/* SPDX-License-Identifier: ISC */
/*
 * A thread feeds two children by pipes, closes that of the first, and waits for it, while another thread
 * sleeps again and again. The second child has inherited the writing end of the first pipe. SIGALRM ends
 * the program. With an argument all is well:
 *
 * fine		the second child closes that end
 * late		the other thread writes to the second child at times, and closes its pipe in the end
 * works	a thread of a child works, and another one reads from the program, which waits for the child
 *
 * three	hangs, too: a third child has both ends, so two have that of the first pipe
 * three_late	the same, but as "late"
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define PARTS 20
#define NAPS 40 /* of 100 ms, after which the pipe is closed */

static bool is_fine, is_late;
static int children = 2, inputs[3];

static void put(int fd)
{
	if (write(fd, "part", 4) != 4)
		exit(1);
}

static void read_all(int fd)
{
	char part[4];

	while (read(fd, part, sizeof part) > 0)
		continue;
}

static pid_t start(int number, const char *name)
{
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		exit(1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (is_fine && number == 1)
			close(inputs[0]);
		close(ends[1]);
		read_all(ends[0]);
		_exit(0);
	}
	close(ends[0]);
	inputs[number] = ends[1];
	return child;
}

static void close_others(void)
{
	for (int i = 1; i < children; i++)
		close(inputs[i]);
}

static void *nap(void *unused)
{
	for (int i = 0; !is_late || i < NAPS; i++) {
		usleep(100000);
		if (is_late)
			put(inputs[children - 1]);
	}
	close_others();
	return unused;
}

static void *work(void *answer)
{
	usleep(NAPS * 100000 * slowness()); /* until after the end */
	put(*(int *)answer);
	return NULL;
}

static void wait_for_answer(void)
{
	pthread_t thread;
	char part[4];
	int in[2], out[2];

	if (pipe(in) != 0 || pipe(out) != 0)
		exit(1);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(in[1]);
		close(out[0]);
		pthread_create(&thread, NULL, work, &out[1]);
		read_all(in[0]);
		_exit(0);
	}
	close(in[0]);
	close(out[1]);
	put(in[1]);
	if (read(out[0], part, sizeof part) < 0)
		exit(1);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t packer;

	is_fine = argc > 1 && strcmp(argv[1], "fine") == 0;
	is_late = argc > 1 && strstr(argv[1], "late");
	end_after(is_fine || is_late ? 20 : 2); /* these end by themselves */
	if (argc > 1 && strcmp(argv[1], "works") == 0)
		wait_for_answer();
	packer = start(0, "packer");
	start(1, "counter");
	if (argc > 1 && strncmp(argv[1], "three", 5) == 0)
		start(children++, "sorter");
	pthread_create(&thread, NULL, nap, NULL);
	for (int i = 0; i < PARTS; i++) {
		for (int j = 0; j < children; j++)
			put(inputs[j]);
		usleep(1000);
	}
	close(inputs[0]);
	waitpid(packer, NULL, 0);
	if (!is_late)
		close_others();
	while (wait(NULL) > 0)
		continue;
	puts("done");
	return 0;
}
