/* SPDX-License-Identifier: ISC */
/*
 * Lines come by a pipe. The program waits in poll() before it reads each of them, though the stream
 * has read the second one with the first, so it waits for ever, until SIGALRM ends it. With the
 * argument "part" only a part of that line has come; with "late" the program reads the line once it
 * has waited for long enough, and with "plain" the stream reads no more than asked.
 */
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"

int main(int argc, char **argv)
{
	const char *chosen = argc > 1 ? argv[1] : "";
	bool is_part = strcmp(chosen, "part") == 0, is_late = strcmp(chosen, "late") == 0;
	const char *text = is_part ? "first\nsec" : "first\nsecond\n";
	struct pollfd ready = {.events = POLLIN};
	char line[64];
	int ends[2];
	FILE *stream;

	end_after(2);
	if (pipe(ends) != 0 || write(ends[1], text, strlen(text)) < 0)
		return 1;
	stream = fdopen(ends[0], "r");
	if (strcmp(chosen, "plain") == 0)
		setvbuf(stream, NULL, _IONBF, 0);
	ready.fd = ends[0];
	for (int i = 0; i < 2; i++) {
		while (poll(&ready, 1, is_late ? 600 : 5000) == 0 && !is_late)
			continue;
		if (!fgets(line, sizeof line, stream))
			return 1;
		fputs(line, stdout);
	}
	return 0;
}
