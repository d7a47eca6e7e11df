/* SPDX-License-Identifier: ISC */
#include "picture/loading.h"

#include <math.h>

#include "desktop/theme.h"
#include "draw/replay.h"
#include "stage/stage.h"

struct loading {
	struct {
		struct thrum__scene_coarse coarse;
		double part; /* that was read, 0 … 1 */
		char *name;
	} traces[THRUM__STAGE_MAX];
	unsigned count;
	struct thrum__draw_text_cache texts;
	struct thrum__draw_list lists[2 * THRUM__STAGE_MAX];
};

/* Makes the display lists and returns their number. Out of memory, there are fewer. */
static size_t make_lists(struct loading *loading, float width, float height)
{
	float head = loading->count > 1 ? THRUM__HEAD : 0, top = 0;
	struct thrum__draw_list *list = loading->lists;

	for (unsigned i = 0; i < loading->count; i++) {
		float next = floorf(height * (float)(i + 1) / (float)loading->count);

		if (head > 0)
			thrum__stage_head(list++, top, width, i == 0, false,
				loading->traces[i].name);
		if (thrum__scene_coarse_frame(&loading->traces[i].coarse, loading->traces[i].part,
			    width, next - top - head, &loading->texts.metrics, list) < 0)
			break;
		list->x = 0;
		list->y = top + head;
		list++;
		top = next;
	}
	return (size_t)(list - loading->lists);
}

static void draw_loading(GtkDrawingArea *area, cairo_t *cairo, int width, int height, void *data)
{
	struct loading *loading = data;
	size_t count = make_lists(loading, (float)width, (float)height);

	thrum__draw_replay(cairo, loading->lists, count, theme_now(), &loading->texts);
}

static void free_loading(void *data)
{
	struct loading *loading = data;

	thrum__draw_text_cache_finish(&loading->texts);
	for (size_t i = 0; i < G_N_ELEMENTS(loading->lists); i++)
		thrum__draw_list_finish(&loading->lists[i]);
	for (size_t i = 0; i < THRUM__STAGE_MAX; i++)
		g_free(loading->traces[i].name);
	g_free(loading);
}

GtkWidget *loading_new(void)
{
	struct loading *loading = g_new0(struct loading, 1);
	GtkWidget *area = gtk_drawing_area_new();

	/* GTK aborts when out of memory, too. */
	if (thrum__draw_text_cache_init(&loading->texts) < 0)
		g_error("out of memory");
	for (size_t i = 0; i < G_N_ELEMENTS(loading->lists); i++)
		thrum__draw_list_init(&loading->lists[i]);
	g_object_set_data(G_OBJECT(area), "loading", loading);
	gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(area), draw_loading, loading, free_loading);
	return area;
}

void loading_show(GtkWidget *area, AppTrace *const *traces, const double *parts, unsigned count)
{
	struct loading *loading = g_object_get_data(G_OBJECT(area), "loading");

	loading->count = count;
	for (unsigned i = 0; i < count; i++) {
		app_trace_coarse(traces[i], &loading->traces[i].coarse);
		loading->traces[i].part = MIN(parts[i], 1);
		g_free(loading->traces[i].name);
		loading->traces[i].name = g_strdup(app_trace_name(traces[i]));
	}
	gtk_widget_queue_draw(area);
}
