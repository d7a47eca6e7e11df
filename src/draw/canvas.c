/* SPDX-License-Identifier: ISC */
/* The part that all canvases share, and the answers of a build without cairo. */
#include "draw/canvas.h"
#include "thrum.h"

struct thrum__draw_rect thrum__draw_size(const struct thrum__draw_list *lists, size_t count)
{
	struct thrum__draw_rect size = {0, 0, 1, 1};

	for (size_t i = 0; i < count; i++) {
		if (lists[i].x + lists[i].width > size.width)
			size.width = lists[i].x + lists[i].width;
		if (lists[i].y + lists[i].height > size.height)
			size.height = lists[i].y + lists[i].height;
	}
	return size;
}

#ifndef HAVE_CAIRO
bool thrum__draw_has_cairo(void)
{
	return false;
}

int thrum__draw_png(const struct thrum__draw_list *lists, size_t count, int theme, float scale,
	thrum__draw_sink *sink, void *context)
{
	return -THRUM_E_ARGUMENT;
}

int thrum__draw_pdf(const struct thrum__draw_list *lists, size_t count, int theme,
	const char *title, thrum__draw_sink *sink, void *context)
{
	return -THRUM_E_ARGUMENT;
}

int thrum__draw_metrics_make(struct thrum__draw_metrics *metrics)
{
	*metrics = thrum__draw_metrics_plain;
	return 0;
}

void thrum__draw_metrics_free(struct thrum__draw_metrics *metrics)
{
}
#endif
