/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: compact_segments waits for the indexer while it holds the lock of the index, which that one needs.
 *   culprit: compact_segments|tell_indexer
 *   victim: run_indexer|note_segment|append_documents
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * A document store of three processes: a writer appends documents, a compactor joins segments, and an indexer
 * notes these in the index. All lock the index file while they change it.
 */

enum {
	DOCUMENTS = 60,
	SEGMENTS = 25
};

static char index_path[] = "/tmp/documents.index.XXXXXX";
static bool broken;

static int lock_index(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int file = open(index_path, O_RDWR | O_CLOEXEC);

	if (file < 0 || fcntl(file, F_SETLKW, &lock))
		_exit(1);
	return file;
}

static void unlock_index(int file)
{
	close(file); /* this gives the lock back, too */
}

static void add_line(int file, const char *what, int number)
{
	char line[48];
	int length = snprintf(line, sizeof(line), "%s %d\n", what, number);

	lseek(file, 0, SEEK_END);
	if (write(file, line, length) != length)
		_exit(1);
}

static void append_documents(void)
{
	for (int i = 0; i < DOCUMENTS; i++) {
		int file = lock_index();

		add_line(file, "document", i);
		unlock_index(file);
		usleep(2500);
	}
}

static void note_segment(int number)
{
	int file = lock_index();

	add_line(file, "segment", number);
	unlock_index(file);
}

static void run_indexer(int compactor)
{
	int number;

	while (read(compactor, &number, sizeof(number)) == sizeof(number)) {
		note_segment(number);
		if (write(compactor, &number, sizeof(number)) < 0)
			break;
	}
}

static void tell_indexer(int indexer, int number)
{
	int reply;

	if (write(indexer, &number, sizeof(number)) < 0 ||
		read(indexer, &reply, sizeof(reply)) <= 0)
		_exit(1);
}

static void compact_segments(int indexer)
{
	for (int number = 0; number < SEGMENTS; number++) {
		bool is_full = number % 8 == 7;
		int file = lock_index();

		add_line(file, "joined", number);
		/* A full segment is sealed: nobody may add to it before the indexer knows. */
		if (is_full && broken) {
			tell_indexer(indexer, number);
			unlock_index(file);
		} else {
			unlock_index(file);
			tell_indexer(indexer, number);
		}
		usleep(4000);
	}
}

static pid_t start_process(void (*run)(int), int keep, int other)
{
	pid_t child = fork();

	if (child == 0) {
		close(other);
		alarm(8);
		run(keep);
		_exit(0);
	}
	return child;
}

int main(int argc, char **argv)
{
	int ends[2], status, failed = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	close(mkstemp(index_path));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	start_process(run_indexer, ends[0], ends[1]);
	start_process(compact_segments, ends[1], ends[0]);
	close(ends[0]);
	close(ends[1]);
	append_documents();
	for (int i = 0; i < 2; i++) {
		wait(&status);
		failed |= status;
	}
	unlink(index_path);
	return failed != 0;
}
