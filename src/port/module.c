/* SPDX-License-Identifier: ISC */
/* Finds the files of which the process runs code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "port/port.h"

#define ALIGNED_4(size) (((size_t)(size) + 3) & ~(size_t)3)

/* Writes the build id as hex digits, if these notes have one. */
static void read_build_id(const uint8_t *notes, size_t size, char build_id[41])
{
	while (size >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;

		memcpy(&note, notes, sizeof note);
		size_t name = ALIGNED_4(note.n_namesz), data = ALIGNED_4(note.n_descsz);

		if (name > size || data > size || sizeof note + name + data > size)
			return;
		const uint8_t *id = notes + sizeof note + name;

		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
			memcmp(notes + sizeof note, "GNU", 4) == 0) {
			for (size_t i = 0; i < note.n_descsz && i < 20; i++) {
				*build_id++ = "0123456789abcdef"[id[i] >> 4];
				*build_id++ = "0123456789abcdef"[id[i] & 15];
			}
			*build_id = '\0';
			return;
		}
		notes += sizeof note + name + data;
		size -= sizeof note + name + data;
	}
}

/* Reads the program headers of the file that is mapped at `start`, for the size and the build
 * id. */
static void read_headers(const uint8_t *start, struct thrum__port_module *module)
{
	const ElfW(Ehdr) *file = (const void *)start;

	if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	const ElfW(Phdr) *part = (const void *)(start + file->e_phoff);

	for (unsigned i = 0; i < file->e_phnum; i++) {
		uintptr_t end = module->address + part[i].p_vaddr + part[i].p_memsz;

		if (part[i].p_type == PT_LOAD && end - (uintptr_t)start > module->size)
			module->size = end - (uintptr_t)start;
		if (part[i].p_type == PT_NOTE && !module->build_id[0])
			read_build_id((const void *)(module->address + part[i].p_vaddr),
				part[i].p_memsz, module->build_id);
	}
}

/* Finds the entry of the dynamic linker, and where the file is mapped; NULL: there is none. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
static const struct link_map *find_link_map(const void *address, const void **start)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)(uintptr_t)address, &object) != 0)
		return NULL;
	*start = object.dlfo_map_start;
	return object.dlfo_link_map;
}
#else
static const struct link_map *find_link_map(const void *address, const void **start)
{
	struct link_map *map = NULL;
	Dl_info info;

	if (!dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP))
		return NULL;
	*start = info.dli_fbase;
	return map;
}
#endif

bool thrum__port_find_module(const void *address, struct thrum__port_module *module)
{
	const void *start = NULL;
	const struct link_map *map = find_link_map(address, &start);

	if (!map)
		return false;
	module->address = map->l_addr;
	module->size = 0;
	module->build_id[0] = '\0';
	if (map->l_name && map->l_name[0]) {
		size_t length = strnlen(map->l_name, sizeof module->path - 1);

		memcpy(module->path, map->l_name, length);
		module->path[length] = '\0';
	} else {
		ssize_t length = readlink("/proc/self/exe", module->path, sizeof module->path - 1);

		module->path[length > 0 ? length : 0] = '\0';
	}
	read_headers(start, module);
	return true;
}

bool thrum__port_is_code(const void *address)
{
	const void *start = NULL;
	const struct link_map *map = find_link_map(address, &start);
	const ElfW(Ehdr) *file = start;

	if (!map || memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	const ElfW(Phdr) *part = (const void *)((const uint8_t *)start + file->e_phoff);

	for (unsigned i = 0; i < file->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_flags & PF_X &&
			(uintptr_t)address - (map->l_addr + part[i].p_vaddr) < part[i].p_memsz)
			return true;
	return false;
}
