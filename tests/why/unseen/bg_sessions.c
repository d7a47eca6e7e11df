/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run:
 *   ask: diff healthy
 *   truth: audit_flush writes the audit file (fdatasync and a slow disk) while it holds store_lock,
 *     which each request needs. In the healthy one it copies the lines under the lock and writes without
 *     it.
 *   culprit: audit_flush|audit|store_lock
 *   victim: mail_digest
 * case: healthy
 *   args: healthy
 *   run:
 *   ask: why
 *   culprit: nothing
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS = 3,
	REQUESTS = 150,
	SESSIONS = 64,
	LINES = 128
};

struct session {
	int user;
	unsigned hits;
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct session store[SESSIONS];
static char line[LINES][48];
static int lines;
static bool copies_first;
static volatile bool stopping;
static int audit_file;

static void nap(int ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The store ---- */

static void store_enter(void)
{
	if (pthread_mutex_lock(&store_lock))
		abort();
}

static void store_leave(void)
{
	if (pthread_mutex_unlock(&store_lock))
		abort();
}

static void session_touch(int user)
{
	store_enter();
	store[user % SESSIONS].user = user;
	store[user % SESSIONS].hits++;
	if (lines < LINES)
		snprintf(line[lines++], sizeof line[0], "user %d hits %u\n", user,
			store[user % SESSIONS].hits);
	store_leave();
}

/* ---- The audit ---- */

static void disk_write(const char (*text)[48], int count)
{
	for (int i = 0; i < count; i++)
		if (write(audit_file, text[i], strlen(text[i])) < 0)
			perror("audit");
	fdatasync(audit_file);
	/* The disk is on the network. */
	nap(60);
}

static void audit_flush(void)
{
	static char copy[LINES][48];
	int count;

	store_enter();
	if (!copies_first) {
		disk_write((const char(*)[48])line, lines);
		lines = 0;
		store_leave();
		return;
	}
	count = lines;
	memcpy(copy, line, sizeof copy);
	lines = 0;
	store_leave();
	disk_write((const char(*)[48])copy, count);
}

static void *audit(void *data)
{
	(void)data;
	while (!stopping) {
		nap(40);
		audit_flush();
	}
	return NULL;
}

/* ---- The others ---- */

static void *client(void *data)
{
	int first = (int)(size_t)data * 1000;

	for (int i = 0; i < REQUESTS; i++) {
		session_touch(first + i);
		nap(3);
	}
	return NULL;
}

static void *mail_digest(void *data)
{
	(void)data;
	while (!stopping) {
		unsigned hits = 0;

		store_enter();
		for (int i = 0; i < SESSIONS; i++)
			hits += store[i].hits;
		store_leave();
		fprintf(stderr, "%u hits\n", hits);
		nap(250);
	}
	return NULL;
}

static pthread_t begin(const char *name, void *(*body)(void *), size_t number)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, body, (void *)number))
		abort();
	pthread_setname_np(thread, name);
	return thread;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/auditXXXXXX";
	pthread_t clients[CLIENTS], auditor, digest;

	copies_first = argc > 1 && !strcmp(argv[1], "healthy");
	audit_file = mkstemp(path);
	if (audit_file < 0)
		return 1;
	unlink(path);
	auditor = begin("audit", audit, 0);
	digest = begin("mail digest", mail_digest, 0);
	for (size_t i = 0; i < CLIENTS; i++)
		clients[i] = begin("client", client, i);
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(clients[i], NULL);
	stopping = true;
	pthread_join(auditor, NULL);
	pthread_join(digest, NULL);
	close(audit_file);
	return 0;
}
