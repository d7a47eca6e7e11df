/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: The client "leader" leaves while it holds the lock "deploy". release_all in the lock server removes its watch and returns before it gives back the locks of the session, so "deploy" stays with a session that has ended, and the builders' requests for it are never granted. (The server is the recorded process; each client records to a file of its own beside it.)
 *   culprit: \bleader\b|release_all
 *   victim: builder|lock deploy
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A lock server, and its clients: processes that ask for locks by name. */
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
#include <thrum.h>
#include <unistd.h>

#define SESSIONS 4

struct message {
	uint64_t key; /* of the link: the client's process id and a number */
	enum {
		LOCK,
		UNLOCK,
		WATCH
	} operation;
	char lock[12];
};

struct session {
	char name[16];
	int socket;
	bool watching, waiting;
	struct message request; /* the one that waits */
	thrum_task task, work;
};

struct lock {
	const char *name;
	struct session *owner;
	thrum_task task;
};

static struct session sessions[SESSIONS];
static unsigned opened, closed;
static struct lock locks[] = {{.name = "deploy"}, {.name = "cache"}, {.name = "index"}};
#define LOCKS (sizeof(locks) / sizeof(locks[0]))
static bool sweep; /* give back what a watcher holds, too */

/* ---- Clients ---- */

static void ask(int socket, int operation, const char *lock)
{
	static const char *const verbs[] = {"lock", "unlock", "watch"};
	static uint64_t number;
	struct message message = {.operation = operation};
	thrum_task request = thrum_task_createf(THRUM_KIND_REQUEST, "ask %s %s", verbs[operation],
		lock);

	message.key = (uint64_t)getpid() << 32 | ++number;
	strncpy(message.lock, lock, sizeof(message.lock) - 1);
	thrum_task_should_resolve(request);
	THRUM_RUN (request)
		thrum_link_send(&message.key, sizeof(message.key));
	if (write(socket, &message, sizeof(message)) != sizeof(message))
		_exit(1);
	thrum_task_wait(thrum_task_current(), request);
	thrum_suspend(THRUM_WAIT_FOR_WORK);
	if (read(socket, &message, sizeof(message)) != sizeof(message))
		_exit(1);
	thrum_resume();
	thrum_task_resolve(request);
	thrum_task_read(thrum_task_current(), request);
}

static void run_leader(int socket)
{
	ask(socket, LOCK, "deploy");
	ask(socket, WATCH, "index");
	usleep(15000);
}

static void run_builder(int socket, int number)
{
	for (int i = 0; i < 4; i++) {
		const char *lock = i % 2 ? "index" : "cache";

		ask(socket, LOCK, lock);
		usleep(2000 + 700 * number);
		ask(socket, UNLOCK, lock);
	}
	ask(socket, LOCK, "deploy");
	usleep(4000);
	if (number == 2)
		return; /* leaves, and its lock falls back */
	ask(socket, UNLOCK, "deploy");
}

static void start_client(int number)
{
	struct session *session = &sessions[opened++];
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		exit(1);
	snprintf(session->name, sizeof(session->name), number ? "builder-%d" : "leader", number);
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		alarm(5);
		for (int i = 0; i < number; i++)
			close(sessions[i].socket);
		close(pair[0]);
		thrum_start(NULL);
		thrum_lane_name(session->name);
		if (number == 0)
			run_leader(pair[1]);
		else
			run_builder(pair[1], number);
		thrum_stop();
		_exit(0);
	}
	close(pair[1]);
	session->socket = pair[0];
	session->task = thrum_task_createf(THRUM_KIND_HANDLE, "session %s", session->name);
}

/* ---- The server ---- */

static void reply(struct session *session)
{
	session->waiting = false;
	if (write(session->socket, &session->request, sizeof(session->request)) < 0 &&
		errno != EPIPE)
		perror("lockd: write");
	thrum_task_resolve(session->work);
}

static void grant(struct lock *lock, struct session *session)
{
	lock->owner = session;
	THRUM_RUN (session->task)
		thrum_lock_acquired(lock->task);
	THRUM_RUN (session->work) {
		if (session->waiting)
			thrum_task_read(session->work, lock->task);
		reply(session);
	}
}

static void give_back(struct lock *lock)
{
	THRUM_RUN (lock->owner->task)
		thrum_lock_released(lock->task);
	lock->owner = NULL;
	for (unsigned i = 0; i < opened; i++)
		if (sessions[i].waiting && !strcmp(sessions[i].request.lock, lock->name)) {
			grant(lock, &sessions[i]);
			break;
		}
}

static void release_all(struct session *session)
{
	if (session->watching) {
		session->watching = false;
		if (!sweep)
			return;
	}
	for (size_t i = 0; i < LOCKS; i++)
		if (locks[i].owner == session)
			give_back(&locks[i]);
}

static void session_close(struct session *session)
{
	close(session->socket);
	session->socket = -1;
	session->waiting = false;
	closed++;
	release_all(session);
	thrum_task_resolve(session->task);
}

static void on_request(struct session *session)
{
	const struct message *request = &session->request;
	struct lock *lock = &locks[0];

	for (size_t i = 0; i < LOCKS; i++)
		if (!strcmp(locks[i].name, request->lock))
			lock = &locks[i];
	session->work = thrum_task_createf(THRUM_KIND_TASK, "%s %s for %s",
		request->operation == LOCK             ? "lock"
			: request->operation == UNLOCK ? "unlock"
						       : "watch",
		lock->name, session->name);
	thrum_task_should_resolve(session->work);
	THRUM_RUN (session->work) {
		thrum_link_receive(&request->key, sizeof(request->key));
		switch (request->operation) {
		case LOCK:
			if (lock->owner) {
				session->waiting = true;
				thrum_task_wait(session->work, lock->task);
				break;
			}
			grant(lock, session);
			while (opened < SESSIONS) /* the builders follow the leader */
				start_client(opened);
			break;
		case UNLOCK:
			if (lock->owner == session)
				give_back(lock);
			reply(session);
			break;
		case WATCH:
			session->watching = true;
			reply(session);
			break;
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	alarm(5);
	signal(SIGPIPE, SIG_IGN);
	sweep = strcmp(argv[1], "broken") != 0;
	for (size_t i = 0; i < LOCKS; i++)
		locks[i].task = thrum_task_create(THRUM_KIND_LOCK, locks[i].name);
	start_client(0);
	while (closed < opened) {
		struct pollfd polls[SESSIONS];

		for (unsigned i = 0; i < opened; i++)
			polls[i] = (struct pollfd){.fd = sessions[i].socket, .events = POLLIN};
		unsigned count = opened;

		thrum_suspend(THRUM_WAIT_FOR_WORK);
		poll(polls, count, -1);
		thrum_resume();
		for (unsigned i = 0; i < count; i++) {
			struct session *session = &sessions[i];

			if (!polls[i].revents || session->socket < 0)
				continue;
			if (read(session->socket, &session->request, sizeof(session->request)) ==
				sizeof(session->request))
				on_request(session);
			else
				session_close(session);
		}
	}
	while (wait(NULL) > 0)
		continue;
	printf("%u sessions\n", closed);
	return 0;
}
