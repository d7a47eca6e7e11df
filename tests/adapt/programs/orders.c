/* SPDX-License-Identifier: ISC */
/*
 * A child takes the lock of a file for each order that it gets over a pipe, and answers; then the parent
 * takes that lock. The child keeps the lock after the third order, so the parent waits for ever, and the
 * child for an order. The signal that ends the parent lets the child go on. Argument: "fine" releases it each
 * time; with "slow" the child takes its time to end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

#define ORDERS 5

static int orders[2], answers[2];
static char path[64];

int take_lock(void);
int take_lock(void)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX) < 0 ? -1 : fd;
}

static void serve(int is_fine)
{
	char order;

	for (int i = 0; read(orders[0], &order, 1) == 1; i++) {
		int fd = take_lock();

		if (is_fine || i != 2)
			close(fd);
		if (write(answers[1], &order, 1) != 1)
			break;
	}
}

int main(int argc, char **argv)
{
	char answer;
	int status = 1;

	snprintf(path, sizeof path, "orders.%d", (int)getpid());
	close(open(path, O_CREAT | O_RDWR, 0600));
	if (pipe(orders) < 0 || pipe(answers) < 0)
		return 1;
	if (fork() == 0) {
		close(orders[1]);
		close(answers[0]);
		serve(argc > 1 && strcmp(argv[1], "fine") == 0);
		if (argc > 1 && strcmp(argv[1], "slow") == 0)
			usleep(100000);
		return 0;
	}
	end_after(2);
	close(orders[0]);
	close(answers[1]);
	for (int i = 0; i < ORDERS; i++) {
		if (write(orders[1], "o", 1) != 1 || read(answers[0], &answer, 1) != 1)
			return 1;
		usleep(20000);
		close(take_lock());
	}
	close(orders[1]);
	wait(&status);
	unlink(path);
	return status;
}
