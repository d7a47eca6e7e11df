/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: two sessions hold the shared lock of the document "budget" and both upgrade it to an exclusive one in
 *     lock_upgrade. Each waits for the other's shared lock to go, and neither gives its own back.
 *   culprit: lock_upgrade|document budget|recalculate
 *   victim: print budget
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
/* A document server: sessions are small state machines on one thread, with shared and exclusive locks on documents. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	DOCUMENTS = 3,
	SESSIONS = 6
};
enum mode {
	UNLOCKED,
	SHARED,
	EXCLUSIVE
};

struct session;

struct document {
	const char *name;
	thrum_task lock;
	struct session *writer;
	int readers;
	struct session *waiting[SESSIONS]; /* in the order in which they came */
	int waiting_count;
};

struct session {
	const char *name;
	thrum_task task;
	struct document *document;
	bool (*step)(struct session *);
	enum mode holds, wants;
	long due; /* ms; the next step comes then */
	int state, edits;
	bool ended;
};

static bool broken;
static struct document documents[DOCUMENTS] = {{.name = "document minutes"},
	{.name = "document budget"}, {.name = "document roadmap"}};
static struct session sessions[SESSIONS];

static long now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static bool lock_fits(const struct document *document, const struct session *session)
{
	int others = document->readers - (session->holds == SHARED);

	if (document->writer)
		return false;
	return session->wants == SHARED || others == 0;
}

/* The session's task runs. */
static void lock_grant(struct document *document, struct session *session)
{
	if (session->holds == SHARED) {
		document->readers--;
		thrum_lock_released(document->lock);
	}
	if (session->wants == SHARED)
		document->readers++;
	else
		document->writer = session;
	session->holds = session->wants;
	session->wants = UNLOCKED;
	thrum_lock_acquired(document->lock);
}

/* Returns whether the session has the lock at once. */
static bool lock_take(struct session *session, enum mode mode)
{
	struct document *document = session->document;

	session->wants = mode;
	if (lock_fits(document, session) && document->waiting_count == 0) {
		lock_grant(document, session);
		return true;
	}
	thrum_task_wait(session->task, document->lock);
	document->waiting[document->waiting_count++] = session;
	return false;
}

static void lock_pass_on(struct document *document)
{
	while (document->waiting_count > 0 && lock_fits(document, document->waiting[0])) {
		struct session *next = document->waiting[0];

		document->waiting_count--;
		memmove(document->waiting, document->waiting + 1,
			(size_t)document->waiting_count * sizeof(next));
		THRUM_RUN (next->task)
			lock_grant(document, next);
		thrum_task_ready(next->task);
		next->due = now_ms();
	}
}

static void lock_give(struct session *session)
{
	struct document *document = session->document;

	if (session->holds == SHARED)
		document->readers--;
	else
		document->writer = NULL;
	session->holds = UNLOCKED;
	thrum_lock_released(document->lock);
	lock_pass_on(document);
}

static bool lock_upgrade(struct session *session)
{
	if (!broken)
		lock_give(session); /* the document is read again afterwards */
	return lock_take(session, EXCLUSIVE);
}

/* A session that reads a table for a while, and then writes its sums. */
static bool recalculate(struct session *session)
{
	switch (session->state++) {
	case 0: return lock_take(session, SHARED);
	case 1: session->due = now_ms() + 60; return true;
	case 2: return lock_upgrade(session);
	case 3: session->due = now_ms() + 20; return true;
	default:
		lock_give(session);
		session->ended = true;
		return true;
	}
}

/* A session that types: locks the document for each line. */
static bool type_lines(struct session *session)
{
	if (session->state++ % 2 == 0)
		return lock_take(session, EXCLUSIVE);
	lock_give(session);
	session->due = now_ms() + 15;
	session->ended = ++session->edits == 40;
	return true;
}

static bool print_document(struct session *session)
{
	if (session->state++ == 0)
		return lock_take(session, SHARED);
	lock_give(session);
	session->ended = true;
	return true;
}

static void session_begin(int number, const char *name, int document,
	bool (*step)(struct session *), long delay)
{
	struct session *session = &sessions[number];

	session->name = name;
	session->document = &documents[document];
	session->step = step;
	session->due = now_ms() + delay;
	session->task = thrum_task_create(THRUM_KIND_FIBER, name);
	thrum_task_should_resolve(session->task);
}

static void session_run(struct session *session)
{
	session->due = -1;
	THRUM_RUN (session->task) {
		if (session->step(session) && session->due < 0)
			session->due = now_ms();
		if (session->ended) {
			session->due = -1;
			thrum_task_resolve(session->task);
		}
	}
}

int main(int argc, char **argv)
{
	struct timespec tick = {0, 2000000};
	int ended = 0;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	thrum_start(NULL);
	thrum_lane_name("document server");
	for (int i = 0; i < DOCUMENTS; i++)
		documents[i].lock = thrum_task_create(THRUM_KIND_LOCK, documents[i].name);
	session_begin(0, "type minutes", 0, type_lines, 0);
	session_begin(1, "type roadmap", 2, type_lines, 5);
	session_begin(2, "sum by month", 1, recalculate, 40);
	session_begin(3, "sum by team", 1, recalculate, 60);
	session_begin(4, "print budget", 1, print_document, 300);
	session_begin(5, "print minutes", 0, print_document, 120);
	while (ended < SESSIONS) {
		ended = 0;
		for (int i = 0; i < SESSIONS; i++) {
			while (sessions[i].due >= 0 && sessions[i].due <= now_ms())
				session_run(&sessions[i]);
			ended += sessions[i].ended;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		nanosleep(&tick, NULL);
		thrum_resume();
	}
	printf("all sessions ended\n");
	thrum_stop();
	return 0;
}
