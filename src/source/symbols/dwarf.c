/* SPDX-License-Identifier: ISC */
/*
 * Functions and lines of addresses, by debugging information. Compilers inline functions, and make a jump of
 * a function's last call: then the place to which the call returns isn't in the function that was written.
 */
#include "source/symbols/dwarf.h"

#ifdef HAVE_LIBDW

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "port/port.h"

#define CALL_SIZE 5 /* bytes before the place to which a call returns that are looked at */

/* ---- Inlined functions ----------------------------------------------------------------------- */

/* Returns the path as the compiler was told it: without the folder in which it ran. */
static const char *short_path(const char *path, const char *folder)
{
	size_t size = folder ? strlen(folder) : 0;

	return size > 0 && strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size + 1
										 : path;
}

static const char *folder_of(Dwarf_Die *unit)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
}

/* Whether code of a file is part of many programs: there a program calls functions that are in the
 * headers of its libraries. */
static bool is_system_header(const char *path)
{
	return strncmp(path, "/usr/include/", 13) == 0 || strncmp(path, "/usr/lib/", 9) == 0;
}

/* The file and line where an inlined function is called; leaves them alone if they aren't known. */
static void find_call(Dwarf_Die *unit, Dwarf_Die *inlined, const char **path, int *line)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;
	Dwarf_Files *files;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
		*line = (int)value;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
		dwarf_getsrcfiles(unit, &files, NULL) == 0)
		*path = dwarf_filesrc(files, value, NULL, NULL);
}

static int count_instance(Dwarf_Die *instance, void *count)
{
	(void)instance;
	return ++*(unsigned *)count > 1 ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* Whether the function of this inlined instance is inlined at another place, too. */
static bool is_repeated(Dwarf_Die *inlined)
{
	Dwarf_Attribute attribute;
	Dwarf_Die function;
	unsigned count = 0;

	if (dwarf_formref_die(dwarf_attr(inlined, DW_AT_abstract_origin, &attribute), &function))
		dwarf_func_inline_instances(&function, count_instance, &count);
	return count > 1;
}

/* The unit of source code that an address belongs to, or NULL. Programs by clang have no index of
 * addresses; there all units are asked. */
static Dwarf_Die *unit_of(Dwfl_Module *module, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *unit = dwfl_module_addrdie(module, address, bias);

	if (unit)
		return unit;
	while ((unit = dwfl_module_nextcu(module, unit, bias)))
		if (dwarf_haspc(unit, address - *bias) > 0)
			break;
	return unit;
}

void thrum__source_name_address(Dwfl_Module *module, uint64_t address,
	struct thrum_trace_site *site, struct thrum__source_outer *outer)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = unit_of(module, address, &bias), *inner = NULL, *scopes = NULL;
	Dwarf_Line *place = unit ? dwarf_getsrc_die(unit, address - bias) : NULL;
	const char *path = place ? dwarf_linesrc(place, NULL, NULL) : NULL;
	int line = 0, count = 0;
	bool is_whole = false;

	if (!path || dwarf_lineno(place, &line) < 0)
		return;
	if (dwarf_getscopes(unit, address - bias, &inner) > 0)
		count = dwarf_getscopes_die(inner, &scopes);
	for (int i = 0; i < count && !is_whole; i++) {
		int tag = dwarf_tag(&scopes[i]);
		bool is_inlined = tag == DW_TAG_inlined_subroutine;

		if (is_inlined && !site->function && is_system_header(path)) {
			find_call(unit, &scopes[i], &path, &line);
		} else if (is_inlined || tag == DW_TAG_subprogram) {
			const char *name = dwarf_diename(&scopes[i]);

			/* A part of a function may be one of its own, with the same name. */
			if (!site->function && is_inlined && is_repeated(&scopes[i])) {
				outer->is_needed = true;
				find_call(unit, &scopes[i], &path, &line);
			}
			if (!site->function)
				site->function = name;
			else if (name && strcmp(name, site->function) != 0)
				outer->function = name;
			is_whole = outer->function || !is_inlined;
		}
	}
	site->file = short_path(path, folder_of(unit));
	site->line = (uint32_t)line;
	free(inner);
	free(scopes);
}

/* ---- Jumps ----------------------------------------------------------------------------------- */

/* Finds the function that begins at an address. Returns whether there is one. */
static bool find_function(Dwfl_Module *module, uint64_t address, Dwarf_Addr *bias,
	Dwarf_Die *function)
{
	Dwarf_Die *unit = unit_of(module, address, bias), *scopes = NULL;
	Dwarf_Addr entry;
	bool is_found = false;
	int count = unit ? dwarf_getscopes(unit, address - *bias, &scopes) : 0;

	for (int i = 0; i < count && !is_found; i++) {
		is_found = dwarf_tag(&scopes[i]) == DW_TAG_subprogram &&
			dwarf_lowpc(&scopes[i], &entry) == 0 && entry == address - *bias;
		if (is_found)
			*function = scopes[i];
	}
	free(scopes);
	return is_found;
}

struct jumps {
	unsigned count;
	Dwarf_Addr after; /* one of them */
};

/* Finds the jumps by which a function ends. */
static void find_jumps(Dwarf_Die *function, struct jumps *jumps)
{
	Dwarf_Attribute attribute;
	Dwarf_Die part;

	if (dwarf_child(function, &part) != 0)
		return;
	do {
		int tag = dwarf_tag(&part);

		if (tag == DW_TAG_call_site && dwarf_hasattr(&part, DW_AT_call_tail_call)) {
			jumps->count++;
			if (dwarf_formaddr(dwarf_attr(&part, DW_AT_call_return_pc, &attribute),
				    &jumps->after) != 0)
				jumps->count++;
		} else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) {
			find_jumps(&part, jumps);
		}
	} while (dwarf_siblingof(&part, &part) == 0);
}

/* The function of the file that the call or jump names which ends at this address: it has jumped to the one
 * that was called last. NULL: it names none. */
static const char *find_jumping(Dwfl_Module *module, uint64_t behind,
	const void *(*target_of)(const void *))
{
	GElf_Addr place = behind - 1;
	Dwarf_Addr bias;
	Elf_Scn *section = dwfl_module_address_section(module, &place, &bias);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	Dwarf_Die function;
	const char *after, *called;

	if (!data || !data->d_buf || place >= data->d_size || place < CALL_SIZE)
		return NULL;
	after = (const char *)data->d_buf + place + 1;
	called = target_of(after);
	return called &&
			find_function(module, behind + (uintptr_t)called - (uintptr_t)after, &bias,
				&function)
		? dwarf_diename(&function)
		: NULL;
}

void thrum__source_name_call(Dwfl_Module *module, uint64_t returns, struct thrum_trace_site *site,
	struct thrum__source_outer *outer)
{
	struct jumps jumps = {0};
	Dwarf_Die function;
	Dwarf_Addr bias;
	uint64_t behind = returns;
	const char *jumping;

	if (find_function(module, returns - THRUM__JUMPED, &bias, &function))
		find_jumps(&function, &jumps);
	if (jumps.count == 1)
		behind = jumps.after + bias;
	thrum__source_name_address(module, behind - 1, site, outer);
	/* If there are several jumps, it isn't known which one it was. */
	jumping = jumps.count < 2 && site->function
		? find_jumping(module, behind,
			  jumps.count == 1 ? thrum__port_jumped : thrum__port_called)
		: NULL;
	if (jumping) {
		*outer = (struct thrum__source_outer){site->function, true};
		site->function = jumping;
	}
}

#endif
