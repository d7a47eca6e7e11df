/* SPDX-License-Identifier: ISC */
/* Links as terminals know them: OSC 8, a proposal by Egmont Koblinger ("Hyperlinks in Terminal
 * Emulators"). Terminals that don't know it show the text alone. */
#define _GNU_SOURCE
#include "link.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool link_begin(struct output *out, const char *file)
{
	char host[256] = "";
	char *path = knows_links() ? realpath(file, NULL) : NULL;
	bool is_link = path && strlen(path) <= PATH_LONGEST;

	if (is_link) {
		/* A terminal may show what runs on another machine. */
		gethostname(host, sizeof(host) - 1);
		output_text(out, "\033]8;;file://");
		write_path(out, host);
		write_path(out, path);
		output_text(out, "\033\\");
	}
	free(path);
	return is_link;
}

void link_end(struct output *out)
{
	output_text(out, "\033]8;;\033\\");
}
