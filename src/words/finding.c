/* SPDX-License-Identifier: ISC */
/* Fills in the sentences of findings and their steps; steps.h describes their marks. */
#include <stdio.h>
#include <string.h>

#include "analyse/thread.h"
#include "base/time.h"
#include "words/sentence.h"
#include "words/steps.h"
#include "words/words.h"

#define NAME_ROOM 200

/* ---- Filling in ---------------------------------------------------------------------------- */

/* A text that is being filled in. */
struct filling {
	const struct thrum__model *model;
	const struct thrum__finding *finding;
	const struct thrum__step *step;
	struct thrum__words_sentence sentence;
	bool is_cause; /* after the finding's sentence: names of tasks stand in quotes */
	bool is_plain; /* a sentence made of texts in which the quotes of names are left out */
};

static void put_task(struct filling *f, uint32_t task)
{
	char words[NAME_ROOM];
	size_t size = thrum__words_task(f->model, task, words, sizeof words);
	size_t from;

	size = size < sizeof words ? size : sizeof words - 1;
	thrum__words_put(&f->sentence, f->is_cause ? "“" : "");
	from = f->sentence.text.size;
	thrum__base_text_bytes(&f->sentence.text, words, size);
	thrum__words_mention(&f->sentence, f->model, from, task);
	thrum__words_put(&f->sentence, f->is_cause ? "”" : "");
}

/* Puts a task, with its process if that is another one than that of `beside`. */
static void put_beside(struct filling *f, uint32_t task, uint32_t beside)
{
	const struct thrum__model *model = f->model;
	const char *process;

	put_task(f, task);
	process = thrum__words_process(model, task);
	if (!*process || !thrum__model_has_row(&model->tasks, beside) ||
		strcmp(process, thrum__model_process(model, beside)) == 0)
		return;
	thrum__words_put(&f->sentence, " (");
	thrum__words_put(&f->sentence, process);
	thrum__words_put(&f->sentence, ")");
}

/* Puts the step's task. */
static void put_own(struct filling *f)
{
	uint32_t victim = f->finding->task, task = f->step->task;

	if (!f->is_cause)
		put_task(f, task);
	else if (task == victim)
		thrum__words_put(&f->sentence, "it");
	else
		put_beside(f, task, victim);
}

static void put_duration(struct filling *f, int64_t ns)
{
	thrum__words_put_duration(&f->sentence, ns, 3);
}

static void put_failure(struct filling *f)
{
	const char *reason = "";
	char words[NAME_ROOM];

	if (thrum__model_has_row(&f->model->tasks, f->step->task))
		reason = thrum__model_string(f->model,
			THRUM__TASK(f->model, f->step->task, failure), NULL);
	thrum__base_text_bytes(&f->sentence.text, words,
		(size_t)snprintf(words, sizeof words, *reason ? "“%.150s”" : "no reason is given",
			reason));
}

static void put_log(struct filling *f)
{
	const struct thrum__model *model = f->model;
	uint32_t note = f->step->more;
	const char *line = "";
	char words[NAME_ROOM];

	if (thrum__model_has_row(&model->notes, note))
		line = thrum__model_string(model, THRUM__NOTE(model, note, text), NULL);
	thrum__base_text_bytes(&f->sentence.text, words,
		(size_t)snprintf(words, sizeof words, "%.150s", line));
}

/* The task that waits, as the step's wait edge says: in mirage traces the step's task may be one
 * that a condition made for its waiter. Without such an edge, the step's task. */
static uint32_t waiter_of(const struct filling *f)
{
	const struct thrum__model *model = f->model;
	uint32_t edge = f->step->edge;
	bool is_known = thrum__model_has_row(&model->edges, edge) &&
		THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
		thrum__model_has_row(&model->tasks, THRUM__EDGE(model, edge, from));

	return is_known ? THRUM__EDGE(model, edge, from) : f->step->task;
}

/* Puts the text that $ and `mark` stand for. */
static void put_mark(struct filling *f, char mark)
{
	const struct thrum__finding *finding = f->finding;
	const struct thrum__step *step = f->step;
	unsigned before = step > finding->steps ? (unsigned)(step - finding->steps) - 1 : 0;

	switch (mark) {
	case 't': put_own(f); break;
	case 'o': put_beside(f, step->other, step->task); break;
	case 'w': put_beside(f, waiter_of(f), step->task); break;
	case 'l':
		put_duration(f, thrum__base_time_between(finding->steps[before].time, step->time));
		break;
	case 's': put_duration(f, thrum__base_time_between(step->time, finding->until)); break;
	case 'u': put_duration(f, finding->usual); break;
	case 'm': put_duration(f, finding->longest); break;
	case 'd': put_duration(f, thrum__base_time_between(step->time, step->until)); break;
	case 'x': thrum__words_put_number(&f->sentence, step->more); break;
	case 'n': thrum__words_put_number(&f->sentence, finding->count); break;
	case 'a': thrum__words_put_number(&f->sentence, finding->alike); break;
	case 'g': put_log(f); break;
	case 'p': thrum__words_put_number(&f->sentence, finding->peers); break;
	case 'i': thrum__words_put_number(&f->sentence, before + 1); break;
	default: put_failure(f);
	}
}

