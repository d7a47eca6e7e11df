/* SPDX-License-Identifier: ISC */
/* The parts of a trace that are missing, and its end. */
#include "base/text.h"
#include "words/words.h"

static void put_count(struct thrum__base_text *text, uint64_t count, const char *one,
	const char *many)
{
	char digits[THRUM__NUMBER_ROOM];

	if (count == 0)
		return;
	thrum__base_text_put(text, text->size > 0 ? ", " : "");
	thrum__base_text_bytes(text, digits, thrum__words_number(count, digits));
	thrum__base_text_put(text, count == 1 ? one : many);
}

size_t thrum__words_missing(const struct thrum_trace_info *info, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	const char *before, *name;
	char digits[THRUM__NUMBER_ROOM];

	put_count(&text, info->damaged, " place is damaged", " places are damaged");
	put_count(&text, info->gaps, " gap in a thread", " gaps in threads");
	put_count(&text, info->lost_total, " event was not recorded", " events were not recorded");
	bool has_more = text.size > 0;

	before = has_more ? " (" : "";
	for (int cause = 0; (name = thrum_lost_name(cause)) != NULL; cause++) {
		if (info->lost[cause] == 0)
			continue;
		thrum__base_text_put(&text, before);
		thrum__base_text_put(&text, name);
		thrum__base_text_put(&text, ": ");
		thrum__base_text_bytes(&text, digits,
			thrum__words_number(info->lost[cause], digits));
		before = "; ";
	}
	thrum__base_text_put(&text, *before == ';' && has_more ? ")" : "");
	return text.size;
}

/* Returns the time before which events of some lane are overwritten; 0: none are. */
static int64_t overwritten_until(const struct thrum__model *model)
{
	int64_t until = 0;

	for (uint32_t i = model->gaps.first; model->is_cut && i < model->gaps.count; i++)
		if (thrum__model_has_row(&model->gaps, i) && THRUM__GAP(model, i, start) == 0 &&
			THRUM__GAP(model, i, end) > until)
			until = THRUM__GAP(model, i, end);
	return until;
}

static void put_sentence(struct thrum__base_text *text, const char *words)
{
	thrum__base_text_put(text, text->size > 0 ? " " : "");
	thrum__base_text_put(text, words);
}

/* Tells when a part of the category "task" was not recorded: the longest stretch, and how many more
 * there are. */
static void put_unrecorded(struct thrum__base_text *text, const struct thrum__model *model,
	enum thrum__task_part part)
{
	static const char *const names[] = {[THRUM__PART_LIFE] = "The beginnings and ends of tasks",
		[THRUM__PART_WAIT] = "Waits",
		[THRUM__PART_SWITCH] = "Switches between tasks"};
	const struct thrum__unrecorded *longest = NULL;
	unsigned count = 0;
	char words[80];

	for (uint32_t i = 0; i < model->unrecorded_count; i++) {
		const struct thrum__unrecorded *u = &model->unrecorded[i];

		if (u->part != part)
			continue;
		count++;
		if (!longest || u->end - u->start > longest->end - longest->start)
			longest = u;
	}
	if (!longest)
		return;
	put_sentence(text, names[part]);
	thrum__words_event_time(longest->start, words, sizeof words);
	thrum__base_text_format(text, " were not recorded from %s", words);
	if (longest->end == THRUM__OPEN) {
		thrum__base_text_put(text, " on");
	} else {
		thrum__words_event_time(longest->end, words, sizeof words);
		thrum__base_text_format(text, " to %s", words);
	}
	if (count > 1)
		thrum__base_text_format(text, ", and in %u more stretch%s", count - 1,
			count > 2 ? "es" : "");
	thrum__base_text_put(text, ".");
}

size_t thrum__words_unknown(const struct thrum__model *model, const struct thrum_trace_info *info,
	char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);
	uint64_t homeless = info->lost_tasks;
	int64_t until = overwritten_until(model);
	char words[400];

	if (until > 0) {
		thrum__words_event_time(until, words, sizeof words);
		put_sentence(&text, "Events before ");
		thrum__base_text_put(&text, words);
		thrum__base_text_put(&text,
			model->unread > 0
				? " were not read: of older tasks, only those still pending at "
				  "the recording's end are known, with their last waits."
				: " are overwritten: of older tasks, only those still pending are "
				  "known, with their last waits.");
	}
	if (until > 0 && homeless > 0) {
		put_sentence(&text,
			"Some of these are unknown, too: the table of live tasks had "
			"no room for up to ");
		thrum__base_text_bytes(&text, words, thrum__words_number(homeless, words));
		thrum__base_text_put(&text, homeless == 1 ? " task." : " tasks.");
	}
	if (info->damaged + info->gaps + info->lost_total > 0) {
		thrum__words_missing(info, words, sizeof words);
		put_sentence(&text, "Events are missing: ");
		thrum__base_text_put(&text, words);
		thrum__base_text_put(&text, ".");
	}
	for (int part = THRUM__PART_LIFE; part <= THRUM__PART_SWITCH; part++)
		put_unrecorded(&text, model, part);
	if (info->ending == THRUM_ENDING_STOPPED && info->ending_code == THRUM_STOPPED_LIMITED)
		put_sentence(&text,
			"The recording ends where the program limited its system calls "
			"(seccomp): to go on might have killed it.");
	if (info->ending == THRUM_ENDING_GONE && info->end <= model->last)
		put_sentence(&text,
			"The process was killed or crashed, and nobody noted when: how "
			"long it hung is unknown. Start it with `thrum record`, or ask "
			"while it hangs: `thrum why PID`.");
	return text.size;
}

const char *thrum__words_signal(int number)
{
	/* Those by which programs end, as Linux numbers them on most processors. */
	static const char *const names[] = {[1] = "SIGHUP",
		[2] = "SIGINT",
		[3] = "SIGQUIT",
		[4] = "SIGILL",
		[5] = "SIGTRAP",
		[6] = "SIGABRT",
		[7] = "SIGBUS",
		[8] = "SIGFPE",
		[9] = "SIGKILL",
		[10] = "SIGUSR1",
		[11] = "SIGSEGV",
		[12] = "SIGUSR2",
		[13] = "SIGPIPE",
		[14] = "SIGALRM",
		[15] = "SIGTERM"};

	return number > 0 && (size_t)number < sizeof names / sizeof *names ? names[number] : NULL;
}

size_t thrum__words_ending(enum thrum_ending ending, int code, char *to, size_t size)
{
	struct thrum__base_text text = thrum__base_text_in(to, size);

	switch (ending) {
	case THRUM_ENDING_UNKNOWN: break;
	case THRUM_ENDING_STOPPED:
		thrum__base_text_put(&text,
			code == THRUM_STOPPED_LIMITED ? "stopped by seccomp"
						      : "stopped by the program");
		break;
	case THRUM_ENDING_EXITED:
		thrum__base_text_put(&text, "exited");
		if (code >= 0)
			thrum__base_text_format(&text, " with status %d", code);
		break;
	case THRUM_ENDING_KILLED:
		if (thrum__words_signal(code))
			thrum__base_text_format(&text, "ended by %s", thrum__words_signal(code));
		else
			thrum__base_text_format(&text, "ended by signal %d", code);
		break;
	case THRUM_ENDING_GONE: thrum__base_text_put(&text, "killed or crashed"); break;
	case THRUM_ENDING_RUNNING: thrum__base_text_put(&text, "still recording"); break;
	case THRUM_ENDING_COPIED: thrum__base_text_put(&text, "copied while it went on"); break;
	}
	return text.size;
}
