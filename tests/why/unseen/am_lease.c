/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: when bob's timer expires, timer_remove() moves dave's timer to its place and doesn't tell dave. bob's
 *     new timer then gets dave's old place, and dave's session stops it when dave is bound. So bob, whose second
 *     message is lost as well, never sends again.
 *   culprit: session dave|retransmit bob.*(cancel|stop)|timer_remove
 *   victim: session bob
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A client of leases: asks a server for the lease of each of its interfaces, and asks again if nothing comes. */
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

#include <thrum.h>

#define SESSIONS 4

enum state {
	INIT,
	ASKING,
	BOUND
};

struct session {
	const char *name;
	int number;
	int64_t timeout_ms;
	const char *relay; /* goes through another one's lease */
	enum state state;
	int timer; /* its place in the table; -1: none */
	unsigned sent;
	thrum_task task, exchange, reply;
};

struct timer {
	struct session *owner;
	int64_t due;
	thrum_task task;
};

struct message {
	int session;
	unsigned number;
};

static struct session sessions[SESSIONS] = {
	{.name = "bob", .timeout_ms = 260},
	{.name = "alice", .timeout_ms = 1000},
	{.name = "dave", .timeout_ms = 1000, .relay = "alice"},
	{.name = "carol", .timeout_ms = 1000, .relay = "alice"},
};
static struct timer timers[SESSIONS];
static int timer_count;
static int server;

static int64_t now_ms(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* ---- Timers: a table without holes ----------------------------------------------------------- */

static __attribute__((noinline)) void timer_start(struct session *session)
{
	struct timer *timer = &timers[timer_count];
	int64_t ms = session->timeout_ms << (session->sent - 1); /* twice as long each time */

	timer->owner = session;
	timer->due = now_ms() + ms;
	timer->task = thrum_task_createf(THRUM_KIND_TIMER, "retransmit %s", session->name);
	thrum_task_due(timer->task, ms * 1000000);
	session->timer = timer_count++;
}

static __attribute__((noinline)) void timer_remove(int place)
{
	timers[place] = timers[--timer_count];
}

static __attribute__((noinline)) void timer_stop(struct session *session)
{
	int place = session->timer;

	session->timer = -1;
	if (place < 0 || place >= timer_count)
		return;
	thrum_task_cancel(timers[place].task);
	timer_remove(place);
	if (place < timer_count)
		timers[place].owner->timer = place;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static __attribute__((noinline)) void session_send(struct session *session)
{
	struct message message = {session->number, ++session->sent};

	session->state = ASKING;
	if (!session->reply)
		session->reply = thrum_task_createf(THRUM_KIND_REQUEST, "lease for %s",
			session->name);
	timer_start(session);
	session->exchange = thrum_task_createf(THRUM_KIND_CHOOSE, "exchange of %s", session->name);
	thrum_task_wait(session->exchange, session->reply);
	thrum_task_wait(session->exchange, timers[session->timer].task);
	thrum_task_wait(session->task, session->exchange);
	if (write(server, &message, sizeof message) != sizeof message)
		abort();
}

static void session_begin(struct session *session)
{
	THRUM_RUN (session->task)
		session_send(session);
}

static __attribute__((noinline)) void session_expired(struct session *session, thrum_task timer)
{
	if (session->state != ASKING)
		return;
	thrum_task_read(session->exchange, timer);
	thrum_task_resolve(session->exchange);
	thrum_task_read(session->task, session->exchange);
	session_send(session);
}

static __attribute__((noinline)) void session_bound(struct session *session)
{
	timer_stop(session);
	session->state = BOUND;
	thrum_task_resolve(session->reply);
	thrum_task_read(session->exchange, session->reply);
	thrum_task_resolve(session->exchange);
	thrum_task_read(session->task, session->exchange);
	thrum_task_resolve(session->task);
	printf("%s is bound after %u messages\n", session->name, session->sent);
	for (int i = 0; i < SESSIONS; i++)
		if (sessions[i].relay && strcmp(sessions[i].relay, session->name) == 0)
			session_begin(&sessions[i]);
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void timers_run(void)
{
	int64_t now = now_ms();

	for (int i = 0; i < timer_count; i++) {
		struct timer timer = timers[i];

		if (timer.due > now)
			continue;
		timer_remove(i--);
		timer.owner->timer = -1;
		thrum_task_resolve(timer.task);
		THRUM_RUN (timer.owner->task)
			session_expired(timer.owner, timer.task);
	}
}

static int next_timeout(void)
{
	int64_t first = INT64_MAX, now = now_ms();

	for (int i = 0; i < timer_count; i++)
		if (timers[i].due < first)
			first = timers[i].due;
	return first == INT64_MAX ? -1 : first < now ? 0 : (int)(first - now);
}

static bool all_bound(void)
{
	for (int i = 0; i < SESSIONS; i++)
		if (sessions[i].state != BOUND)
			return false;
	return true;
}

static void loop_run(void)
{
	while (!all_bound()) {
		struct pollfd watched = {.fd = server, .events = POLLIN};
		struct message message;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(&watched, 1, next_timeout());
		thrum_resume();
		if (watched.revents && read(server, &message, sizeof message) == sizeof message) {
			struct session *session = &sessions[message.session];

			if (session->state == ASKING)
				THRUM_RUN (session->task)
					session_bound(session);
		}
		timers_run();
	}
}

/* ---- The server: another process, which knows nothing of thrum ------------------------------- */

static int run_server(int client, bool lossy)
{
	struct message message, held = {0};
	int64_t held_until = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd watched = {.fd = client, .events = POLLIN};
		int64_t left = held_until - now_ms();

		if (poll(&watched, 1, !held_until ? -1 : left < 0 ? 0 : (int)left) == 0) {
			held_until = 0;
			if (write(client, &held, sizeof held) != sizeof held)
				return 0;
			continue;
		}
		if (read(client, &message, sizeof message) != sizeof message)
			return 0;
		if (message.session == 0 && lossy && message.number < 3)
			continue;           /* lost on the way */
		if (message.session == 2) { /* a slow line */
			held = message;
			held_until = now_ms() + 520;
			continue;
		}
		usleep(5000);
		if (write(client, &message, sizeof message) != sizeof message)
			return 0;
	}
}

int main(int count, char **arguments)
{
	bool broken = count > 1 && strcmp(arguments[1], "broken") == 0;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair))
		return 2;
	if (fork() == 0) {
		close(pair[0]);
		return run_server(pair[1], broken);
	}
	close(pair[1]);
	server = pair[0];
	if (thrum_start(NULL))
		return 2;
	for (int i = 0; i < SESSIONS; i++) {
		sessions[i].number = i;
		sessions[i].timer = -1;
		sessions[i].task = thrum_task_createf(THRUM_KIND_TASK, "session %s",
			sessions[i].name);
		thrum_task_should_resolve(sessions[i].task);
	}
	for (int i = 0; i < SESSIONS; i++)
		if (!sessions[i].relay)
			session_begin(&sessions[i]);
	loop_run();
	close(server);
	wait(NULL);
	return 0;
}
