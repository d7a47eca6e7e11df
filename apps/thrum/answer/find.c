/* SPDX-License-Identifier: ISC */
/*
 * The search for odd turns and those for findings read the same model, and each takes about as long as the
 * others together. So where a processor is idle, a thread prepares the one while this one makes the others.
 */
#define _GNU_SOURCE
#include "answer/find.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "port/port.h"

#define LEAST 500000 /* events: to search them takes far longer than to start a thread */

struct ahead {
	pthread_t thread;
	struct thrum__odd_search search; /* the thread's */
	atomic_bool is_unwanted;
};

static void *prepare(void *context)
{
	struct ahead *ahead = context;

	thrum__analyse_odd_prepare(&ahead->search, &ahead->is_unwanted);
	return NULL;
}

static void join(struct thrum__odd_search *search, bool is_wanted)
{
	struct ahead *ahead = search->context;

	if (!is_wanted)
		ahead->is_unwanted = true;
	pthread_join(ahead->thread, NULL);
	search->work = ahead->search.work;
	free(ahead);
}

/* Lets a thread prepare the search, if it can. */
static void begin_ahead(struct thrum__odd_search *search)
{
	struct ahead *ahead;
	sigset_t all, before;
	bool is_begun;

	if (search->model->events < LEAST || thrum__port_idle_processors() == 0)
		return;
	ahead = calloc(1, sizeof *ahead);
	if (!ahead)
		return;
	ahead->search = *search;
	/* Signals are for the program's other threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	is_begun = pthread_create(&ahead->thread, NULL, prepare, ahead) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!is_begun) {
		free(ahead);
		return;
	}
	search->join = join;
	search->context = ahead;
}

/* Ends the thread's work, which is then done if somebody asks all the same. */
static void give_up(struct thrum__odd_search *search)
{
	struct ahead *ahead = search->context;

	if (search->join)
		ahead->is_unwanted = true;
}

int find_faults(const struct thrum__model *model, struct thrum__findings *findings)
{
	struct thrum__why_work *work = thrum__why_begin(model);
	int more = work ? 1 : -THRUM_E_MEMORY;

	if (work)
		begin_ahead(thrum__why_odd(work));
	while (more > 0) {
		more = thrum__why_go_on(work);
		if (more > 0 && thrum__why_is_explained(work))
			give_up(thrum__why_odd(work));
	}
	thrum__why_end(work, more < 0 ? NULL : findings);
	return more;
}
