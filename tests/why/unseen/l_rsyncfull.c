/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The sender writes its whole file list before it reads a message; the receiver writes a message for each entry, nobody reads them, both pipes fill up and both sides block in write.
 *   culprit: receiver|send_file_list|sender
 *   victim: progress
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/*
 * After a report about rsync: with many files and -vv it hangs always at the same place; the backtraces show that
 * sender and receiver both write, and neither reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	FILES = 6000,
	ENTRY = 64,
	MESSAGE = 48
};

static int list_pipe[2], message_pipe[2];
static bool broken;
static unsigned listed, told;

/* Reads all messages that are there. */
static void drain_messages(int patience)
{
	struct pollfd ready = {.fd = message_pipe[0], .events = POLLIN};
	char text[4096];
	ssize_t size;

	while (poll(&ready, 1, patience) > 0 && ready.revents & POLLIN) {
		size = read(message_pipe[0], text, sizeof text);
		if (size <= 0)
			break;
		told += (unsigned)size;
	}
}

static void write_all(int fd, const char *data, size_t size)
{
	ssize_t done;

	while (size) {
		done = write(fd, data, size);
		if (done < 0) {
			struct pollfd room = {.fd = fd, .events = POLLOUT};

			if (errno != EAGAIN)
				return;
			poll(&room, 1, 5);
			drain_messages(0);
			continue;
		}
		data += done;
		size -= (size_t)done;
	}
}

static void *send_file_list(void *unused)
{
	char entry[ENTRY];

	pthread_setname_np(pthread_self(), "sender");
	for (int i = 0; i < FILES; i++) {
		memset(entry, 0, sizeof entry);
		snprintf(entry, sizeof entry, "src/dir%d/file%d", i / 100, i);
		write_all(list_pipe[1], entry, sizeof entry);
	}
	close(list_pipe[1]);
	drain_messages(-1);
	return unused;
}

static void *receiver(void *unused)
{
	char entry[ENTRY], text[MESSAGE] = "is uptodate";
	size_t have = 0;
	ssize_t size;

	pthread_setname_np(pthread_self(), "receiver");
	while ((size = read(list_pipe[0], entry + have, sizeof entry - have)) > 0) {
		have += (size_t)size;
		if (have < sizeof entry)
			continue;
		have = 0;
		listed++;
		if (write(message_pipe[1], text, sizeof text) < 0)
			break;
	}
	close(message_pipe[1]);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t from, to;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(list_pipe) || pipe(message_pipe))
		return 1;
	if (!broken)
		fcntl(list_pipe[1], F_SETFL, O_NONBLOCK);
	pthread_create(&to, NULL, receiver, NULL);
	pthread_create(&from, NULL, send_file_list, NULL);
	pthread_join(from, NULL);
	pthread_join(to, NULL);
	printf("%u files, %u bytes of messages\n", listed, told);
	return 0;
}
