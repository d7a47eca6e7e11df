/* SPDX-License-Identifier: ISC */
/* Commands that go on until they are interrupted. */
#ifndef LINE_INTERRUPT_H
#define LINE_INTERRUPT_H

#include <signal.h>

extern volatile sig_atomic_t is_interrupted;

/* From now on, SIGINT and SIGTERM set is_interrupted and end a call that waits. */
void interrupt_catch(void);

#endif
