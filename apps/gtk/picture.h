/* SPDX-License-Identifier: ISC */
/* What the picture's files share: picture.c shows, picture_input.c listens. */
#ifndef PICTURE_H
#define PICTURE_H

#include "app.h"
#include "draw/replay.h"

struct _AppPicture {
	GtkWidget parent;
	struct thrum__stage *stage;
	struct thrum__draw_text_cache texts;
	unsigned tick;    /* while a frame is wanted: its callback; or 0 */
	unsigned changes; /* enum thrum__stage_changed, of which nobody was told yet */
	double x, y;      /* of the pointer */
	unsigned with;    /* its modifiers */
	bool is_dragging, is_double, is_pinching;
	double spread, middle_x, middle_y; /* of two fingers: their last distance, and middle */
	double speed_x, speed_y;           /* of what goes on scrolling, in px/s */
	int64_t last_tick;                 /* µs */
};

void picture_listen(AppPicture *);
/* Goes on scrolling by what the time since the last tick asks for; false: has come to rest. */
bool picture_coast(AppPicture *, int64_t now);

#endif
