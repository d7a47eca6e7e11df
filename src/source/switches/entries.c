/* SPDX-License-Identifier: ISC */
/* Pairs the switches of each thread: the times in which it was off its processor. */
#include <stdlib.h>

#include "source/switches/parts.h"

/* A thread from one of its switches on. */
struct step {
	uint64_t at; /* ticks */
	enum thrum__source_switch_kind kind;
	uint32_t by, cpu;
	/* A page fault is handled: MINOR or MAJOR. IN: none is. */
	enum thrum__source_switch_kind fault;
};

static int compare_losses(const void *left, const void *right)
{
	const struct loss *a = left, *b = right;

	return (a->from > b->from) - (a->from < b->from);
}

static int compare_entries(const void *left, const void *right)
{
	const struct thrum__off_cpu *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return (a->lane > b->lane) - (a->lane < b->lane);
}

static void set_losses(struct writing *w)
{
	const struct thrum__source_switches *switches = w->switches;
	uint32_t count = 0;

	if (switches->forgotten > 0)
		ADD(w, losses, loss_count, loss_room,
			(struct loss){0, thrum__source_switches_ticks_at(w, switches->forgotten)});
	for (uint32_t i = 0; i < switches->loss_count; i++) {
		struct loss loss = {thrum__source_switches_ticks_at(w, switches->losses[i].from),
			thrum__source_switches_ticks_at(w, switches->losses[i].to)};

		if (loss.to <= w->begin || loss.from >= w->until)
			continue;
		w->lost += switches->losses[i].count;
		ADD(w, losses, loss_count, loss_room, loss);
	}
	if (w->loss_count > 0)
		qsort(w->losses, w->loss_count, sizeof *w->losses, compare_losses);
	for (uint32_t i = 0; i < w->loss_count; i++)
		if (count == 0 || w->losses[i].from > w->losses[count - 1].to)
			w->losses[count++] = w->losses[i];
		else if (w->losses[i].to > w->losses[count - 1].to)
			w->losses[count - 1].to = w->losses[i].to;
	w->loss_count = count;
}

