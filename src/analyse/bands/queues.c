/* SPDX-License-Identifier: ISC */
/* Finds who waited for locks and who held them, and sums that up over any time. */
#include <stdlib.h>
#include <string.h>

#include "analyse/bands/parts.h"
#include "base/array.h"
#include "base/sort.h"

#define EACH 16 /* starts or ends between two sums */

/* A wait or a hold while the edges are read. */
struct turn {
	struct thrum__bands_turn turn;
	uint32_t next; /* the open one before it: of the same task, or of the same object; NONE */
	bool is_open;
};

struct turns {
	struct turn *turns;
	uint32_t count, room;
};

struct search {
	struct thrum__bands *bands;
	struct turns waits, holds;
	/* By place of tasks: a task's latest open wait, an object's latest open hold, or NONE. */
	uint32_t *waits_of, *holds_of;
	uint32_t *waiting; /* by place of tasks: how many wait for an object */
	uint32_t *most;    /* by group: how many waited for one of its objects at once, at most */
};

static bool is_queue(const struct thrum__bands *bands, uint32_t task)
{
	uint32_t group = thrum__family_group(&bands->family, task);

	return group != THRUM__NONE && bands->family.groups[group].is_object;
}

static bool is_lock(int kind)
{
	return kind == THRUM_KIND_LOCK || kind == THRUM_KIND_SEMAPHORE;
}

/* ---- Waits and holds ------------------------------------------------------------------------ */

static int add_turn(struct turns *turns, uint32_t *latest, uint32_t task, uint32_t object,
	int64_t time)
{
	struct turn *grown = thrum__base_grow(turns->turns, &turns->room,
		turns->count + UINT64_C(1), sizeof *grown);

	if (!grown)
		return -THRUM_E_MEMORY;
	turns->turns = grown;
	grown[turns->count] = (struct turn){{time, THRUM__OPEN, task, object}, *latest, true};
	*latest = turns->count++;
	return 0;
}

/* Closes the latest open turn in a list that `task` (NONE: any task) has with the object. */
static bool close_turn(struct turns *turns, uint32_t *latest, uint32_t task, uint32_t object,
	int64_t time)
{
	for (uint32_t *at = latest; *at != THRUM__NONE; at = &turns->turns[*at].next) {
		struct turn *turn = &turns->turns[*at];

		if (turn->turn.object != object || (task != THRUM__NONE && turn->turn.task != task))
			continue;
		turn->turn.to = time;
		turn->is_open = false;
		*at = turn->next;
		return true;
	}
	return false;
}

/* The tasks that may stand for one that acts: itself, the last it became, its owner, its up, its
 * creator. */
static unsigned stand_ins(const struct search *search, uint32_t task, uint32_t to[5])
{
	const struct thrum__model *model = search->bands->model;
	const struct thrum__family *family = &search->bands->family;
	uint32_t all[] = {task, thrum__model_heir(model, task), thrum__family_owner(family, task),
		thrum__family_up(family, task), THRUM__TASK(model, task, creator)};
	unsigned count = 0;

	for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
		if (thrum__place(&family->places, all[i]) > 0)
			to[count++] = all[i];
	return count;
}

/* Ends the wait of the task that gets the object, or of one for which it does. */
static void end_wait(struct search *search, uint32_t task, uint32_t object, int64_t time)
{
	uint32_t tasks[5];
	unsigned count = stand_ins(search, task, tasks);

	for (unsigned i = 0; i < count; i++) {
		uint32_t place = thrum__place(&search->bands->family.places, tasks[i]);

		if (close_turn(&search->waits, &search->waits_of[place], tasks[i], object, time)) {
			search->waiting[thrum__place(&search->bands->family.places, object)]--;
			return;
		}
	}
}

/* Ends a hold: of the task that releases the object, else of one for which it does, else the
 * latest. */
static void end_hold(struct search *search, uint32_t task, uint32_t object, int64_t time)
{
	uint32_t *latest = &search->holds_of[thrum__place(&search->bands->family.places, object)];
	uint32_t tasks[5];
	unsigned count = task == THRUM__NONE ? 0 : stand_ins(search, task, tasks);

	for (unsigned i = 0; i < count; i++)
		if (close_turn(&search->holds, latest, tasks[i], object, time))
			return;
	close_turn(&search->holds, latest, THRUM__NONE, object, time);
}

