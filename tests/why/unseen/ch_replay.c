/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: pgcopydb pull request #563 ("Close pipes created by follow after forking childs"): the parent
 *     (supervise_follow) opens the two pipes between its children and never closes its own copies of their
 *     ends. The receiver reaches the end position and exits, but as the parent still holds the pipe's end
 *     for writing, the transformer's read never sees the end of the changes. It waits, the applier waits
 *     for it, and the parent waits for both.
 *   culprit: supervise_follow|open_pipes|\bfollow\b
 *   victim: transform|apply
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */

/* Replays the changes of one database in another. Three processes receive, transform and apply them. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SEGMENTS 4
#define CHANGES 12

struct change {
	unsigned lsn;
	char text[60];
};

struct pipes {
	int received[2];    /* from receive to transform */
	int transformed[2]; /* from transform to apply */
};

static bool closes;

static void open_pipes(struct pipes *pipes)
{
	if (pipe(pipes->received) || pipe(pipes->transformed))
		exit(1);
}

static void close_pipes(struct pipes *pipes)
{
	close(pipes->received[0]);
	close(pipes->received[1]);
	close(pipes->transformed[0]);
	close(pipes->transformed[1]);
}

/* A whole change, or false at the end. */
static bool read_change(int fd, struct change *change)
{
	size_t got = 0;

	while (got < sizeof *change) {
		ssize_t size = read(fd, (char *)change + got, sizeof *change - got);

		if (size <= 0)
			return false;
		got += (size_t)size;
	}
	return true;
}

static void receive_changes(struct pipes *pipes)
{
	struct change change = {0};
	unsigned segment, i;

	close(pipes->received[0]);
	close(pipes->transformed[0]);
	close(pipes->transformed[1]);
	for (segment = 0; segment < SEGMENTS; segment++) {
		for (i = 0; i < CHANGES; i++) {
			change.lsn++;
			snprintf(change.text, sizeof change.text, "row %u of segment %u", i,
				segment);
			if (write(pipes->received[1], &change, sizeof change) < 0)
				exit(1);
		}
		usleep(60000); /* until the next segment */
	}
	printf("receive: reached the end position %u\n", change.lsn);
}

static void transform_changes(struct pipes *pipes)
{
	struct change change, statement;
	unsigned count = 0;

	close(pipes->received[1]);
	close(pipes->transformed[0]);
	while (read_change(pipes->received[0], &change)) {
		statement.lsn = change.lsn;
		snprintf(statement.text, sizeof statement.text, "INSERT '%.40s'", change.text);
		if (write(pipes->transformed[1], &statement, sizeof statement) < 0)
			exit(1);
		count++;
	}
	printf("transform: %u changes\n", count);
}

static void apply_statements(struct pipes *pipes)
{
	struct change statement;
	unsigned count = 0;

	close(pipes->received[0]);
	close(pipes->received[1]);
	close(pipes->transformed[1]);
	while (read_change(pipes->transformed[0], &statement)) {
		usleep(1000);
		if (statement.lsn % CHANGES == 0) {
			printf("apply: segment done at %u\n", statement.lsn);
			fflush(stdout);
		}
		count++;
	}
	printf("apply: %u statements\n", count);
}

static pid_t start_child(const char *name, void (*run)(struct pipes *), struct pipes *pipes)
{
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	run(pipes);
	exit(0);
}

/* Starts the three, and waits for their ends. */
static int supervise_follow(void)
{
	struct pipes pipes;
	int status, failed = 0;
	unsigned left;

	prctl(PR_SET_NAME, "follow");
	open_pipes(&pipes);
	start_child("receive", receive_changes, &pipes);
	start_child("transform", transform_changes, &pipes);
	start_child("apply", apply_statements, &pipes);
	if (closes)
		close_pipes(&pipes);
	for (left = 3; left > 0; left--) {
		if (wait(&status) < 0)
			return 1;
		failed |= status;
	}
	return failed != 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	closes = !strcmp(argv[1], "healthy");
	return supervise_follow();
}
