/* SPDX-License-Identifier: ISC */
/*
 * A thread takes an event out while its callback runs in the loop's thread, with event_del ("del") or
 * event_free ("free"). libevent then waits until that has returned. The thread holds a lock that the callback
 * wants, by mistake. With "fine" it has given the lock back; with "tries" the callback only tries to take it.
 * It knows nothing of thrum. Where it hangs, SIGALRM ends it.
 */
#define _GNU_SOURCE
#include <event2/event.h>
#include <event2/thread.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "patience.h"

static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;
static struct event_base *base;
static const char *scene;
static sem_t began, held;

static bool is(const char *name)
{
	return strcmp(scene, name) == 0;
}

static void on_packet(evutil_socket_t fd, short what, void *unused)
{
	(void)fd, (void)what, (void)unused;
	sem_post(&began);
	sem_wait(&held);
	if (is("tries") ? pthread_mutex_trylock(&session_lock) == 0
			: pthread_mutex_lock(&session_lock) == 0)
		pthread_mutex_unlock(&session_lock);
}

static void *run_loop(void *unused)
{
	event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
	return unused;
}

static void take_out(struct event *session, bool frees)
{
	if (frees)
		event_free(session);
	else
		event_del(session);
}

static void remove_session(struct event *session, bool frees)
{
	sem_wait(&began);
	pthread_mutex_lock(&session_lock);
	if (is("fine"))
		pthread_mutex_unlock(&session_lock);
	sem_post(&held);
	take_out(session, frees);
	if (!is("fine"))
		pthread_mutex_unlock(&session_lock);
}

int main(int argc, char **argv)
{
	const struct timeval now = {0, 0};
	struct event *session;
	pthread_t loop;
	bool frees;

	if (argc < 2)
		return 2;
	scene = argc > 2 ? argv[2] : "";
	frees = strcmp(argv[1], "free") == 0;
	end_after(3);
	evthread_use_pthreads();
	sem_init(&began, 0, 0);
	sem_init(&held, 0, 0);
	base = event_base_new();
	session = event_new(base, -1, EV_PERSIST, on_packet, NULL);
	event_add(session, &now);
	pthread_create(&loop, NULL, run_loop, NULL);
	remove_session(session, frees);
	event_base_loopbreak(base);
	pthread_join(loop, NULL);
	if (!frees)
		event_free(session);
	event_base_free(base);
	printf("removed\n");
	return 0;
}
