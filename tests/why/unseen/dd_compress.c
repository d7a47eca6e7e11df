/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The daemon writes a whole file to its filter's input before it reads the filter's output, and the
 *     filter answers as it goes: both pipes are full, and both processes wait in write.
 *   culprit: filter|\bmain\b|send_all
 *   victim: log writer
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A daemon that filters files with a child, as an editor or git does. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void send_all(int to, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(to, data, size);

		if (n <= 0)
			exit(1);
		data += n;
		size -= (size_t)n;
	}
}

static _Noreturn void run_filter(int in, int out)
{
	char block[4096];
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "filter");
	while ((n = read(in, block, sizeof block)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			block[i] ^= 0x20;
		send_all(out, block, (size_t)n);
	}
	_exit(0);
}

static size_t filter_file(size_t size)
{
	static char file[1 << 20], block[4096];
	int in[2], out[2];
	size_t got = 0;
	ssize_t n;

	memset(file, 'x', size);
	if (pipe(in) || pipe(out))
		exit(1);
	if (fork() == 0) {
		close(in[1]);
		close(out[0]);
		run_filter(in[0], out[1]);
	}
	close(in[0]);
	close(out[1]);
	send_all(in[1], file, size);
	close(in[1]);
	while ((n = read(out[0], block, sizeof block)) > 0)
		got += (size_t)n;
	close(out[0]);
	wait(NULL);
	return got;
}

int main(int argc, char **argv)
{
	bool broken = argc > 1 && !strcmp(argv[1], "broken");

	for (int i = 0; i < 5; i++)
		printf("%zu bytes\n", filter_file(i == 4 && broken ? 1 << 20 : 30000));
	return 0;
}
