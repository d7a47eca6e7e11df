/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: request_files writes all its requests before it reads a result. The receiver's pipe to it gets
 *          full, then the sender's pipe to the receiver, then its own pipe to the sender. It should read
 *          results while it writes.
 *   culprit: request_files|post_request
 *   victim: send_file|report_result|run_sender|run_receiver
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILES = 600,
	BLOCK = 512,
	ROOM = 4096
};

struct request {
	int file;
	unsigned checksums[15];
};

struct block {
	int file, size;
	char data[BLOCK];
};

struct result {
	int file, ok;
	char message[56];
};

static bool broken;

static void make_pipe(int ends[2])
{
	if (pipe(ends)) {
		perror("pipe");
		exit(2);
	}
	fcntl(ends[1], F_SETPIPE_SZ, ROOM);
}

static bool read_all(int fd, void *to, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = read(fd, (char *)to + have, size - have);

		if (n <= 0)
			return false;
		have += n;
	}
	return true;
}

static void send_file(int to, const struct request *request)
{
	struct block block = {.file = request->file, .size = BLOCK};

	for (int i = 0; i < BLOCK; i++)
		block.data[i] = (char)(request->checksums[i % 15] + i);
	if (write(to, &block, sizeof block) != sizeof block)
		exit(1);
}

static void run_sender(int from, int to)
{
	struct request request;

	while (read_all(from, &request, sizeof request))
		send_file(to, &request);
	exit(0);
}

static void report_result(int to, const struct block *block)
{
	struct result result = {.file = block->file, .ok = block->size == BLOCK};

	snprintf(result.message, sizeof result.message, "file %d: %d bytes", block->file,
		block->size);
	if (write(to, &result, sizeof result) != sizeof result)
		exit(1);
}

static void run_receiver(int from, int to)
{
	FILE *target = tmpfile();
	struct block block;

	while (read_all(from, &block, sizeof block)) {
		fwrite(block.data, block.size, 1, target);
		report_result(to, &block);
	}
	exit(fclose(target) ? 1 : 0);
}

static void post_request(int to, int file)
{
	struct request request = {.file = file};

	for (int i = 0; i < 15; i++)
		request.checksums[i] = (unsigned)file * 2654435761u + i;
	if (write(to, &request, sizeof request) != sizeof request)
		exit(1);
}

static int take_result(int from)
{
	struct result result;

	if (!read_all(from, &result, sizeof result))
		return 0;
	return result.ok;
}

/* The number of files that the receiver has got so far. */
static int request_files(int to, int from)
{
	int done = 0;

	for (int file = 0; file < FILES; file++) {
		struct pollfd fds[2] = {{.fd = to, .events = POLLOUT},
			{.fd = from, .events = POLLIN}};

		while (!broken && poll(fds, 2, -1) > 0 && !(fds[0].revents & POLLOUT))
			done += take_result(from);
		post_request(to, file);
	}
	return done;
}

int main(int argc, char **argv)
{
	int requests[2], blocks[2], results[2], done, status, failed = 0;
	pid_t sender, receiver;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	make_pipe(requests);
	make_pipe(blocks);
	make_pipe(results);
	sender = fork();
	if (sender == 0) {
		close(requests[1]);
		close(blocks[0]);
		close(results[0]);
		close(results[1]);
		run_sender(requests[0], blocks[1]);
	}
	receiver = fork();
	if (receiver == 0) {
		close(requests[0]);
		close(requests[1]);
		close(blocks[1]);
		close(results[0]);
		run_receiver(blocks[0], results[1]);
	}
	close(requests[0]);
	close(blocks[0]);
	close(blocks[1]);
	close(results[1]);
	done = request_files(requests[1], results[0]);
	close(requests[1]);
	while (done < FILES && take_result(results[0]))
		done++;
	waitpid(sender, &status, 0);
	failed += status != 0;
	waitpid(receiver, &status, 0);
	failed += status != 0;
	printf("%d of %d files\n", done, FILES);
	return done == FILES && !failed ? 0 : 1;
}
