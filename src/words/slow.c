/* SPDX-License-Identifier: ISC */
/* Sentences on why a task was slow. */
#include "words/slow.h"

#include "words/sentence.h"

static int64_t length_of(const struct thrum__path *path)
{
	return path->to - path->from;
}

/* ---- Shares -------------------------------------------------------------------------------- */

/* Writes the frames below the first as "a › b", from the waiting one to the awaited one. Returns
 * where the last one begins. */
static size_t put_stack(struct thrum__words_sentence *s, const struct thrum__paths *paths,
	uint32_t frame)
{
	uint32_t frames[THRUM__STACK_DEPTH + 1];
	uint32_t count = 0;
	size_t last = s->text.size;

	for (; paths->frames[frame].parent != THRUM__NONE && count < THRUM__STACK_DEPTH;
		frame = paths->frames[frame].parent)
		if (paths->frames[frame].doing == THRUM__DOING_RUNS)
			frames[count++] = frame;
	for (uint32_t i = count; i-- > 0;) {
		size_t size;
		const char *name = thrum__slow_frame_name(paths, frames[i], &size);

		last = s->text.size;
		thrum__words_put_name(s, name, size);
		thrum__words_put(s, i > 0 ? " › " : "");
	}
	return last;
}

/* Whether the frame is the task itself, not one for which it waits. */
static bool is_itself(const struct thrum__paths *paths, uint32_t frame)
{
	while (paths->frames[frame].doing != THRUM__DOING_RUNS)
		frame = paths->frames[frame].parent;
	return paths->frames[frame].parent == THRUM__NONE;
}

/* Whether the task is blocked in the kernel until the first one of a frame's stack wakes it. */
static bool is_woken(const struct thrum__paths *paths, uint32_t frame)
{
	bool is = false;

	for (; paths->frames[frame].parent != THRUM__NONE; frame = paths->frames[frame].parent)
		is = paths->frames[frame].is_waker;
	return is;
}

/* Writes the pattern of a frame: “query #”. */
static void put_pattern(struct thrum__words_sentence *s, const struct thrum__paths *paths,
	uint32_t frame)
{
	size_t size;
	const char *name = thrum__slow_frame_name(paths, frame, &size);

	thrum__words_put_quoted(s, name, size);
}

/* The words before the task that has the lane. */
static const char *lane_words(int doing)
{
	switch (doing) {
	case THRUM__DOING_LATE: return "is due, but the thread runs ";
	case THRUM__DOING_QUEUED: return "waits for its turn behind ";
	case THRUM__DOING_MEANWHILE: return "waits for something unknown; the thread runs ";
	default: return "could go on, but the thread runs ";
	}
}

/* Writes who woke the thread of a part, if that is known. */
static void put_waker(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	const struct thrum__path_part *part, const char *before, const char *after)
{
	if (!part || !thrum__model_has_row(&answer->model->tasks, part->other))
		return;
	thrum__words_put(s, before);
	thrum__words_put_task_id(s, answer->model, part->other, "other tasks");
	thrum__words_put(s, after);
}

/* Writes how far a time can be trusted that other machines' clocks tell. */
static void put_doubt(struct thrum__words_sentence *s, int64_t time, struct thrum__doubt doubt)
{
	int64_t shown = doubt.error > 0 && doubt.error < time ? doubt.error : doubt.way;

	if (doubt.way == 0)
		return;
	if (shown == INT64_MAX) {
		thrum__words_put(s,
			doubt.error ? " (not measurable: the clocks can't be compared)"
				    : " (there and back)");
		return;
	}
	thrum__words_put(s,
		doubt.error == 0             ? " (there and back; either way alone is ± "
			: doubt.error < time ? " (± "
					     : " (not measurable: the clocks agree within ± ");
	thrum__words_put_duration(s, shown, 2);
	thrum__words_put(s, ")");
}