static int begin_wait(struct search *search, uint32_t task, uint32_t object, int64_t time)
{
	const struct thrum__family *family = &search->bands->family;
	uint32_t *waiting = &search->waiting[thrum__place(&family->places, object)];
	uint32_t *most = &search->most[thrum__family_group(family, object)];

	++*waiting;
	*most = *waiting > *most ? *waiting : *most;
	return add_turn(&search->waits, &search->waits_of[thrum__place(&family->places, task)],
		task, object, time);
}

static int read_edge(struct search *search, uint32_t edge)
{
	const struct thrum__model *model = search->bands->model;
	const struct thrum__places *places = &search->bands->family.places;
	uint32_t from = THRUM__EDGE(model, edge, from), to = THRUM__EDGE(model, edge, to);
	int64_t time = THRUM__EDGE(model, edge, time);

	if (thrum__place(places, from) == 0 || !thrum__model_has_row(&model->tasks, from))
		from = THRUM__NONE;
	switch (THRUM__EDGE(model, edge, kind)) {
	case THRUM__EDGE_WAIT: return from == THRUM__NONE ? 0 : begin_wait(search, from, to, time);
	case THRUM__EDGE_READ:
		if (from != THRUM__NONE)
			end_wait(search, from, to, time);
		return 0;
	case THRUM__EDGE_LOCK:
		if (from == THRUM__NONE)
			return 0;
		end_wait(search, from, to, time);
		return add_turn(&search->holds, &search->holds_of[thrum__place(places, to)], from,
			to, time);
	case THRUM__EDGE_UNLOCK: end_hold(search, from, to, time); return 0;
	default: return 0;
	}
}

/* When a wait ended that no edge ends: with the task that waits. */
static int64_t end_of_waiter(const struct search *search, const struct thrum__bands_turn *turn)
{
	const struct thrum__model *model = search->bands->model;
	int64_t end = thrum__family_end(model, thrum__model_heir(model, turn->task));

	if (end == THRUM__OPEN || end > search->bands->to)
		return search->bands->to;
	return end > turn->from ? end : turn->from;
}

static int read_edges(struct search *search)
{
	const struct thrum__bands *bands = search->bands;
	const struct thrum__model *model = bands->model;
	size_t room = bands->family.places.count * sizeof *search->waits_of;

	search->waits_of = malloc(room);
	search->holds_of = malloc(room);
	search->waiting = calloc(bands->family.places.count, sizeof *search->waiting);
	search->most = calloc((size_t)bands->family.group_count + 1, sizeof *search->most);
	if (!search->waits_of || !search->holds_of || !search->waiting || !search->most)
		return -THRUM_E_MEMORY;
	memset(search->waits_of, 0xff, room);
	memset(search->holds_of, 0xff, room);
	for (uint32_t i = model->edges.first; i < model->edges.count; i++) {
		int kind;

		if (!thrum__model_has_row(&model->edges, i))
			continue;
		kind = THRUM__EDGE(model, i, kind);
		if ((kind == THRUM__EDGE_WAIT || kind == THRUM__EDGE_READ ||
			    kind == THRUM__EDGE_LOCK || kind == THRUM__EDGE_UNLOCK) &&
			is_queue(bands, THRUM__EDGE(model, i, to)) && read_edge(search, i) < 0)
			return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < search->waits.count; i++)
		if (search->waits.turns[i].is_open)
			search->waits.turns[i].turn.to = end_of_waiter(search,
				&search->waits.turns[i].turn);
	for (uint32_t i = 0; i < search->holds.count; i++)
		if (search->holds.turns[i].is_open)
			search->holds.turns[i].turn.to = bands->to;
	return 0;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static uint64_t *sum_up(const struct thrum__bands_times *times, bool of_ends)
{
	uint64_t *sums = malloc((times->count / EACH + UINT64_C(1)) * sizeof *sums), sum = 0;

	for (uint32_t i = 0; sums && i < times->count; i++) {
		if (i % EACH == 0)
			sums[i / EACH] = sum;
		sum += (uint64_t)(of_ends ? times->ends[i] : times->turns[i].from);
	}
	if (sums && times->count % EACH == 0)
		sums[times->count / EACH] = sum;
	return sums;
}

/* Sorts waits or holds of a queue, and makes their sums. */
static int sum_times(struct thrum__bands_times *times)
{
	size_t count = times->count;
	struct thrum__base_sort_item *items = malloc((2 * count + 1) * sizeof *items);
	struct thrum__bands_turn *sorted = malloc((count + 1) * sizeof *sorted);

	times->ends = malloc((count + 1) * sizeof *times->ends);
	if (!items || !sorted || !times->ends) {
		free(items);
		free(sorted);
		return -THRUM_E_MEMORY;
	}
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){times->turns[i].to, i};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; i < count; i++)
		times->ends[i] = items[i].key;
	for (uint32_t i = 0; i < count; i++)
		items[i] = (struct thrum__base_sort_item){times->turns[i].from, i};
	thrum__base_sort(items, items + count, count, NULL, NULL);
	for (uint32_t i = 0; i < count; i++) {
		sorted[i] = times->turns[items[i].item];
		if (sorted[i].to - sorted[i].from > times->longest)
			times->longest = sorted[i].to - sorted[i].from;
	}
	free(items);
	free(times->turns);
	times->turns = sorted;
	times->start_sums = sum_up(times, false);
	times->end_sums = sum_up(times, true);
	return times->start_sums && times->end_sums ? 0 : -THRUM_E_MEMORY;
}