/* Returns the index of the first loss that ends after a time. */
static uint32_t first_loss(const struct writing *w, uint64_t after)
{
	uint32_t low = 0, high = w->loss_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (w->losses[middle].to <= after)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_entry(struct writing *w, uint32_t tid, uint64_t begin, uint64_t end, uint32_t kind)
{
	const struct holding *holding = thrum__source_switches_holding_at(w, tid, begin);

	if (end > w->until)
		end = w->until;
	if (holding && end > holding->until)
		end = holding->until;
	if (holding && end > begin)
		ADD(w, entries, count, room,
			(struct thrum__off_cpu){begin, end, holding->lane, kind});
}

/* The kind of the time after a thread went out or was woken. */
static uint32_t kind_after(const struct writing *w, const struct step *step)
{
	const struct holding *waker;

	if (step->kind == THRUM__SWITCH_PREEMPTED)
		return THRUM__OFF_PREEMPTED;
	if (step->kind != THRUM__SWITCH_WOKEN)
		return step->fault == THRUM__SWITCH_MAJOR ? THRUM__OFF_PAGING : THRUM__OFF_BLOCKED;
	if (step->by == 0)
		return THRUM__OFF_WOKEN | THRUM__OFF_BY_INTERRUPT << 8;
	waker = thrum__source_switches_holding_at(w, step->by, step->at);
	if (!waker || waker->until <= step->at || waker->lane + 1 >= THRUM__OFF_BY_OTHER)
		return THRUM__OFF_WOKEN | THRUM__OFF_BY_OTHER << 8;
	return THRUM__OFF_WOKEN | (waker->lane + 1) << 8;
}

/* Returns the index of the first busy time of a processor that ends after a time. */
static uint32_t first_busy(const struct writing *w, uint32_t cpu, uint64_t after)
{
	uint32_t low = 0, high = w->busy_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct busy *busy = &w->busy[middle];

		if (busy->cpu < cpu || (busy->cpu == cpu && busy->to <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Adds the parts of a thread's time on a processor in which it didn't run itself. */
static void add_on(struct writing *w, uint32_t tid, const struct step *step, uint64_t until)
{
	uint64_t at = step->at;

	for (uint32_t i = first_busy(w, step->cpu, at);
		i < w->busy_count && w->busy[i].cpu == step->cpu && w->busy[i].from < until; i++) {
		uint64_t from = w->busy[i].from > at ? w->busy[i].from : at;
		uint64_t to = w->busy[i].to < until ? w->busy[i].to : until;

		if (step->fault != THRUM__SWITCH_IN)
			add_entry(w, tid, at, from, THRUM__OFF_FAULT);
		add_entry(w, tid, from, to, THRUM__OFF_INTERRUPTED);
		at = to;
	}
	if (step->fault != THRUM__SWITCH_IN)
		add_entry(w, tid, at, until, THRUM__OFF_FAULT);
}

/*
 * Adds what is known of a thread between two of its switches that follow each other. If some were lost
 * between them, it may have been anywhere from the beginning of the loss on: until its end, or until the
 * thread came back, as then it is not known since when it was away.
 */
static void add_between(struct writing *w, uint32_t tid, const struct step *before,
	const struct step *after)
{
	uint32_t i = first_loss(w, before->at), end = i;
	bool is_back = after->kind == THRUM__SWITCH_IN || after->kind == THRUM__SWITCH_WOKEN;
	bool is_out = before->kind != THRUM__SWITCH_IN;
	uint64_t known = after->at;

	if (before->kind == THRUM__SWITCH_ENDED)
		return;
	while (end < w->loss_count && w->losses[end].from < after->at)
		end++;
	if (end > i) {
		const struct loss *last = &w->losses[end - 1];

		known = w->losses[i].from > before->at ? w->losses[i].from : before->at;
		add_entry(w, tid, known, is_back || last->to > after->at ? after->at : last->to,
			THRUM__OFF_UNKNOWN);
	}
	/* A thread that doesn't come back has ended. */
	if (is_out && after->at < UINT64_MAX && (is_back || end > i))
		add_entry(w, tid, before->at, known, kind_after(w, before));
	else if (!is_out)
		add_on(w, tid, before, known);
}

/* How a page fault that begins with this switch ends; IN: nobody told, or something was lost. */
static enum thrum__source_switch_kind end_of_fault(const struct writing *w, uint32_t i)
{
	const struct thrum__source_switch *begin = &w->all[i];
	uint32_t loss = first_loss(w, thrum__source_switches_ticks_at(w, begin->time));

	while (++i < w->all_count && w->all[i].tid == begin->tid &&
		w->all[i].kind < THRUM__SWITCH_FAULT)
		;
	if (i == w->all_count || w->all[i].tid != begin->tid ||
		w->all[i].kind == THRUM__SWITCH_FAULT ||
		(loss < w->loss_count &&
			w->losses[loss].from < thrum__source_switches_ticks_at(w, w->all[i].time)))
		return THRUM__SWITCH_IN;
	return w->all[i].kind;
}

/* A thread after its switch i. */
static struct step step_after(const struct writing *w, const struct step *before, uint32_t i)
{
	const struct thrum__source_switch *one = &w->all[i];
	struct step step = {thrum__source_switches_ticks_at(w, one->time), one->kind, one->by,
		one->cpu, before->fault};

	if (one->kind == THRUM__SWITCH_ENDED)
		step.fault = THRUM__SWITCH_IN;
	if (one->kind < THRUM__SWITCH_FAULT)
		return step;
	step.fault = one->kind == THRUM__SWITCH_FAULT ? end_of_fault(w, i) : THRUM__SWITCH_IN;
	step.kind = THRUM__SWITCH_IN;
	step.cpu = before->kind == THRUM__SWITCH_IN ? before->cpu : THRUM__NO_CPU;
	return step;
}

/* Adds the entries of a thread. `i` is the index of its first switch. Returns that of the first one
 * behind. */
static uint32_t add_thread(struct writing *w, const struct holding *first, uint32_t i)
{
	const struct thrum__source_switch *earlier = &first->before;
	struct step before = {first->from, earlier->kind, earlier->by,
		earlier->time > 0 ? earlier->cpu : THRUM__NO_CPU, THRUM__SWITCH_IN};
	struct step after;

	for (; i < w->all_count && w->all[i].tid == first->tid; i++) {
		after = step_after(w, &before, i);
		/* Else it was about to go out, and didn't, or could run already. */
		if (after.kind == THRUM__SWITCH_WOKEN && before.kind != THRUM__SWITCH_BLOCKED)
			continue;
		if (after.at > before.at)
			add_between(w, first->tid, &before, &after);
		else
			after.at = before.at;
		before = after;
	}
	after = (struct step){.at = UINT64_MAX, .kind = THRUM__SWITCH_ENDED};
	if (w->is_cut)
		after = (struct step){.at = w->until, .kind = THRUM__SWITCH_IN};
	if (after.at > before.at)
		add_between(w, first->tid, &before, &after);
	return i;
}

void thrum__source_switches_make_entries(struct writing *w)
{
	uint32_t tid = 0, next = 0;

	set_losses(w);
	for (uint32_t i = 0; i < w->holding_count && !w->failed; i++) {
		if (w->holdings[i].tid == tid)
			continue;
		tid = w->holdings[i].tid;
		while (next < w->all_count && w->all[next].tid < tid)
			next++;
		next = add_thread(w, &w->holdings[i], next);
	}
	if (w->count > 0)
		qsort(w->entries, w->count, sizeof *w->entries, compare_entries);
}
