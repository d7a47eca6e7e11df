/* SPDX-License-Identifier: ISC */
/* Words for people: what a finding and its steps say. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "view/view.h"

#define WORDS 200

/* What the texts are made of. */
struct words {
	char task[WORDS], other[WORDS], span[64], usual[64], longest[64];
};

static void word(const struct thrum__model *model, const struct thrum__finding *finding,
	const struct thrum__step *step, struct words *words)
{
	thrum__view_task_words(model, step->task, words->task, WORDS);
	thrum__view_task_words(model, step->other, words->other, WORDS);
	thrum__duration_words(finding->until - step->time, 3, words->span, sizeof words->span);
	thrum__duration_words(finding->usual, 3, words->usual, sizeof words->usual);
	thrum__duration_words(finding->longest, 3, words->longest, sizeof words->longest);
}

size_t thrum__finding_words(const struct thrum__model *model, const struct thrum__finding *finding,
	char *to, size_t size)
{
	static const char *const texts[] = {
		[THRUM__FINDING_LOST_WAKE_UP] =
			"“%s” never resolves: the signal it needs came before the wait",
		[THRUM__FINDING_DEADLOCK] = "deadlock: “%s” waits for itself in the end",
		[THRUM__FINDING_NEVER_RESOLVED] = "“%s” never resolves",
		[THRUM__FINDING_OUTSIDE] = "“%s” waits for an answer from outside",
		[THRUM__FINDING_STARVED] = "“%s” has the lane while others are ready",
		[THRUM__FINDING_CANCELLED] = "“%s” is cancelled while somebody waits for it",
		[THRUM__FINDING_FAILED_UNSEEN] = "“%s” fails, and nobody looks",
		[THRUM__FINDING_LEAK] = "tasks like “%s” only become more",
	};
	char words[WORDS];

	thrum__view_task_words(model, finding->task, words, sizeof words);
	return (size_t)snprintf(to, size, texts[finding->class], words);
}

size_t thrum__step_title(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, char *to, size_t size)
{
	const struct thrum__step *step = &finding->steps[i];
	struct words w;

	word(model, finding, step, &w);
	switch (step->kind) {
	case THRUM__STEP_SIGNAL_LOST: return (size_t)snprintf(to, size, "Signal lost");
	case THRUM__STEP_WAITS_LATE:
		thrum__duration_words(step->time - finding->steps[0].time, 3, w.span,
			sizeof w.span);
		return (size_t)snprintf(to, size, "Waits %s too late", w.span);
	case THRUM__STEP_WAITS_FOR:
	case THRUM__STEP_WAITS_IN_CYCLE:
	case THRUM__STEP_BEHIND: return (size_t)snprintf(to, size, "Waits for “%s”", w.other);
	case THRUM__STEP_HOLDS: return (size_t)snprintf(to, size, "Holds “%s”", w.other);
	case THRUM__STEP_FREE:
		return (size_t)snprintf(to, size,
			finding->count > 0 ? "“%s” goes to others" : "“%s” is free", w.task);
	case THRUM__STEP_PENDING: return (size_t)snprintf(to, size, "No answer for %s", w.span);
	case THRUM__STEP_HOGS: return (size_t)snprintf(to, size, "Runs for %s", w.span);
	case THRUM__STEP_READY: return (size_t)snprintf(to, size, "“%s” is ready", w.task);
	case THRUM__STEP_RUNS_LATE: return (size_t)snprintf(to, size, "“%s” runs at last", w.task);
	case THRUM__STEP_CANCELLED: return (size_t)snprintf(to, size, "“%s” is cancelled", w.task);
	case THRUM__STEP_ENDS_TOO: return (size_t)snprintf(to, size, "“%s” ends, too", w.task);
	case THRUM__STEP_FAILED: return (size_t)snprintf(to, size, "“%s” fails", w.task);
	case THRUM__STEP_UNREAD: return (size_t)snprintf(to, size, "Nobody reads it");
	case THRUM__STEP_MAKER_ENDED: return (size_t)snprintf(to, size, "Has ended");
	case THRUM__STEP_FIRST_PENDING:
		return (size_t)snprintf(to, size, "The first of %" PRIu32, finding->count);
	case THRUM__STEP_LAST_PENDING:
		return (size_t)snprintf(to, size, "The last of %" PRIu32, finding->count);
	default: return (size_t)snprintf(to, size, "“%s” never resolves", w.task);
	}
}

