/* SPDX-License-Identifier: ISC */
/* Sentences about a program at work that several documents have. Private to this room. */
#ifndef REPORT_DOCUMENT_ABOUT_H
#define REPORT_DOCUMENT_ABOUT_H

#include "report/document/parts.h"
#include "report/document/program.h"

struct thrum__document_about {
	struct thrum__document_writer w;
	const struct thrum__document_program *program;
	const struct thrum__bands *bands;
	struct thrum__bands_time time;
};

/* Begins a line. */
void thrum__document_about_line(struct thrum__document_about *);

/* Write a group or a task as a link to it; a duration of two digits; a moment, as precise as tells
 * apart a thousandth of the time. */
void thrum__document_about_group(struct thrum__document_about *, uint32_t group);
void thrum__document_about_task(struct thrum__document_about *, uint32_t task);
void thrum__document_about_duration(struct thrum__document_about *, int64_t ns);
void thrum__document_about_moment(struct thrum__document_about *, int64_t time);

/* Writes how many of a group failed: "65 of 5,561"; of the whole trace, as a link to these tasks. */
void thrum__document_about_failing(struct thrum__document_about *, uint32_t group,
	const struct thrum__bands_numbers *);
/* Writes after how long they failed, nearly all of them, and the commonest reason. */
void thrum__document_about_reasons(struct thrum__document_about *, uint32_t group, uint32_t failed);
/* Writes ", the slowest 190 ms", as a link to the reasons; nothing if none ended. */
void thrum__document_about_slowest(struct thrum__document_about *, uint32_t group);
/* Writes a line on a part of a group's time. */
void thrum__document_about_part(struct thrum__document_about *, uint32_t group,
	const struct thrum__story_part *);
/* Writes lines on the longest runs that lie apart, and on the longest time in which nothing runs. */
void thrum__document_about_runs(struct thrum__document_about *);

#endif
