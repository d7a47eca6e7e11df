/* SPDX-License-Identifier: ISC */
/* The picture for screen readers: a tree of widgets that paint nothing, each with a sentence about what
 * lies there. */
#include "picture/parts.h"

#define PAUSE_MS 300 /* so often it is made anew at most, while the picture changes */

/* Sets the number of items. */
static void set_count(AppPicture *picture, uint32_t count)
{
	while (picture->outline->len > count) {
		gtk_widget_unparent(picture->outline->pdata[picture->outline->len - 1]);
		g_ptr_array_set_size(picture->outline, (int)picture->outline->len - 1);
	}
	while (picture->outline->len < count) {
		GtkWidget *item = g_object_new(GTK_TYPE_DRAWING_AREA, "accessible-role",
			GTK_ACCESSIBLE_ROLE_TREE_ITEM, "can-target", FALSE, "name", "outline",
			NULL);

		gtk_widget_set_parent(item, GTK_WIDGET(picture));
		g_ptr_array_add(picture->outline, item);
	}
}

static void tell_item(GtkWidget *widget, const struct thrum__scene_item *item)
{
	GtkAccessible *accessible = GTK_ACCESSIBLE(widget);

	g_object_set_data_full(G_OBJECT(widget), "words", g_strdup(item->words), g_free);

	gtk_accessible_update_property(accessible, GTK_ACCESSIBLE_PROPERTY_LABEL, item->words,
		GTK_ACCESSIBLE_PROPERTY_LEVEL, (int)item->level, -1);
	gtk_accessible_update_state(accessible, GTK_ACCESSIBLE_STATE_SELECTED, (int)item->is_chosen,
		-1);
	if (item->can_open)
		gtk_accessible_update_state(accessible, GTK_ACCESSIBLE_STATE_EXPANDED,
			(int)item->is_open, -1);
	else
		gtk_accessible_reset_state(accessible, GTK_ACCESSIBLE_STATE_EXPANDED);
}

static gboolean tell(gpointer data)
{
	AppPicture *picture = data;
	const struct thrum__stage *stage = picture->stage;
	g_autofree struct thrum__scene_item *items = g_new(struct thrum__scene_item,
		THRUM__OUTLINE_MAX);
	uint32_t count = stage->count > 0
		? thrum__scene_outline(stage->parts[stage->focus].scene, items)
		: 0;

	picture->outline_wait = 0;
	set_count(picture, count);
	for (uint32_t i = 0; i < count; i++)
		tell_item(picture->outline->pdata[i], &items[i]);
	return G_SOURCE_REMOVE;
}

void picture_outline(AppPicture *picture)
{
	if (picture->outline_wait == 0)
		picture->outline_wait = g_timeout_add(PAUSE_MS, tell, picture);
}

void picture_outline_end(AppPicture *picture)
{
	g_clear_handle_id(&picture->outline_wait, g_source_remove);
	set_count(picture, 0);
}
