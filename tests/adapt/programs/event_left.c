/* SPDX-License-Identifier: ISC */
/*
 * Loops of libevent that nobody tells to end, or that ended by themselves, and timers and listeners that the
 * wrong call stopped. "join": a thread joins one whose loop waits for data of two sockets. "ended": a loop
 * returned before its event was added. "timer": the answer to a beat stops the beat. "closed": a listener is
 * disabled, and not enabled again. "active": a thread makes an event active, and libevent doesn't know that
 * there are threads. With a second argument nothing is forgotten: these are healthy. It knows
 * nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/thread.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "hang.h"
#include "patience.h"

#define BEATS 8

static struct event_base *base;
static struct event *beat, *limit;
static struct evconnlistener *door;
static int ends[2], others[2], beats, visitors;
static bool is_fine, is_done;
static atomic_bool has_returned;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static const struct timeval soon = {0, 20000}, later = {100, 0}; /* s, us */

static void on_data(evutil_socket_t fd, short what, void *argument)
{
	char byte;

	(void)what, (void)argument;
	if (read(fd, &byte, 1) == 1 && byte == 'e')
		event_base_loopbreak(base);
}

static void *run_loop(void *unused)
{
	event_base_dispatch(base);
	has_returned = true;
	return unused;
}

static int join_loop(void)
{
	struct event *one = event_new(base, ends[0], EV_READ | EV_PERSIST, on_data, NULL);
	struct event *other = event_new(base, others[0], EV_READ | EV_PERSIST, on_data, NULL);
	pthread_t thread;

	event_add(one, NULL);
	event_add(other, NULL);
	pthread_create(&thread, NULL, run_loop, NULL);
	if (write(ends[1], "a", 1) != 1 || write(others[1], "a", 1) != 1)
		return 1;
	usleep(50000);
	if (is_fine && write(ends[1], "e", 1) != 1)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}

static void on_job(evutil_socket_t fd, short what, void *argument)
{
	on_data(fd, what, argument);
	pthread_mutex_lock(&mutex);
	is_done = true;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&mutex);
}

static int ask_loop(void)
{
	struct event *job = event_new(base, ends[0], EV_READ, on_job, NULL);
	pthread_t thread;

	if (is_fine)
		event_add(job, NULL);
	pthread_create(&thread, NULL, run_loop, NULL);
	do
		usleep(50000);
	while (!is_fine && !has_returned);
	if (!is_fine)
		event_add(job, NULL);
	if (write(ends[1], "a", 1) != 1)
		return 1;
	pthread_mutex_lock(&mutex);
	while (!is_done)
		pthread_cond_wait(&done, &mutex);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	return 0;
}

static void on_beat(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	if (write(ends[0], "b", 1) != 1)
		event_base_loopbreak(base);
	event_add(limit, &later);
}

static void on_limit(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	event_base_loopbreak(base);
}

static void on_answer(evutil_socket_t fd, short what, void *argument)
{
	char byte;

	(void)what, (void)argument;
	if (read(fd, &byte, 1) != 1 || ++beats == BEATS)
		event_base_loopbreak(base);
	event_del(limit);
	event_add(beat, &soon);
	if (!is_fine && beats == BEATS / 2)
		event_del(beat);
}

static void *answer(void *unused)
{
	char byte;

	for (int i = 0; i < BEATS; i++)
		if (recv(ends[1], &byte, 1, 0) != 1 || send(ends[1], &byte, 1, 0) != 1)
			break;
	return unused;
}

static int beat_on(void)
{
	pthread_t thread;

	beat = event_new(base, -1, 0, on_beat, NULL);
	limit = event_new(base, -1, 0, on_limit, NULL);
	event_add(event_new(base, ends[0], EV_READ | EV_PERSIST, on_answer, NULL), NULL);
	event_add(beat, &soon);
	pthread_create(&thread, NULL, answer, NULL);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	return 0;
}

static void on_visitor(struct evconnlistener *listener, evutil_socket_t fd,
	struct sockaddr *address, int size, void *argument)
{
	(void)address, (void)size, (void)argument;
	if (write(fd, "a", 1) != 1)
		event_base_loopbreak(base);
	close(fd);
	evconnlistener_disable(listener);
	if (is_fine && ++visitors < 2)
		evconnlistener_enable(listener);
}

static void *visit(void *address)
{
	char byte;

	for (int i = 0; i < 2; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		if (connect(fd, address, sizeof(struct sockaddr_un)) != 0 ||
			read(fd, &byte, 1) != 1)
			_exit(1);
		close(fd);
	}
	return NULL;
}

static int keep_door(void)
{
	static struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "door"};
	pthread_t thread;

	unlink(address.sun_path);
	door = evconnlistener_new_bind(base, on_visitor, NULL, 0, 4, (struct sockaddr *)&address,
		sizeof address);
	pthread_create(&thread, NULL, visit, &address);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	unlink(address.sun_path);
	return 0;
}

static void on_news(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	pthread_mutex_lock(&mutex);
	is_done = true;
	pthread_cond_signal(&done);
	pthread_mutex_unlock(&mutex);
	event_base_loopbreak(base);
}

/* The loop waits, as far as can be seen from outside. */
static void await_loop(void)
{
	for (int seen = 0; seen < 20; seen++) {
		usleep(2000);
		if (!is_asleep(getpid()))
			seen = 0;
	}
}

static void *tell_news(void *news)
{
	await_loop();
	event_active(news, EV_READ, 0);
	pthread_mutex_lock(&mutex);
	while (!is_done)
		pthread_cond_wait(&done, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static int await_news(void)
{
	struct event *news = event_new(base, -1, EV_READ | EV_PERSIST, on_news, NULL);
	pthread_t thread;

	limit = event_new(base, -1, 0, on_limit, NULL);
	event_add(limit, &later);
	event_add(news, NULL);
	pthread_create(&thread, NULL, tell_news, news);
	event_base_dispatch(base);
	pthread_join(thread, NULL);
	return 0;
}

int main(int count, char **arguments)
{
	const char *how = count > 1 ? arguments[1] : "";

	is_fine = count > 2;
	end_after(is_fine ? 20 : 3);
	if (is_fine && strcmp(how, "active") == 0)
		evthread_use_pthreads();
	base = event_base_new();
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, others) != 0)
		return 1;
	return strcmp(how, "join") == 0      ? join_loop()
		: strcmp(how, "ended") == 0  ? ask_loop()
		: strcmp(how, "timer") == 0  ? beat_on()
		: strcmp(how, "closed") == 0 ? keep_door()
		: strcmp(how, "active") == 0 ? await_news()
					     : 2;
}
