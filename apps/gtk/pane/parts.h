/* SPDX-License-Identifier: ISC */
/* The panel's own header. pane.c holds the panel together; each of its pages has a file. */
#ifndef PANE_PARTS_H
#define PANE_PARTS_H

#include "app.h"
#include "draw/replay.h"
#include "pane/document.h"
#include "pane/pane.h"
#include "pane/table.h"
#include "report/flame.h"

struct _AppPane {
	GtkWidget parent;
	GtkWidget *box, *stack, *chooser; /* chooser: of the trace, if there are several */
	GtkWidget *waiting;               /* says that the numbers are out of date */
	struct thrum__stage *stage;
	AppTrace *traces[THRUM__STAGE_MAX];
	unsigned count, part;
	uint32_t task;
	const struct thrum__stats *stats; /* tables and chart are made from them */
	struct pane_links links;
	guint refresh_timer, refresh_idle;
	guint where_idle; /* finds out where the time of bands goes, or 0 */
	/* Details */
	GtkWidget *details, *details_box; /* a scrolled window and its content */
	bool is_new;                      /* another task or trace is to be shown than before */
	uint32_t wanted; /* the finding that is to be scrolled to, or THRUM__NONE */
	/* Tasks */
	PaneTable *tasks;
	GtkWidget *tasks_scroller, *filter, *filtered, *unnarrow;
	GtkSelectionModel *tasks_selection; /* of the list's widget; NULL: there is none yet */
	GtkStackPage *tasks_tab;
	uint32_t chosen; /* the selected task of the list, or THRUM__NONE */
	/* Statistics */
	PaneTable *statistics;
	GtkWidget *statistics_scroller, *what, *measure;
	GtkSelectionModel *statistics_selection; /* as tasks_selection */
	/* The chart on that page */
	struct thrum__report_chart chart;
	bool has_chart;
	uint64_t chart_kind;
	GBytes *chart_label; /* with chart_kind, the tasks that it shows; NULL: all */
	GtkWidget *chart_box, *chart_area, *chart_title, *chart_words, *chart_show;
	float chart_from; /* where a drag began */
	struct thrum__draw_list chart_list;
	struct thrum__draw_text_cache chart_texts;
	/* Why slow (slow.c) */
	GtkWidget *slow, *slow_box, *slow_area; /* a scrolled window, its content, the picture */
	struct app_slow *answer;                /* NULL: there is none, or not yet */
	unsigned slow_asked;                    /* the number of the last question */
	bool slow_waits;                        /* for the answer to it */
	bool slow_busy;                         /* a thread answers some question */
	guint slow_patience;                    /* the source that then says so, or 0 */
	unsigned slow_part; /* the task that the page is about, or is to be about */
	uint32_t slow_task;
	unsigned slow_shown_part; /* the task that it is about now */
	uint32_t slow_shown_task;
	guint slow_idle; /* gives the picture its height */
	struct thrum__draw_list slow_list;
	struct thrum__draw_text_cache slow_texts;
	/* Differences (diff.c) */
	GtkWidget *diff, *diff_box;
	GtkStackPage *diff_tab;
	struct thrum__comparison comparison;
	bool has_comparison;
	uint64_t compared[THRUM__SIDES]; /* the events of the traces that it compares */
	struct pane_links diff_links;
	uint32_t subject; /* thrum__scene_bands_subject of the document about the trace */
};

/* Emit the panel's signals. */
/* Tells the window what the page says of the chosen range; "": there is none. */
void pane_tell(AppPane *, const char *words);
void pane_go_task(AppPane *, uint32_t task);
void pane_hover_task(AppPane *, uint32_t task);
void pane_go_finding(AppPane *, uint32_t finding);
/* The same for a task of any part, and for a difference of the first two parts. */
void pane_go_task_of(AppPane *, unsigned part, uint32_t task);
void pane_hover_task_of(AppPane *, unsigned part, uint32_t task);
void pane_go_difference(AppPane *, uint32_t difference);

/* The scene and the model of the part that the panel is about, or NULL. */
const struct thrum__scene *pane_scene(AppPane *);
const struct thrum__model *pane_model(AppPane *);

/* Each page is made once. It is filled when it is visible and its content has changed. */
void pane_details_init(AppPane *);
void pane_details_fill(AppPane *);
void pane_tasks_init(AppPane *);
void pane_tasks_fill(AppPane *);
void pane_tasks_tell(AppPane *);   /* updates the count in the tab's title */
void pane_tasks_narrow(AppPane *); /* by the filter and the chart's range */
void pane_statistics_init(AppPane *);
void pane_statistics_fill(AppPane *);
void pane_slow_init(AppPane *);
void pane_slow_fill(AppPane *);
void pane_slow_clear(AppPane *); /* before the models go */
void pane_slow_finish(AppPane *);
void pane_diff_init(AppPane *);
void pane_diff_fill(AppPane *);
void pane_diff_clear(AppPane *); /* before the models change or go */
void pane_diff_tell(AppPane *);  /* shows the tab if there are two traces */
/* The histogram on the page of the statistics. */
GtkWidget *pane_chart_new(AppPane *);
void pane_chart_finish(AppPane *);
void pane_chart_fill(AppPane *);
/* Shows the tasks of one row of the table of labels; THRUM__NONE: all tasks. */
void pane_chart_choose(AppPane *, uint32_t row);
void pane_chart_clear(AppPane *); /* no range is chosen any more */
bool pane_chart_has_range(AppPane *);

#endif
