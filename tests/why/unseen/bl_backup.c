/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: start_packer forks pack-b while the parent has the write end of pack-a's pipe open, and pack-b never
 *     closes its copy; so pack-a sees no end of its input, and the parent waits in waitpid for it before it
 *     closes that of pack-b.
 *   culprit: pack-b|start_packer
 *   victim: pack-a|finish_packer|main\b|bl_backup
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A backup tool: the parent reads files and deals their blocks to processes that pack them. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PACKERS 2
#define FILES 40
#define BLOCK 512

struct packer {
	const char *name;
	pid_t pid;
	int input;  /* the parent writes blocks here */
	int report; /* the packer says how much it has written */
};

struct report {
	size_t in, out;
};

static struct packer packers[PACKERS] = {{.name = "pack-a"}, {.name = "pack-b"}};
static bool close_others;

/* Run-length encoding is good enough for the files here. */
static size_t pack_block(const unsigned char *block, size_t size)
{
	size_t out = 0;

	for (size_t i = 0; i < size;) {
		size_t run = 1;

		while (i + run < size && block[i + run] == block[i] && run < 255)
			run++;
		i += run;
		out += 2;
	}
	return out;
}

static void packer_run(int input, int report)
{
	unsigned char block[BLOCK];
	struct report sum = {0, 0};
	ssize_t size;

	while ((size = read(input, block, sizeof block)) > 0) {
		sum.in += (size_t)size;
		sum.out += pack_block(block, (size_t)size);
	}
	if (write(report, &sum, sizeof sum) != sizeof sum)
		_exit(1);
	close(report);
	_exit(0);
}

static int start_packer(int number)
{
	struct packer *packer = &packers[number];
	int to[2], from[2];

	if (pipe(to) || pipe(from))
		return -1;
	fflush(stdout);
	packer->pid = fork();
	if (packer->pid < 0)
		return -1;
	if (packer->pid == 0) {
		prctl(PR_SET_NAME, packer->name);
		close(to[1]);
		close(from[0]);
		if (close_others)
			for (int i = 0; i < number; i++)
				close(packers[i].input);
		packer_run(to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	packer->input = to[1];
	packer->report = from[0];
	return 0;
}

static int finish_packer(struct packer *packer, struct report *sum)
{
	struct report report;
	int status;

	close(packer->input);
	if (waitpid(packer->pid, &status, 0) < 0 || status)
		return -1;
	if (read(packer->report, &report, sizeof report) != sizeof report)
		return -1;
	close(packer->report);
	printf("%s: %zu bytes to %zu\n", packer->name, report.in, report.out);
	sum->in += report.in;
	sum->out += report.out;
	return 0;
}

static void read_file(int number, unsigned char *content, size_t size)
{
	for (size_t i = 0; i < size; i++)
		content[i] = (unsigned char)((i >> (number % 5 + 1)) * 37);
	usleep(1000);
}

static int back_up(int number)
{
	unsigned char content[4 * BLOCK];
	size_t size = BLOCK * (size_t)(1 + number % 4);
	struct packer *packer = &packers[number % PACKERS];

	read_file(number, content, size);
	for (size_t done = 0; done < size; done += BLOCK)
		if (write(packer->input, content + done, BLOCK) != BLOCK)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct report sum = {0, 0};

	if (argc < 2)
		return 2;
	close_others = !strcmp(argv[1], "healthy");
	for (int i = 0; i < PACKERS; i++)
		if (start_packer(i))
			return 1;
	for (int i = 0; i < FILES; i++)
		if (back_up(i))
			return 1;
	printf("%d files read\n", FILES);
	for (int i = 0; i < PACKERS; i++)
		if (finish_packer(&packers[i], &sum))
			return 1;
	printf("backup: %zu of %zu bytes\n", sum.out, sum.in);
	return 0;
}
