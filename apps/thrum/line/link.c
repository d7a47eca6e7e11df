/* SPDX-License-Identifier: ISC */
/* Links as terminals know them: OSC 8, a proposal by Egmont Koblinger ("Hyperlinks in Terminal
 * Emulators"). Terminals that don't know it show the text alone. */
#define _GNU_SOURCE
#include "line/link.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"

#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/"
#define PATH_LONGEST 500 /* bytes: a line's room is limited */

/* Whether the terminal shows no rubbish instead. The console of Linux has its own meaning for OSC. */
static bool knows_links(void)
{
	const char *terminal = getenv("TERM");

	return terminal && *terminal && strcmp(terminal, "linux") != 0 &&
		output_wants_color(COLOR_AUTO);
}

static void write_path(struct output *out, const char *path)
{
	static const char digits[] = "0123456789ABCDEF";

	for (; *path; path++) {
		char escape[] = {'%', digits[(unsigned char)*path >> 4],
			digits[(unsigned char)*path & 15]};

		if (strchr(SAFE, *path))
			output_bytes(out, path, 1);
		else
			output_bytes(out, escape, sizeof(escape));
	}
}

/* Files that were looked for: a dump names the same ones in each line. A place has the one that was
 * looked for last. */
#define REMEMBERED 64
static struct {
	char file[128], path[PATH_LONGEST + 1]; /* path: empty if there is no such file */
} remembered[REMEMBERED];

/* Returns the whole path of a file, or "" if it isn't there, or if a path is too long. */
static const char *find_path(const char *file)
{
	size_t size = strlen(file), at = thrum__base_hash_text(0, file, size) % REMEMBERED;
	char path[PATH_MAX];

	if (size >= sizeof(remembered->file) || size == 0)
		return "";
	if (strcmp(remembered[at].file, file) != 0) {
		bool is_there = realpath(file, path) && strlen(path) <= PATH_LONGEST;

		strcpy(remembered[at].file, file);
		strcpy(remembered[at].path, is_there ? path : "");
	}
	return remembered[at].path;
}

bool link_begin(struct output *out, const char *file)
{
	static int knows = -1;
	char host[256] = "";
	const char *path;
	bool is_link;

	if (knows < 0)
		knows = knows_links();
	path = knows ? find_path(file) : "";
	is_link = *path != '\0';
	if (is_link) {
		/* A terminal may show what runs on another machine. */
		gethostname(host, sizeof(host) - 1);
		output_text(out, "\033]8;;file://");
		write_path(out, host);
		write_path(out, path);
		output_text(out, "\033\\");
	}
	return is_link;
}

void link_end(struct output *out)
{
	output_text(out, "\033]8;;\033\\");
}
