/* SPDX-License-Identifier: ISC */
/* The page on the differences of the first two traces, GOOD and BAD. A difference is a link that
 * selects its tasks in both. */
#include "pane/parts.h"

#define LIVE "Pause to compare: a program still writes one of these traces."

static void go_task(void *data, unsigned side, uint32_t task)
{
	pane_go_task_of(data, side, task);
}

static void hover_task(void *data, unsigned side, uint32_t task)
{
	pane_hover_task_of(data, side, task);
}

static void drop_page(AppPane *self)
{
	GtkWidget *child;

	while ((child = gtk_widget_get_first_child(self->diff_box)))
		gtk_box_remove(GTK_BOX(self->diff_box), child);
}

void pane_diff_clear(AppPane *self)
{
	drop_page(self);
	if (self->has_comparison)
		thrum__diff_free(&self->comparison);
	self->has_comparison = false;
}

void pane_diff_tell(AppPane *self)
{
	gtk_stack_page_set_visible(self->diff_tab, self->count >= THRUM__SIDES);
}

/* Whether a program writes to one of the traces: then the comparison would be wrong at once. */
static bool is_live(AppPane *self)
{
	bool is = false;

	for (int side = 0; side < THRUM__SIDES; side++)
		is |= app_trace_state(self->traces[side]) == APP_TRACE_LIVE;
	return is;
}

/* Whether the comparison is of the traces as they are. */
static bool is_up_to_date(AppPane *self)
{
	bool is = self->has_comparison;

	for (int side = 0; side < THRUM__SIDES && is; side++)
		is = self->compared[side] == app_trace_model(self->traces[side])->events;
	return is;
}

static void add_words(AppPane *self, const char *text)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_widget_add_css_class(label, "empty");
	gtk_box_append(GTK_BOX(self->diff_box), label);
}

static void add_document(AppPane *self)
{
	const char *names[THRUM__SIDES];
	struct thrum__document document;
	GtkWidget *words;

	for (int side = 0; side < THRUM__SIDES; side++)
		names[side] = app_trace_name(self->traces[side]);
	thrum__document_init(&document);
	if (thrum__document_diff(&self->comparison, names, &document) == 0) {
		words = pane_document_new(&document, &self->diff_links);
		gtk_widget_set_name(words, "diff-words");
		gtk_widget_add_css_class(words, "differences");
		gtk_box_append(GTK_BOX(self->diff_box), words);
	}
	thrum__document_finish(&document);
}

void pane_diff_fill(AppPane *self)
{
	const struct thrum__model *models[THRUM__SIDES];

	if (self->count < THRUM__SIDES || is_up_to_date(self))
		return;
	pane_diff_clear(self);
	if (is_live(self)) {
		add_words(self, LIVE);
		return;
	}
	for (int side = 0; side < THRUM__SIDES; side++) {
		models[side] = app_trace_model(self->traces[side]);
		self->compared[side] = models[side]->events;
	}
	if (thrum__diff_make(models[THRUM__GOOD], models[THRUM__BAD], &self->comparison) < 0)
		return;
	self->has_comparison = true;
	add_document(self);
}

void pane_diff_init(AppPane *self)
{
	self->diff_links = self->links;
	self->diff_links.go_task = go_task;
	self->diff_links.hover_task = hover_task;
	self->diff = gtk_scrolled_window_new();
	self->diff_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_add_css_class(self->diff_box, "details");
	gtk_widget_set_name(self->diff, "pane-differences");
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->diff), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->diff), self->diff_box);
	self->diff_tab = gtk_stack_add_titled(GTK_STACK(self->stack), self->diff, "differences",
		"Diff");
	gtk_stack_page_set_visible(self->diff_tab, FALSE);
}
