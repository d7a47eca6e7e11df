/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: Till 3 sends five lines at once. The session of till 3 pauses after two, and when it goes on it
 *          only watches its socket, and doesn't look at the lines that it has read already.
 *   culprit: session of till 3
 *   victim: sale till 3/[0-9]+
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thrum.h>
#include <time.h>
#include <unistd.h>

#define TILLS 4
#define ROUNDS 25
#define BUSY_MAX 2

enum state {
	READING,
	PAUSED
};

struct session {
	int number, descriptor, busy;
	enum state state;
	int lines[32]; /* each is the number of a sale */
	size_t have;
	thrum_task task, line;
};

struct payment {
	struct session *session;
	int sale;
	long long due;
	thrum_task task;
};

static struct session sessions[TILLS];
static struct payment payments[TILLS * BUSY_MAX];
static int till_ends[TILLS], epoll;
static bool broken;

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void enter_state(struct session *session, enum state state)
{
	struct epoll_event event = {.events = state == READING ? EPOLLIN : 0, .data.ptr = session};

	session->state = state;
	epoll_ctl(epoll, EPOLL_CTL_MOD, session->descriptor, &event);
	if (state == READING)
		thrum_task_wait(session->task, session->line);
}

static void begin_payment(struct session *session, int sale)
{
	int link[2] = {session->number, sale};
	struct payment *payment = payments;

	while (payment->session)
		payment++;
	*payment = (struct payment){.session = session, .sale = sale, .due = now() + 3};
	payment->task = thrum_task_createf(THRUM_KIND_TASK, "pay till %d/%d", session->number,
		sale);
	THRUM_RUN (payment->task)
		thrum_link_receive(link, sizeof(link));
	session->busy++;
}

static void handle_lines(struct session *session)
{
	while (session->busy < BUSY_MAX && session->have) {
		begin_payment(session, session->lines[0]);
		session->have--;
		memmove(session->lines, session->lines + 1, session->have * sizeof(int));
	}
	enter_state(session, session->busy < BUSY_MAX ? READING : PAUSED);
}

static bool on_input(struct session *session)
{
	ssize_t size = read(session->descriptor, session->lines + session->have,
		sizeof(session->lines) - session->have * sizeof(int));

	THRUM_RUN (session->task) {
		thrum_task_read(session->task, session->line);
		if (size <= 0) {
			close(session->descriptor);
			thrum_task_resolve(session->task);
			break;
		}
		session->have += (size_t)size / sizeof(int);
		handle_lines(session);
	}
	return size > 0;
}

static void end_payment(struct payment *payment)
{
	struct session *session = payment->session;

	THRUM_RUN (payment->task) {
		if (write(session->descriptor, &payment->sale, sizeof(int)) == sizeof(int))
			thrum_task_resolve(payment->task);
	}
	payment->session = NULL;
	session->busy--;
	if (session->state != PAUSED)
		return;
	THRUM_RUN (session->task) {
		enter_state(session, READING);
		if (!broken)
			handle_lines(session);
	}
}

static void *serve(void *name)
{
	thrum_lane_name(name);
	for (int open = TILLS; open;) {
		struct epoll_event event;
		bool paying = false;
		int count;

		for (struct payment *payment = payments; payment < payments + TILLS * BUSY_MAX;
			payment++) {
			if (payment->session && payment->due <= now())
				end_payment(payment);
			paying |= payment->session != NULL;
		}
		thrum_suspend(THRUM_WAIT_FOR_WORK);
		count = epoll_wait(epoll, &event, 1, paying ? 1 : -1);
		thrum_resume();
		if (count == 1)
			open -= !on_input(event.data.ptr);
	}
	return NULL;
}

static void *run_till(void *data)
{
	struct session *session = data;
	int number = session->number, sale = 0, paid;
	thrum_task requests[8];
	char name[16];

	snprintf(name, sizeof(name), "till %d", number);
	thrum_lane_name(name);
	for (int round = 0; round < ROUNDS; round++) {
		/* Till 3 sends what it kept while it was offline. */
		int count = number == 3 && round == 8 ? 5 : 1 + (round + number) % 2,
		    first = sale + 1;
		int lines[8];

		for (int i = 0; i < count; i++) {
			int link[2] = {number, ++sale};

			lines[i] = sale;
			requests[i] = thrum_task_createf(THRUM_KIND_REQUEST, "sale till %d/%d",
				number, sale);
			thrum_task_should_resolve(requests[i]);
			thrum_task_wait(requests[i], session->line);
			THRUM_RUN (requests[i])
				thrum_link_send(link, sizeof(link));
		}
		if (write(till_ends[number], lines, sizeof(int) * (size_t)count) < 0)
			return NULL;
		for (int i = 0; i < count; i++) {
			thrum_suspend(THRUM_WAIT_FOR_WORK);
			if (read(till_ends[number], &paid, sizeof(int)) != sizeof(int))
				return NULL;
			thrum_resume();
			thrum_task_resolve(requests[paid - first]);
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000 * (1 + number)}, NULL);
	}
	close(till_ends[number]);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t server, tills[TILLS];

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	epoll = epoll_create1(0);
	if (thrum_start(NULL))
		return 2;
	for (int i = 0; i < TILLS; i++) {
		struct epoll_event event = {.events = EPOLLIN, .data.ptr = &sessions[i]};
		int ends[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
			return 2;
		till_ends[i] = ends[0];
		sessions[i] = (struct session){.number = i, .descriptor = ends[1]};
		sessions[i].line = thrum_task_createf(THRUM_KIND_HANDLE, "line %d", i);
		sessions[i].task = thrum_task_createf(THRUM_KIND_FIBER, "session of till %d", i);
		epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event);
	}
	pthread_create(&server, NULL, serve, "server");
	for (int i = 0; i < TILLS; i++)
		pthread_create(&tills[i], NULL, run_till, &sessions[i]);
	for (int i = 0; i < TILLS; i++)
		pthread_join(tills[i], NULL);
	pthread_join(server, NULL);
	thrum_stop();
	return 0;
}
