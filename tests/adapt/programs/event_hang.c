/* SPDX-License-Identifier: ISC */
/* Its loop hangs: the callback of an event waits for a lock whose holder never releases it. */
#define _GNU_SOURCE
#include <event2/event.h>
#include <pthread.h>
#include <stdio.h>

#include "hang.h"

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

static void refresh_cache(evutil_socket_t fd, short what, void *argument)
{
	(void)fd, (void)what, (void)argument;
	pthread_mutex_lock(&cache_lock); /* waits for ever */
	pthread_mutex_unlock(&cache_lock);
}

static void *fill_cache(void *unused)
{
	pthread_mutex_lock(&cache_lock); /* and never unlocks it */
	return unused;
}

static bool waits(void)
{
	return has_waiter(&cache_lock);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct event *refresh = event_new(base, -1, EV_PERSIST, refresh_cache, NULL);
	struct timeval soon = {0, 1000};
	pthread_t thread;

	pthread_create(&thread, NULL, fill_cache, NULL);
	pthread_join(thread, NULL);
	event_add(refresh, &soon);
	end_when(waits);
	event_base_dispatch(base);
	printf("never\n");
	return 0;
}