static void put_share(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	const struct thrum__share *share)
{
	const struct thrum__path_part *part = share->stretch == THRUM__NONE
		? NULL
		: &answer->path.parts[share->stretch];
	bool is_own = is_itself(&answer->paths, share->frame);
	size_t from = s->text.size;

	if (!is_own) {
		thrum__words_put(s,
			is_woken(&answer->paths, share->frame) ? "waits to be woken by "
							       : "waits for ");
		from = put_stack(s, &answer->paths, share->frame);
	}
	switch (share->doing) {
	case THRUM__DOING_RUNS: thrum__words_put(s, is_own ? "runs" : ", which runs"); break;
	case THRUM__DOING_WAITS:
		thrum__words_put(s, is_own ? "waits; the trace doesn't show for which task" : "");
		break;
	case THRUM__DOING_PREEMPTED:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, "is ready, but its thread is not on a CPU");
		put_waker(s, answer, part, ", after ", " woke it");
		break;
	case THRUM__DOING_BLOCKED:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, "runs, but its thread is blocked in the kernel");
		put_waker(s, answer, part, " until ", " wakes it");
		break;
	case THRUM__DOING_FAULTS:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, "runs, but the kernel handles its page faults");
		break;
	case THRUM__DOING_INTERRUPTED:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, "runs, but its CPU handles interrupts");
		break;
	case THRUM__DOING_NETWORK:
		thrum__words_put(s, is_own ? "" : ", whose ");
		thrum__words_put(s, "message or its answer is on the network");
		put_doubt(s, share->time, share->doubt);
		break;
	case THRUM__DOING_SUSPENDED:
		thrum__words_put(s, is_own ? "" : ", which is ");
		thrum__words_put(s, "suspended: ");
		put_pattern(s, &answer->paths, share->frame);
		break;
	default:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, lane_words(share->doing));
		thrum__words_put_task_id(s, answer->model,
			part ? part->other : answer->paths.frames[share->frame].task,
			"other tasks");
	}
	if (part && !is_own && thrum__slow_is_own(share->doing)) {
		thrum__words_put(s, " (");
		thrum__words_put_id(s, answer->model, part->task);
		thrum__words_put(s, ")");
		thrum__words_mention(s, answer->model, from, part->task);
	}
	if (share->count > 1) {
		thrum__words_put(s, ", ");
		thrum__words_put_number(s, share->count);
		thrum__words_put(s, " times");
	}
}

size_t thrum__words_slow_share(const struct thrum__slow_answer *answer,
	const struct thrum__share *share, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);

	put_share(&s, answer, share);
	if (count)
		*count = s.count;
	return s.text.size;
}

/* ---- The cause ----------------------------------------------------------------------------- */

/* Writes the tasks of a link: one by its name, several of a frame by their number and pattern, and
 * the first tasks of further frames. */
static void put_link(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	const struct thrum__cause_link *link)
{
	const struct thrum__paths *paths = &answer->paths;

	if (link->tasks > 1) {
		thrum__words_put_number(s, link->tasks);
		thrum__words_put(s, " tasks ");
		put_pattern(s, paths, link->frames[0]);
		thrum__words_put(s, " one after the other, the longest time");
		if (link->longest > 0) {
			thrum__words_put(s, ", ");
			thrum__words_put_duration(s, link->longest, 3);
			thrum__words_put(s, ",");
		}
		thrum__words_put(s, link->longest > 0 ? " by " : " ");
	} else if (link->task != THRUM__NONE)
		thrum__words_put(s, thrum__words_kind_before(answer->model, link->task));
	if (link->task == THRUM__NONE)
		thrum__words_put(s, "several tasks");
	else
		thrum__words_put_task_id(s, answer->model, link->task, "other tasks");
	for (uint32_t i = 1; i < link->frame_count; i++) {
		thrum__words_put(s, i + 1 < link->frame_count || link->others > 0 ? ", " : " and ");
		put_pattern(s, paths, link->frames[i]);
	}
	if (link->others > 0) {
		thrum__words_put(s, " and ");
		thrum__words_put_number(s, link->others);
		thrum__words_put(s, " others");
	}
}

