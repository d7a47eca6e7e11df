/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "capture/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 4 /* interpreters that are scripts themselves; the kernel allows as many */

/* ---- Lists of names -------------------------------------------------------------------------- */

/* Appends a copy of a name that the list doesn't have yet. Returns 0 or ENOMEM. */
static int add_name(char ***names, size_t *count, const char *name, size_t size)
{
	char **grown, *copy;

	for (size_t i = 0; i < *count; i++)
		if (strncmp((*names)[i], name, size) == 0 && !(*names)[i][size])
			return 0;
	grown = realloc(*names, (*count + 1) * sizeof(*grown));
	if (!grown)
		return ENOMEM;
	*names = grown;
	copy = strndup(name, size);
	if (!copy)
		return ENOMEM;
	grown[(*count)++] = copy;
	return 0;
}

static void free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

void program_free(struct program *program)
{
	free_names(program->libraries, program->library_count);
	free_names(program->missing, program->missing_count);
	*program = (struct program){0};
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Finds a program as execvp(3) does. Returns 0 or an errno. */
static int find_file(const char *name, char path[PATH_MAX])
{
	const char *directory = getenv("PATH");

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return access(path, F_OK) == 0 ? 0 : errno;
	}
	for (directory = directory ? directory : "/usr/local/bin:/usr/bin:/bin"; *directory;) {
		size_t size = strcspn(directory, ":");
		int n = snprintf(path, PATH_MAX, "%.*s/%s", (int)size, size ? directory : ".",
			name);

		if (n < PATH_MAX && access(path, X_OK) == 0)
			return 0;
		directory += size + (directory[size] == ':');
	}
	return ENOENT;
}

/* The word behind "#!", or behind "#!/usr/bin/env"; NULL if the text is no script's beginning. */
static char *interpreter_of(char *text)
{
	char *word, *rest;

	if (strncmp(text, "#!", 2) != 0)
		return NULL;
	word = strtok_r(text + 2, " \t\r\n", &rest);
	if (word && strcmp(word, "/usr/bin/env") == 0)
		do
			word = strtok_r(NULL, " \t\r\n", &rest);
		while (word && word[0] == '-');
	return word;
}

static bool gains_rights(const char *path, const struct stat *status)
{
	return (status->st_mode & S_ISUID && status->st_uid != getuid()) ||
		(status->st_mode & S_ISGID && status->st_gid != getgid()) ||
		(getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0);
}

/* ---- Its libraries --------------------------------------------------------------------------- */

