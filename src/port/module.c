/* SPDX-License-Identifier: ISC */
/* Finds the files of which the process runs code. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
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

/* Where a module lies, as the dynamic linker knows it. */
struct place {
	uintptr_t address;
	const char *name;  /* NULL or empty: the program */
	const void *start; /* of the file in memory */
};

/* Returns false if no module lies there. */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
static bool find_place(const void *address, struct place *place)
{
	struct dl_find_object object;

	if (_dl_find_object((void *)(uintptr_t)address, &object) != 0)
		return false;
	*place = (struct place){object.dlfo_link_map->l_addr, object.dlfo_link_map->l_name,
		object.dlfo_map_start};
	return true;
}
#else
struct search {
	uintptr_t address;
	bool is_library; /* the program comes first */
	struct place *place;
};

static int look_at(struct dl_phdr_info *module, size_t size, void *search_of)
{
	struct search *search = search_of;
	bool is_library = search->is_library, is_there = false;
	const void *start = NULL;

	(void)size;
	search->is_library = true;
	for (unsigned i = 0; i < module->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &module->dlpi_phdr[i];
		uintptr_t begin = module->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		if (part->p_offset == 0)
			start = (const void *)begin;
		is_there |= search->address - begin < part->p_memsz;
	}
	if (!is_there || !start)
		return 0;
	*search->place = (struct place){module->dlpi_addr, is_library ? module->dlpi_name : NULL,
		start};
	return 1;
}

static bool find_place(const void *address, struct place *place)
{
	struct search search = {(uintptr_t)address, false, place};

	return dl_iterate_phdr(look_at, &search) == 1;
}
#endif

/* Copies the path of the program. It is read once: the program may forbid such calls later. */
static void copy_own_path(char *to, size_t size)
{
	static char path[sizeof((struct thrum__port_module *)NULL)->path];
	static _Atomic int state; /* 1: somebody writes it; 2: it is known */
	int none = 0;

	if (atomic_load(&state) != 2) {
		ssize_t length = readlink("/proc/self/exe", to, size - 1);

		to[length > 0 ? length : 0] = '\0';
		if (atomic_compare_exchange_strong(&state, &none, 1)) {
			memcpy(path, to, size);
			atomic_store(&state, 2);
		}
		return;
	}
	memcpy(to, path, size);
}

bool thrum__port_find_module(const void *address, struct thrum__port_module *module)
{
	struct place place;

	if (!find_place(address, &place))
		return false;
	module->address = place.address;
	module->size = 0;
	module->build_id[0] = '\0';
	if (place.name && place.name[0]) {
		size_t length = strnlen(place.name, sizeof module->path - 1);

		memcpy(module->path, place.name, length);
		module->path[length] = '\0';
	} else {
		copy_own_path(module->path, sizeof module->path);
	}
	read_headers(place.start, module);
	return true;
}

bool thrum__port_is_code(const void *address)
{
	struct place place;

	if (!find_place(address, &place))
		return false;
	const ElfW(Ehdr) *file = place.start;

	if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	const ElfW(Phdr) *part = (const void *)((const uint8_t *)place.start + file->e_phoff);

	for (unsigned i = 0; i < file->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && part[i].p_flags & PF_X &&
			(uintptr_t)address - (place.address + part[i].p_vaddr) < part[i].p_memsz)
			return true;
	return false;
}