/* Writes what the last task of the cause did; `is_own`: that is the slow task. */
static void put_doing(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	const struct thrum__cause_link *link, bool is_own)
{
	const char *who = is_own ? "it " : ", which ";

	switch (link->doing) {
	case THRUM__DOING_RUNS:
		thrum__words_put(s, who);
		thrum__words_put(s, "ran");
		return;
	case THRUM__DOING_WAITS:
		if (is_own)
			thrum__words_put(s, "it waited; the trace doesn't show for which task");
		return;
	case THRUM__DOING_PREEMPTED:
		thrum__words_put(s, who);
		thrum__words_put(s, "was ready, but its thread was not on a CPU");
		return;
	case THRUM__DOING_BLOCKED:
		thrum__words_put(s, who);
		thrum__words_put(s, "ran, but its thread was blocked in the kernel");
		return;
	case THRUM__DOING_FAULTS:
		thrum__words_put(s, who);
		thrum__words_put(s, "ran, but the kernel handled its page faults");
		return;
	case THRUM__DOING_INTERRUPTED:
		thrum__words_put(s, who);
		thrum__words_put(s, "ran, but its CPU handled interrupts");
		return;
	case THRUM__DOING_NETWORK:
		thrum__words_put(s,
			is_own ? "its messages or their answers were on the network"
			       : ", whose messages or their answers were on the network");
		put_doubt(s, link->time, link->doubt);
		return;
	case THRUM__DOING_SUSPENDED:
		thrum__words_put(s,
			is_own ? "its thread was suspended: " : ", whose thread was suspended: ");
		put_pattern(s, &answer->paths, link->frames[0]);
		return;
	case THRUM__DOING_READY:
		thrum__words_put(s, who);
		thrum__words_put(s, "could run, but its thread ran ");
		break;
	case THRUM__DOING_LATE:
		thrum__words_put(s, who);
		thrum__words_put(s, "was due, but its thread ran ");
		break;
	case THRUM__DOING_QUEUED:
		thrum__words_put(s, who);
		thrum__words_put(s, "waited for its turn behind ");
		break;
	default:
		thrum__words_put(s, who);
		thrum__words_put(s,
			"waited; the trace doesn't show for which task, but meanwhile "
			"its thread ran ");
	}
	put_link(s, answer, link);
}

static void put_quoted_name(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task)
{
	size_t size;
	const char *name = thrum__model_task_name(model, task, &size);

	thrum__words_put_quoted(s, name, size);
}

static void put_times_only(struct thrum__words_sentence *s, uint32_t times)
{
	if (times > 1) {
		thrum__words_put_number(s, times);
		thrum__words_put(s, " times");
	} else {
		thrum__words_put(s, times == 1 ? "once" : "never");
	}
}

/* Writes the tasks for which the slow one waited, and how often. */
static void put_first(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	const struct thrum__cause *cause = &answer->cause;
	const struct thrum__cause_link *link = &cause->links[0];
	const char *how = link->kind == THRUM__CAUSE_WOKEN ? "to be woken by " : "for ";
	bool is_one_name = cause->namesake != THRUM__NONE && cause->namesakes == cause->times;

	if (cause->times < 2) {
		thrum__words_put(s, "it waited ");
		thrum__words_put(s, how);
		thrum__words_put(s, thrum__words_kind_before(answer->model, link->task));
		thrum__words_put_task_id(s, answer->model, link->task, "other tasks");
		return;
	}
	thrum__words_put(s, "it waited ");
	put_times_only(s, cause->times);
	thrum__words_put(s, ", one after the other, ");
	thrum__words_put(s, how);
	thrum__words_put(s, thrum__words_kind_before(answer->model, link->task));
	if (is_one_name)
		put_quoted_name(s, answer->model, cause->namesake);
	else
		put_pattern(s, &answer->paths, link->frames[0]);
	if (cause->namesake != THRUM__NONE && !is_one_name && cause->namesakes > 1) {
		thrum__words_put(s, ", ");
		put_times_only(s, cause->namesakes);
		thrum__words_put(s, " for ");
		put_quoted_name(s, answer->model, cause->namesake);
	}
	if (cause->chief != THRUM__NONE &&
		*thrum__model_task_name(answer->model, cause->chief, NULL)) {
		thrum__words_put(s, ", most of the time for ");
		put_quoted_name(s, answer->model, cause->chief);
	}
	if (answer->usual == THRUM__NONE || cause->usual_times >= cause->times)
		return;
	thrum__words_put(s, " (usually ");
	put_times_only(s, cause->usual_times);
	thrum__words_put(s, ")");
}

