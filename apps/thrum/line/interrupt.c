/* SPDX-License-Identifier: ISC */
#define _POSIX_C_SOURCE 200809L
#include "line/interrupt.h"

#include <stddef.h>

volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

void interrupt_catch(void)
{
	const struct sigaction action = {.sa_handler = interrupt};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}
