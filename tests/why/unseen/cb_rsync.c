/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: rsync #159 ("rsync -avv hangs constantly at the same place": all three processes try to write). The
 *     generator (generate_files) writes its requests and reads no message of the receiver meanwhile. When a
 *     directory is large, the pipe of messages is full, so the receiver writes and reads no data, so the sender
 *     writes and reads no requests, so the generator waits for itself: a cycle of three full pipes. The fault is
 *     in generate_files/send_request, which must read messages while it can't write.
 *   culprit: generate_files|send_request|generator
 *   victim: sender|receiver
 * case: healthy
 *   args: healthy
 *   run: kill 8000
 *   ask: why
 *   culprit: nothing
 */

/* Pulls directories: the generator asks for files, the sender sends them, the receiver tells how it went. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define PIPE_SIZE 4096

struct request {
	int number; /* of the file; negative: no more */
	char name[60];
};

struct data {
	int number;
	char bytes[508];
};

struct message {
	int number;
	char text[124];
};

static bool drains; /* the generator reads messages while it can't write */
static int requests[2], files[2], messages[2];
static unsigned answered;

static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static bool read_all(int fd, void *buffer, size_t size)
{
	char *at = buffer;
	ssize_t n;

	while (size) {
		n = read(fd, at, size);
		if (n <= 0)
			return false;
		at += n;
		size -= (size_t)n;
	}
	return true;
}

static void write_all(int fd, const void *buffer, size_t size)
{
	const char *at = buffer;
	ssize_t n;

	while (size) {
		n = write(fd, at, size);
		if (n < 0)
			fail("write");
		at += n;
		size -= (size_t)n;
	}
}

/* The remote side: answers each request with the file's blocks. */
static void send_files(void)
{
	struct request request;
	struct data data;

	while (read_all(requests[0], &request, sizeof(request))) {
		memset(&data, 0, sizeof(data));
		data.number = request.number;
		memcpy(data.bytes, request.name, sizeof(request.name));
		write_all(files[1], &data, sizeof(data));
		if (request.number < 0)
			break;
	}
	_exit(0);
}

/* Stores the blocks, and says "is uptodate" to the generator, which prints. */
static void receive_files(void)
{
	struct data data;
	struct message message;

	while (read_all(files[0], &data, sizeof(data)) && data.number >= 0) {
		memset(&message, 0, sizeof(message));
		message.number = data.number;
		snprintf(message.text, sizeof(message.text), "%.60s is uptodate", data.bytes);
		write_all(messages[1], &message, sizeof(message));
	}
	_exit(0);
}

static void read_message(void)
{
	struct message message;

	if (!read_all(messages[0], &message, sizeof(message)))
		fail("the receiver is gone");
	answered++;
}

static void send_request(const struct request *request)
{
	struct pollfd fds[2] = {
		{.fd = requests[1], .events = POLLOUT},
		{.fd = messages[0], .events = POLLIN},
	};

	while (drains) {
		if (poll(fds, 2, -1) < 0)
			fail("poll");
		if (fds[0].revents & POLLOUT)
			break;
		if (fds[1].revents & POLLIN)
			read_message();
	}
	write_all(requests[1], request, sizeof(*request));
}

static void generate_files(const char *directory, unsigned count)
{
	struct request request;
	unsigned i;

	answered = 0;
	for (i = 0; i < count; i++) {
		memset(&request, 0, sizeof(request));
		request.number = (int)i;
		snprintf(request.name, sizeof(request.name), "%s/%06u", directory, i);
		send_request(&request);
	}
	while (answered < count)
		read_message();
	printf("%s: %u files\n", directory, count);
	fflush(stdout);
}

static pid_t start(const char *name, void (*run)(void))
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (run == send_files) {
		close(requests[1]);
		close(files[0]);
		close(messages[0]);
		close(messages[1]);
	} else {
		close(files[1]);
		close(messages[0]);
		close(requests[0]);
		close(requests[1]);
	}
	run();
	_exit(0);
}

static void make_pipe(int fds[2])
{
	if (pipe(fds) || fcntl(fds[1], F_SETPIPE_SZ, PIPE_SIZE) < 0)
		fail("pipe");
}

int main(int argc, char **argv)
{
	static const struct request end = {.number = -1};
	char directory[32];
	unsigned i;

	drains = argc > 1 && !strcmp(argv[1], "healthy");
	prctl(PR_SET_NAME, "generator");
	make_pipe(requests);
	make_pipe(files);
	make_pipe(messages);
	start("sender", send_files);
	start("receiver", receive_files);
	close(requests[0]);
	close(files[0]);
	close(files[1]);
	close(messages[1]);
	for (i = 0; i < 6; i++) {
		snprintf(directory, sizeof(directory), "small%u", i);
		generate_files(directory, 20);
		usleep(30000);
	}
	generate_files("large", 2000);
	send_request(&end);
	while (wait(NULL) > 0)
		continue;
	return 0;
}
