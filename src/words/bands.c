/* SPDX-License-Identifier: ISC */
/* Names of groups and threads, and where the time of groups goes. */
#include "words/bands.h"

#include "analyse/graph.h"
#include "base/text.h"
#include "words/words.h"

size_t thrum__words_group(const struct thrum__family *family, uint32_t group, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	size_t length;
	const char *name = thrum__family_name(family, group, &length);

	if (length == 0)
		return thrum__words_kind_and_site(family->model, family->groups[group].sample, to,
			size);
	thrum__base_text_bytes(&text, name, length);
	return text.size;
}

size_t thrum__words_group_failed(const struct thrum__family *family, uint32_t group, char *to,
	size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	char name[THRUM__WORDS_GROUP_ROOM];

	thrum__words_group(family, group, name, sizeof name);
	for (char *at = name; *at; at++)
		if (*at == '#' || *at == '"')
			*at = '*';
	thrum__base_text_format(&text, "state:failed label:\"=%s\"", name);
	return text.size;
}

size_t thrum__words_thread(const struct thrum__bands *bands, uint32_t thread, char *to, size_t size)
{
	const struct thrum__bands_thread *of = &bands->threads[thread];
	struct thrum__base_text text = thrum__base_text_in(to, size);
	uint32_t task = bands->model->lanes[of->lane].task;
	size_t length = 0;
	const char *name = thrum__model_has_row(&bands->model->tasks, task)
		? thrum__model_task_name(bands->model, task, &length)
		: "";

	if (of->is_others)
		thrum__base_text_put(&text, "others");
	else if (length > 0)
		thrum__base_text_bytes(&text, name, length);
	else
		thrum__base_text_format(&text, of->count > 1 ? "threads" : "thread %u",
			(unsigned)of->lane);
	if (of->count > 1)
		thrum__base_text_format(&text, " ×%u", (unsigned)of->count);
	return text.size;
}

size_t thrum__words_running(const struct thrum__family *family, uint32_t task, char *to,
	size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	uint32_t worker = thrum__family_worker(family, task);
	char name[THRUM__WORDS_GROUP_ROOM];

	if (worker != THRUM__NONE && worker != task) {
		thrum__words_task(family->model, worker, name, sizeof name);
		thrum__base_text_format(&text, "%s, ", name);
	}
	thrum__words_task(family->model, task, name, sizeof name);
	thrum__base_text_put(&text, name);
	return text.size;
}

size_t thrum__words_run_name(const struct thrum__family *family, uint32_t task, uint32_t run,
	char *to, size_t size)
{
	uint32_t request = run == THRUM__NONE ? THRUM__NONE
					      : thrum__analyse_run_request(family->model, run);

	return request == THRUM__NONE ? thrum__words_running(family, task, to, size)
				      : thrum__words_task(family->model, request, to, size);
}

size_t thrum__words_where(const struct thrum__family *family, const struct thrum__story_part *part,
	char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	char name[THRUM__WORDS_GROUP_ROOM];

	switch (part->kind) {
	case THRUM__WHERE_RUNS: thrum__base_text_put(&text, "runs"); break;
	case THRUM__WHERE_BUSY: thrum__base_text_put(&text, "ready, its thread busy"); break;
	case THRUM__WHERE_OUTSIDE: thrum__base_text_put(&text, "waits for the outside"); break;
	default:
		thrum__words_group(family, part->group, name, sizeof name);
		thrum__base_text_put(&text, "waits for ");
		thrum__base_text_put(&text, name);
	}
	return text.size;
}
