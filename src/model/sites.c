/* SPDX-License-Identifier: ISC */
/* Places in the program: call sites, and the edges that name them. */
#include <stdlib.h>
#include <string.h>

#include "model/parts.h"

#define SIGNALS_AT_ONCE 8 /* that come under one lock */

/* Sets a site's `first`. `text` has its file and function, of this size. */
static int find_first(struct thrum__sites *sites, struct thrum__site *site, uint16_t number,
	const char *text, size_t size)
{
	uint32_t line = 0, known = sites->lines.count;
	void *firsts = sites->firsts;
	int error;

	site->first = number;
	if (site->site.line == 0) /* of that file, no lines are known */
		return 0;
	error = thrum__base_keys_add(&sites->lines, site->site.line, text, size, &line);
	if (!error && line == known) {
		error = thrum__model_array_grow(&firsts, &sites->first_room, known + 1,
			sizeof *sites->firsts);
		sites->firsts = firsts;
		if (!error)
			sites->firsts[line] = number;
	}
	if (!error)
		site->first = sites->firsts[line];
	return error;
}

static int copy_site(struct thrum__sites *sites, const struct thrum_trace_site *site,
	uint16_t number)
{
	void *all = sites->all;
	int error = thrum__model_array_grow(&all, &sites->room, number + 1u, sizeof *sites->all);

	sites->all = all;
	if (error)
		return error;
	size_t file = strlen(site->file) + 1, function = strlen(site->function) + 1;
	struct thrum__site *copy = malloc(sizeof *copy + file + function);

	if (!copy)
		return -THRUM_E_MEMORY;
	char *text = (char *)(copy + 1);

	memcpy(text, site->file, file);
	memcpy(text + file, site->function, function);
	*copy = (struct thrum__site){.site = {text, text + file, site->line}};
	sites->all[number] = copy;
	sites->bytes += sizeof *copy + file + function;
	return find_first(sites, copy, number, text, file + function);
}

uint16_t thrum__model_site_note(struct thrum__model *m, const struct thrum_trace *trace,
	uint16_t number)
{
	struct thrum__sites *sites = m->sites;
	bool is_known = number < sites->room && sites->all[number];
	const struct thrum_trace_site *site = is_known ? NULL : thrum_trace_site(trace, number);

	if (site && copy_site(sites, site, number))
		m->failed = true;
	return (is_known || site) && !m->failed ? sites->all[number]->first : number;
}

int64_t thrum__model_signal_note(struct thrum__model *m, uint16_t number, int64_t waiters)
{
	struct thrum__sites *sites = m->sites;
	struct thrum__site *site = number < sites->room ? sites->all[number] : NULL;
	uint16_t at = site ? site->signals : 0;

	if (waiters < -1) /* the recording is damaged */
		waiters = -1;
	if (!site || waiters > INT16_MAX)
		return waiters;
	while (at && sites->signals[at - 1].waiters != waiters)
		at = sites->signals[at - 1].next;
	if (at)
		return -1 - at;
	if (sites->signal_count >= INT16_MAX)
		return waiters;
	void *signals = sites->signals;

	m->failed |= thrum__model_array_grow(&signals, &sites->signal_room, sites->signal_count + 1,
			     sizeof *sites->signals) != 0;
	sites->signals = signals;
	if (m->failed)
		return waiters;
	sites->signals[sites->signal_count++] = (struct thrum__signals){.site = number,
		.next = site->signals,
		.waiters = (int16_t)waiters};
	site->signals = (uint16_t)sites->signal_count;
	return -1 - (int64_t)sites->signal_count;
}

void thrum__model_sites_destroy(struct thrum__sites *sites)
{
	if (!sites)
		return;
	for (uint32_t i = 0; i < sites->room; i++)
		free(sites->all[i]);
	free(sites->all);
	free(sites->signals);
	free(sites->firsts);
	thrum__base_keys_free(&sites->lines);
	free(sites);
}

size_t thrum__model_sites_memory(const struct thrum__sites *sites)
{
	return sizeof *sites + sites->bytes + sites->room * sizeof *sites->all +
		sites->signal_room * sizeof *sites->signals +
		sites->first_room * sizeof *sites->firsts + sites->lines.text.size;
}

/* ---- Questions ----------------------------------------------------------------------------- */

const struct thrum_trace_site *thrum__model_site(const struct thrum__model *m, uint32_t task)
{
	return thrum__model_site_of(m, THRUM__TASK(m, task, site));
}

const struct thrum_trace_site *thrum__model_site_of(const struct thrum__model *m, unsigned number)
{
	return number && number < m->sites->room && m->sites->all[number]
		? &m->sites->all[number]->site
		: NULL;
}

int thrum__model_edge_place(const struct thrum__model *m, uint32_t edge)
{
	int kind = THRUM__EDGE(m, edge, kind), place = THRUM__EDGE(m, edge, value);

	if ((kind != THRUM__EDGE_WAIT && kind != THRUM__EDGE_LOCK) || place == INT16_MIN)
		return 0;
	return place < 0 ? -place : place;
}

/* Returns the place and the waiters of a signal; NULL: its value is the number of waiters. */
static const struct thrum__signals *signals_of(const struct thrum__model *m, uint32_t edge)
{
	int value = THRUM__EDGE(m, edge, value);

	return value < -1 ? &m->sites->signals[-2 - value] : NULL;
}

int thrum__model_waiters(const struct thrum__model *m, uint32_t edge)
{
	const struct thrum__signals *signals = signals_of(m, edge);

	return signals ? signals->waiters : THRUM__EDGE(m, edge, value);
}

const struct thrum_trace_site *thrum__model_edge_site(const struct thrum__model *m, uint32_t edge)
{
	bool signals = false;

	for (int i = 0; i < SIGNALS_AT_ONCE && thrum__model_has_row(&m->edges, edge) &&
		THRUM__EDGE(m, edge, kind) == THRUM__EDGE_SIGNAL;
		i++, signals = true) {
		if (!signals && signals_of(m, edge))
			return thrum__model_site_of(m, signals_of(m, edge)->site);
		edge = THRUM__EDGE(m, edge, prev_out);
	}
	if (!thrum__model_has_row(&m->edges, edge) ||
		(signals && THRUM__EDGE(m, edge, kind) == THRUM__EDGE_WAIT))
		return NULL;
	return thrum__model_site_of(m, (unsigned)thrum__model_edge_place(m, edge));
}
