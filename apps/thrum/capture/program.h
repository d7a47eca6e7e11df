/* SPDX-License-Identifier: ISC */
/* The facts about a program that decide whether thrum can see what it does. */
#ifndef CAPTURE_PROGRAM_H
#define CAPTURE_PROGRAM_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

enum program_kind {
	PROGRAM_DYNAMIC, /* the dynamic linker can load a library into it */
	PROGRAM_STATIC,
	PROGRAM_FOREIGN,  /* for another processor or word size than thrum's own */
	PROGRAM_NO_GLIBC, /* dynamic, but its C library is another than the GNU one */
	PROGRAM_UNKNOWN,  /* neither an ELF program nor a script */
};

/* Libraries that a program may contain, instead of needing the shared library. */
enum program_part {
	PROGRAM_LIBTHRUM,
	PROGRAM_LIBUV,
	PROGRAM_GLIB,
	PROGRAM_LIBEVENT,
};

struct program {
	char path[PATH_MAX];   /* of the program; of its interpreter if it is a script */
	char script[PATH_MAX]; /* the script's path, or "" */
	enum program_kind kind;
	bool gains_rights; /* setuid, setgid or with capabilities that the caller lacks */
	/* It has a sanitizer (AddressSanitizer, …), whose library must be the first. */
	bool is_sanitized;
	char **libraries; /* names of the shared libraries that it needs, "libuv.so.1" */
	char **missing;   /* those among them that the linker doesn't find */
	size_t library_count, missing_count;
};

/*
 * Finds a program as execvp(3) does, and reads what its file says. Runs the dynamic linker with
 * --list, never the program. Returns 0; or an errno, with nothing to free. Free with program_free.
 */
int program_of_file(const char *name, struct program *);

/* Whether the dynamic linker would load one more library into the program. */
static inline bool program_takes_library(const struct program *program)
{
	return program->kind == PROGRAM_DYNAMIC && !program->gains_rights && !program->is_sanitized;
}

/*
 * Does the same for a running process; its libraries are those that it has mapped now. ESRCH: there
 * is no such process; EACCES: it belongs to somebody else.
 */
int program_of_process(long pid, struct program *);

/* Whether the file names a function of this library. Looks through the whole file. */
bool program_mentions(const struct program *, enum program_part);

void program_free(struct program *);

#endif
