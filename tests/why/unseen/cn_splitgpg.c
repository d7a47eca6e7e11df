/* SPDX-License-Identifier: ISC */
/*
 * After QubesOS/qubes-app-linux-split-gpg #79.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: process_out passes on what gpg writes to its output and to its status pipe. When select says that a pipe has
 *     data, forward_block reads until it has a whole block, by blocking reads. gpg writes one short status line and
 *     then 300 KB of output: forward_block waits in read for more of the status, the pipe of the output is full, and gpg
 *     waits in write for somebody to read it. With the read ends non-blocking, forward_block takes what there is.
 *   culprit: forward_block|process_out
 *   victim: main\b|serve|process_in|gpg\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A server that runs gpg for other machines: one thread feeds it, another one forwards what it writes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	BLOCK = 4096,
	REQUESTS = 9,
	LARGE_REQUEST = 6
};

struct request {
	int number;
	size_t input;  /* the size of the document */
	size_t output; /* the size of the answer */
	int to_gpg;
	int from_gpg[2]; /* output, status */
	size_t forwarded[2];
};

static bool broken;
static size_t total;

/* ---- gpg ------------------------------------------------------------------------------------ */

static void write_all(int descriptor, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t written = write(descriptor, data, size);

		if (written <= 0)
			exit(2);
		data += written;
		size -= (size_t)written;
	}
}

/* The program gpg: reads a document, and writes a status line, an answer, and the last status line. */
static int gpg(size_t output)
{
	static char block[BLOCK];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(STDIN_FILENO, block, sizeof(block)) > 0)
		continue;
	write_all(STDERR_FILENO, "[GNUPG:] BEGIN_SIGNING\n", 23);
	memset(block, 'A', sizeof(block));
	while (output > 0) {
		size_t size = output < sizeof(block) ? output : sizeof(block);

		write_all(STDOUT_FILENO, block, size);
		output -= size;
	}
	write_all(STDERR_FILENO, "[GNUPG:] SIG_CREATED\n", 21);
	return 0;
}

static pid_t start_gpg(struct request *request)
{
	int in[2], out[2], status[2];
	char size[24];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(status, O_CLOEXEC))
		exit(2);
	snprintf(size, sizeof(size), "%zu", request->output);
	pid = fork();
	if (pid < 0)
		exit(2);
	if (!pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(status[1], STDERR_FILENO);
		execl("/proc/self/exe", "gpg", "gpg", size, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	close(status[1]);
	request->to_gpg = in[1];
	request->from_gpg[0] = out[0];
	request->from_gpg[1] = status[0];
	return pid;
}

/* ---- The server ----------------------------------------------------------------------------- */

static void *process_in(void *data)
{
	static const char document[BLOCK];
	struct request *request = data;
	size_t left = request->input;

	pthread_setname_np(pthread_self(), "process_in");
	while (left > 0) {
		size_t size = left < sizeof(document) ? left : sizeof(document);

		write_all(request->to_gpg, document, size);
		left -= size;
	}
	close(request->to_gpg);
	return NULL;
}

/* Forwards up to a block from one of the pipes. Returns false when the pipe has ended. */
static bool forward_block(struct request *request, int which)
{
	char block[BLOCK];
	size_t have = 0;
	ssize_t size = 0;

	while (have < sizeof(block)) {
		size = read(request->from_gpg[which], block + have, sizeof(block) - have);
		if (size <= 0)
			break;
		have += (size_t)size;
	}
	request->forwarded[which] += have; /* to the machine that asked */
	return have == sizeof(block) || (size < 0 && errno == EAGAIN);
}

static void *process_out(void *data)
{
	struct request *request = data;
	bool open[2] = {true, true};

	pthread_setname_np(pthread_self(), "process_out");
	for (int i = 0; i < 2 && !broken; i++)
		fcntl(request->from_gpg[i], F_SETFL,
			fcntl(request->from_gpg[i], F_GETFL) | O_NONBLOCK);
	while (open[0] || open[1]) {
		fd_set readable;
		int last = -1;

		FD_ZERO(&readable);
		for (int i = 0; i < 2; i++) {
			if (!open[i])
				continue;
			FD_SET(request->from_gpg[i], &readable);
			if (request->from_gpg[i] > last)
				last = request->from_gpg[i];
		}
		if (select(last + 1, &readable, NULL, NULL, NULL) < 0)
			exit(2);
		for (int i = 1; i >= 0; i--)
			if (open[i] && FD_ISSET(request->from_gpg[i], &readable))
				open[i] = forward_block(request, i);
	}
	return NULL;
}

static void serve(struct request *request)
{
	pthread_t in, out;
	pid_t pid = start_gpg(request);
	int status;

	if (pthread_create(&in, NULL, process_in, request) ||
		pthread_create(&out, NULL, process_out, request))
		exit(2);
	pthread_join(in, NULL);
	pthread_join(out, NULL);
	waitpid(pid, &status, 0);
	for (int i = 0; i < 2; i++)
		close(request->from_gpg[i]);
	total += request->forwarded[0];
	printf("request %d: %zu bytes, %zu of status\n", request->number, request->forwarded[0],
		request->forwarded[1]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "gpg"))
		return gpg((size_t)atol(argv[2]));
	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	for (int i = 1; i <= REQUESTS; i++) {
		struct request request = {.number = i,
			.input = 9000,
			.output = 700 + 300 * (size_t)i};

		if (i == LARGE_REQUEST) /* decrypts a film */
			request.input = request.output = 300000;
		serve(&request);
	}
	printf("%d requests, %zu bytes\n", REQUESTS, total);
	return 0;
}
