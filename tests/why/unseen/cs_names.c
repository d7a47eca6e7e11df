/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 2500
 *   ask: why
 *   truth: A message to the store is a header and a body, and the header tells the body's size. send_rename
 *     counts the header into that size. So read_body in the store process waits for eight bytes more, which
 *     never come. The console waits in await_reply for the reply to its rename, and the watcher for the
 *     next change.
 *   culprit: send_rename|read_body
 *   victim: await_reply|watch|main\b
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A store of names in a process of its own, a console that asks it, and a watcher of its changes. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum kind {
	ADD = 1,
	FIND,
	RENAME,
	QUIT
};
enum {
	NAME = 32,
	ROOM = 64
};

struct header {
	uint32_t kind;
	uint32_t size; /* of the body */
};

struct pair {
	char from[NAME], to[NAME];
};

static bool broken;

static void put(int to, const void *data, size_t size)
{
	if (write(to, data, size) != (ssize_t)size)
		_exit(3);
}

struct store {
	char names[ROOM][NAME];
	int count, requests, changes;
};

static bool read_body(int from, char *body, size_t size)
{
	size_t got = 0;

	while (got < size) {
		ssize_t part = read(from, body + got, size - got);

		if (part <= 0)
			return false;
		got += part;
	}
	return true;
}

static int find(const struct store *store, const char *name)
{
	for (int i = 0; i < store->count; i++)
		if (!strcmp(store->names[i], name))
			return i;
	return -1;
}

/* Does what the message asks for, and returns the number of the name. */
static int handle(struct store *store, enum kind kind, const char *body)
{
	const struct pair *pair = (const struct pair *)body;
	int at = find(store, body);

	store->changes += kind != FIND;
	if (kind == ADD && at < 0 && store->count < ROOM) {
		at = store->count++;
		memcpy(store->names[at], body, NAME);
	} else if (kind == RENAME && at >= 0) {
		memcpy(store->names[at], pair->to, NAME);
	}
	return at;
}

static void run_store(int console, int changes)
{
	static struct store store;
	char body[256] __attribute__((aligned(8)));
	struct header header;

	while (read(console, &header, sizeof header) == sizeof header && header.kind != QUIT) {
		int before = store.changes, at;

		if (header.size > sizeof body || !read_body(console, body, header.size))
			break;
		store.requests++;
		usleep(10000); /* the disk */
		at = handle(&store, header.kind, body);
		if (store.changes != before)
			put(changes, store.names[at < 0 ? 0 : at], NAME);
		put(console, &at, sizeof at);
	}
	printf("store: %d requests, %d changes\n", store.requests, store.changes);
	fflush(stdout);
	_exit(0);
}

static void watch(int changes)
{
	char name[NAME];
	int count = 0;

	while (read(changes, name, NAME) == NAME)
		count++;
	printf("watcher: %d changes, the last one is %s\n", count, name);
	fflush(stdout);
	_exit(0);
}

static void send_name(int store, enum kind kind, int number)
{
	struct {
		struct header header;
		char name[NAME];
	} message = {.header = {.kind = kind, .size = NAME}};

	snprintf(message.name, NAME, "host%d", number);
	put(store, &message, sizeof message);
}

static void send_rename(int store, int number)
{
	struct {
		struct header header;
		struct pair pair;
	} message = {
		.header = {.kind = RENAME, .size = broken ? sizeof message : sizeof(struct pair)}};

	snprintf(message.pair.from, NAME, "host%d", number);
	snprintf(message.pair.to, NAME, "gate%d", number);
	put(store, &message, sizeof message);
}

static int await_reply(int store)
{
	int at;

	if (read(store, &at, sizeof at) != sizeof at)
		exit(3);
	return at;
}

static void start_watcher(const int *changes)
{
	pid_t process = fork();

	if (process < 0)
		exit(2);
	if (process == 0) {
		close(changes[1]);
		watch(changes[0]);
	}
	close(changes[0]);
}

/* Returns the console's end of the connection. */
static int start_store(int changes)
{
	int ends[2];
	pid_t process;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		exit(2);
	process = fork();
	if (process < 0)
		exit(2);
	if (process == 0) {
		close(ends[0]);
		run_store(ends[1], changes);
	}
	close(ends[1]);
	close(changes);
	return ends[0];
}

int main(int argc, char **argv)
{
	static const struct header quit = {.kind = QUIT};
	int changes[2], store, found = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	if (pipe(changes))
		return 2;
	start_watcher(changes);
	store = start_store(changes[1]);
	for (int i = 1; i <= 20; i++) {
		send_name(store, ADD, i);
		await_reply(store);
		usleep(25000);
		send_name(store, FIND, i);
		found += await_reply(store) >= 0;
	}
	send_rename(store, 7);
	found += await_reply(store) >= 0;
	put(store, &quit, sizeof quit);
	while (wait(NULL) > 0)
		continue;
	printf("console: %d found\n", found);
	return 0;
}