/* Fills the text in and ends it with NUL. Returns its whole length. */
static size_t fill_text(struct filling *f, const char *text)
{
	bool has_other = f->step->other != THRUM__NONE && f->step->other != f->step->task;

	while (*text) {
		size_t size = strcspn(text, f->is_plain ? "$[]“" : "$[]");

		if (f->is_plain && strncmp(text, "“$", 4) == 0) {
			put_mark(f, text[4]);
			text += strlen("“$o”");
		} else if (*text == '[' && !has_other) {
			text += strcspn(text, "]");
		} else if (*text == '$') {
			put_mark(f, text[1]);
			text += 2;
		} else if (size == 0) {
			text++;
		} else {
			thrum__base_text_bytes(&f->sentence.text, text, size);
			text += size;
		}
	}
	return f->sentence.text.size;
}

/* The text between a title and its line in a sentence. */
static const char *separator(const char *line)
{
	static const char *const words[] = {"but ", "though ", "which ", "so "};

	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (strncmp(line, words[i], strlen(words[i])) == 0)
			return ", ";
	return strncmp(line, "and ", 4) == 0 ? " " : "; ";
}

/* Puts a step's sentence, or only its first clause, without a full stop. */
static void put_sentence(struct filling *f, const struct thrum__step_text *texts, bool is_clause)
{
	const char *end = texts->sentence ? strstr(texts->sentence, ". ") : NULL, *title;
	char clause[200], first;

	if (!texts->sentence) {
		f->is_plain = true;
		title = texts->title;
		if (strncmp(title, "“$t", 5) != 0) {
			first = (char)(*title++ | 0x20); /* small */
			fill_text(f, "$t ");
			thrum__base_text_bytes(&f->sentence.text, &first, 1);
		}
		fill_text(f, title);
		thrum__words_put(&f->sentence, separator(texts->line));
		fill_text(f, texts->line);
		thrum__words_put(&f->sentence, is_clause ? "" : ".");
		return;
	}
	if (!end)
		end = texts->sentence + strlen(texts->sentence) - 1;
	snprintf(clause, sizeof clause, "%.*s", (int)(end - texts->sentence), texts->sentence);
	fill_text(f, is_clause ? clause : texts->sentence);
}

/* Says of the cause, if it is a task that runs at the end, whether its thread works. */
static void put_thread(struct filling *f, const char *before, const char *after)
{
	int64_t since = 0;
	enum thrum__thread_state state = f->step != f->finding->steps ||
			!thrum__model_has_row(&f->model->tasks, f->step->task)
		? THRUM__THREAD_UNKNOWN
		: thrum__analyse_thread_state(f->model, f->step->task, &since);

	if (state == THRUM__THREAD_UNKNOWN)
		return;
	thrum__words_put(&f->sentence, before);
	if (state == THRUM__THREAD_BUSY) {
		thrum__words_put(&f->sentence, "ts thread is busy on a CPU until the end");
	} else {
		thrum__words_put(&f->sentence, "ts thread is blocked in the kernel for ");
		put_duration(f, thrum__base_time_between(since, f->model->end));
		thrum__words_put(&f->sentence, ", until the end");
	}
	thrum__words_put(&f->sentence, after);
}

/* ---- Findings and steps -------------------------------------------------------------------- */

static size_t fill_step(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, const char *text, char *to, size_t size)
{
	struct filling f = {model, finding, &finding->steps[i], thrum__words_begin(to, size, NULL)};

	return fill_text(&f, text);
}

/* The task to name beside a finding's own: one that has part in a deadlock, or the other of the cause. */
static uint32_t second_of(const struct thrum__finding *finding)
{
	if (finding->class != THRUM__FINDING_DEADLOCK)
		return finding->steps[0].other;
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		if (step->task != finding->task && step->kind != THRUM__STEP_NEVER_RESOLVED &&
			step->kind != THRUM__STEP_LEFT_QUEUE && step->kind != THRUM__STEP_BEHIND)
			return step->task;
	}
	return THRUM__NONE;
}

/* Fills in a text that belongs to no step and names one task, and perhaps a second. */
static size_t fill_about(const struct thrum__model *model, const struct thrum__finding *finding,
	uint32_t task, const char *text, char *to, size_t size)
{
	struct thrum__step about = {.task = task, .other = second_of(finding), .edge = THRUM__NONE};
	struct filling f = {model, finding, &about, thrum__words_begin(to, size, NULL)};

	return fill_text(&f, text);
}

