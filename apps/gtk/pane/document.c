/* SPDX-License-Identifier: ISC */
/* Makes paragraphs into labels and links into links. The texts come from the document, their look
 * from the style sheet. */
#include "pane/document.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "desktop/theme.h"
#include "draw/theme.h"

#define KEY_WIDTH 84 /* pixels, so that values are aligned */

struct making {
	const struct thrum__document *document;
	const struct pane_links *links;
	GtkWidget *box;
	GtkWidget *table; /* gets the next row, or NULL */
	int rows;
};

/* ---- Links --------------------------------------------------------------------------------- */

/* Reads a link "KIND:SIDE:TARGET:UNTIL:SEARCH" that add_piece has made. Returns its kind, or
 * THRUM__LINK_TO_NONE. */
static int read_link(const char *uri, unsigned *side, int64_t *target, int64_t *until)
{
	char word[16];

	if (!uri || sscanf(uri, "%15[a-z]:%u:%" SCNd64 ":%" SCNd64, word, side, target, until) != 4)
		return THRUM__LINK_TO_NONE;
	for (int link = THRUM__LINK_TO_NONE; link <= THRUM__LINK_TO_SITE; link++)
		if (strcmp(thrum__document_link_name(link), word) == 0)
			return link;
	return THRUM__LINK_TO_NONE;
}

/* The search at the end of a link. */
static const char *search_of(const char *uri)
{
	for (int i = 0; i < 4 && uri; i++)
		uri = strchr(uri, ':') ? strchr(uri, ':') + 1 : NULL;
	return uri ? uri : "";
}

static gboolean follow_link(GtkLabel *label, const char *uri, gpointer data)
{
	const struct pane_links *links = data;
	unsigned side;
	int64_t target, until;

	switch (read_link(uri, &side, &target, &until)) {
	case THRUM__LINK_TO_TASK: links->go_task(links->data, side, (uint32_t)target); break;
	case THRUM__LINK_TO_TIME: links->go_time(links->data, target, until); break;
	case THRUM__LINK_TO_RUN: links->go_run(links->data, (uint32_t)target); break;
	case THRUM__LINK_TO_SLOW: links->go_slow(links->data, (uint32_t)target); break;
	case THRUM__LINK_TO_DIFFERENCE: links->go_difference(links->data, (uint32_t)target); break;
	case THRUM__LINK_TO_GROUP: links->go_group(links->data, (uint32_t)target); break;
	case THRUM__LINK_TO_SITE: links->go_site(links->data, (uint32_t)target); break;
	case THRUM__LINK_TO_FILTER: links->go_filter(links->data, search_of(uri)); break;
	default: break;
	}
	return TRUE;
}

static void hover(GtkEventControllerMotion *motion, double x, double y, gpointer data)
{
	GtkWidget *label = gtk_event_controller_get_widget(GTK_EVENT_CONTROLLER(motion));
	const struct pane_links *links = data;
	unsigned side = 0;
	int64_t target, until;
	bool is_task = read_link(gtk_label_get_current_uri(GTK_LABEL(label)), &side, &target,
			       &until) == THRUM__LINK_TO_TASK;

	links->hover_task(links->data, side, is_task ? (uint32_t)target : THRUM__NONE);
}

static void leave(GtkEventControllerMotion *motion, gpointer data)
{
	const struct pane_links *links = data;

	links->hover_task(links->data, 0, THRUM__NONE);
}

