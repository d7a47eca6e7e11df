/* SPDX-License-Identifier: ISC */
/* `thrum record --sched`: listens to the kernel's scheduler while the program runs. */
#ifndef SCHEDULED_H
#define SCHEDULED_H

#include <pthread.h>

#include "source/switches/switches.h"

struct scheduled {
	struct thrum__source_switches switches;
	pthread_t thread;
	int stop; /* an eventfd */
	bool is_running;
};

/* Checks that the kernel permits it. Returns STATUS_OK, or STATUS_FAILED after a message. */
int scheduled_check(void);

/* Listens to a process that is about to execute the program. Returns STATUS_OK, or STATUS_FAILED after
 * a message. */
int scheduled_start(struct scheduled *, pid_t);
/* Stops listening; the switches are then whole. */
void scheduled_stop(struct scheduled *);
void scheduled_finish(struct scheduled *);

#endif
