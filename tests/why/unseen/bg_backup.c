/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: the second child, "checksum", inherits the writing end of the pipe to the first, "compress".
 *     So the end of the file never reaches compress when the parent closes its own end, and the parent's
 *     waitpid never returns.
 *   culprit: checksum
 *   victim: show_progress|progress
 * case: healthy
 *   args: healthy
 *   run: kill 2500
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	BLOCK = 4096
};

struct helper {
	pid_t pid;
	int input; /* the parent writes to it */
};

static bool closes_others;
static volatile int blocks, archives;

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The children ---- */

/* Counts what runs of the same byte would be stored as. */
static int run_compress(int input)
{
	unsigned char block[BLOCK];
	size_t runs = 0;
	int last = -1;
	ssize_t size;

	while ((size = read(input, block, sizeof block)) > 0)
		for (ssize_t i = 0; i < size; i++) {
			runs += block[i] != last;
			last = block[i];
		}
	return runs > 0 ? 0 : 1;
}

static int run_checksum(int input)
{
	unsigned char block[BLOCK];
	unsigned sum = 1;
	ssize_t size;

	while ((size = read(input, block, sizeof block)) > 0)
		for (ssize_t i = 0; i < size; i++)
			sum = sum * 33 + block[i];
	return sum ? 0 : 1;
}

static void make_pipe(int ends[2])
{
	if (pipe(ends)) {
		perror("pipe");
		exit(1);
	}
}

static struct helper start_compress(void)
{
	struct helper helper;
	int ends[2];

	make_pipe(ends);
	helper.pid = fork();
	if (helper.pid == 0) {
		prctl(PR_SET_NAME, "compress");
		close(ends[1]);
		_exit(run_compress(ends[0]));
	}
	close(ends[0]);
	helper.input = ends[1];
	return helper;
}

static struct helper start_checksum(const struct helper *other)
{
	struct helper helper;
	int ends[2];

	make_pipe(ends);
	helper.pid = fork();
	if (helper.pid == 0) {
		prctl(PR_SET_NAME, "checksum");
		if (closes_others)
			close(other->input);
		close(ends[1]);
		_exit(run_checksum(ends[0]));
	}
	close(ends[0]);
	helper.input = ends[1];
	return helper;
}

/* ---- The parent ---- */

static void feed(const struct helper *helper, const unsigned char *block)
{
	if (helper->pid < 0 || write(helper->input, block, BLOCK) != BLOCK) {
		perror("feed");
		exit(1);
	}
}

static void finish(const struct helper *helper)
{
	int status;

	close(helper->input);
	if (waitpid(helper->pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status))
		fprintf(stderr, "helper failed\n");
}

static void archive(int count)
{
	unsigned char block[BLOCK];
	struct helper compress = start_compress();
	struct helper checksum = start_checksum(&compress);

	for (int i = 0; i < count; i++) {
		memset(block, i & 255, sizeof block);
		block[i % BLOCK] = 255;
		feed(&compress, block);
		feed(&checksum, block);
		blocks++;
		nap(1);
	}
	finish(&compress);
	finish(&checksum);
	archives++;
}

static void *show_progress(void *data)
{
	(void)data;
	for (;;) {
		nap(250);
		fprintf(stderr, "%d blocks, %d archives\n", blocks, archives);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t progress;

	closes_others = argc > 1 && !strcmp(argv[1], "healthy");
	if (pthread_create(&progress, NULL, show_progress, NULL))
		return 1;
	for (;;)
		archive(200);
}
