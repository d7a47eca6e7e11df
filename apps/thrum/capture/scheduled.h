/* SPDX-License-Identifier: ISC */
/* `thrum record --sched` and so on: listens to the kernel while the program runs. */
#ifndef CAPTURE_SCHEDULED_H
#define CAPTURE_SCHEDULED_H

#include <pthread.h>

#include "source/switches/switches.h"

struct scheduled {
	struct thrum__source_switches switches;
	pthread_mutex_t lock; /* of the switches */
	pthread_t thread;
	int stop; /* an eventfd */
	bool is_running;
};

/* The kernel tells when threads are switched, and also: */
struct scheduled_options {
	bool wakes;  /* who wakes threads */
	bool faults; /* page faults */
	bool kernel; /* wakes, faults, and what happens on the machine */
};

/* Checks that the kernel permits it. Returns STATUS_OK, or STATUS_FAILED after a message. */
int scheduled_check(const struct scheduled_options *);

/* Listens to a process that is about to execute the program. Returns STATUS_OK, or STATUS_FAILED after
 * a message. */
int scheduled_start(struct scheduled *, pid_t, const struct scheduled_options *);
/* Stops listening. */
void scheduled_stop(struct scheduled *);
/* Adds what is known by now to a recording, or a segment of one, that nobody writes to any more. Returns 0
 * or a negative enum thrum_error. */
int scheduled_write(struct scheduled *, const char *file, struct thrum_error_info *);
void scheduled_finish(struct scheduled *);

#endif
