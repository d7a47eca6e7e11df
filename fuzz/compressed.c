/* SPDX-License-Identifier: ISC */
/*
 * Fuzzes compressed files: unpacks any bytes, and reads what comes out as a trace. Fails if that is
 * larger than a file may become.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "read/read.h"
#include "source/input.h"
#include "source/zstd.h"

#define MOST ((blkcnt_t)64 << 11) /* blocks of 512 bytes: the bound for small files, and room */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not inline, so that the stack of a failure names the line. */
static __attribute__((noinline)) void require(bool condition)
{
	if (!condition)
		abort();
}

static void read_all(struct thrum__input *input)
{
	const struct thrum_event *events;
	struct thrum_trace *trace;
	size_t count;

	if (thrum__read_open(input, NULL, &trace, NULL) < 0)
		return;
	while (thrum_trace_next(trace, &events, &count, NULL) > 0)
		require(count > 0);
	thrum_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__input input;
	struct stat status;
	int fd = memfd_create("compressed", MFD_CLOEXEC);

	require(fd >= 0 && thrum__source_write_all(fd, data, size) == 0);
	if (thrum__source_is_compressed(fd)) {
		int unpacked = thrum__source_unpack(fd, NULL);

		if (unpacked >= 0) {
			require(fstat(unpacked, &status) == 0 && status.st_blocks < MOST);
			require(thrum__source_input_of(unpacked, &input) == 0);
			read_all(&input);
			thrum__source_close(input.owner);
		}
	}
	close(fd);
	return 0;
}
