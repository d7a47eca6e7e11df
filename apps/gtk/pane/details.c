/* SPDX-License-Identifier: ISC */
/* The page of details: the selected task, or the trace, and the findings about it. */
#include <stdio.h>
#include <string.h>

#include "pane/parts.h"
#include "report/document/program.h"

#define FINDINGS_SHOWN 20

/* Whether the model still has all tasks of a finding: it may have forgotten some. */
static bool is_there(const struct thrum__model *model, const struct thrum__finding *finding)
{
	for (unsigned i = 0; i < finding->step_count; i++) {
		const struct thrum__step *step = &finding->steps[i];

		if (!thrum__model_has_row(&model->tasks, step->task) ||
			(step->other != THRUM__NONE &&
				!thrum__model_has_row(&model->tasks, step->other)))
			return false;
	}
	return thrum__model_has_row(&model->tasks, finding->task);
}

/* Whether a finding is about a task; THRUM__NONE: all are. */
static bool concerns(const struct thrum__finding *finding, uint32_t task)
{
	bool does = task == THRUM__NONE || finding->task == task;

	for (unsigned i = 0; i < finding->step_count && !does; i++)
		does = finding->steps[i].task == task || finding->steps[i].other == task;
	return does;
}

static void show_finding(GtkButton *button, gpointer data)
{
	pane_go_finding(data, GPOINTER_TO_UINT(g_object_get_data(G_OBJECT(button), "finding")));
}

/* Scrolls to a card as soon as it has its place. */
static gboolean scroll_to_card(GtkWidget *card, GdkFrameClock *clock, gpointer data)
{
	AppPane *self = data;
	GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW(self->details);
	graphene_rect_t bounds;

	if (gtk_widget_get_height(card) == 0)
		return G_SOURCE_CONTINUE;
	if (gtk_widget_compute_bounds(card, self->details_box, &bounds))
		gtk_adjustment_set_value(gtk_scrolled_window_get_vadjustment(scroller),
			bounds.origin.y);
	self->wanted = THRUM__NONE;
	return G_SOURCE_REMOVE;
}

static GtkWidget *make_card(AppPane *self, uint32_t index, const struct thrum__document *document)
{
	GtkWidget *card = pane_document_new(document, &self->links);
	GtkWidget *button = gtk_button_new_with_label("Show me");
	char name[32];

	snprintf(name, sizeof name, "show-finding-%u", index);
	gtk_widget_set_name(button, name);
	gtk_widget_set_name(card, name + strlen("show-"));
	gtk_widget_set_halign(button, GTK_ALIGN_START);
	gtk_widget_add_css_class(card, "finding");
	g_object_set_data(G_OBJECT(button), "finding", GUINT_TO_POINTER(index));
	g_signal_connect(button, "clicked", G_CALLBACK(show_finding), self);
	gtk_box_append(GTK_BOX(card), button);
	if (index == self->wanted)
		gtk_widget_add_tick_callback(card, scroll_to_card, self, NULL);
	return card;
}

static GtkWidget *make_heading(const char *format, uint32_t number, const char *class)
{
	char *text = g_strdup_printf(format, number);
	GtkWidget *label = gtk_label_new(text);

	gtk_label_set_xalign(GTK_LABEL(label), 0);
	gtk_widget_add_css_class(label, class);
	g_free(text);
	return label;
}

static void add_findings(AppPane *self, GtkWidget *box, const struct thrum__model *model)
{
	const struct thrum__scene *scene = pane_scene(self);
	GtkWidget *cards = gtk_box_new(GTK_ORIENTATION_VERTICAL, 8);
	struct thrum__document document;
	uint32_t count = 0;

	thrum__document_init(&document);
	for (uint32_t i = 0; scene && i < scene->findings.count; i++) {
		const struct thrum__finding *finding = &scene->findings.findings[i];

		if (!concerns(finding, self->task) || !is_there(model, finding) ||
			count++ >= FINDINGS_SHOWN ||
			thrum__document_finding(model, finding, &document) < 0)
			continue;
		gtk_box_append(GTK_BOX(cards), make_card(self, i, &document));
	}
	thrum__document_finish(&document);
	if (count > FINDINGS_SHOWN)
		gtk_box_append(GTK_BOX(cards),
			make_heading("%u more", count - FINDINGS_SHOWN, "more"));
	if (count > 0)
		gtk_box_append(GTK_BOX(box), make_heading("Findings %u", count, "section"));
	gtk_box_append(GTK_BOX(box), cards);
}

/* Whether the page is about the range: it was chosen after the task. */
static bool tells_range(AppPane *self)
{
	const struct thrum__scene *scene = pane_scene(self);

	return scene && self->task == scene->selected && thrum__scene_bands_tells_range(scene);
}

/* Looks at one group after the other; then both the page and the picture can tell it. If there is no memory,
 * they do without. */
static gboolean look_on(gpointer data)
{
	AppPane *self = data;
	int more = self->part < self->count
		? thrum__scene_bands_look_on(self->stage->parts[self->part].scene)
		: -THRUM_E_ARGUMENT;

	if (more > 0)
		return G_SOURCE_CONTINUE;
	self->where_idle = 0;
	if (more == 0) {
		g_signal_emit_by_name(self->traces[self->part], "worked");
		g_signal_emit_by_name(self->traces[self->part], "changed");
	}
	return G_SOURCE_REMOVE;
}

