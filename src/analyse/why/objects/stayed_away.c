/* SPDX-License-Identifier: ISC */
/* Tells which reader of a pipe or socket stays away: a writer is blocked there, and cannot serve others. */
#include "analyse/why/objects/objects.h"

#define AWAY_MIN 1000000000 /* ns; shorter waits for room are never suspicious */
#define LOOK_BACK 1024      /* edges of a task that are searched */
#define READS_MIN 8         /* of one who always came to read */
#define ROUNDS_MIN 10       /* naps of one who goes round without reading */
#define SERVED_MIN 8        /* messages for another one who waits for the writer now */
#define TIMES 20 /* so many times as long as ever before, the next message doesn't come */

/* Whether a reader read from a handle again and again, and never napped in between; since then it naps round
 * after round. */
static bool has_gone_on(const struct thrum__model *model, uint32_t reader, uint32_t handle)
{
	uint32_t edge = THRUM__TASK(model, reader, edge_out), naps = 0, reads = 0;

	THRUM__EDGES_BACK (model, edge, prev_out, LOOK_BACK) {
		uint32_t to = THRUM__EDGE(model, edge, to);

		if (!thrum__model_has_row(&model->tasks, to) ||
			THRUM__EDGE(model, edge, kind) == THRUM__EDGE_READ) {
			reads += to == handle;
		} else if (THRUM__EDGE(model, edge, kind) == THRUM__EDGE_WAIT &&
			THRUM__TASK(model, to, kind) == THRUM_KIND_TIMER) {
			if (reads > 0)
				return false;
			naps++;
		}
	}
	return reads >= READS_MIN && naps >= ROUNDS_MIN;
}

/* Whether a writer gave a handle's reader message after message, and now none for far longer than ever. */
static bool is_left_waiting(const struct thrum__model *model, uint32_t handle, uint32_t writer)
{
	uint32_t edge = THRUM__TASK(model, handle, edge_in), served = 0;
	int64_t longest = 0, next = model->end, age = 0;

	THRUM__EDGES_BACK (model, edge, prev_in, LOOK_BACK) {
		int64_t time = THRUM__EDGE(model, edge, time);

		if (THRUM__EDGE(model, edge, kind) != THRUM__EDGE_SIGNAL)
			continue;
		if (THRUM__EDGE(model, edge, from) != writer)
			return false;
		if (served++ == 0)
			age = next - time;
		else if (next - time > longest)
			longest = next - time;
		next = time;
	}
	return served >= SERVED_MIN && age >= AWAY_MIN && age / TIMES > longest;
}

/* Whether others wait for what a writer gave them before it was blocked. */
static bool holds_up_others(const struct thrum__search *search, uint32_t writer, uint32_t handle)
{
	const struct thrum__model *model = search->model;

	THRUM__WHY_EACH (search, task, THRUM__SORT_ACTED) {
		struct thrum__analyse_waits waits;

		if (task == writer)
			continue;
		waits = thrum__analyse_graph_waits(&search->graph, task);
		if (waits.count == 1 && waits.waits[0].on != handle &&
			THRUM__TASK(model, waits.waits[0].on, kind) == THRUM_KIND_STREAM &&
			is_left_waiting(model, waits.waits[0].on, writer))
			return true;
	}
	return false;
}

bool thrum__why_stays_away(const struct thrum__search *search, const struct thrum__why_path *path)
{
	const struct thrum__model *model = search->model;
	const struct thrum__why_link *reader = thrum__why_path_last(path), *handle, *writer;

	if (path->length < 3 || path->is_unknown || path->reached != THRUM__NONE ||
		path->circle != THRUM__NONE ||
		THRUM__TASK(model, path->leaf, kind) != THRUM_KIND_TIMER)
		return false;
	handle = reader - 1;
	writer = reader - 2;
	return handle->is_served && THRUM__TASK(model, handle->task, kind) == THRUM_KIND_STREAM &&
		model->end - writer->wait.since >= AWAY_MIN &&
		thrum__why_is_signaller(search, writer->task, handle->task) &&
		has_gone_on(model, reader->task, handle->task) &&
		holds_up_others(search, writer->task, handle->task);
}
