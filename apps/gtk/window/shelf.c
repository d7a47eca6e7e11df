/* SPDX-License-Identifier: ISC */
#include "window/shelf.h"

#include <stdbool.h>

#define CHILDREN_MAX 32

typedef struct {
	GtkLayoutManager parent;
	int spacing;
} Shelf;

typedef GtkLayoutManagerClass ShelfClass;

static GType shelf_get_type(void);
G_DEFINE_TYPE(Shelf, shelf, GTK_TYPE_LAYOUT_MANAGER)

/* The visible children with the widths that they ask for; `data` is the child. */
struct row {
	GtkRequestedSize sizes[CHILDREN_MAX];
	guint count;
	int least, natural; /* sums, with the spacing */
};

static unsigned rank_of(GtkWidget *child)
{
	return GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(child), "rank"));
}

static void add_up(struct row *row, int spacing)
{
	int gaps = row->count > 1 ? (int)(row->count - 1) * spacing : 0;

	row->least = row->natural = gaps;
	for (guint i = 0; i < row->count; i++) {
		row->least += row->sizes[i].minimum_size;
		row->natural += row->sizes[i].natural_size;
	}
}

static void ask_all(const Shelf *shelf, GtkWidget *widget, struct row *row)
{
	row->count = 0;
	for (GtkWidget *child = gtk_widget_get_first_child(widget);
		child && row->count < CHILDREN_MAX; child = gtk_widget_get_next_sibling(child)) {
		GtkRequestedSize *size = &row->sizes[row->count];

		if (!gtk_widget_should_layout(child))
			continue;
		size->data = child;
		gtk_widget_measure(child, GTK_ORIENTATION_HORIZONTAL, -1, &size->minimum_size,
			&size->natural_size, NULL, NULL);
		row->count++;
	}
	add_up(row, shelf->spacing);
}

/* Takes out the child of the greatest rank. Returns false if all that are left have rank 0. */
static bool leave_out_one(const Shelf *shelf, struct row *row)
{
	guint least = 0;

	for (guint i = 1; i < row->count; i++)
		if (rank_of(row->sizes[i].data) > rank_of(row->sizes[least].data))
			least = i;
	if (row->count == 0 || rank_of(row->sizes[least].data) == 0)
		return false;
	row->count--;
	for (guint i = least; i < row->count; i++)
		row->sizes[i] = row->sizes[i + 1];
	add_up(row, shelf->spacing);
	return true;
}

static void measure_shelf(GtkLayoutManager *manager, GtkWidget *widget, GtkOrientation orientation,
	int for_size, int *minimum, int *natural, int *minimum_baseline, int *natural_baseline)
{
	const Shelf *shelf = (Shelf *)manager;
	struct row row;

	ask_all(shelf, widget, &row);
	if (orientation == GTK_ORIENTATION_VERTICAL) {
		for (guint i = 0; i < row.count; i++) {
			int least, wanted;

			gtk_widget_measure(row.sizes[i].data, orientation, -1, &least, &wanted,
				NULL, NULL);
			*minimum = MAX(*minimum, least);
			*natural = MAX(*natural, wanted);
		}
		return;
	}
	*natural = row.natural;
	while (leave_out_one(shelf, &row))
		;
	*minimum = row.least;
}

static bool is_in(const struct row *row, const GtkWidget *child)
{
	for (guint i = 0; i < row->count; i++)
		if (row->sizes[i].data == child)
			return true;
	return false;
}

static void allocate_shelf(GtkLayoutManager *manager, GtkWidget *widget, int width, int height,
	int baseline)
{
	const Shelf *shelf = (Shelf *)manager;
	bool is_rtl = gtk_widget_get_direction(widget) == GTK_TEXT_DIR_RTL;
	struct row row;
	int left, x = 0;

	ask_all(shelf, widget, &row);
	while (row.least > width && leave_out_one(shelf, &row))
		;
	left = gtk_distribute_natural_allocation(MAX(width - row.least, 0), row.count, row.sizes);
	for (GtkWidget *child = gtk_widget_get_first_child(widget); child;
		child = gtk_widget_get_next_sibling(child))
		gtk_widget_set_child_visible(child, is_in(&row, child));
	for (guint i = 0; i < row.count; i++) {
		GtkWidget *child = row.sizes[i].data;
		int size = row.sizes[i].minimum_size;

		if (gtk_widget_compute_expand(child, GTK_ORIENTATION_HORIZONTAL)) {
			size += left;
			left = 0;
		}
		gtk_widget_size_allocate(child,
			&(GtkAllocation){is_rtl ? width - x - size : x, 0, size, height}, baseline);
		x += size + shelf->spacing;
	}
}

static void shelf_class_init(ShelfClass *class)
{
	class->measure = measure_shelf;
	class->allocate = allocate_shelf;
}

static void shelf_init(Shelf *shelf)
{
}

GtkWidget *shelf_new(int spacing)
{
	GtkWidget *widget = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
	Shelf *shelf = g_object_new(shelf_get_type(), NULL);

	shelf->spacing = spacing;
	gtk_widget_set_layout_manager(widget, GTK_LAYOUT_MANAGER(shelf));
	return widget;
}

void shelf_rank(GtkWidget *child, unsigned rank)
{
	g_object_set_data(G_OBJECT(child), "rank", GUINT_TO_POINTER(rank));
}