/* By enum thrum__cause_link_kind: how a link goes on from the one before. */
static const char *const continuations[] = {
	[THRUM__CAUSE_AWAITED] = ", which waited for ",
	[THRUM__CAUSE_HELD] = ", held by ",
	[THRUM__CAUSE_ENDED] = ", signalled by ",
	[THRUM__CAUSE_SERVED] = ", served by ",
	[THRUM__CAUSE_WOKEN] = ", which waited to be woken by ",
};

static void put_timeout(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	uint32_t timer)
{
	uint32_t task = thrum__slow_unanswered(answer->model, timer);

	if (task == THRUM__NONE)
		return;
	thrum__words_put(s, ", as ");
	put_quoted_name(s, answer->model, task);
	thrum__words_put(s, " didn't come before");
}

static void put_cause(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	const struct thrum__cause *cause = &answer->cause;

	if (cause->links[0].kind == THRUM__CAUSE_DOING)
		put_doing(s, answer, &cause->links[0], true);
	else
		put_first(s, answer);
	for (uint32_t i = 1; i < cause->count; i++) {
		const struct thrum__cause_link *link = &cause->links[i];

		if (link->kind == THRUM__CAUSE_DOING) {
			put_doing(s, answer, link, false);
			continue;
		}
		thrum__words_put(s, continuations[link->kind]);
		put_link(s, answer, link);
	}
	for (uint32_t i = cause->count; i-- > 0;)
		if (cause->links[i].kind != THRUM__CAUSE_DOING) {
			put_timeout(s, answer, cause->links[i].task);
			return;
		} else if (cause->links[i].doing != THRUM__DOING_WAITS) {
			return;
		}
}

/* Writes which permits of a semaphore were never given back. */
static void put_permits(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	const struct thrum__slow_permits *permits = &answer->permits;
	uint32_t named = permits->count < THRUM__CAUSE_NAMES ? permits->count : THRUM__CAUSE_NAMES;

	if (permits->count == 0)
		return;
	thrum__words_put(s, " ");
	thrum__words_put_number(s, permits->count);
	thrum__words_put(s, permits->count == 1 ? " permit of " : " permits of ");
	put_quoted_name(s, answer->model, permits->semaphore);
	thrum__words_put(s,
		permits->count == 1 ? " was never given back, by " : " were never given back, by ");
	for (uint32_t i = 0; i < named; i++) {
		thrum__words_put(s,
			i == 0                                            ? ""
				: i + 1 < named || named < permits->count ? ", "
									  : " and ");
		thrum__words_put_task_id(s, answer->model, permits->tasks[i], "other tasks");
	}
	if (named < permits->count) {
		thrum__words_put(s, " and ");
		thrum__words_put_number(s, permits->count - named);
		thrum__words_put(s, " more");
	}
	thrum__words_put(s, permits->count == 1 ? ", which has ended." : ", which have ended.");
}

/* Tells the signal that came before the wait, if that is the cause. */
static void put_missed(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	struct thrum__slow_missed missed;

	if (!thrum__slow_missed_find(answer, &missed))
		return;
	thrum__words_put(s, " ");
	thrum__words_put_task_id(s, answer->model, missed.by, "another task");
	thrum__words_put(s, " signalled ");
	put_quoted_name(s, answer->model, missed.condition);
	thrum__words_put(s, " ");
	thrum__words_put_duration(s, missed.before, 3);
	thrum__words_put(s, " before that wait began, when nobody waited: the signal is lost.");
}

