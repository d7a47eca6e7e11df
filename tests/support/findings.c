/* SPDX-License-Identifier: ISC */
#include <stdlib.h>

#include "analyse/why/finding.h"
#include "story.h"

void story_find(const struct thrum__model *model, struct thrum__findings *findings)
{
	if (thrum__why_make(model, findings) != 0)
		abort();
}

struct thrum__model *story_findings(struct thrum__findings *findings)
{
	struct thrum__model *model = story_model(story_told(), false);

	story_find(model, findings);
	return model;
}

void story_free(struct thrum__model *model, struct thrum__findings *findings)
{
	thrum__why_free(findings);
	thrum__model_destroy(model);
}

uint32_t story_findings_if_killed(int ms)
{
	struct thrum_trace_info info = {.end = ms * INT64_C(1000000),
		.ending = THRUM_ENDING_KILLED,
		.ending_code = 9};
	struct thrum__model *model = story_model(story_told(), false);
	struct thrum__findings findings;
	uint32_t count;

	thrum__model_note_end(model, &info);
	story_find(model, &findings);
	count = findings.count;
	story_free(model, &findings);
	return count;
}