static void watch_links(GtkWidget *label, const struct pane_links *links)
{
	GtkEventController *motion = gtk_event_controller_motion_new();

	g_signal_connect(label, "activate-link", G_CALLBACK(follow_link), (gpointer)links);
	g_signal_connect(motion, "motion", G_CALLBACK(hover), (gpointer)links);
	g_signal_connect(motion, "leave", G_CALLBACK(leave), (gpointer)links);
	gtk_widget_add_controller(label, motion);
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* Appends a piece as markup, red if `is_red`; returns whether it is a link. Only here does text from a
 * trace become markup. */
static bool add_piece(GString *markup, const struct making *making,
	const struct thrum__document_piece *piece, bool is_red)
{
	const struct pane_links *links = making->links;
	char *text = g_markup_escape_text(making->document->text + piece->offset,
		(gssize)piece->size);
	char *search = piece->link == THRUM__LINK_TO_FILTER
		? g_markup_escape_text(making->document->text + piece->target, (gssize)piece->until)
		: NULL;
	bool is_link = piece->link != THRUM__LINK_TO_NONE &&
		(piece->link != THRUM__LINK_TO_SITE ||
			links->has_site(links->data, (uint32_t)piece->target));

	if (is_red)
		g_string_append_printf(markup, "<span foreground=\"#%06x\">",
			(unsigned)thrum__draw_theme_colour(theme_now(), THRUM__COLOUR_BAD));
	if (is_link)
		g_string_append_printf(markup,
			"<a href=\"%s:%u:%" PRId64 ":%" PRId64 ":%s\">%s</a>",
			thrum__document_link_name(piece->link), piece->side, piece->target,
			piece->until, search ? search : "", text);
	else
		g_string_append(markup, text);
	if (is_red)
		g_string_append(markup, "</span>");
	g_free(text);
	g_free(search);
	return is_link;
}

static GtkWidget *make_label(const struct making *making,
	const struct thrum__document_piece *pieces, uint32_t count, const char *class)
{
	GString *markup = g_string_new(NULL);
	GtkWidget *label = gtk_label_new(NULL);
	bool has_links = false, is_line = strcmp(class, "line") == 0;

	for (uint32_t i = 0; i < count; i++)
		has_links |= add_piece(markup, making, &pieces[i], is_line && pieces[i].is_bad);
	gtk_label_set_markup(GTK_LABEL(label), markup->str);
	gtk_label_set_wrap(GTK_LABEL(label), TRUE);
	gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_widget_set_valign(label, GTK_ALIGN_START);
	gtk_widget_add_css_class(label, class);
	if (count > 0 && pieces[0].is_bad && !is_line)
		gtk_widget_add_css_class(label, "bad");
	if (has_links)
		watch_links(label, making->links);
	g_string_free(markup, TRUE);
	return label;
}

static GtkWidget *make_text(const struct making *making,
	const struct thrum__document_paragraph *paragraph, const char *class)
{
	return make_label(making, making->document->pieces + paragraph->first, paragraph->count,
		class);
}

static GtkWidget *make_plain(const char *text, const char *class)
{
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_widget_set_valign(label, GTK_ALIGN_START);
	gtk_widget_add_css_class(label, class);
	return label;
}

/* ---- Paragraphs ---------------------------------------------------------------------------- */

static void add_pair(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *key = make_plain(paragraph->key, "key");
	GtkWidget *value = make_text(making, paragraph, "value");
	char *name = g_strdelimit(g_strconcat("pair-", paragraph->key, NULL), " ", '-');

	gtk_widget_set_name(value, name);
	g_free(name);
	gtk_widget_set_size_request(key, KEY_WIDTH, -1);
	gtk_widget_set_hexpand(value, TRUE);
	gtk_box_append(GTK_BOX(row), key);
	gtk_box_append(GTK_BOX(row), value);
	gtk_box_append(GTK_BOX(making->box), row);
}

static void add_line(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *text = make_text(making, paragraph, "line");
	const struct thrum__document_piece *first = making->document->pieces + paragraph->first;

	if (paragraph->count > 0 && first->link == THRUM__LINK_TO_DIFFERENCE) {
		char name[32];

		snprintf(name, sizeof name, "difference-%" PRId64, first->target);
		gtk_widget_set_name(text, name);
	}
	gtk_widget_set_hexpand(text, TRUE);
	gtk_box_append(GTK_BOX(row), text);
	if (paragraph->aside.size > 0) {
		GtkWidget *aside = make_label(making, &paragraph->aside, 1, "aside");

		gtk_label_set_wrap(GTK_LABEL(aside), FALSE);
		gtk_box_append(GTK_BOX(row), aside);
	}
	if (paragraph->is_marked)
		gtk_widget_add_css_class(row, "marked");
	gtk_box_append(GTK_BOX(making->box), row);
}

static void add_step(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
	GtkWidget *texts = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0), *disc;
	char number[8];

	snprintf(number, sizeof number, "%u", paragraph->number);
	disc = make_plain(number, "number");
	gtk_label_set_xalign(GTK_LABEL(disc), 0.5f);
	/* Shown by form as well as by colour: the cause is filled, its effects are open. */
	gtk_widget_add_css_class(disc, paragraph->number == 1 ? "cause" : "effect");
	gtk_widget_set_hexpand(texts, TRUE);
	gtk_box_append(GTK_BOX(texts), make_text(making, paragraph, "line"));
	if (paragraph->aside.size > 0)
		gtk_box_append(GTK_BOX(texts), make_label(making, &paragraph->aside, 1, "remark"));
	gtk_box_append(GTK_BOX(row), disc);
	gtk_box_append(GTK_BOX(row), texts);
	gtk_widget_add_css_class(row, "step");
	gtk_box_append(GTK_BOX(making->box), row);
}

