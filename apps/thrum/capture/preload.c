/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "capture/preload.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "line/command.h"
#include "line/library.h"
#include "line/text.h"
#include "thrum.h"

/* Writes the names of the chosen adapters, and words for what else is wanted, with commas between
 * them. Returns how many adapters there are. */
static int put_chosen(const struct preload_options *options, char *to)
{
	const char *name = PRELOAD_ADAPTERS;
	uint64_t chosen = (options->only ? options->only : UINT64_MAX) & ~options->without;
	int count = 0;

	for (int i = 0; *name; i++) {
		size_t length = strcspn(name, "|");

		if (chosen >> i & 1)
			to += sprintf(to, "%s%.*s", count++ ? "," : "", (int)length, name);
		name += length + (name[length] == '|');
	}
	if (options->only)
		to = stpcpy(to, ",anyway");
	if (options->follow)
		strcpy(to, ",follow");
	return count;
}

/* Makes what counts the forked children, and adds its name to the list. It stays open. Returns NULL if that
 * can't be had: then each process counts its own. */
static struct thrum__adapt_forks *make_forks(char *list)
{
	int fd = memfd_create("thrum", MFD_CLOEXEC);
	struct thrum__adapt_forks *forks = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*forks)) == 0)
		forks = mmap(NULL, sizeof(*forks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (forks == MAP_FAILED)
		return NULL;
	forks->magic = FORKS_MAGIC;
	sprintf(list + strlen(list), "," FORKS_WORD "/proc/%d/fd/%d", (int)getpid(), fd);
	return forks;
}

bool preload_adapters(const struct preload_options *options, const struct program *program,
	struct thrum__adapt_forks **forks)
{
	const char *before = getenv("LD_PRELOAD");
	char library[PATH_MAX], chosen[sizeof(PRELOAD_ADAPTERS) + 96] = "", *list;
	bool is_set;

	if (options->none || put_chosen(options, chosen) == 0 || !program_takes_library(program) ||
		!library_find("libthrum-adapt.so", library, sizeof(library)))
		return false;
	/* The dynamic linker takes these for separators. */
	if (strpbrk(library, ": "))
		return false;
	if (asprintf(&list, "%s%s%s", before ? before : "", before && *before ? ":" : "", library) <
		0)
		return false;
	*forks = make_forks(chosen);
	is_set = setenv("THRUM_ADAPT", chosen, 1) == 0 && setenv("LD_PRELOAD", list, 1) == 0;
	free(list);
	return is_set;
}

void preload_tell_forks(const struct thrum__adapt_forks *forks)
{
	uint32_t refused = forks ? atomic_load(&forks->refused) : 0;
	uint32_t failed = forks ? atomic_load(&forks->failed) : 0;
	int error = forks ? atomic_load(&forks->error) : 0;
	char number[NUMBER_ROOM];

	*put_count(number, refused) = '\0';
	if (refused)
		complain("%s forked %s recorded nothing: %d others do, and no more may", number,
			refused == 1 ? "child has" : "children have", FORKS_MAX);
	*put_count(number, failed) = '\0';
	if (failed)
		complain("%s forked %s recorded nothing: %s%s", number,
			failed == 1 ? "child has" : "children have", thrum_error_message(error),
			error == -THRUM_E_ACCESS
				? "; one that gave up its rights needs --output in a directory in "
				  "which it may make files"
				: "");
}