static bool is_sanitizer(const char *library)
{
	static const char *const names[] = {"libasan.", "libtsan.", "liblsan.", "libhwasan.",
		"libclang_rt."};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(library, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Takes a line of the dynamic linker: "libuv.so.1 => /lib/libuv.so.1 (0x7f…)". */
static int add_line(struct program *program, char *line)
{
	char *name = line + strspn(line, " \t");
	char *slash, *end = name + strcspn(name, " ");
	bool is_missing = strstr(line, "not found") != NULL;

	slash = memrchr(name, '/', (size_t)(end - name));
	name = slash ? slash + 1 : name;
	if (!strstr(name, ".so"))
		return 0;
	program->is_sanitized |= is_sanitizer(name);
	if (is_missing)
		return add_name(&program->missing, &program->missing_count, name,
			(size_t)(end - name));
	return add_name(&program->libraries, &program->library_count, name, (size_t)(end - name));
}

/* Finds the dynamic linker of this program itself. Ends at the first module, which is the program. */
static int find_linker(struct dl_phdr_info *module, size_t size, void *linker)
{
	(void)size;
	for (int i = 0; i < module->dlpi_phnum; i++)
		if (module->dlpi_phdr[i].p_type == PT_INTERP)
			*(const char **)linker = (const char *)(uintptr_t)(module->dlpi_addr +
				module->dlpi_phdr[i].p_vaddr);
	return 1;
}

/* Asks the dynamic linker for the libraries. It prints them and doesn't run the program. The linker is
 * that of thrum itself: a file could name anything as its own. */
static int list_libraries(struct program *program)
{
	const char *linker = NULL;
	char name[] = "ld.so", option[] = "--list", *line = NULL;
	char *arguments[] = {name, option, program->path, NULL};
	posix_spawn_file_actions_t actions;
	size_t room = 0;
	int pipes[2], error;
	FILE *input;
	pid_t child;

	dl_iterate_phdr(find_linker, &linker);
	if (!linker)
		return 0;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return errno;
	error = posix_spawn_file_actions_init(&actions);
	if (error == 0) {
		posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
		posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
		error = posix_spawn(&child, linker, &actions, NULL, arguments, environ);
		posix_spawn_file_actions_destroy(&actions);
	}
	close(pipes[1]);
	input = fdopen(pipes[0], "r");
	while (error == 0 && input && getline(&line, &room, input) > 0)
		error = add_line(program, line);
	free(line);
	if (input)
		fclose(input);
	if (error == 0)
		waitpid(child, NULL, 0);
	return error;
}

/* ---- ELF ------------------------------------------------------------------------------------- */

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_segment;
#define ELF_CLASS_HERE ELFCLASS64
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_segment;
#define ELF_CLASS_HERE ELFCLASS32
#endif

/* The processor that thrum itself was built for. */
static unsigned machine_here(void)
{
	static unsigned machine;
	elf_header own;
	int fd = machine ? -1 : open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, &own, sizeof(own)) == sizeof(own))
		machine = own.e_machine;
	if (fd >= 0)
		close(fd);
	return machine;
}

/* The name of the dynamic linker that the program asks for; NULL if it asks for none, or the file
 * is cut off. */
static const char *linker_of(const char *bytes, size_t size)
{
	elf_header header;
	elf_segment segment;

	memcpy(&header, bytes, sizeof(header));
	for (unsigned i = 0; i < header.e_phnum; i++) {
		uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);

		if (header.e_phoff > size || at + sizeof(segment) > size)
			return NULL;
		memcpy(&segment, bytes + at, sizeof(segment));
		if (segment.p_type == PT_INTERP && segment.p_filesz > 0 &&
			segment.p_offset < size && segment.p_filesz <= size - segment.p_offset &&
			bytes[segment.p_offset + segment.p_filesz - 1] == '\0')
			return bytes + segment.p_offset;
	}
	return NULL;
}

static enum program_kind kind_of(const char *bytes, size_t size)
{
	elf_header header;
	const char *linker;

	if (size < sizeof(header) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return PROGRAM_UNKNOWN;
	memcpy(&header, bytes, sizeof(header));
	if (header.e_ident[EI_CLASS] != ELF_CLASS_HERE || header.e_machine != machine_here())
		return PROGRAM_FOREIGN;
	linker = linker_of(bytes, size);
	if (!linker)
		return PROGRAM_STATIC;
	return strstr(linker, "/ld-linux") || strstr(linker, "/ld.so") || strstr(linker, "/ld64.so")
		? PROGRAM_DYNAMIC
		: PROGRAM_NO_GLIBC;
}

/* Whether a program contains a sanitizer, as those by clang do: a function such as __asan_init. Looks
 * through the file once. */
static bool contains_sanitizer(const char *bytes, size_t size)
{
	static const char end[] = "san_init", *const begins[] = {"__a", "__t", "__l", "__hwa"};

	for (const char *at = bytes;
		(at = memmem(at, size - (size_t)(at - bytes), end, sizeof(end))); at++)
		for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
			size_t length = strlen(begins[i]);

			if ((size_t)(at - bytes) >= length &&
				memcmp(at - length, begins[i], length) == 0)
				return true;
		}
	return false;
}

/* Maps a file for reading. Returns 0 or an errno. */
static int map_file(const char *path, char **bytes, struct stat *status)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, status) < 0 || !S_ISREG(status->st_mode) || status->st_size == 0) {
		error = S_ISDIR(status->st_mode) ? EISDIR : ENOEXEC;
	} else {
		*bytes = mmap(NULL, (size_t)status->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		error = *bytes == MAP_FAILED ? errno : 0;
	}
	close(fd);
	return error;
}

