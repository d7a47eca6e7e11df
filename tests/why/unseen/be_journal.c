/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: the manager writes its log lines with a blocking send in its loop (log_submit). When a unit logs
 *     much, the socket is full and it waits for the journal; the journal waits in resolve_unit for the
 *     answer to a question about an unknown unit, which only the manager's loop can give
 *   culprit: log_submit
 *   victim: resolve_unit|journal
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A service manager, and the journal to which it logs: two processes with two sockets between them. */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNITS 5
#define TURNS 30

struct record {
	unsigned unit, number;
	char text[248];
};

struct answer {
	unsigned unit;
	char name[28];
};

struct backlog {
	struct record *records;
	size_t count, sent, room;
};

struct manager {
	int log, control;
	struct backlog backlog;
	bool (*submit)(struct manager *, const struct record *);
	unsigned lines, questions;
};

static const char *const unit_names[UNITS] = {"cron", "network", "getty", "backup", "mail"};

static bool send_all(int socket, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = send(socket, (const char *)data + done, size - done, MSG_NOSIGNAL);

		if (n < 0 && errno != EINTR)
			return false;
		done += n > 0 ? (size_t)n : 0;
	}
	return true;
}

/* ---- The journal ---- */

static bool resolve_unit(int control, unsigned unit, char *name)
{
	struct answer answer;

	if (!send_all(control, &unit, sizeof(unit)))
		return false;
	if (recv(control, &answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
		return false;
	memcpy(name, answer.name, sizeof(answer.name));
	return true;
}

static int journal_run(int log, int control)
{
	char names[UNITS][28] = {{0}};
	struct record record;
	unsigned entries[UNITS] = {0};

	prctl(PR_SET_NAME, "journal");
	while (recv(log, &record, sizeof(record), MSG_WAITALL) == sizeof(record)) {
		struct timespec seek = {0, 20000};

		if (!names[record.unit][0] &&
			!resolve_unit(control, record.unit, names[record.unit]))
			return 1;
		entries[record.unit]++;
		nanosleep(&seek, NULL); /* the write to the file */
	}
	for (unsigned i = 0; i < UNITS; i++)
		printf("%s %u\n", names[i], entries[i]);
	fflush(stdout);
	return 0;
}

/* ---- The manager ---- */

/* Nothing that is logged may be lost. */
static __attribute__((noinline)) bool log_submit(struct manager *manager,
	const struct record *record)
{
	return send_all(manager->log, record, sizeof(*record));
}

static bool log_flush(struct manager *manager)
{
	struct backlog *backlog = &manager->backlog;

	while (backlog->sent < backlog->count * sizeof(struct record)) {
		ssize_t n = send(manager->log, (char *)backlog->records + backlog->sent,
			backlog->count * sizeof(struct record) - backlog->sent,
			MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		backlog->sent += (size_t)n;
	}
	backlog->count = backlog->sent = 0;
	return true;
}

static bool log_enqueue(struct manager *manager, const struct record *record)
{
	struct backlog *backlog = &manager->backlog;

	if (backlog->count == backlog->room) {
		backlog->room = backlog->room ? backlog->room * 2 : 64;
		backlog->records = realloc(backlog->records, backlog->room * sizeof(*record));
		if (!backlog->records)
			abort();
	}
	backlog->records[backlog->count++] = *record;
	return log_flush(manager);
}

static void answer_question(struct manager *manager)
{
	struct answer answer = {0};

	if (recv(manager->control, &answer.unit, sizeof(answer.unit), MSG_WAITALL) !=
		sizeof(answer.unit))
		return;
	snprintf(answer.name, sizeof(answer.name), "%s", unit_names[answer.unit % UNITS]);
	send_all(manager->control, &answer, sizeof(answer));
	manager->questions++;
}

/* Does what is due in this turn: units start and say so; the backup lists its files. */
static void run_units(struct manager *manager, unsigned turn)
{
	unsigned unit = turn / 4 % UNITS;
	unsigned lines = unit == 3 && turn % 4 == 0 ? 1500 : 2;
	struct record record = {.unit = unit};

	for (unsigned i = 0; i < lines; i++) {
		record.number = manager->lines++;
		snprintf(record.text, sizeof(record.text), "%s: step %u of turn %u",
			unit_names[unit], i, turn);
		manager->submit(manager, &record);
	}
}

static void manager_run(struct manager *manager)
{
	struct timespec now;
	int64_t due, ms;
	unsigned turn = 0;

	clock_gettime(CLOCK_MONOTONIC, &now);
	due = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	while (turn < TURNS || manager->backlog.count > 0) {
		struct pollfd watched[2] = {
			{manager->control, POLLIN, 0},
			{manager->log, manager->backlog.count > 0 ? POLLOUT : 0, 0},
		};

		clock_gettime(CLOCK_MONOTONIC, &now);
		ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
		if (turn < TURNS && ms >= due) {
			run_units(manager, turn++);
			due += 10;
			continue;
		}
		if (poll(watched, 2, turn < TURNS ? (int)(due - ms) : 100) <= 0)
			continue;
		if (watched[0].revents & POLLIN)
			answer_question(manager);
		if (watched[1].revents & POLLOUT)
			log_flush(manager);
	}
}

int main(int argc, char **argv)
{
	static struct manager manager;
	int log[2], control[2], status, size = 32 * 1024;
	pid_t child;

	if (argc != 2 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, log) ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control))
		return 2;
	setsockopt(log[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	child = fork();
	if (child == 0) {
		close(log[0]);
		close(control[0]);
		_exit(journal_run(log[1], control[1]));
	}
	close(log[1]);
	close(control[1]);
	manager.log = log[0];
	manager.control = control[0];
	manager.submit = strcmp(argv[1], "healthy") == 0 ? log_enqueue : log_submit;
	manager_run(&manager);
	/* The journal may still have a question about a line that it reads now. */
	shutdown(manager.log, SHUT_WR);
	while (waitpid(child, &status, WNOHANG) == 0) {
		struct pollfd watched = {manager.control, POLLIN, 0};

		if (poll(&watched, 1, 20) == 1 && watched.revents & POLLIN)
			answer_question(&manager);
	}
	free(manager.backlog.records);
	printf("%u lines, %u questions\n", manager.lines, manager.questions);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
