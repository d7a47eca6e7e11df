/* SPDX-License-Identifier: ISC */
/*
 * Addresses of the program: call sites of which the recording knows only the address, and labels
 * that end in "module+0x1234". The recording has the list of modules; the trace's namer, if there is
 * one, knows the names. A copy may keep them itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/packet.h"
#include "read/thrum/reader.h"

#define CELLS 64         /* definitions that are read at once */
#define LABELS_MAX 16384 /* labels that are named; each new one moves those behind it */

/* A file of code of the recorded process. */
struct module {
	uint32_t number; /* its definition's */
	char build_id[41];
	char path[1024];
};

/* A name that the recording itself has for a place. */
struct kept_name {
	uint32_t module, offset; /* the module's definition */
	char name[sizeof((struct thrum__definition *)0)->text];
};

/* A label with its name. */
struct named_label {
	char *label, *name;
	uint32_t size; /* of the name */
};

struct addresses {
	struct module *modules;
	struct named_label *labels; /* sorted by label */
	struct kept_name *names;
	struct thrum__definition *chains; /* addresses with those above them */
	uint32_t chain_count, chain_room;
	uint32_t module_count, module_room, label_count, label_room, name_count, name_room;
	uint32_t seen; /* definitions before this one have been looked at */
};

static void add_module(struct addresses *a, uint32_t number, const struct thrum__definition *cell)
{
	struct module *modules = thrum__base_grow(a->modules, &a->module_room,
		a->module_count + UINT64_C(1), sizeof *modules);

	if (!modules)
		return;
	a->modules = modules;
	struct module *module = &modules[a->module_count++];

	module->number = number;
	module->path[0] = '\0';
	snprintf(module->build_id, sizeof module->build_id, "%.40s", cell->text);
}

/* Adds a piece to the path of its module. */
static void add_path(struct addresses *a, const struct thrum__definition *cell)
{
	size_t at = (size_t)cell->number * (sizeof cell->text - 1);

	for (uint32_t i = a->module_count; i > 0; i--) {
		struct module *module = &a->modules[i - 1];

		if (module->number != cell->parent || at + sizeof cell->text > sizeof module->path)
			continue;
		memcpy(module->path + at, cell->text, sizeof cell->text - 1);
		module->path[at + sizeof cell->text - 1] = '\0';
		return;
	}
}

static void add_name(struct addresses *a, const struct thrum__definition *cell)
{
	struct kept_name *names = thrum__base_grow(a->names, &a->name_room,
		a->name_count + UINT64_C(1), sizeof *names);

	if (!names)
		return;
	a->names = names;
	struct kept_name *name = &names[a->name_count++];

	name->module = cell->parent;
	name->offset = cell->number;
	memcpy(name->name, cell->text, sizeof name->name);
}

static void add_chain(struct addresses *a, const struct thrum__definition *cell)
{
	struct thrum__definition *chains = thrum__base_grow(a->chains, &a->chain_room,
		a->chain_count + UINT64_C(1), sizeof *chains);

	if (!chains)
		return;
	a->chains = chains;
	memcpy(&chains[a->chain_count++], cell, sizeof *cell);
}

void thrum__read_addresses_update(struct reader *r)
{
	struct addresses *a = r->addresses;
	struct thrum__definition cells[CELLS];

	if (!a)
		a = r->addresses = calloc(1, sizeof *a);
	while (a && a->seen < r->definition_count) {
		uint64_t offset = r->header.definitions.offset + (uint64_t)a->seen * sizeof *cells;
		int64_t got = thrum__format_input_read(&r->trace.input, offset, cells,
			sizeof cells);
		uint32_t count = got > 0 ? (uint32_t)((size_t)got / sizeof *cells) : 0, used = 0;

		for (uint32_t i = 0; i < count && a->seen + i < r->definition_count; i++) {
			cells[i].text[sizeof cells[i].text - 1] = '\0';
			if (cells[i].type == THRUM__DEFINES_MODULE)
				add_module(a, a->seen + i, &cells[i]);
			else if (cells[i].type == THRUM__DEFINES_PATH)
				add_path(a, &cells[i]);
			else if (cells[i].type == THRUM__DEFINES_NAME)
				add_name(a, &cells[i]);
			else if (cells[i].type == THRUM__DEFINES_ADDRESS && cells[i].text[0])
				add_chain(a, &cells[i]);
			if (cells[i].type)
				used = i + 1;
		}
		a->seen += used;
		/* A cell may be empty although the next one is not. */
		if (used + 8 < CELLS)
			break;
	}
	r->has_modules = a && a->module_count > 0;
}