/* Tells that one of several threads had all the tasks. */
static void put_dealt(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	uint32_t thread, peers = thrum__slow_dealt_find(answer, &thread);

	if (peers == 0)
		return;
	thrum__words_put(s, " ");
	thrum__words_put_task_id(s, answer->model, thread, "its thread");
	thrum__words_put(s, " ran all such tasks, while ");
	thrum__words_put_number(s, peers);
	thrum__words_put(s, " named alike ran none.");
}

size_t thrum__words_slow_most(const struct thrum__slow_answer *answer, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);
	const struct thrum__cause *cause = &answer->cause;
	int64_t whole = length_of(&answer->path);

	if (cause->count > 0 && whole > 0) {
		thrum__words_put_number(&s,
			(uint64_t)((double)cause->time * 100 / (double)whole + 0.5));
		thrum__words_put(&s, " % of its time (");
		thrum__words_put_duration(&s, cause->time, 3);
		if (answer->usual != THRUM__NONE) {
			thrum__words_put(&s, "; usually ");
			thrum__words_put_duration(&s, cause->usual, 3);
		}
		thrum__words_put(&s, ") ");
		put_cause(&s, answer);
		thrum__words_put(&s, ".");
		put_permits(&s, answer);
		put_missed(&s, answer);
		put_dealt(&s, answer);
	}
	if (count)
		*count = s.count;
	return s.text.size;
}

/* ---- The task ------------------------------------------------------------------------------ */

/* Writes the task's place among those of its label: "the slowest of 40". */
static void put_rank(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	uint32_t count = answer->lives.count;

	if (answer->percent > 0)
		thrum__words_put(s,
			answer->percent == 100          ? ", the slowest of "
				: answer->percent == 99 ? ", the 99th percentile of "
							: ", the 90th percentile of ");
	else if (answer->rank == count)
		thrum__words_put(s, ", the slowest of ");
	else if (answer->rank == 1)
		thrum__words_put(s, ", the fastest of ");
	else {
		thrum__words_put(s, ", slower than ");
		thrum__words_put_number(s, answer->rank - 1);
		thrum__words_put(s, " of ");
	}
	thrum__words_put_number(s, count);
}

static void put_usual(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer)
{
	size_t size;

	if (answer->usual != THRUM__NONE) {
		thrum__words_put(s, "; usual (the median");
		if (answer->usual_of > 0 && answer->usual_of < answer->lives.count) {
			thrum__words_put(s, " of the ");
			thrum__words_put_number(s, answer->usual_of);
			thrum__words_put(s, " that did not fail");
		}
		thrum__words_put(s, ") is ");
		thrum__words_put_duration(s, length_of(&answer->usual_path), 3);
		thrum__words_put(s, ".");
		return;
	}
	thrum__model_task_name(answer->model, answer->task, &size);
	thrum__words_put(s,
		answer->function
			? ". No other wait there has ended, so nothing tells what is usual."
			: size > 0
			? ". No other task of its label has ended, so nothing tells what is usual."
			: ". It has no label, so nothing tells what is usual.");
}

size_t thrum__words_slow(const struct thrum__slow_answer *answer, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);
	bool has_ended = answer->function ||
		thrum__slow_path_end(answer->model, answer->task) != THRUM__OPEN;

	if (answer->function) {
		thrum__words_put(&s, "The wait in ");
		thrum__words_put(&s, answer->function);
		thrum__words_put(&s, " of ");
	}
	thrum__words_put_task_id(&s, answer->model, answer->task, "other tasks");
	thrum__words_put(&s, has_ended ? " took " : " has been pending for ");
	thrum__words_put_duration(&s, length_of(&answer->path), 3);
	if (answer->usual != THRUM__NONE && answer->rank > 0)
		put_rank(&s, answer);
	put_usual(&s, answer);
	if (count)
		*count = s.count;
	return s.text.size;
}
