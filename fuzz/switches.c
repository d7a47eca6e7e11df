/* SPDX-License-Identifier: ISC */
/* Fuzzes the records of the kernel's rings: bytes of records one after the other, each with its header; and
 * the description of a tracepoint. */
#include <stdlib.h>
#include <string.h>

#include "source/switches/switches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__source_switches switches = {.pid_at = 24};
	uint64_t last = 0;
	char *text = malloc(size + 1);

	if (text) {
		memcpy(text, data, size);
		text[size] = '\0';
		if (thrum__source_switches_pid_at(text) > 4096)
			abort();
	}
	free(text);

	while (size >= 8) {
		uint16_t length;

		memcpy(&length, data + 6, sizeof length);
		if (length < 8 || length > size)
			break;
		/* In memory of its own, so that a byte too much is noticed. */
		uint8_t *record = malloc(length);

		if (!record)
			break;
		memcpy(record, data, length);
		thrum__source_switches_record(&switches, &last, record, length);
		free(record);
		data += length;
		size -= length;
	}
	for (uint32_t i = 0; i < switches.count; i++)
		if (switches.all[i].kind > THRUM__SWITCH_WOKEN)
			abort();
	thrum__source_switches_close(&switches);
	return 0;
}
