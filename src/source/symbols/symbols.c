/* SPDX-License-Identifier: ISC */
/*
 * Names for addresses in files of code, by elfutils' libdw. Debug information may lie in the file,
 * in a file of its own, or with debuginfod where the user has set that up.
 */
#define _GNU_SOURCE
#include "read/read.h"
#include "source/input.h"
#include "source/symbols/dwarf.h"

#ifndef HAVE_LIBDW

struct thrum__read_namer *thrum__source_symbols_create(void)
{
	return NULL;
}

void thrum__source_symbols_destroy(struct thrum__read_namer *namer)
{
	(void)namer;
}

#else

#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that was opened, or tried in vain. */
struct file {
	struct file *next;
	char *path;
	Dwfl_Module *module; /* NULL: it can't be read, or is another file than the recorded one */
	uint64_t address;    /* where libdw puts it */
};

struct symbols {
	struct thrum__read_namer namer; /* first */
	Dwfl *dwfl;
	struct file *files;
	struct text {
		struct text *next;
		char bytes[];
	} * texts;
};

/* Whether a file that a program's file names for its debugging information is in one of the usual places. */
static bool is_beside(const char *path, const char *name)
{
	static const char *const forms[] = {"%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s"};
	const char *slash = strrchr(path, '/');
	char place[PATH_MAX];
	bool is_there = false;

	for (size_t i = 0; slash && i < sizeof forms / sizeof *forms && !is_there; i++) {
		snprintf(place, sizeof place, forms[i], (int)(slash - path), path, name);
		is_there = access(place, F_OK) == 0;
	}
	return is_there;
}

/* Finds debugging information as libdw does. But before libdw finds none it loads the library of debuginfod,
 * which takes longer than all else in most commands, also where the user has set up no server. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
	const char *path, const char *link, GElf_Word sum, char **found)
{
	char real[PATH_MAX];
	int file = -1;

	if (!getenv("DEBUGINFOD_URLS") && path && link) {
		file = dwfl_build_id_find_debuginfo(module, data, name, base, path, link, sum,
			found);
		if (file >= 0 ||
			(!is_beside(path, link) &&
				!(realpath(path, real) && is_beside(real, link))))
			return file;
	}
	return dwfl_standard_find_debuginfo(module, data, name, base, path, link, sum, found);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* Whether a file has this build id, or either has none. */
static bool has_build_id(Dwfl_Module *module, const char *wanted)
{
	const unsigned char *bits;
	GElf_Addr address;
	int size = dwfl_module_build_id(module, &bits, &address);
	char digits[41] = "";

	for (int i = 0; i < size && i < 20; i++)
		snprintf(digits + (size_t)2 * i, 3, "%02x", bits[i]);
	return size <= 0 || !*wanted || strcmp(digits, wanted) == 0;
}

static struct file *open_file(struct symbols *symbols, const char *path, const char *build_id)
{
	struct file *file = calloc(1, sizeof *file);

	if (!file || !(file->path = strdup(path))) {
		free(file);
		return NULL;
	}
	file->next = symbols->files;
	symbols->files = file;
	struct stat status;

	/* The recording may name anything, also a pipe. */
	if (stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return file;
	dwfl_report_begin_add(symbols->dwfl);
	file->module = dwfl_report_offline(symbols->dwfl, path, path, -1);
	dwfl_report_end(symbols->dwfl, NULL, NULL);
	GElf_Addr bias = 0;

	if (file->module &&
		(!has_build_id(file->module, build_id) || !dwfl_module_getelf(file->module, &bias)))
		file->module = NULL;
	file->address = bias;
	return file;
}

static const char *keep_text(struct symbols *symbols, const char *text)
{
	size_t size = strlen(text) + 1;
	struct text *kept = malloc(sizeof *kept + size);

	if (!kept)
		return "";
	memcpy(kept->bytes, text, size);
	kept->next = symbols->texts;
	symbols->texts = kept;
	return kept->bytes;
}

/* The function object that a thread of std::thread runs, in the name of its virtual table; or the
 * name. Changes the text. */
static const char *work_of(char *name)
{
	static const char before[] = "vtable for std::thread::_State_impl<std::thread::_Invoker<"
				     "std::tuple<";
	static const char after[] = "> > >";
	size_t size = strlen(name), skipped = sizeof before - 1, left = sizeof after - 1;

	if (size < skipped + left || strncmp(name, before, skipped) != 0 ||
		strcmp(name + size - left, after) != 0)
		return name;
	name[size - left] = '\0';
	return name + skipped;
}

/* A static program can't load the libraries of any system. */
#ifdef THRUM_STATIC
#define MAY_LOAD false
#else
#define MAY_LOAD true
#endif

/* Keeps a function's name as its language writes it, if the C++ library is there. */
static const char *keep_name(struct symbols *symbols, const char *name)
{
	void *library = MAY_LOAD && strncmp(name, "_Z", 2) == 0
		? dlopen("libstdc++.so.6", RTLD_LAZY)
		: NULL;
	char *(*demangle)(const char *, char *, size_t *, int *) = NULL;

	if (library)
		*(void **)&demangle = dlsym(library, "__cxa_demangle");
	char *whole = demangle ? demangle(name, NULL, NULL, NULL) : NULL;
	const char *kept = keep_text(symbols, whole ? work_of(whole) : name);

	free(whole);
	if (library)
		dlclose(library);
	return kept;
}

/* Keeps the name of an inlined function with that of the one around it. */
static const char *join_names(struct symbols *symbols, const char *name, const char *outer)
{
	char text[600];

	snprintf(text, sizeof text, "%.250s in %.250s", name, outer);
	return keep_text(symbols, text);
}

static bool name_address(void *owner, const char *path, const char *build_id, uint64_t offset,
	enum thrum__read_place place, struct thrum_trace_site *site)
{
	struct symbols *symbols = owner;
	struct file *file = symbols->files;
	bool is_return = place != THRUM__PLACE_BEGINS;
	struct thrum__source_outer outer = {NULL, place == THRUM__PLACE_WITHIN};

