/* SPDX-License-Identifier: ISC */
/* Finds this process and its relatives. */
#include "adapt/relatives/processes.h"
#include "adapt/base/base.h"

void thrum__adapt_relatives_look(struct look *look)
{
	struct found_processes found = {look->processes, 1, PROCESSES, true};

	look->own = 0;

	look->self = look->processes[0] = own_pid();
	look->threads = thrum__adapt_process_children(look->self, &found);
	for (unsigned i = 0; i < found.count; i++) {
		if (i > 0)
			thrum__adapt_process_children(look->processes[i], &found);
		if (i + 1 == found.count) {
			look->own = look->own ? look->own : found.count;
			thrum__adapt_fork_add_left(&found);
		}
	}
	look->count = found.count;
	look->is_whole = found.is_whole;
	look->is_alone = look->threads == 1 && !thrum__adapt_has_handlers();
}

uint32_t thrum__adapt_relatives_bit(const struct look *look, pid_t process)
{
	for (unsigned i = 0; i < look->count; i++)
		if (look->processes[i] == process)
			return UINT32_C(1) << i;
	return 0;
}
