/* SPDX-License-Identifier: ISC */
/* Shows long output on a terminal through a pager, as git does. */
#ifndef LINE_PAGER_H
#define LINE_PAGER_H

/* pager_start does nothing from now on. */
void pager_forbid(void);

/*
 * Lets standard output, and messages if they go to a terminal, pass through the program in
 * THRUM_PAGER, PAGER or else less; the end of thrum waits for it. Does nothing if standard output is
 * no terminal, or the terminal is dumb, or the variable is empty or "cat", or the program can't be
 * started.
 */
void pager_start(void);

/* Returns the file descriptor of standard output as it was before pager_start. */
int pager_terminal(void);

#endif
