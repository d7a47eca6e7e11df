/* SPDX-License-Identifier: ISC */
/*
 * The parts that all programs of this folder share. Each program runs the recipe of its name
 * (doc/annotate.md). With an argument, it has the bug that the page describes: it hangs, and SIGALRM
 * kills it after two seconds.
 */
#ifndef ANNOTATE_H
#define ANNOTATE_H

#define _GNU_SOURCE

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <unistd.h>

static bool broken;

/* Begins the program. */
static inline void begin(int argc)
{
	broken = argc > 1;
	alarm(2);
}

static inline void pause_ms(unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

static inline pthread_t start(void *(*run)(void *), const void *data)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, (void *)(uintptr_t)data))
		abort();
	return thread;
}

#endif