/* Only of a trace that doesn't grow: no event may come between two steps. */
static void look_later(AppPane *self, const struct thrum__scene *scene)
{
	if (thrum__scene_awaits_paths(scene))
		app_trace_make_paths(self->traces[self->part]);
	else if (scene->paths_later && thrum__scene_bands_lacks_where(scene) && !self->where_idle)
		self->where_idle = g_idle_add_full(G_PRIORITY_LOW, look_on, self, NULL);
}

static int make_document(AppPane *self, const struct thrum__stats *stats,
	struct thrum__document *document)
{
	const struct thrum__scene *scene = self->stage->parts[self->part].scene;
	int result;

	if (self->task == THRUM__NONE || tells_range(self)) {
		result = thrum__stage_document(self->stage, self->part, stats,
			app_trace_info(self->traces[self->part]), document);
		look_later(self, scene);
		return result;
	}
	return thrum__document_task(stats, self->task,
		scene->selected == self->task ? scene->run : THRUM__NONE, document);
}

/* Whether the selected task has statistics: it may be newer than they are, or forgotten. */
static bool is_known(AppPane *self, const struct thrum__model *model)
{
	return self->stats &&
		(self->task == THRUM__NONE ||
			(thrum__model_has_row(&model->tasks, self->task) &&
				self->task < self->stats->task_count));
}

/* Makes the buttons below the numbers of a range. */
static GtkWidget *make_range_buttons(bool opens)
{
	static const char *const all[][3] = {{"Open", "win.command::open", "range-open"},
		{"Zoom Here", "win.command::zoom-to", "range-zoom"},
		{"Note…", "win.mark", "range-note"}, {"Save…", "win.save-range", "range-save"},
		{"Copy View", "win.copy-view", "range-copy"}};
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);

	for (size_t i = opens ? 0 : 1; i < G_N_ELEMENTS(all); i++) {
		GtkWidget *button = gtk_button_new_with_label(all[i][0]);

		gtk_widget_set_name(button, all[i][2]);
		gtk_actionable_set_detailed_action_name(GTK_ACTIONABLE(button), all[i][1]);
		gtk_box_append(GTK_BOX(box), button);
	}
	gtk_widget_add_css_class(box, "buttons");
	return box;
}

/* The beginning of a document about a range, with its greatest differences, as a sentence. */
static char *words_of_range(const struct thrum__document *document)
{
	GString *words = g_string_new(NULL);
	unsigned sections = 0;

	for (uint32_t i = 0; i < document->count; i++) {
		const struct thrum__document_paragraph *paragraph = &document->paragraphs[i];

		sections += paragraph->role == THRUM__ROLE_SECTION;
		if (sections > 1)
			break;
		for (uint32_t k = 0; k < paragraph->count; k++) {
			const struct thrum__document_piece *piece =
				&document->pieces[paragraph->first + k];

			g_string_append(words, words->len == 0 ? "" : k == 0 ? ", " : " ");
			g_string_append_len(words, document->text + piece->offset, piece->size);
		}
	}
	return g_string_free(words, FALSE);
}

static GtkWidget *make_page(AppPane *self, const struct thrum__model *model)
{
	GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	const struct thrum__scene *scene = pane_scene(self);
	struct thrum__document document;
	bool is_plain;

	gtk_widget_add_css_class(box, "details");
	thrum__document_init(&document);
	/* The findings come first, unless something was chosen that the page tells of. */
	self->subject = scene ? thrum__scene_bands_subject(scene) : 0;
	is_plain = self->task == THRUM__NONE && !(self->subject & 5);
	if (is_plain)
		add_findings(self, box, model);
	if (is_known(self, model) && make_document(self, self->stats, &document) == 0) {
		g_autofree char *words = tells_range(self) ? words_of_range(&document) : NULL;

		gtk_box_append(GTK_BOX(box), pane_document_new(&document, &self->links));
		pane_tell(self, words ? words : "");
	}
	thrum__document_finish(&document);
	if (tells_range(self))
		gtk_box_append(GTK_BOX(box), make_range_buttons(self->subject & 2));
	if (!is_plain)
		add_findings(self, box, model);
	return box;
}

void pane_details_fill(AppPane *self)
{
	const struct thrum__model *model = pane_model(self);
	GtkScrolledWindow *scroller = GTK_SCROLLED_WINDOW(self->details);
	GtkWidget *old = gtk_widget_get_first_child(self->details_box);
	GtkRoot *root = gtk_widget_get_root(self->details);
	bool had_focus = old && gtk_widget_get_focus_child(self->details_box);

	/* The user goes from link to link: the events that a growing trace adds can wait. */
	if (had_focus && !self->is_new && self->wanted == THRUM__NONE && self->part < self->count &&
		app_trace_state(self->traces[self->part]) == APP_TRACE_LIVE)
		return;
	/* The followed link is removed. The focus goes to the first link of the new page. */
	if (had_focus && root)
		gtk_root_set_focus(root, NULL);
	if (old)
		gtk_box_remove(GTK_BOX(self->details_box), old);
	if (model)
		gtk_box_append(GTK_BOX(self->details_box), make_page(self, model));
	if (had_focus)
		gtk_widget_child_focus(self->details_box, GTK_DIR_TAB_FORWARD);
	if (self->is_new)
		gtk_adjustment_set_value(gtk_scrolled_window_get_vadjustment(scroller), 0);
	self->is_new = false;
}

void pane_details_init(AppPane *self)
{
	self->details = gtk_scrolled_window_new();
	self->details_box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
	gtk_widget_set_name(self->details, "pane-details");
	gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(self->details), GTK_POLICY_NEVER,
		GTK_POLICY_AUTOMATIC);
	gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(self->details), self->details_box);
	gtk_stack_add_titled(GTK_STACK(self->stack), self->details, "details", "Details");
}
