/* SPDX-License-Identifier: ISC */
/*
 * Where the program read last from its sockets. If a loop waits for a question while the other end waits for
 * an answer, the code that read last may have left it out.
 */
#include <string.h>

#include "adapt/descriptor/descriptor.h"
#include "port/port.h"

const void *_Atomic thrum__adapt_readers[FDS_MAX];

const void *thrum__adapt_reader(int fd)
{
	return (unsigned)fd < FDS_MAX
		? atomic_load_explicit(&thrum__adapt_readers[fd], memory_order_relaxed)
		: NULL;
}

void thrum__adapt_reader_put(char *label, int fd)
{
	const void *reader = thrum__adapt_reader(fd);
	struct thrum__port_module module;

	/* A library reads for whoever has called it. */
	if (reader && thrum__port_find_module(address_of_caller(reader), &module) &&
		!strstr(module.path, ".so"))
		thrum__adapt_label(strchr(label, '\0'), ", read last by", reader);
}