	while (file && strcmp(file->path, path) != 0)
		file = file->next;
	if (!file)
		file = open_file(symbols, path, build_id);
	if (!file || !file->module)
		return false;
	/* The call itself lies before the address to which it returns. */
	uint64_t address = file->address + offset - is_return;
	struct thrum_trace_site found = {.file = path};

	if (place == THRUM__PLACE_ABOVE)
		thrum__source_name_address(file->module, address, &found, &outer);
	else if (is_return)
		thrum__source_name_call(file->module, address + 1, &found, &outer);
	if (!found.function) {
		GElf_Off distance = 0;
		GElf_Sym symbol;

		found.function = dwfl_module_addrinfo(file->module, address, &distance, &symbol,
			NULL, NULL, NULL);
		/* A place behind the end of a symbol belongs to something without one. */
		if (!found.function || (symbol.st_size > 0 && distance >= symbol.st_size) ||
			(!is_return && distance > 0 && symbol.st_size == 0))
			return false;
		/* An object points behind the first two words of its virtual table. */
		bool is_table = strncmp(found.function, "_ZTV", 4) == 0 && distance == 16;

		if (!is_return && distance > 0 && !is_table) {
			struct thrum_trace_site within = {.file = path};
			char text[300];

			snprintf(text, sizeof text, "%.250s+%llu", found.function,
				(unsigned long long)distance);
			/* Within a function it is a place to which a call returns. */
			if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC)
				thrum__source_name_address(file->module, address - 1, &within,
					&outer);
			found.function = within.function ? within.function
							 : keep_text(symbols, text);
		}
	}
	site->function = keep_name(symbols, found.function);
	if (outer.is_needed && outer.function)
		site->function = join_names(symbols, site->function,
			keep_name(symbols, outer.function));
	site->file = keep_text(symbols, found.file);
	site->line = found.line;
	return true;
}

/* ---- Callers of callers -------------------------------------------------------------------------- */

/* How many places of two texts are the same from the beginning on. */
static unsigned common_of(const char *a, const char *b)
{
	unsigned count = 0;

	while (*a && *b) {
		size_t size = strcspn(a, " ");

		if (size != strcspn(b, " ") || memcmp(a, b, size) != 0)
			return count;
		count++;
		a += size + (a[size] == ' ');
		b += size + (b[size] == ' ');
	}
	return count;
}

/* How many of the places above a call have to be named: as many as tell it from all others that are the same
 * so far. A function that is called at one place only needs none. */
static unsigned depth_of(const struct thrum__definition *chain, const struct thrum__definition *all,
	uint32_t count)
{
	unsigned depth = 0;

	for (uint32_t i = 0; i < count; i++) {
		unsigned common;

		if (all[i].number != chain->number || all[i].parent != chain->parent ||
			strcmp(all[i].text, chain->text) == 0)
			continue;
		common = common_of(chain->text, all[i].text);
		depth = common + 1 > depth ? common + 1 : depth;
	}
	return depth;
}

/* Names "INNER in OUTER", with the place in the outer one. */
static bool name_chain(void *owner, const char *path, const char *build_id,
	const struct thrum__definition *chain, const struct thrum__definition *all, uint32_t count,
	struct thrum_trace_site *site)
{
	unsigned depth = depth_of(chain, all, count);
	const char *above = chain->text;
	struct thrum_trace_site outer;

	if (!name_address(owner, path, build_id, chain->number,
		    depth > 0 ? THRUM__PLACE_WITHIN : THRUM__PLACE_RETURNS, site))
		return false;
	for (unsigned i = 1; i <= depth && *above; i++) {
		char *end;
		uint64_t offset = strtoull(above, &end, 16);

		if (!name_address(owner, path, build_id, offset, THRUM__PLACE_ABOVE, &outer))
			break;
		outer.function = join_names(owner, site->function, outer.function);
		*site = outer;
		above = end + (*end == ' ');
	}
	return true;
}

struct thrum__read_namer *thrum__source_symbols_create(void)
{
	struct symbols *symbols = calloc(1, sizeof *symbols);

	if (!symbols)
		return NULL;
	symbols->namer = (struct thrum__read_namer){symbols, name_address, name_chain};
	symbols->dwfl = dwfl_begin(&callbacks);
	if (!symbols->dwfl) {
		free(symbols);
		return NULL;
	}
	return &symbols->namer;
}

void thrum__source_symbols_destroy(struct thrum__read_namer *namer)
{
	struct symbols *symbols = (struct symbols *)namer;

	if (!symbols)
		return;
	while (symbols->files) {
		struct file *file = symbols->files;

		symbols->files = file->next;
		free(file->path);
		free(file);
	}
	while (symbols->texts) {
		struct text *text = symbols->texts;

		symbols->texts = text->next;
		free(text);
	}
	dwfl_end(symbols->dwfl);
	free(symbols);
}

#endif
