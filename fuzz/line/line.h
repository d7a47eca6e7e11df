/* SPDX-License-Identifier: ISC */
/* Runs command lines of thrum in a folder of their own, for the fuzz targets that need a process's
 * surroundings. A line may make and replace files there. */
#ifndef LINE_H
#define LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ends the program with abort() unless `condition` holds. */
void require(bool condition);

/* Enters the folder, which is empty. The first call makes it. */
void line_begin(void);
/* Goes back to where the fuzzer has its files, and removes what the folder holds. */
void line_end(void);
/* Makes a file in the folder. */
void line_put(const char *name, const void *data, size_t size);
/* Returns what is in a file of the folder, for the caller to free; NULL if there is none. */
uint8_t *line_get(const char *name, size_t *size);

/* Runs thrum with these arguments, of which the last is NULL. Fails if the exit status has no
 * meaning, or a failure no message. Returns the exit status. */
int line_run(const char *const *arguments);

#endif
