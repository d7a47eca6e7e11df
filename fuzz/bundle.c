/* SPDX-License-Identifier: ISC */
/* Fuzzes bundles: several recordings as one trace, up to its model. */
#include <stdlib.h>

#include "model/model.h"
#include "world/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct thrum_trace *trace;
	struct thrum__model *model;

	if (thrum_trace_open_memory(data, size, &trace, NULL) != 0)
		return 0;
	if (thrum__model_create(trace, &model) != 0 ||
		thrum__model_load(model, trace, NULL, NULL, NULL) < 0 ||
		thrum_trace_refresh(trace, 0, NULL) < 0)
		abort();
	for (uint32_t i = 0; i < model->lane_count; i++)
		if (!thrum_trace_lane(trace, i)->process ||
			thrum__model_clock_error(model, 0, i, INT64_MIN, INT64_MAX) < 0 ||
			thrum__model_clock_error(model, 0, i, model->last, model->end) < 0)
			abort();
	thrum__model_destroy(model);
	thrum_trace_close(trace);
	return 0;
}
