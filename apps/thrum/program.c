/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "program.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARTS_MAX 64      /* program headers that are looked at */
#define LIBRARIES_MAX 256 /* dynamic entries that are looked at */

static bool find_path(const char *name, char *path, size_t size)
{
	const char *list = getenv("PATH");
	struct stat status;

	if (strchr(name, '/'))
		return (size_t)snprintf(path, size, "%s", name) < size && stat(path, &status) == 0;
	for (list = list ? list : "/usr/local/bin:/usr/bin:/bin"; *list;) {
		size_t length = strcspn(list, ":");
		int n = snprintf(path, size, "%.*s/%s", (int)length, length ? list : ".", name);

		if (n >= 0 && (size_t)n < size && access(path, X_OK) == 0 &&
			stat(path, &status) == 0)
			return true;
		list += length + (list[length] == ':');
	}
	return false;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* The place in the file of an address in memory; 0: none. */
static uint64_t offset_of(const Elf64_Phdr *parts, unsigned count, uint64_t address)
{
	for (unsigned i = 0; i < count; i++)
		if (parts[i].p_type == PT_LOAD && address >= parts[i].p_vaddr &&
			address - parts[i].p_vaddr < parts[i].p_filesz)
			return address - parts[i].p_vaddr + parts[i].p_offset;
	return 0;
}

static bool is_sanitizer(const char *library)
{
	static const char *const names[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan.",
		"libubsan.", "libclang_rt."};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(library, names[i], strlen(names[i])) == 0)
			return strcmp(names[i], "libubsan.") != 0;
	return false;
}

/* Looks for a sanitizer among the libraries that the program needs. */
static bool needs_sanitizer(int fd, const Elf64_Phdr *parts, unsigned count,
	const Elf64_Phdr *dynamic)
{
	Elf64_Dyn entries[LIBRARIES_MAX];
	size_t n = dynamic->p_filesz / sizeof(entries[0]);
	uint64_t strings = 0;

	n = n < LIBRARIES_MAX ? n : LIBRARIES_MAX;
	if (!read_at(fd, entries, n * sizeof(entries[0]), dynamic->p_offset))
		return false;
	for (size_t i = 0; i < n; i++)
		if (entries[i].d_tag == DT_STRTAB)
			strings = offset_of(parts, count, entries[i].d_un.d_ptr);
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL && strings; i++) {
		char library[32] = "";

		if (entries[i].d_tag == DT_NEEDED &&
			pread(fd, library, sizeof(library) - 1,
				(off_t)(strings + entries[i].d_un.d_val)) > 0 &&
			is_sanitizer(library))
			return true;
	}
	return false;
}

static void look_at_elf(int fd, const Elf64_Ehdr *file, struct program *program)
{
	Elf64_Phdr parts[PARTS_MAX];
	unsigned count = file->e_phnum < PARTS_MAX ? file->e_phnum : PARTS_MAX;
	bool has_interpreter = false;

	if (file->e_ident[EI_CLASS] != ELFCLASS64 ||
		!read_at(fd, parts, count * sizeof(parts[0]), file->e_phoff))
		return;
	for (unsigned i = 0; i < count; i++) {
		has_interpreter |= parts[i].p_type == PT_INTERP;
		if (parts[i].p_type == PT_DYNAMIC)
			program->is_sanitized = needs_sanitizer(fd, parts, count, &parts[i]);
	}
	program->is_static = !has_interpreter;
}

/* ---- Scripts --------------------------------------------------------------------------------- */

/* Returns the interpreter that a script's first line names, or the program that `env` is to find. */
static char *interpreter(char *line)
{
	char *word, *rest;

	line[strcspn(line, "\n")] = '\0';
	word = strtok_r(line, " \t", &rest);
	if (word && strcmp(strrchr(word, '/') ? strrchr(word, '/') : word, "/env") == 0)
		do
			word = strtok_r(NULL, " \t", &rest);
		while (word && word[0] == '-');
	return word;
}

static void look(const char *name, struct program *program, bool may_be_script)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head = {.text = ""};
	struct stat status;
	int fd;

	if (!find_path(name, program->path, sizeof(program->path)) ||
		stat(program->path, &status) < 0) {
		program->path[0] = '\0';
		return;
	}
	program->is_setuid = status.st_mode & (S_ISUID | S_ISGID) &&
		(status.st_uid != getuid() || status.st_gid != getgid());
	fd = open(program->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (pread(fd, &head, sizeof(head) - 1, 0) >= (ssize_t)sizeof(head.elf) &&
		memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
		look_at_elf(fd, &head.elf, program);
	} else if (may_be_script && memcmp(head.text, "#!", 2) == 0) {
		char *by = interpreter(head.text + 2);

		if (by)
			look(by, program, false);
	}
	close(fd);
}

void program_look(const char *name, struct program *program)
{
	*program = (struct program){.path = ""};
	look(name, program, true);
}
