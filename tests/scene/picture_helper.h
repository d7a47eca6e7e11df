/* SPDX-License-Identifier: ISC */
/* Pictures of traces that a test writes event by event, and questions about their texts. */
#ifndef SCENE_PICTURE_HELPER_H
#define SCENE_PICTURE_HELPER_H

#include "scene/scene.h"

struct picture {
	struct thrum__model *model;
	struct thrum__scene *scene;
	struct thrum__draw_list list;
};

/* Makes the picture of a story, see support/story.h. Aborts on failure. */
void picture_init(struct picture *, const char *lines, bool is_mirage);
/* Makes the picture of a model, which it owns from now on. Time is not folded. */
void picture_of_model(struct picture *, struct thrum__model *);
void picture_finish(struct picture *);

/* Paints it, after settling; then list holds the frame. */
void picture_paint(struct picture *, float width, float height);

/* A text of the frame, as a box. */
struct written {
	const char *text;
	size_t size;
	float x, y, width; /* y: of the base line */
	int z, font, colour;
};

/* Calls `found` for each text whose z lies in first … last. */
void picture_texts(const struct picture *, int first, int last,
	void (*found)(void *context, const struct written *), void *context);

/* How many texts are equal to `text`; the last of them in *where (may be NULL). */
unsigned picture_find(const struct picture *, const char *text, struct written *where);

/* Whether there is an item of an op and a colour at exactly these whole numbers; NAN: any. */
bool picture_has_rect(const struct picture *, int colour, float x, float y, float width,
	float height);

/* Asserts that names lie in the tracks, and that no two of them overlap. Returns their number. */
unsigned picture_check_names(const struct picture *, float top, float bottom, float right);

#endif
