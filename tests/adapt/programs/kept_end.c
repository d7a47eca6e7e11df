/* SPDX-License-Identifier: ISC */
/*
 * A program that waits for the output of a child, which waits for the end of its input. Another child,
 * which waits for this program, has inherited the writing end. With an argument it closes that.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

static void make(int ends[2])
{
	if (pipe(ends) != 0)
		exit(1);
}

static void read_all(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		continue;
}

/* Returns true in the child. */
static bool start(const char *name)
{
	if (fork() != 0)
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	return true;
}

int main(int argc, char **argv)
{
	int in[2], out[2], control[2];

	(void)argv;
	end_after(3);
	make(in);
	make(out);
	make(control);
	if (start("sorter")) {
		close(in[1]);
		close(control[1]);
		read_all(in[0]);
		_exit(0);
	}
	if (start("preview")) {
		if (argc > 1)
			close(in[1]);
		close(out[1]);
		close(control[1]);
		read_all(control[0]);
		_exit(0);
	}
	close(in[1]);
	close(out[1]);
	read_all(out[0]);
	close(control[1]);
	while (wait(NULL) > 0)
		continue;
	puts("done");
	return 0;
}