/* How long such take: nothing to say where none ended. */
static size_t usual_words(const struct thrum__finding *finding, const struct words *w, char *to,
	size_t size)
{
	if (finding->peers == 0)
		return (size_t)snprintf(to, size, "it is still pending when the trace ends");
	if (finding->peers == 1)
		return (size_t)snprintf(to, size, "the one other like it took %s", w->longest);
	return (size_t)snprintf(to, size, "%" PRIu32 " others like it took %s, at most %s",
		finding->peers, w->usual, w->longest);
}

static size_t free_words(const struct thrum__finding *finding, char *to, size_t size)
{
	if (finding->count == 0)
		return (size_t)snprintf(to, size, "but nobody who waits for it gets it");
	return (size_t)snprintf(to, size, "it was taken %" PRIu32 " %s since the wait began",
		finding->count, finding->count == 1 ? "time" : "times");
}

static size_t failure_words(const struct thrum__model *model, const struct thrum__step *step,
	char *to, size_t size)
{
	size_t length;
	const char *reason = thrum__has_row(&model->tasks, step->task)
		? thrum__model_string(model, THRUM__TASK(model, step->task, failure), &length)
		: "";

	if (!*reason)
		return (size_t)snprintf(to, size, "no reason is given");
	return (size_t)snprintf(to, size, "“%.150s”", reason);
}

size_t thrum__step_line(const struct thrum__model *model, const struct thrum__finding *finding,
	unsigned i, char *to, size_t size)
{
	const struct thrum__step *step = &finding->steps[i];
	struct words w;

	word(model, finding, step, &w);
	switch (step->kind) {
	case THRUM__STEP_SIGNAL_LOST:
		return (size_t)snprintf(to, size, "“%s” is signalled and nobody waits", w.task);
	case THRUM__STEP_WAITS_LATE:
		return (size_t)snprintf(to, size, "no signal comes after this");
	case THRUM__STEP_WAITS_FOR:
		return (size_t)snprintf(to, size, "nobody resolves that before the trace ends");
	case THRUM__STEP_WAITS_IN_CYCLE:
		return (size_t)snprintf(to, size,
			i + 1 >= finding->step_count ? "and so the circle is closed"
						     : "to the end of the trace");
	case THRUM__STEP_HOLDS: return (size_t)snprintf(to, size, "and doesn't give it back");
	case THRUM__STEP_FREE: return free_words(finding, to, size);
	case THRUM__STEP_PENDING: return usual_words(finding, &w, to, size);
	case THRUM__STEP_HOGS: return (size_t)snprintf(to, size, "others have to wait");
	case THRUM__STEP_READY:
		return (size_t)snprintf(to, size, "what it waited for is there, the lane isn't");
	case THRUM__STEP_RUNS_LATE: return (size_t)snprintf(to, size, "too late");
	case THRUM__STEP_CANCELLED:
		return step->other == THRUM__NONE ? (size_t)snprintf(to, size, "%s", "")
						  : (size_t)snprintf(to, size, "by “%s”", w.other);
	case THRUM__STEP_ENDS_TOO:
		return (size_t)snprintf(to, size, "though it should resolve: it waited for “%s”",
			w.other);
	case THRUM__STEP_FAILED: return failure_words(model, step, to, size);
	case THRUM__STEP_UNREAD:
		return (size_t)snprintf(to, size, "“%s” made it and goes on", w.task);
	case THRUM__STEP_MAKER_ENDED:
		return (size_t)snprintf(to, size, "it made “%s” and didn’t resolve it", w.other);
	case THRUM__STEP_BEHIND: return (size_t)snprintf(to, size, "so it hangs as well");
	case THRUM__STEP_FIRST_PENDING:
	case THRUM__STEP_LAST_PENDING: return (size_t)snprintf(to, size, "still pending");
	default:
		if (i == 0)
			return (size_t)snprintf(to, size,
				"nobody resolves it before the trace ends");
		return (size_t)snprintf(to, size, "it waits behind %u, to the end of the trace", i);
	}
}
