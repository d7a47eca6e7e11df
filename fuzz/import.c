/* SPDX-License-Identifier: ISC */
/* Fuzzes traces of other tools: whatever is read becomes recordings that are sound. */
#include <stdlib.h>
#include <string.h>

#include "import/import.h"
#include "model/model.h"

#define WHOLE ((size_t)1 << 24) /* no recording of a small file is larger */

static uint8_t *whole;
static size_t written;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int write_whole(void *owner, uint64_t offset, const void *from, size_t size)
{
	(void)owner;
	if (offset > WHOLE || size > WHOLE - offset)
		return -THRUM_E_SPACE;
	if (offset > written)
		memset(whole + written, 0, offset - written);
	memcpy(whole + offset, from, size);
	written = offset + size > written ? offset + size : written;
	return 0;
}

static void read_recording(void)
{
	struct thrum_trace *trace;
	struct thrum__model *model;

	if (thrum_trace_open_memory(whole, written, &trace, NULL) != 0 ||
		thrum__model_create(trace, &model) != 0 ||
		thrum__model_load(model, trace, NULL, NULL, NULL) < 0)
		abort();
	if (thrum_trace_info(trace)->damaged > 0 || thrum_trace_info(trace)->gaps > 0)
		abort();
	thrum__model_destroy(model);
	thrum_trace_close(trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum__output output = {NULL, write_whole};
	struct thrum__import *import;

	if (!whole && !(whole = malloc(WHOLE)))
		abort();
	if (thrum__import_read((const char *)data, size, &import, NULL) != 0)
		return 0;
	for (uint32_t i = 0; i < thrum__import_found(import).parts; i++) {
		written = 0;
		if (thrum__import_write(import, i, &output) == 0)
			read_recording();
	}
	thrum__import_destroy(import);
	return 0;
}
