/* SPDX-License-Identifier: ISC */
/* Puts the choice of --as before a state's text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "as.h"
#include "scene/scene.h"

char *as_state(int as, const char *state)
{
	const char *name = thrum__scene_as_name(as);
	size_t size = strlen(name) + (state ? strlen(state) : 0) + sizeof("as=&");
	char *text = malloc(size);

	if (text)
		snprintf(text, size, state && *state ? "as=%s&%s" : "as=%s", name, state);
	return text;
}
