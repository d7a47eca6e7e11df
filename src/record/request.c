/* SPDX-License-Identifier: ISC */
/*
 * Starts and stops the recording when another program asks for it: see format/request.h.
 *
 * The thread that happens to make the next call does it, perhaps in a signal handler that interrupts
 * anything. So nothing here, and nothing in a start or stop, allocates from the heap, waits for a lock,
 * or needs much stack. If a lock is held, maybe by the very code that the handler interrupted, the next
 * call tries again.
 */
#include <errno.h>
#include <string.h>

#include "record/record.h"

struct thrum__request thrum__record_request = {
	.magic = THRUM__REQUEST_MAGIC,
	.self = &thrum__record_request,
	.version = THRUM__REQUEST_VERSION,
	.size = sizeof(struct thrum__request),
	.mask = &thrum__control,
};
#define the thrum__record_request

static void start(void)
{
	struct thrum_config config = {.size = the.file_size,
		.full = the.full,
		.counters_only = the.counters_only};

	the.file[sizeof the.file - 1] = '\0';
	if (the.file[0])
		config.file = the.file;
	the.error = thrum__record_start_held(&config);
}

void thrum__record_obey(void)
{
	struct thrum__port_signals signals;
	uint32_t asked = THRUM__REQUEST_ASKED;
	int error = errno;

	/* The process asked may be the parent. */
	if (the.pid != thrum__port_pid())
		return;
	thrum__port_block_signals(&signals);
	if (thrum__record_try_hold()) {
		if (atomic_compare_exchange_strong(&the.state, &asked, THRUM__REQUEST_TAKEN)) {
			if (the.verb == THRUM__REQUEST_START)
				start();
			else
				the.error = thrum__record_stop_held();
			const char *file = the.error ? NULL : thrum_file();

			memset(the.file, 0, sizeof the.file);
			if (file)
				memcpy(the.file, file, strlen(file));
			atomic_store(&the.state, THRUM__REQUEST_DONE);
		}
		thrum__record_let_go();
	}
	thrum__port_restore_signals(&signals);
	errno = error;
}
