/* SPDX-License-Identifier: ISC */
#include "trace/relatives.h"

#include <stddef.h>

#include "trace/input.h"
#include "trace/load.h"

int relatives_find(const char *file, struct thrum__source_run *found)
{
	*found = (struct thrum__source_run){NULL, 0, 0};
	if (thrum__source_run_find(file, found) < 0)
		return load_no_memory();
	if (found->whole > found->count)
		complain("%s: only %d of its %d recordings are read", file, found->count,
			found->whole);
	return STATUS_OK;
}

int relatives_of(char *const *arguments, int count, struct thrum__source_run *found)
{
	int status = STATUS_OK;

	*found = (struct thrum__source_run){NULL, 0, 0};
	if (count == 1)
		status = relatives_find(arguments[0], found);
	if (status == STATUS_OK && found->count > 1)
		complain("%s is read with %d more of the same run: %s.PID", arguments[0],
			found->count - 1, arguments[0]);
	return status;
}