/* Adds the bar below the last row. */
static void add_bar(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	GtkWidget *bar = gtk_progress_bar_new();

	gtk_progress_bar_set_fraction(GTK_PROGRESS_BAR(bar), paragraph->bar / 1000.0);
	gtk_widget_add_css_class(bar, thrum__draw_colour_name(paragraph->bar_colour));
	gtk_accessible_update_state(GTK_ACCESSIBLE(bar), GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
	gtk_grid_attach(GTK_GRID(making->table), bar, 0, making->rows++, (int)paragraph->count, 1);
}

static void add_row(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	const char *class = paragraph->role == THRUM__ROLE_HEADER ? "key" : "line";

	if (!making->table) {
		making->table = gtk_grid_new();
		making->rows = 0;
		gtk_grid_set_column_spacing(GTK_GRID(making->table), 16);
		gtk_box_append(GTK_BOX(making->box), making->table);
	}
	for (uint32_t i = 0; i < paragraph->count; i++) {
		GtkWidget *cell = make_label(making,
			making->document->pieces + paragraph->first + i, 1, class);

		/* The first column takes the room that is left, so that tables are alike. */
		gtk_widget_set_hexpand(cell, i == 0);
		gtk_label_set_xalign(GTK_LABEL(cell), i == 0 ? 0 : 1);
		if (paragraph->is_marked)
			gtk_widget_add_css_class(cell, "marked");
		gtk_grid_attach(GTK_GRID(making->table), cell, (int)i, making->rows, 1, 1);
	}
	making->rows++;
	if (paragraph->bar > 0)
		add_bar(making, paragraph);
}

static void add_paragraph(struct making *making, const struct thrum__document_paragraph *paragraph)
{
	if (paragraph->role == THRUM__ROLE_ROW || paragraph->role == THRUM__ROLE_HEADER) {
		add_row(making, paragraph);
		return;
	}
	making->table = NULL;
	switch (paragraph->role) {
	case THRUM__ROLE_PAIR: add_pair(making, paragraph); break;
	case THRUM__ROLE_LINE: add_line(making, paragraph); break;
	case THRUM__ROLE_STEP: add_step(making, paragraph); break;
	default:
		gtk_box_append(GTK_BOX(making->box),
			make_text(making, paragraph, thrum__document_role_name(paragraph->role)));
	}
}

GtkWidget *pane_document_new(const struct thrum__document *document, const struct pane_links *links)
{
	struct making making = {.document = document, .links = links};

	making.box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_add_css_class(making.box, "document");
	for (uint32_t i = 0; i < document->count; i++)
		add_paragraph(&making, &document->paragraphs[i]);
	return making.box;
}
