/* SPDX-License-Identifier: ISC */
#include "loading.h"

#include "canvas/paint.h"
#include "theme.h"

struct loading {
	struct thrum__coarse coarse;
	double part; /* as loading_show has it */
	struct thrum__text_cache texts;
	struct thrum__list list;
};

static void draw(GtkDrawingArea *area, cairo_t *cairo, int width, int height, void *data)
{
	struct loading *loading = data;
	double part = loading->part < 0 ? 1 : loading->part;

	/* Without memory there is less to see. */
	if (thrum__coarse_frame(&loading->coarse, part, (float)width, (float)height,
		    &loading->texts.metrics, &loading->list) == 0)
		thrum__canvas_paint(cairo, &loading->list, 1, theme_now(), &loading->texts);
}

static void destroy(void *data)
{
	struct loading *loading = data;

	thrum__text_cache_finish(&loading->texts);
	thrum__list_finish(&loading->list);
	g_free(loading);
}

GtkWidget *loading_new(void)
{
	struct loading *loading = g_new0(struct loading, 1);
	GtkWidget *area = gtk_drawing_area_new();

	/* As everywhere in GTK. */
	if (thrum__text_cache_init(&loading->texts) < 0)
		g_error("out of memory");
	thrum__list_init(&loading->list);
	g_object_set_data(G_OBJECT(area), "loading", loading);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw, loading, destroy);
	return area;
}

void loading_show(GtkWidget *area, AppTrace *trace, double part)
{
	struct loading *loading = g_object_get_data(G_OBJECT(area), "loading");

	if (part == loading->part)
		return;
	app_trace_coarse(trace, &loading->coarse);
	loading->part = part;
	gtk_widget_queue_draw(area);
}
