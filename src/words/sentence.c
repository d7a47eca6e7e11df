/* SPDX-License-Identifier: ISC */
/* The pieces of sentences. */
#include "words/sentence.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

struct thrum__words_sentence thrum__words_begin(char *to, size_t size,
	struct thrum__words_mention *mentions)
{
	return (struct thrum__words_sentence){thrum__base_text_in(to, size), mentions, 0};
}

void thrum__words_put(struct thrum__words_sentence *s, const char *text)
{
	thrum__base_text_put(&s->text, text);
}

void thrum__words_put_number(struct thrum__words_sentence *s, uint64_t number)
{
	char words[THRUM__NUMBER_ROOM];

	thrum__base_text_bytes(&s->text, words, thrum__words_number(number, words));
}

void thrum__words_put_duration(struct thrum__words_sentence *s, int64_t ns, int digits)
{
	char words[64];

	thrum__base_text_bytes(&s->text, words,
		thrum__words_duration(ns, digits, words, sizeof(words)));
}

void thrum__words_put_name(struct thrum__words_sentence *s, const char *name, size_t size)
{
	bool is_cut = size > THRUM__WORDS_NAME;

	if (is_cut)
		size = thrum__base_utf8_floor(name, THRUM__WORDS_NAME);
	thrum__base_text_bytes(&s->text, name, size);
	thrum__base_text_put(&s->text, is_cut ? "…" : "");
}

void thrum__words_put_quoted(struct thrum__words_sentence *s, const char *name, size_t size)
{
	thrum__base_text_put(&s->text, "“");
	thrum__words_put_name(s, name, size);
	thrum__base_text_put(&s->text, "”");
}

void thrum__words_put_task(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task, const char *unknown)
{
	char words[THRUM__WORDS_NAME + 8];
	size_t size;

	if (!thrum__model_has_row(&model->tasks, task)) {
		thrum__base_text_put(&s->text, unknown);
		return;
	}
	size = thrum__words_task(model, task, words, sizeof(words));
	thrum__words_put_quoted(s, words, size < sizeof(words) ? size : sizeof(words) - 1);
}

const char *thrum__words_process(const struct thrum__model *model, uint32_t task)
{
	const char *process, *name;
	size_t size, length;

	if (!model->is_joined || !thrum__model_has_row(&model->tasks, task))
		return "";
	process = thrum__model_process(model, task);
	length = strlen(process);
	name = thrum__model_task_name(model, task, &size);
	return size > length && name[length] == '/' && memcmp(name, process, length) == 0 ? ""
											  : process;
}

static void put_id(struct thrum__words_sentence *s, const struct thrum__model *model, uint32_t task,
	const char *process)
{
	if (!thrum__model_has_row(&model->tasks, task))
		thrum__base_text_put(&s->text, "a forgotten task");
	else
		thrum__base_text_format(&s->text,
			model->signed_ids ? "task %" PRId64 : "task %" PRIu64,
			THRUM__TASK(model, task, id));
	thrum__words_put(s, *process ? " of " : "");
	thrum__words_put(s, process);
}

void thrum__words_put_id(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task)
{
	bool has_process = model->is_joined && thrum__model_has_row(&model->tasks, task);

	put_id(s, model, task, has_process ? thrum__model_process(model, task) : "");
}

void thrum__words_mention(struct thrum__words_sentence *s, const struct thrum__model *model,
	size_t from, uint32_t task)
{
	if (s->mentions && s->count < THRUM__MENTIONS_MAX && s->text.size < s->text.room &&
		thrum__model_has_row(&model->tasks, task))
		s->mentions[s->count++] = (struct thrum__words_mention){(uint32_t)from,
			(uint32_t)(s->text.size - from), task};
}

void thrum__words_put_task_id(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task, const char *unknown)
{
	size_t from = s->text.size;

	thrum__words_put_task(s, model, task, unknown);
	if (!thrum__model_has_row(&model->tasks, task))
		return;
	thrum__words_put(s, " (");
	put_id(s, model, task, thrum__words_process(model, task));
	thrum__words_put(s, ")");
	thrum__words_mention(s, model, from, task);
}

const char *thrum__words_kind_before(const struct thrum__model *model, uint32_t task)
{
	size_t size;

	if (!thrum__model_has_row(&model->tasks, task))
		return "";
	thrum__model_task_name(model, task, &size);
	if (size == 0)
		return "";
	switch (THRUM__TASK(model, task, kind)) {
	case THRUM_KIND_LOCK: return "lock ";
	case THRUM_KIND_SEMAPHORE: return "semaphore ";
	case THRUM_KIND_CONDITION: return "condition ";
	case THRUM_KIND_MAILBOX: return "mailbox ";
	case THRUM_KIND_STREAM: return "stream ";
	case THRUM_KIND_TIMER: return "timer ";
	default: return THRUM__TASK(model, task, flags) & THRUM__TASK_LANE ? "thread " : "";
	}
}