static uint32_t starts_before(const struct thrum__bands_times *times, int64_t time)
{
	uint32_t low = 0, high = times->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (times->turns[middle].from < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint32_t ends_before(const struct thrum__bands_times *times, int64_t time)
{
	uint32_t low = 0, high = times->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (times->ends[middle] < time)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The sum of all turns' ns before a time. */
static uint64_t time_before(const struct thrum__bands_times *times, int64_t time)
{
	uint32_t begun = starts_before(times, time), ended = ends_before(times, time);
	uint64_t sum = (uint64_t)(begun - ended) * (uint64_t)time;

	sum -= times->start_sums[begun / EACH];
	for (uint32_t i = begun / EACH * EACH; i < begun; i++)
		sum -= (uint64_t)times->turns[i].from;
	sum += times->end_sums[ended / EACH];
	for (uint32_t i = ended / EACH * EACH; i < ended; i++)
		sum += (uint64_t)times->ends[i];
	return sum;
}

/* How many turns there are at once, at most. */
static uint32_t most_at_once(const struct thrum__bands_times *times)
{
	uint32_t most = 0, end = 0;

	for (uint32_t i = 0; i < times->count; i++) {
		while (end < times->count && times->ends[end] <= times->turns[i].from)
			end++;
		if (end <= i && i + 1 - end > most)
			most = i + 1 - end;
	}
	return most;
}

/* ---- Queues --------------------------------------------------------------------------------- */

static void free_times(struct thrum__bands_times *times)
{
	if (!times)
		return;
	free(times->turns);
	free(times->ends);
	free(times->start_sums);
	free(times->end_sums);
	free(times);
}

/* Takes the turns of one group of objects out of all. */
static struct thrum__bands_times *take_times(const struct thrum__bands *bands,
	const struct turns *turns, uint32_t group)
{
	struct thrum__bands_times *times = calloc(1, sizeof *times);
	uint32_t count = 0;

	if (!times)
		return NULL;
	for (uint32_t i = 0; i < turns->count; i++)
		count += thrum__family_group(&bands->family, turns->turns[i].turn.object) == group;
	times->turns = malloc(((size_t)count + 1) * sizeof *times->turns);
	for (uint32_t i = 0; times->turns && i < turns->count; i++)
		if (thrum__family_group(&bands->family, turns->turns[i].turn.object) == group)
			times->turns[times->count++] = turns->turns[i].turn;
	if (!times->turns || sum_times(times) < 0) {
		free_times(times);
		return NULL;
	}
	return times;
}

/* Counts the objects of a queue, and how many holds each has at once, at most. `open`: by place of
 * tasks, all 0 before and after. */
static void count_objects(const struct thrum__bands *bands, struct thrum__bands_queue *queue,
	uint32_t *open)
{
	const struct thrum__places *places = &bands->family.places;
	bool is_semaphore = bands->family.groups[queue->group].kind == THRUM_KIND_SEMAPHORE;
	const struct thrum__bands_times *both[] = {queue->held, queue->waited};

	queue->instances = queue->capacity = 0;
	for (int i = 0; i < 2; i++)
		for (uint32_t j = 0; j < both[i]->count; j++) {
			uint32_t *seen = &open[thrum__place(places, both[i]->turns[j].object)];

			queue->instances += *seen == 0;
			*seen = 1;
		}
	for (int i = 0; i < 2; i++)
		for (uint32_t j = 0; j < both[i]->count; j++)
			open[thrum__place(places, both[i]->turns[j].object)] = 0;
	queue->capacity = queue->instances;
	if (is_semaphore && most_at_once(queue->held) > queue->capacity)
		queue->capacity = most_at_once(queue->held);
}

static int add_queue(struct search *search, uint32_t group)
{
	struct thrum__bands *bands = search->bands;
	struct thrum__bands_queue queue = {.group = group}, *grown;

	queue.waited = take_times(bands, &search->waits, group);
	queue.held = take_times(bands, &search->holds, group);
	if (queue.waited && queue.held) {
		queue.waits = queue.waited->count;
		queue.holds = queue.held->count;
		queue.most = most_at_once(queue.waited);
		if (queue.waits + queue.holds > 0 &&
			(is_lock(bands->family.groups[group].kind) || search->most[group] >= 2)) {
			grown = realloc(bands->queues,
				(bands->queue_count + (size_t)1) * sizeof *grown);
			if (grown) {
				count_objects(bands, &queue, search->holds_of);
				bands->queues = grown;
				grown[bands->queue_count++] = queue;
				return 0;
			}
		} else {
			free_times(queue.waited);
			free_times(queue.held);
			return 0;
		}
	}
	free_times(queue.waited);
	free_times(queue.held);
	return -THRUM_E_MEMORY;
}

static double all_time(const struct thrum__bands_times *times)
{
	double sum = 0;

	for (uint32_t i = 0; i < times->count; i++)
		sum += (double)(times->turns[i].to - times->turns[i].from);
	return sum;
}

/* Sorts the queues by the sum of all waits, the greatest first. There are few. */
static void sort_queues(struct thrum__bands *bands)
{
	for (uint32_t i = 1; i < bands->queue_count; i++) {
		struct thrum__bands_queue queue = bands->queues[i];
		double time = all_time(queue.waited);
		uint32_t at = i;

		for (; at > 0 && all_time(bands->queues[at - 1].waited) < time; at--)
			bands->queues[at] = bands->queues[at - 1];
		bands->queues[at] = queue;
	}
}

int thrum__bands_queues_make(struct thrum__bands *bands)
{
	struct search search = {.bands = bands};
	int error = read_edges(&search);

	if (error == 0)
		memset(search.holds_of, 0, bands->family.places.count * sizeof *search.holds_of);
	for (uint32_t i = 0; error == 0 && i < bands->family.group_count; i++)
		if (bands->family.groups[i].is_object)
			error = add_queue(&search, i);
	if (error == 0)
		sort_queues(bands);
	free(search.waits.turns);
	free(search.holds.turns);
	free(search.waits_of);
	free(search.holds_of);
	free(search.waiting);
	free(search.most);
	return error;
}

void thrum__bands_queues_free(struct thrum__bands *bands)
{
	for (uint32_t i = 0; i < bands->queue_count; i++) {
		free_times(bands->queues[i].waited);
		free_times(bands->queues[i].held);
	}
	free(bands->queues);
	bands->queues = NULL;
	bands->queue_count = 0;
}

size_t thrum__bands_queues_memory(const struct thrum__bands *bands)
{
	size_t memory = 0;

	for (uint32_t i = 0; i < bands->queue_count; i++)
		memory += ((size_t)bands->queues[i].waits + bands->queues[i].holds) *
			(sizeof(struct thrum__bands_turn) + sizeof(int64_t) + 1);
	return memory;
}

/* ---- Questions ------------------------------------------------------------------------------ */

void thrum__bands_queue_columns(const struct thrum__bands *bands, uint32_t queue,
	const struct thrum__bands_window *window, float *waiting, float *held)
{
	const struct thrum__bands_queue *q = &bands->queues[queue];
	uint64_t waited = time_before(q->waited, window->times[0]);
	uint64_t kept = time_before(q->held, window->times[0]);

	for (uint32_t i = 0; i < window->columns; i++) {
		float length = (float)(window->times[i + 1] - window->times[i]);
		uint64_t now_waited = time_before(q->waited, window->times[i + 1]);
		uint64_t now_kept = time_before(q->held, window->times[i + 1]);

		waiting[i] = length > 0 ? (float)(now_waited - waited) / length : 0;
		held[i] = length > 0 ? (float)(now_kept - kept) / (length * (float)q->capacity) : 0;
		held[i] = held[i] > 1 ? 1 : held[i];
		waited = now_waited;
		kept = now_kept;
	}
}

/* The median of those that ended in a time, and how many these are. */
static int64_t median_of(const struct thrum__bands_times *times, int64_t from, int64_t to,
	int64_t last, uint32_t *count)
{
	uint32_t first = starts_before(times, from - times->longest);
	uint32_t end = starts_before(times, to);
	int64_t *lengths = malloc(((size_t)(end > first ? end - first : 0) + 1) * sizeof *lengths);
	int64_t median = 0;

	*count = 0;
	for (uint32_t i = first; lengths && i < end; i++)
		if (times->turns[i].to >= from &&
			(times->turns[i].to < to || (to == last && times->turns[i].to == last)))
			lengths[(*count)++] = times->turns[i].to - times->turns[i].from;
	if (*count > 0)
		median = thrum__base_select(lengths, *count, (*count - 1) / 2);
	free(lengths);
	return median;
}

void thrum__bands_queue_numbers(const struct thrum__bands *bands, uint32_t queue, int64_t from,
	int64_t to, struct thrum__bands_queue_numbers *numbers)
{
	const struct thrum__bands_queue *q = &bands->queues[queue];
	double length;

	*numbers = (struct thrum__bands_queue_numbers){0};
	thrum__bands_clip(bands, &from, &to);
	if (from >= to)
		return;
	length = (double)(to - from);
	numbers->waiting = (double)(time_before(q->waited, to) - time_before(q->waited, from)) /
		length;
	numbers->held = (double)(time_before(q->held, to) - time_before(q->held, from)) /
		(length * q->capacity);
	numbers->held = numbers->held > 1 ? 1 : numbers->held;
	numbers->half_wait = median_of(q->waited, from, to, bands->to, &numbers->waits);
	numbers->half_hold = median_of(q->held, from, to, bands->to, &numbers->holds);
}

uint32_t thrum__bands_queue_objects(const struct thrum__bands *bands, uint32_t queue,
	uint32_t *objects, uint32_t most)
{
	const struct thrum__bands_times *both[] = {bands->queues[queue].held,
		bands->queues[queue].waited};
	uint32_t count = 0;

	for (int i = 0; i < 2; i++)
		for (uint32_t j = 0; j < both[i]->count && count < most; j++) {
			uint32_t object = both[i]->turns[j].object, at = 0;

			while (at < count && objects[at] != object)
				at++;
			if (at == count)
				objects[count++] = object;
			if (count == bands->queues[queue].instances)
				return count;
		}
	return count;
}

void thrum__bands_turns_begin(struct thrum__bands_turns *turns, const struct thrum__bands *bands,
	uint32_t queue, bool holds, int64_t from, int64_t to)
{
	const struct thrum__bands_queue *q = &bands->queues[queue];
	const struct thrum__bands_times *times = holds ? q->held : q->waited;

	*turns = (struct thrum__bands_turns){times, starts_before(times, from - times->longest),
		from, to};
}

bool thrum__bands_turns_next(struct thrum__bands_turns *turns, struct thrum__bands_turn *turn)
{
	while (turns->at < turns->times->count && turns->times->turns[turns->at].from < turns->to) {
		*turn = turns->times->turns[turns->at++];
		if (turn->to >= turns->from)
			return true;
	}
	return false;
}

uint32_t thrum__bands_queue_of(const struct thrum__bands *bands, uint32_t group)
{
	for (uint32_t i = 0; i < bands->queue_count; i++)
		if (bands->queues[i].group == group)
			return i;
	return THRUM__NONE;
}

uint32_t thrum__bands_queue_worst(const struct thrum__bands *bands, uint32_t queue, int64_t from,
	int64_t to)
{
	struct thrum__bands_turns turns;
	struct thrum__bands_turn turn;
	uint32_t worst = THRUM__NONE;
	int64_t longest = -1;

	thrum__bands_turns_begin(&turns, bands, queue, bands->queues[queue].holds > 0, from, to);
	while (thrum__bands_turns_next(&turns, &turn))
		if (turn.to - turn.from > longest) {
			longest = turn.to - turn.from;
			worst = turn.object;
		}
	return worst;
}
