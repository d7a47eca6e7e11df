/* SPDX-License-Identifier: ISC */
/* The options --as, --open, --story, --range and --pair: rows or bands, and which of these are shown. */
#ifndef PICTURE_AS_H
#define PICTURE_AS_H

#include "line/command.h"
#include "scene/scene.h"

#define AS_CHOICES "auto|rows|bands" /* in the order of enum thrum__scene_as */

struct as_options {
	int as; /* -1: not given */
	struct text_list open;
	const char *story, *range, *pair;
};

/* The rows of a command's table; `member` is the struct as_options in its struct of options. */
#define AS_OPTIONS(type, member) \
	{"as", 'a', OPTION_CHOICE, offsetof(type, member.as), NULL, AS_CHOICES, \
		"a row for each task, or a band for each kind of\n" \
		"task (default: auto, bands if the rows don't fit)"}, \
		{"open", 0, OPTION_TEXTS, offsetof(type, member.open), "NAME", NULL, \
			"open the band or thread of this name, for a row\n" \
			"each; NAME* shows more of a band; repeatable"}, \
		{"story", 0, OPTION_STRING, offsetof(type, member.story), "ID,...", NULL, \
			"show what these tasks waited for; at most three"}, \
		{"pair", 0, OPTION_STRING, offsetof(type, member.pair), "TRACE", NULL, \
			"show each kind of task above that of this trace"}, \
	{ \
		"range", 0, OPTION_STRING, offsetof(type, member.range), "FROM..TO", NULL, \
			"compare this time with the rest, as 1.2s..1.3s" \
	}

/* Checks that --pair has one other trace to compare with. Returns an exit status. */
int as_check_pair(const struct command *, const struct as_options *, int traces);

/* Reads the options' values into the part of a state that is about bands, and chooses bands if one
 * of them needs it. Returns an exit status; it has printed what is wrong. */
int as_read(const struct command *, struct as_options *, struct thrum__scene_bands_state *);

/*
 * Sets *text to a state's text (NULL: none) with these options behind it, which override it; the
 * caller frees it. NULL if there is nothing to say. Returns an exit status, as as_read.
 */
int as_state(const struct command *, struct as_options *, const char *state, char **text);

#endif
