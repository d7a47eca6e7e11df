/* SPDX-License-Identifier: ISC */
/* The picture's own header: picture.c paints, input.c handles input, outline.c tells
 * screen readers. */
#ifndef PICTURE_PARTS_H
#define PICTURE_PARTS_H

#include "draw/replay.h"
#include "picture/picture.h"

struct _AppPicture {
	GtkWidget parent;
	struct thrum__stage *stage;
	struct thrum__draw_text_cache texts;
	unsigned tick;    /* the callback for frames while some are wanted, else 0 */
	unsigned changes; /* enum thrum__stage_changed: not emitted yet */
	double x, y;      /* of the pointer */
	unsigned with;    /* the modifiers of the pointer */
	bool is_dragging, is_double, is_pinching;
	bool measures;                     /* the next drag */
	double spread, middle_x, middle_y; /* of two fingers: the last scale, and their middle */
	double speed_x, speed_y;           /* of kinetic scrolling, in px/s */
	int64_t last_tick;                 /* µs */
	GPtrArray *outline;                /* of widgets: outline.c */
	guint outline_wait;                /* the source that makes it anew, or 0 */
};

/* Adds the event controllers. */
void picture_listen(AppPicture *);
/* Advances kinetic scrolling to the time `now` (µs). Returns false once it has come to rest. */
bool picture_coast(AppPicture *, int64_t now);

/* Makes the outline anew, soon; and ends it. */
void picture_outline(AppPicture *);
void picture_outline_end(AppPicture *);

#endif
