/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE
#include "line/library.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folders of libraries, as seen from that of the command: in the build folder, and installed. */
static const char *const places[] = {"src", THRUM_LIBRARIES};

bool library_find(const char *name, char *path, size_t size)
{
	char command[PATH_MAX], place[2 * PATH_MAX], real[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", command, sizeof(command) - 1);

	if (length <= 0)
		return false;
	command[length] = '\0';
	*strrchr(command, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(place, sizeof(place), "%s/%s/%s", command, places[i], name);
		if (realpath(place, real) && strlen(real) < size) {
			strcpy(path, real);
			return true;
		}
	}
	return false;
}
