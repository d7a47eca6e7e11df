/* SPDX-License-Identifier: ISC */
/* Sentences on why a task was slow. */
#include "words/slow.h"

#include "words/sentence.h"

static int64_t length_of(const struct thrum__path *path)
{
	return path->to - path->from;
}

/* Writes “GET /user/42” (task 39). */
static void put_task(struct thrum__words_sentence *s, const struct thrum__model *model,
	uint32_t task)
{
	size_t from = s->text.size;

	thrum__words_put_task(s, model, task, "other tasks");
	if (!thrum__model_has_row(&model->tasks, task))
		return;
	thrum__words_put(s, " (");
	thrum__words_put_id(s, model, task);
	thrum__words_put(s, ")");
	thrum__words_mention(s, model, from, task);
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

static void put_share(struct thrum__words_sentence *s, const struct thrum__slow_answer *answer,
	const struct thrum__share *share)
{
	const struct thrum__path_part *part = share->stretch == THRUM__NONE
		? NULL
		: &answer->path.parts[share->stretch];
	bool is_own = is_itself(&answer->paths, share->frame);
	size_t from = s->text.size;

	if (!is_own) {
		thrum__words_put(s, "waits for ");
		from = put_stack(s, &answer->paths, share->frame);
	}
	switch (share->doing) {
	case THRUM__DOING_RUNS: thrum__words_put(s, is_own ? "runs" : ", which runs"); break;
	case THRUM__DOING_WAITS:
		thrum__words_put(s, is_own ? "waits; the trace doesn't show for which task" : "");
		break;
	default:
		thrum__words_put(s, is_own ? "" : ", which ");
		thrum__words_put(s, share->doing == THRUM__DOING_LATE ? "is due" : "could go on");
		thrum__words_put(s, ", but the lane runs ");
		put_task(s, answer->model,
			part ? part->other : answer->paths.frames[share->frame].task);
	}
	if (part && !is_own && share->doing <= THRUM__DOING_WAITS) {
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

size_t thrum__words_slow_most(const struct thrum__slow_answer *answer, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);
	const struct thrum__share *most = thrum__slow_answer_most(answer);

	if (most) {
		thrum__words_put_duration(&s,
			length_of(&answer->path) - length_of(&answer->usual_path), 3);
		thrum__words_put(&s, " more than usual; ");
		thrum__words_put_duration(&s, most->time - most->usual, 3);
		thrum__words_put(&s, " of it: ");
		put_share(&s, answer, most);
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
		thrum__words_put(s, "; usual (the median) is ");
		thrum__words_put_duration(s, length_of(&answer->usual_path), 3);
		thrum__words_put(s, ".");
		return;
	}
	thrum__model_task_name(answer->model, answer->task, &size);
	thrum__words_put(s,
		size > 0 ? ". No other task of its label has ended, so nothing tells what is usual."
			 : ". It has no label, so nothing tells what is usual.");
}

size_t thrum__words_slow(const struct thrum__slow_answer *answer, char *to, size_t size,
	struct thrum__words_mention mentions[THRUM__MENTIONS_MAX], unsigned *count)
{
	struct thrum__words_sentence s = thrum__words_begin(to, size, mentions);
	bool has_ended = thrum__slow_path_end(answer->model, answer->task) != THRUM__OPEN;

	put_task(&s, answer->model, answer->task);
	thrum__words_put(&s, has_ended ? " took " : " has been pending for ");
	thrum__words_put_duration(&s, length_of(&answer->path), 3);
	if (answer->usual != THRUM__NONE && answer->rank > 0)
		put_rank(&s, answer);
	put_usual(&s, answer);
	if (count)
		*count = s.count;
	return s.text.size;
}
