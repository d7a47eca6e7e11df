/* SPDX-License-Identifier: ISC */
/* The names of parts. */
#include <stdio.h>
#include <string.h>

#include "world/parts.h"

void thrum__world_put_name(const struct thrum_trace_info *info, const char *file,
	char to[THRUM__WORLD_NAME])
{
	static const char ending[] = ".thrum.";
	const char *slash = file ? strrchr(file, '/') : NULL, *name = slash ? slash + 1 : file;
	const char *dot = name ? strrchr(name, '.') : NULL,
		   *child = name ? strstr(name, ending) : NULL;
	int size = !name ? 0 : dot && dot > name ? (int)(dot - name) : (int)strlen(name);

	if (child && child > name &&
		strspn(child + strlen(ending), "0123456789") == strlen(child) - strlen(ending))
		snprintf(to, THRUM__WORLD_NAME / 2, "%.*s%s", (int)(child - name), name,
			child + strlen(ending) - 1);
	else if (size > 0)
		snprintf(to, THRUM__WORLD_NAME / 2, "%.*s", size, name);
	else
		snprintf(to, THRUM__WORLD_NAME / 2, "%s",
			*info->program ? info->program : "program");
}
