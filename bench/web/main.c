/* SPDX-License-Identifier: ISC */
/* recording FILE EVENTS: makes a big recording, which measure.mjs shows in the browser. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../read/read.h"

int main(int argc, char **argv)
{
	unsigned events = argc == 3 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	if (events == 0) {
		fprintf(stderr, "usage: recording FILE EVENTS\n");
		return 64;
	}
	if (!make_recording(argv[1], events)) {
		fprintf(stderr, "recording: %s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	return 0;
}
