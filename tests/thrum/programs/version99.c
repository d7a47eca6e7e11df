/* SPDX-License-Identifier: ISC */
/* A recorder of another version, as `thrum attach` sees it: it must not be written to. */
#include <string.h>
#include <unistd.h>

#include "format/request.h"

static struct thrum__request request = {
	.magic = THRUM__REQUEST_MAGIC,
	.self = &request,
	.version = 99,
	.size = 64,
};

int main(void)
{
	struct thrum__request before = request;
	char byte;

	if (write(1, "r", 1) != 1)
		return 2;
	while (read(0, &byte, 1) == 1)
		;
	return memcmp(&before, &request, sizeof request) != 0;
}