size_t thrum__words_finding(const struct thrum__model *model, const struct thrum__finding *finding,
	char *to, size_t size)
{
	static const char *const words[] = {
		[THRUM__FINDING_LOST_WAKE_UP] =
			"“$t” never resolves: the signal it needs came before the wait",
		[THRUM__FINDING_DEADLOCK] = "“$t” is in a cycle of waits with “$o”",
		[THRUM__FINDING_NEVER_RESOLVED] = "“$t” never resolves",
		[THRUM__FINDING_OUTSIDE] = "“$t” waits for an answer from outside the program",
		[THRUM__FINDING_STARVED] = "“$t” runs while other tasks are ready",
		[THRUM__FINDING_CONTENDED] = "“$t” is contended: tasks queue for it all the time",
		[THRUM__FINDING_CANCELLED] = "“$t” is cancelled by a task that didn't create it",
		[THRUM__FINDING_FAILED_UNSEEN] = "“$t” fails, and nobody reads the failure",
		[THRUM__FINDING_LEAK] = "more and more tasks like “$t” are pending",
	};

	if (finding->class == THRUM__FINDING_OUTSIDE && thrum__words_step_is_due(finding, 0))
		return fill_about(model, finding, finding->steps[0].task, "“$t” is overdue", to,
			size);
	return fill_about(model, finding, finding->task,
		finding->class == THRUM__FINDING_DEADLOCK && second_of(finding) == THRUM__NONE
			? "“$t” waits for itself"
			: finding->class == THRUM__FINDING_CONTENDED && finding->alike > 0
			? "“$t” is contended, and $a like it: tasks queue for them all the time"
			: words[finding->class],
		to, size);
}

size_t thrum__words_finding_cause(const struct thrum__model *model,
	const struct thrum__finding *finding, char *to, size_t size)
{
	struct filling f = {model, finding, finding->steps, thrum__words_begin(to, size, NULL),
		.is_cause = true};

	if (finding->class == THRUM__FINDING_NEVER_RESOLVED &&
		finding->steps[0].kind != THRUM__STEP_NEVER_RESOLVED)
		put_sentence(&f, thrum__words_step_text(finding, 0), true);
	return f.sentence.text.size;
}

size_t thrum__words_finding_more(const struct thrum__finding *finding, char *to, size_t size)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, NULL);
	uint32_t alike = finding->class == THRUM__FINDING_CONTENDED ? 0 : finding->alike;
	uint32_t behind = finding->behind > alike ? finding->behind - alike : 0;

	if (finding->behind > 0 && behind == 0) {
		thrum__words_put_number(&s, alike);
		thrum__words_put(&s, alike == 1 ? " like it hangs, too" : " like it hang, too");
	} else if (behind > 0) {
		thrum__words_put_number(&s, behind);
		thrum__words_put(&s,
			behind == 1 ? " more hangs behind it" : " more hang behind it");
		if (alike > 0) {
			thrum__words_put(&s, " or ");
			thrum__words_put_number(&s, alike);
			thrum__words_put(&s, " like it");
		}
	}
	return s.text.size;
}

size_t thrum__words_finding_title(const struct thrum__model *model,
	const struct thrum__finding *finding, char *to, size_t size)
{
	switch (finding->class) {
	case THRUM__FINDING_LOST_WAKE_UP:
		return fill_about(model, finding, finding->steps[0].task, "Lost wake-up on “$t”",
			to, size);
	case THRUM__FINDING_DEADLOCK:
		return fill_about(model, finding, finding->task,
			second_of(finding) == THRUM__NONE
				? "Deadlock: “$t” waits for itself"
				: "Deadlock: “$t” is in a cycle of waits with “$o”",
			to, size);
	case THRUM__FINDING_LEAK:
		return fill_about(model, finding, finding->task,
			"More and more tasks like “$t” are pending", to, size);
	default: return thrum__words_finding(model, finding, to, size);
	}
}

size_t thrum__words_step_title(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size)
{
	return fill_step(model, finding, i, thrum__words_step_text(finding, i)->title, to, size);
}

size_t thrum__words_step_line(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size)
{
	struct filling f = {model, finding, &finding->steps[i], thrum__words_begin(to, size, NULL)};

	fill_text(&f, thrum__words_step_text(finding, i)->line);
	put_thread(&f, "; i", "");
	return f.sentence.text.size;
}

size_t thrum__words_step_sentence(const struct thrum__model *model,
	const struct thrum__finding *finding, unsigned i, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct filling f = {model, finding, &finding->steps[i],
		thrum__words_begin(to, size, mentions)};

	put_sentence(&f, thrum__words_step_text(finding, i), false);
	put_thread(&f, " I", ".");
	*count = f.sentence.count;
	return f.sentence.text.size;
}
