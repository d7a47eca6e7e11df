/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: Two packers run at a time. The second is forked while the parent has the writing end of the first
 *     one's pipe; packer_start doesn't close that copy in the child. So the first packer gets no end of file when
 *     the parent closes its end, and the parent waits for the first packer before it closes the pipe of the
 *     second one.
 *   culprit: packer_start|packer_main|(writing|write) end
 *   victim: packer_finish|main\b|waitpid
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A backup: files go through packers, processes of their own; each packs what comes until the end of its input. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	PACKERS = 2
};

struct packer {
	pid_t pid;
	int input;  /* the parent's end */
	int output; /* the parent's end */
};

static bool broken;
static struct packer packers[PACKERS];
static unsigned long packed_total;
static unsigned archives;

/* Packs runs of equal bytes, and tells the size of the result. */
static void packer_main(int input, int output)
{
	static unsigned char data[8192];
	unsigned long size = 0;
	int last = -1;
	ssize_t got;

	while ((got = read(input, data, sizeof(data))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (data[i] != last)
				size += 2;
			last = data[i];
		}
	}
	if (write(output, &size, sizeof(size)) != sizeof(size))
		_exit(1);
	_exit(0);
}

static void packer_start(struct packer *packer)
{
	int input[2], output[2];

	if (pipe(input) || pipe(output))
		exit(1);
	packer->pid = fork();
	if (packer->pid < 0)
		exit(1);
	if (packer->pid == 0) {
		close(input[1]);
		close(output[0]);
		if (!broken) {
			for (int i = 0; i < PACKERS; i++) {
				if (packers[i].input > 0)
					close(packers[i].input);
				if (packers[i].output > 0)
					close(packers[i].output);
			}
		}
		packer_main(input[0], output[1]);
	}
	close(input[0]);
	close(output[1]);
	packer->input = input[1];
	packer->output = output[0];
}

static void packer_feed(const struct packer *packer, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t written = write(packer->input, data, size);

		if (written <= 0)
			exit(1);
		data += written;
		size -= (size_t)written;
	}
}

/* Ends the packer's input and takes the size that it tells. */
static void packer_finish(struct packer *packer)
{
	unsigned long size = 0;
	int status;

	close(packer->input);
	packer->input = 0;
	if (waitpid(packer->pid, &status, 0) != packer->pid || status != 0)
		exit(1);
	if (read(packer->output, &size, sizeof(size)) != sizeof(size))
		exit(1);
	close(packer->output);
	packer->output = 0;
	packed_total += size;
	archives++;
}

static void make_file(char *data, size_t size, unsigned seed)
{
	for (size_t i = 0; i < size; i++)
		data[i] = (char)('a' + (i / (17 + seed)) % 26);
}

/* Small files: one packer after the other. */
static void pack_small(unsigned seed)
{
	static char file[6000];

	make_file(file, sizeof(file), seed);
	packer_start(&packers[0]);
	packer_feed(&packers[0], file, sizeof(file));
	packer_finish(&packers[0]);
}

/* A large file: each packer gets every other block. */
static void pack_large(unsigned seed)
{
	static char block[16384];

	for (int i = 0; i < PACKERS; i++)
		packer_start(&packers[i]);
	for (unsigned i = 0; i < 24; i++) {
		make_file(block, sizeof(block), seed + i);
		packer_feed(&packers[i % PACKERS], block, sizeof(block));
		usleep(2000);
	}
	for (int i = 0; i < PACKERS; i++)
		packer_finish(&packers[i]);
}

int main(int argc, char **argv)
{
	broken = argc > 1 && !strcmp(argv[1], "broken");
	for (unsigned i = 0; i < 5; i++) {
		pack_small(i);
		usleep(10000);
	}
	pack_large(5);
	for (unsigned i = 6; i < 9; i++)
		pack_small(i);
	printf("%u archives, %lu bytes\n", archives, packed_total);
	return 0;
}
