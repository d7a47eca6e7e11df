/* SPDX-License-Identifier: ISC */
/* Exemplars: the events that made counters large, so that one can look for their tasks. */
#include <stdlib.h>
#include <string.h>

#include "format/packet.h"
#include "monitor/parts.h"

/* Writes the path of a counter's definition. Returns whether there is one. */
static bool find_path(const struct thrum__monitor *m, uint16_t definition, char *to, size_t room)
{
	uint64_t at = (uint64_t)definition * sizeof(struct thrum__definition);
	struct thrum__definition cell;
	int64_t got;

	if (definition == 0 || at + sizeof cell > m->header.definitions.size)
		return false;
	got = thrum__format_input_read(&m->input, m->header.definitions.offset + at, &cell,
		sizeof cell);
	if (got != sizeof cell || cell.type != THRUM__DEFINES_COUNTER)
		return false;
	cell.text[sizeof cell.text - 1] = '\0';
	thrum__format_copy_text(to, cell.text, room - 1);
	return true;
}

static struct thrum__monitor_exemplar *add_exemplar(struct thrum__monitor *m, uint16_t definition)
{
	uint32_t i = m->sample.exemplar_count;

	if (!m->sample.exemplars)
		m->sample.exemplars = calloc(EXEMPLARS_MAX, sizeof *m->sample.exemplars);
	if (!m->sample.exemplars || i == EXEMPLARS_MAX ||
		!find_path(m, definition, m->sample.exemplars[i].path,
			sizeof m->sample.exemplars[i].path))
		return NULL;
	m->exemplars[i] = (struct exemplar_state){.definition = definition};
	m->sample.exemplar_count++;
	return &m->sample.exemplars[i];
}

void thrum__monitor_take_exemplar(struct thrum__monitor *m, uint16_t definition, int64_t value,
	uint64_t task)
{
	struct thrum__monitor_exemplar *exemplar;
	uint32_t i = 0;

	while (i < m->sample.exemplar_count && m->exemplars[i].definition != definition)
		i++;
	exemplar = i < m->sample.exemplar_count ? &m->sample.exemplars[i]
						: add_exemplar(m, definition);
	if (!exemplar || (m->exemplars[i].is_new && exemplar->value >= value))
		return;
	exemplar->value = value;
	exemplar->task = task;
	m->exemplars[i].is_new = true;
}