void thrum__read_addresses_free(struct reader *r)
{
	struct addresses *a = r->addresses;

	if (!a)
		return;
	for (uint32_t i = 0; i < a->label_count; i++) {
		free(a->labels[i].label);
		free(a->labels[i].name);
	}
	free(a->labels);
	free(a->chains);
	free(a->names);
	free(a->modules);
	free(a);
}

static const struct module *find_module(struct reader *r, uint32_t number)
{
	for (int tries = 0; tries < 2; tries++) {
		for (uint32_t i = 0; r->addresses && i < r->addresses->module_count; i++)
			if (r->addresses->modules[i].number == number)
				return &r->addresses->modules[i];
		thrum__read_addresses_update(r);
	}
	return NULL;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool name_place(const struct reader *r, const struct module *module, uint64_t offset,
	enum thrum__read_place place, struct thrum_trace_site *site)
{
	const struct thrum__read_namer *namer = r->trace.namer;

	return namer && module->path[0] &&
		namer->name(namer->owner, module->path, module->build_id, offset, place, site);
}

/* Names the address that a cell defines. */
static bool name_cell(const struct reader *r, const struct module *module,
	const struct thrum__definition *cell, struct thrum_trace_site *site)
{
	const struct thrum__read_namer *namer = r->trace.namer;
	const struct addresses *a = r->addresses;

	if (!cell->text[0] || !namer || !namer->name_chain)
		return name_place(r, module, cell->number, THRUM__PLACE_RETURNS, site);
	return namer->name_chain(namer->owner, module->path, module->build_id, cell, a->chains,
		a->chain_count, site);
}

void thrum__read_address_site(struct reader *r, const struct thrum__definition *cell,
	struct definition *d)
{
	const struct module *module = find_module(r, cell->parent);

	if (!module) {
		d->type = 0;
		return;
	}
	snprintf(d->text, sizeof d->text, "%.80s+0x%x", file_name(module->path),
		(unsigned)cell->number);
	d->text_size = (uint32_t)strlen(d->text);
	d->type = THRUM__DEFINES_SITE;
	d->site = (struct thrum_trace_site){.file = module->path, .function = d->text};
	if (!name_cell(r, module, cell, &d->site)) {
		/* The modules may move when more come. */
		d->site.file = d->text + d->text_size;
		if (d->text_size + 1 + strlen(module->path) < sizeof d->text) {
			memcpy(d->text + d->text_size + 1, module->path, strlen(module->path) + 1);
			d->site.file++;
		}
	}
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* The place of a label among those that are known, or where it belongs. */
static uint32_t place_of(const struct addresses *a, const char *label)
{
	uint32_t low = 0, high = a->label_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(a->labels[middle].label, label) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The name of a place that the recording itself has, or NULL. */
static const char *kept_name(const struct addresses *a, uint32_t module, uint64_t offset)
{
	for (uint32_t i = 0; i < a->name_count; i++)
		if (a->names[i].module == module && a->names[i].offset == offset)
			return a->names[i].name;
	return NULL;
}

/* The beginning of the place in which a label ends. */
static const char *place_in(const char *label, const char *plus)
{
	while (plus > label && plus[-1] != ' ')
		plus--;
	return plus;
}

/* Whether a word stands before the place at `name`. */
static bool is_behind(const char *label, const char *name, const char *word)
{
	size_t size = strlen(word);

	return (size_t)(name - label) >= size && memcmp(name - size, word, size) == 0;
}

/* The sort of the place at `name`: a call returns to that of "poll in module+0x1234", of "stopped since
 * module+0x1234", of "read at module+0x1234", and to that of "armed by module+0x1234". */
static enum thrum__read_place sort_of(const char *label, const char *name)
{
	if (is_behind(label, name, ", called in "))
		return THRUM__PLACE_ABOVE;
	if (is_behind(label, name, " at ") || is_behind(label, name, " in ") ||
		is_behind(label, name, " since "))
		return THRUM__PLACE_WITHIN;
	return is_behind(label, name, " by ") ? THRUM__PLACE_RETURNS : THRUM__PLACE_BEGINS;
}

/* The next module behind `after` (NULL: the first) whose file has the name from `name` to `plus`. */
static const struct module *module_of(const struct addresses *a, const char *name, const char *plus,
	const struct module *after)
{
	const struct module *module = after ? after + 1 : a->modules;

	for (; module < a->modules + a->module_count; module++) {
		const char *file = file_name(module->path);

		if (strlen(file) == (size_t)(plus - name) &&
			strncmp(file, name, (size_t)(plus - name)) == 0)
			return module;
	}
	return NULL;
}

/* Behind the last "module+0x1234" of a text; NULL: it has none. */
static char *behind_place(char *text)
{
	char *plus = NULL, *next = text;

	while ((next = strstr(next, "+0x")))
		plus = next++;
	return plus ? plus + 3 + strspn(plus + 3, "0123456789abcdef") : NULL;
}

/* Writes what stands before the place in which a label ends. In "work PLACE, then PLACE" that has a place of
 * its own, which gets its name. So has "closed by PLACE, then by PLACE". */
static void put_head(struct reader *r, const char *label, const char *name, char *to, size_t size)
{
	char rest[THRUM_TEXT_MAX + 1], *behind;
	const char *head;
	uint32_t unused;

	snprintf(to, size, "%.*s", (int)(name - label), label);
	behind = behind_place(to);
	if (!behind || *behind != ',')
		return;
	snprintf(rest, sizeof rest, "%s", behind);
	*behind = '\0';
	head = thrum__read_label(r, to, &unused);
	if (head != to)
		snprintf(to, size, "%s", head);
	strncat(to, rest, size - strlen(to) - 1);
}

/* Names what a label ends in, and writes the named label behind `head`. */
static void name_label(const struct reader *r, const char *label, const char *plus,
	const char *head, char *to, size_t size)
{
	const char *name = place_in(label, plus);
	uint64_t offset = strtoull(plus + 1, NULL, 16);
	const struct module *module = NULL;

	while ((module = module_of(r->addresses, name, plus, module))) {
		struct thrum_trace_site site = {
			.function = kept_name(r->addresses, module->number, offset)};

		if (site.function || name_place(r, module, offset, sort_of(label, name), &site)) {
			snprintf(to, size, "%s%s", head, site.function);
			return;
		}
	}
	snprintf(to, size, "%s%s", head, name);
}

static char *copy_text(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

/* Adds a label with its name, which is the label itself if there is none. */
static struct named_label *add_label(struct reader *r, const char *label, const char *plus)
{
	struct addresses *a = r->addresses;
	char head[THRUM_TEXT_MAX + 1], name[THRUM_TEXT_MAX + 1];

	put_head(r, label, place_in(label, plus), head, sizeof head);
	name_label(r, label, plus, head, name, sizeof name);
	uint32_t at = place_of(a, label);
	struct named_label *labels = thrum__base_grow(a->labels, &a->label_room,
		a->label_count + UINT64_C(1), sizeof *labels);

	if (!labels)
		return NULL;
	a->labels = labels;
	struct named_label added = {copy_text(label), copy_text(name), 0};

	if (!added.label || !added.name) {
		free(added.label);
		free(added.name);
		return NULL;
	}
	added.size = (uint32_t)strlen(added.name);
	memmove(&labels[at + 1], &labels[at], (a->label_count - at) * sizeof *labels);
	labels[at] = added;
	a->label_count++;
	return &labels[at];
}

const char *thrum__read_label(struct reader *r, const char *label, uint32_t *size)
{
	const char *plus = strrchr(label, '+');

	if (!plus || plus[1] != '0' || plus[2] != 'x' ||
		(!r->trace.namer && (!r->addresses || r->addresses->name_count == 0)) ||
		strspn(plus + 3, "0123456789abcdef") != strlen(plus + 3))
		return label;
	struct addresses *a = r->addresses;
	uint32_t at = place_of(a, label);
	const struct named_label *found = at < a->label_count ? &a->labels[at] : NULL;

	if (!found || strcmp(found->label, label) != 0)
		found = a->label_count < LABELS_MAX ? add_label(r, label, plus) : NULL;
	if (!found)
		return label;
	*size = found->size;
	return found->name;
}

/* ---- Names for a copy ----------------------------------------------------------------------- */

/* The copy's definitions, and where to write them. */
struct naming {
	struct reader *reader;
	const struct thrum__output *output;
	uint32_t next;    /* definitions from this one on are free */
	uint32_t unnamed; /* places without names */
};

static int put_cell(const struct naming *n, uint32_t number, const struct thrum__definition *cell)
{
	return n->output->write(n->output->owner,
		n->reader->header.definitions.offset + (uint64_t)number * sizeof *cell, cell,
		sizeof *cell);
}

/* Turns a cell that defines an address into one that defines a call site by its names. */
static int keep_site(struct naming *n, uint32_t number, const struct thrum__definition *address)
{
	const struct module *module = find_module(n->reader, address->parent);
	struct thrum__definition cell = {.type = THRUM__DEFINES_SITE};
	struct thrum_trace_site site;

	if (!module || !name_cell(n->reader, module, address, &site)) {
		n->unnamed++;
		return 0;
	}
	cell.number = site.line;
	thrum__format_put_site(cell.text, site.function, site.file);
	return put_cell(n, number, &cell);
}

static int keep_sites(struct naming *n)
{
	struct reader *r = n->reader;
	int error = 0;

	for (uint32_t i = 1; i < r->definition_count && error == 0; i++) {
		uint64_t offset = r->header.definitions.offset +
			(uint64_t)i * sizeof(struct thrum__definition);
		struct thrum__definition cell;
		int64_t got = thrum__format_input_read(&r->trace.input, offset, &cell, sizeof cell);

		if (got != sizeof cell)
			return got < 0 ? (int)got : 0;
		if (cell.type == THRUM__DEFINES_ADDRESS)
			error = keep_site(n, i, &cell);
		if (cell.type)
			n->next = i + 1;
	}
	return error;
}

/* Adds the name of the place in which a label ends. */
static int keep_label(struct naming *n, const struct named_label *label)
{
	const struct addresses *a = n->reader->addresses;
	const char *plus = strrchr(label->label, '+'), *name = place_in(label->label, plus);
	uint64_t offset = strtoull(plus + 1, NULL, 16);
	const struct module *module = NULL;
	struct thrum_trace_site site;

	while ((module = module_of(a, name, plus, module)))
		if (kept_name(a, module->number, offset) ||
			name_place(n->reader, module, offset, sort_of(label->label, name), &site))
			break;
	if (module && kept_name(a, module->number, offset))
		return 0;
	if (!module || offset > UINT32_MAX || n->next >= n->reader->definition_count) {
		n->unnamed++;
		return 0;
	}
	struct thrum__definition cell = {.type = THRUM__DEFINES_NAME,
		.number = (uint32_t)offset,
		.parent = module->number};

	thrum__format_copy_text(cell.text, site.function, sizeof cell.text - 1);
	add_name(n->reader->addresses, &cell);
	return put_cell(n, n->next++, &cell);
}

int thrum__read_keep_names(struct thrum_trace *trace, const struct thrum__output *output,
	uint32_t *unnamed)
{
	struct naming naming = {.output = output};
	const struct thrum_event *events;
	size_t count;
	int result;

	if (trace->format != &thrum__read_thrum_format)
		return 0;
	naming.reader = (struct reader *)trace;
	if (!naming.reader->has_modules)
		return 0;
	/* All labels must have been seen. Damaged parts have none. */
	while ((result = thrum_trace_next(trace, &events, &count, NULL)) > 0)
		;
	result = keep_sites(&naming);
	for (uint32_t i = 0; i < naming.reader->addresses->label_count && result == 0; i++)
		result = keep_label(&naming, &naming.reader->addresses->labels[i]);
	*unnamed = naming.unnamed;
	return result;
}
