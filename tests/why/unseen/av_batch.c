/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2000
 *   ask: why
 *   truth: on_child_signal takes one signal for one child and reaps only that one; two converters end while
 *     the catalogue is written, their signals become one, and the second one is a zombie for which run_batch
 *     waits
 *   culprit: on_child_signal|reap|zombie|SIGCHLD|waitpid
 *   victim: run_batch|main
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A batch runner: converts pictures in child processes, a few at a time, and keeps a catalogue. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	SLOTS = 3,
	PICTURES = 10
};

struct converter {
	pid_t process;
	int picture;
	int output; /* the pipe from which its size is read */
};

struct batch {
	struct converter slots[SLOTS];
	int running, next, done;
	int signals;
	long bytes;
	bool drain; /* after a signal, ask for further children */
};

static void pause_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&time, &time) && errno == EINTR)
		continue;
}

/* Runs in the child. */
static void convert(int picture, int output)
{
	char line[32];
	int length;

	/* Pictures 6 and 7 are small. */
	pause_ms(picture == 5 ? 20 : picture == 6 || picture == 7 ? 40 : 15 + picture * 9);
	length = snprintf(line, sizeof(line), "%d\n", 1000 + picture * 10);
	if (write(output, line, (size_t)length) != length)
		_exit(2);
	_exit(0);
}

static int start_converter(struct batch *batch, struct converter *slot)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	slot->picture = batch->next++;
	slot->process = fork();
	if (slot->process < 0)
		return -errno;
	if (slot->process == 0) {
		close(ends[0]);
		convert(slot->picture, ends[1]);
	}
	close(ends[1]);
	slot->output = ends[0];
	batch->running++;
	return 0;
}

static void fill_slots(struct batch *batch)
{
	for (int i = 0; i < SLOTS && batch->next < PICTURES; i++)
		if (!batch->slots[i].process && start_converter(batch, &batch->slots[i]))
			exit(1);
}

/* Writes the picture's line to the catalogue, and waits until it is on the disk. */
static void write_catalogue(struct batch *batch, int picture, long size)
{
	batch->bytes += size;
	pause_ms(picture == 5 ? 120 : 3);
}

static void finish_converter(struct batch *batch, pid_t process)
{
	struct converter *slot;
	char line[32] = "";

	for (int i = 0; i < SLOTS; i++) {
		slot = &batch->slots[i];
		if (slot->process != process)
			continue;
		if (read(slot->output, line, sizeof(line) - 1) <= 0)
			exit(1);
		close(slot->output);
		slot->process = 0;
		batch->running--;
		batch->done++;
		write_catalogue(batch, slot->picture, atol(line));
		return;
	}
}

static __attribute__((noinline)) void on_child_signal(struct batch *batch, int signals)
{
	struct signalfd_siginfo info;
	pid_t process;
	int status;

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	batch->signals++;
	if (!batch->drain) {
		process = waitpid((pid_t)info.ssi_pid, &status, WNOHANG);
		if (process > 0)
			finish_converter(batch, process);
		return;
	}
	while ((process = waitpid(-1, &status, WNOHANG)) > 0)
		finish_converter(batch, process);
}

static void run_batch(struct batch *batch, int signals)
{
	struct pollfd watched = {.fd = signals, .events = POLLIN};

	while (batch->done < PICTURES) {
		/* A new wave begins when the last one is done, as the memory is short. */
		if (!batch->running)
			fill_slots(batch);
		if (poll(&watched, 1, -1) == 1)
			on_child_signal(batch, signals);
	}
}

int main(int argc, char **argv)
{
	struct batch batch = {.drain = argc < 2 || strcmp(argv[1], "broken") != 0};
	sigset_t set;
	int signals;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (signals < 0)
		return 1;
	batch.next = 2;
	batch.done = 2; /* the catalogue has the first two already */
	run_batch(&batch, signals);
	printf("%d pictures, %ld bytes, %d signals\n", batch.done, batch.bytes, batch.signals);
	return 0;
}