/* Reads a program's file. Sets *next to the interpreter (malloc'ed) if it is a script. */
static int read_file(struct program *program, bool with_libraries, char **next)
{
	struct stat status;
	char first[256] = "", *word, *bytes;
	int error = map_file(program->path, &bytes, &status);

	*next = NULL;
	if (error != 0)
		return error;
	memcpy(first, bytes,
		(size_t)status.st_size < sizeof(first) ? (size_t)status.st_size
						       : sizeof(first) - 1);
	program->gains_rights = gains_rights(program->path, &status);
	program->kind = kind_of(bytes, (size_t)status.st_size);
	program->is_sanitized = contains_sanitizer(bytes, (size_t)status.st_size);
	if (program->kind == PROGRAM_DYNAMIC && with_libraries)
		error = list_libraries(program);
	if (program->kind == PROGRAM_UNKNOWN && (word = interpreter_of(first))) {
		*next = strdup(word);
		error = *next ? 0 : ENOMEM;
	}
	munmap(bytes, (size_t)status.st_size);
	return error;
}

/* ---- The faces ------------------------------------------------------------------------------- */

int program_of_file(const char *name, struct program *program)
{
	char *next = NULL;
	int error;

	*program = (struct program){0};
	error = find_file(name, program->path);
	for (int i = 0; error == 0; i++) {
		error = read_file(program, true, &next);
		if (error != 0 || !next)
			break;
		if (i == 0)
			memcpy(program->script, program->path, sizeof(program->script));
		error = i < SCRIPTS_MAX ? find_file(next, program->path) : ELOOP;
		free(next);
		next = NULL;
	}
	if (error != 0)
		program_free(program);
	return error;
}

bool program_mentions(const struct program *program, enum program_part part)
{
	static const char *const marks[] = {
		[PROGRAM_LIBTHRUM] = "THRUM_TRACE",
		[PROGRAM_LIBUV] = "uv_loop_configure",
		[PROGRAM_GLIB] = "g_main_context_iteration",
		[PROGRAM_LIBEVENT] = "event_base_loop",
	};
	struct stat status;
	char *bytes;
	bool does;

	if (map_file(program->path, &bytes, &status) != 0)
		return false;
	does = memmem(bytes, (size_t)status.st_size, marks[part], strlen(marks[part]) + 1);
	munmap(bytes, (size_t)status.st_size);
	return does;
}

/* Takes a line of /proc/PID/maps: its file is a library if its name says so. */
static int add_mapping(struct program *program, char *line)
{
	char *name = strrchr(line, '/');

	name = name && strstr(name, ".so") ? name + 1 : NULL;
	return name
		? add_name(&program->libraries, &program->library_count, name, strcspn(name, " \n"))
		: 0;
}

int program_of_process(long pid, struct program *program)
{
	char path[64], *line = NULL, *next = NULL;
	size_t room = 0;
	ssize_t size;
	FILE *maps;
	int error;

	*program = (struct program){0};
	snprintf(path, sizeof(path), "/proc/%ld/exe", pid);
	size = readlink(path, program->path, sizeof(program->path) - 1);
	if (size < 0)
		return errno == ENOENT ? ESRCH : errno;
	snprintf(program->path, sizeof(program->path), "%s", path);
	error = read_file(program, false, &next);
	free(next);
	if (error == 0 && readlink(path, program->path, sizeof(program->path) - 1) == size)
		program->path[size] = '\0';
	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = error == 0 ? fopen(path, "re") : NULL;
	if (error == 0 && !maps)
		error = errno;
	while (error == 0 && getline(&line, &room, maps) > 0)
		error = add_mapping(program, line);
	free(line);
	if (maps)
		fclose(maps);
	if (error != 0)
		program_free(program);
	return error;
}
