/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: a session asks who the user is and then goes to the state WAIT_AUTH. If the answer is in the
 *     cache, auth_begin calls on_auth at once, so that the state READY is overwritten by WAIT_AUTH, and
 *     the session waits for an answer that was there already.
 *   culprit: session 4|auth bob|auth_begin
 *   victim: inbox of|main\b
 * case: healthy
 *   args: healthy
 *   run: self kill 1500
 *   ask: why
 *   culprit: nothing
 */
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <time.h>

enum {
	SESSIONS = 8,
	PERIOD = 40
};
enum state {
	GREETING,
	WAIT_AUTH,
	READY,
	FETCHING,
	CLOSED
};

struct session {
	unsigned number;
	const char *user;
	enum state state;
	bool is_known;
	thrum_task task, auth, inbox;
	int64_t wake; /* ms; 0: not waiting for a time */
};

static const char *const users[] = {"alice", "bob", "carol", "dave", "bob", "erin", "frank",
	"grace"};
static struct session sessions[SESSIONS];
static bool cached[SESSIONS];
static bool set_before;
static unsigned messages, rounds;

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void session_step(struct session *session);

static void on_auth(struct session *session)
{
	thrum_task_resolve(session->auth);
	session->is_known = true;
	session->state = READY;
	thrum_task_read(session->task, session->auth);
	thrum_task_ready(session->task);
	session->wake = now() + 2;
}

/* Calls on_auth when the answer comes. */
static void auth_begin(struct session *session)
{
	session->auth = thrum_task_createf(THRUM_KIND_PROMISE, "auth %s", session->user);
	for (unsigned i = 0; i < SESSIONS; i++)
		if (cached[i] && !strcmp(users[i], session->user)) {
			on_auth(session);
			return;
		}
	session->wake = now() + 10;
}

static void session_open(struct session *session, unsigned number)
{
	memset(session, 0, sizeof *session);
	session->number = number;
	session->user = users[number % SESSIONS];
	session->inbox = thrum_task_createf(THRUM_KIND_REQUEST, "inbox of %s", session->user);
	thrum_task_should_resolve(session->inbox);
	session->task = thrum_task_createf(THRUM_KIND_TASK, "session %u", number);
	thrum_task_wait(session->inbox, session->task);
	session->wake = now() + 3 + number * 12;
}

static void session_step(struct session *session)
{
	session->wake = 0;
	switch (session->state) {
	case GREETING:
		if (set_before) {
			session->state = WAIT_AUTH;
			auth_begin(session);
		} else {
			auth_begin(session);
			session->state = WAIT_AUTH;
		}
		if (session->state == WAIT_AUTH)
			thrum_task_wait(session->task, session->auth);
		break;
	case WAIT_AUTH:
		if (!session->is_known) {
			cached[session->number % SESSIONS] = true;
			on_auth(session);
		}
		break;
	case READY:
		session->state = FETCHING;
		session->wake = now() + 4;
		break;
	case FETCHING:
		messages += 3;
		session->state = CLOSED;
		thrum_task_resolve(session->task);
		thrum_task_read(session->inbox, session->task);
		thrum_task_resolve(session->inbox);
		break;
	case CLOSED: break;
	}
}

/* Returns false when all are closed. */
static bool turn(void)
{
	bool is_open = false;
	int64_t next = now() + PERIOD;

	for (unsigned i = 0; i < SESSIONS; i++) {
		struct session *session = &sessions[i];

		if (session->state == CLOSED)
			continue;
		is_open = true;
		if (session->wake && session->wake < next)
			next = session->wake;
	}
	if (!is_open)
		return false;
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	poll(NULL, 0, next > now() ? (int)(next - now()) : 0);
	thrum_resume();
	for (unsigned i = 0; i < SESSIONS; i++)
		if (sessions[i].wake && sessions[i].wake <= now())
			THRUM_RUN (sessions[i].task)
				session_step(&sessions[i]);
	return true;
}

int main(int count, char **arguments)
{
	set_before = count < 2 || strcmp(arguments[1], "broken");
	for (;;) {
		memset(cached, 0, sizeof cached);
		for (unsigned i = 0; i < SESSIONS; i++)
			session_open(&sessions[i], i);
		while (turn())
			continue;
		rounds++;
		fprintf(stderr, "%u rounds, %u messages\n", rounds, messages);
	}
}
