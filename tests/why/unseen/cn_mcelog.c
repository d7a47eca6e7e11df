/* SPDX-License-Identifier: ISC */
/*
 * After andikleen/mcelog #33.
 *
 * case: broken
 *   args: broken
 *   run: kill 3000
 *   ask: why
 *   truth: While the event loop runs, child_handler reaps the triggers that have ended and counts num_children down. At
 *     the end trigger_wait waits for the last ones by itself: it takes each SIGCHLD with sigwait, but calls waitpid for
 *     none, so num_children never falls. When all triggers have ended it waits for a signal that never comes.
 *   culprit: trigger_wait|sigwait
 *   victim: trigger\.sh|reader
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* Decodes machine checks, which a reader passes on by a pipe, and runs a trigger, a process, for each unknown one. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	RECORDS = 30,
	LAST_RECORDS = 3,
	MAX_CHILDREN = 16
};

struct record {
	int cpu;
	bool unknown;
	int duration_ms; /* of the trigger */
};

struct child {
	pid_t pid;
	char name[32];
};

extern char **environ;

static bool broken;
static struct child children[MAX_CHILDREN];
static int num_children;
static int triggers_run, triggers_done, decoded;
static sigset_t child_mask;

/* ---- Triggers ------------------------------------------------------------------------------- */

static void run_trigger(const struct record *record)
{
	char script[64];
	char *arguments[] = {"trigger.sh", "-c", script, NULL};
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;

	snprintf(script, sizeof(script), "sleep %d.%03d", record->duration_ms / 1000,
		record->duration_ms % 1000);
	sigemptyset(&none);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (num_children == MAX_CHILDREN ||
		posix_spawn(&pid, "/bin/sh", NULL, &attributes, arguments, environ))
		exit(2);
	posix_spawnattr_destroy(&attributes);
	children[num_children].pid = pid;
	snprintf(children[num_children].name, sizeof(children[0].name), "trigger of cpu %d",
		record->cpu);
	num_children++;
	triggers_run++;
}

static void finish_child(pid_t pid, int status)
{
	for (int i = 0; i < num_children; i++) {
		if (children[i].pid != pid)
			continue;
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			triggers_done++;
		children[i] = children[--num_children];
		return;
	}
}

static void child_handler(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		finish_child(pid, status);
}

/* Waits until no trigger runs any more. */
static void trigger_wait(void)
{
	int number;

	while (num_children > 0 && !sigwait(&child_mask, &number)) {
		if (broken)
			continue;
		child_handler();
	}
}

/* ---- Records -------------------------------------------------------------------------------- */

static void decode(const struct record *record)
{
	decoded++;
	if (record->unknown)
		run_trigger(record);
}

static void *read_device(void *data)
{
	int descriptor = *(int *)data;

	pthread_setname_np(pthread_self(), "reader");
	for (int i = 0; i < RECORDS + LAST_RECORDS; i++) {
		struct record record = {.cpu = i % 8, .unknown = i % 5 == 4, .duration_ms = 10};

		if (i >= RECORDS) {
			record.unknown =
				true; /* the last ones come together, and their triggers take longer */
			record.duration_ms = 200 + 60 * (i - RECORDS);
		} else {
			usleep(15000);
		}
		if (write(descriptor, &record, sizeof(record)) != sizeof(record))
			exit(2);
	}
	close(descriptor);
	return NULL;
}

static void eventloop(int device, int signals)
{
	struct pollfd polls[2] = {{.fd = device, .events = POLLIN},
		{.fd = signals, .events = POLLIN}};

	for (;;) {
		struct signalfd_siginfo information;
		struct record record;

		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			exit(2);
		if (polls[1].revents &&
			read(signals, &information, sizeof(information)) == sizeof(information))
			child_handler();
		if (polls[0].revents) {
			if (read(device, &record, sizeof(record)) != sizeof(record))
				return;
			decode(&record);
		}
	}
}

int main(int argc, char **argv)
{
	int device[2], signals;
	pthread_t reader;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	sigemptyset(&child_mask);
	sigaddset(&child_mask, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child_mask, NULL);
	signals = signalfd(-1, &child_mask, SFD_CLOEXEC);
	if (signals < 0 || pipe2(device, O_CLOEXEC) ||
		pthread_create(&reader, NULL, read_device, &device[1]))
		return 2;
	eventloop(device[0], signals);
	pthread_join(reader, NULL);
	trigger_wait();
	printf("%d records, %d of %d triggers ended well\n", decoded, triggers_done, triggers_run);
	return 0;
}
