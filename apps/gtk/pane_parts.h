/* SPDX-License-Identifier: ISC */
/* What the pane is made of: pane.c holds it together, each page has a file. */
#ifndef PANE_PARTS_H
#define PANE_PARTS_H

#include "app.h"
#include "draw/replay.h"
#include "pane_document.h"
#include "pane_table.h"

struct _AppPane {
	GtkWidget parent;
	GtkWidget *box, *stack, *chooser; /* chooser: of the trace, where there are several */
	GtkWidget *waiting;               /* says that numbers are old */
	struct thrum__stage *stage;
	AppTrace *traces[THRUM__STAGE_MAX];
	unsigned count, part;
	uint32_t task;
	const struct thrum__stats *stats; /* that tables and chart are made of */
	struct pane_links links;
	guint refresh_timer, refresh_idle;
	/* Details */
	GtkWidget *details, *details_box; /* a scrolled window, what it holds */
	bool is_new;                      /* what is to be shown there isn't what was */
	/* Tasks */
	PaneTable *tasks;
	GtkWidget *tasks_scroller, *filter, *filtered, *unnarrow;
	GtkSelectionModel *tasks_selection; /* the view's; NULL: there is none yet */
	GtkStackPage *tasks_tab;
	uint32_t chosen; /* among the tasks, or NONE */
	/* Statistics */
	PaneTable *statistics;
	GtkWidget *statistics_scroller, *what, *measure;
	GtkSelectionModel *statistics_selection; /* the view's; NULL: there is none yet */
	/* The chart on that page */
	struct thrum__report_chart chart;
	bool has_chart;
	uint64_t chart_kind;
	GBytes *chart_label; /* whose tasks it shows, with their kind; NULL: all */
	GtkWidget *chart_box, *chart_area, *chart_title, *chart_words, *chart_show;
	float chart_from; /* where a drag began */
	struct thrum__draw_list chart_list;
	struct thrum__draw_text_cache chart_texts;
};

/* The pane's signals. */
void pane_go_task(AppPane *, uint32_t task);
void pane_hover_task(AppPane *, uint32_t task);
void pane_go_finding(AppPane *, uint32_t finding);

/* What is shown of the part, or NULL. */
const struct thrum__scene *pane_view(AppPane *);
const struct thrum__model *pane_model(AppPane *);

/* A page is made once, and filled when what it shows has changed and it is seen. */
void pane_details_init(AppPane *);
void pane_details_fill(AppPane *);
void pane_tasks_init(AppPane *);
void pane_tasks_fill(AppPane *);
void pane_tasks_tell(AppPane *);   /* how many there are: seen on every page */
void pane_tasks_narrow(AppPane *); /* by filter and chart */
void pane_statistics_init(AppPane *);
void pane_statistics_fill(AppPane *);
/* The chart, as a part of that page. */
GtkWidget *pane_chart_new(AppPane *);
void pane_chart_finish(AppPane *);
void pane_chart_fill(AppPane *);
void pane_chart_choose(AppPane *, uint32_t row); /* of the labels' table; THRUM__NONE: all */
void pane_chart_clear(AppPane *);
bool pane_chart_has_range(AppPane *);

#endif
