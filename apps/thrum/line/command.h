/* SPDX-License-Identifier: ISC */
/*
 * A command's table: its name, its options and its help. The same table parses the arguments,
 * prints `--help` and feeds the shells' completion. A command's file defines its table and the
 * function that runs it; main.c lists the tables.
 *
 * The folder apps/thrum is the program `thrum`: it reads arguments, calls the libraries, and prints
 * text, tables and pictures. It has no analysis and no drawing of its own.
 */
#ifndef LINE_COMMAND_H
#define LINE_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 2, /* bad input, or another failure */
	STATUS_USAGE = 64, /* wrong arguments */
};

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char * */
	OPTION_SIZE,   /* uint64_t, bytes */
	OPTION_COUNT,  /* uint64_t */
	OPTION_TIME,   /* int64_t, ns */
	OPTION_CHOICE, /* int: the position in `choices`, from 0 */
	OPTION_SET,    /* uint64_t: bits by position in `choices`; repeatable, takes commas */
	OPTION_IDS,    /* struct id_list; repeatable, takes commas */
	OPTION_TEXTS,  /* struct text_list; repeatable */
};

/* The values of an option that may be given several times. */
#define TEXTS_MAX 16
struct text_list {
	const char *texts[TEXTS_MAX];
	size_t count;
};

struct id_list {
	uint64_t *ids; /* malloc'ed; negative ids in two's complement */
	size_t count;
};

struct option {
	const char *name; /* without the dashes */
	char letter;      /* 0: none */
	enum option_kind kind;
	size_t offset;       /* of the member that it sets in the command's struct of options */
	const char *value;   /* the word for its value in the help; NULL: the choices themselves */
	const char *choices; /* "text|tsv|json" */
	const char *help;    /* one line or several */
	/* OPTION_SET: a choice's former name, which is still accepted, and its present name. */
	const char *old_name, *new_name;
};

struct command {
	const char *name;
	const char *purpose;   /* one sentence, small first letter, no full stop */
	const char *arguments; /* as in the usage line */
	/* The number of arguments. max 0: any; the first one ends the options, as the arguments are
	 * a program and its own arguments. */
	unsigned min, max;
	const struct option *options; /* ends with a NULL name */
	bool reads_traces;            /* the arguments are traces */
	bool reads_processes;         /* the arguments are processes that record */
	const char *more;             /* an explanation, or NULL */
	const char *examples;
	const char *statuses;
	/* argv lacks the command's name. Returns the exit status. */
	int (*run)(const struct command *, int argc, char **argv);
};

/* Returns the options of a command that name a trace which is no file. They end with a NULL name. */
const struct option *places_of(const struct command *);

extern const struct command command_record, command_dump, command_tasks, command_stats,
	command_render, command_html, command_view, command_info, command_snapshot, command_convert,
	command_why, command_diff, command_doctor, command_attach, command_ctl, command_watch,
	command_history, command_metrics, command_top, command_xen, command_bundle, command_ship,
	command_fleet, command_store, command_import;
extern const struct command *const commands[]; /* ends with NULL */

/*
 * Sets the members of *into from the options in argv. Moves the arguments that aren't options to
 * the front of argv and returns their number. Returns -1 if the command is done already, because it
 * has printed its help or an error message; *status is then the exit status. An OPTION_IDS member
 * is for the caller to free in both cases.
 */
int options_parse(const struct command *, int argc, char **argv, void *into, int *status);

/*
 * Print the help of one command, the help of thrum, and the table that the shells' completion
 * reads: command, option, letter, value and purpose, separated by tabs. Return the exit status.
 */
int help_command(const struct command *);
int help_all(void);
int help_table(void);

/* Returns the word that is most like a mistyped one; NULL if none is like it. */
const char *nearest(const char *word, const char *const *words, size_t count);

/* Prints "thrum: ", the message and a newline on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Holds messages back while a screen would hide them, or shows the last one that was held back. */
void complain_hold(bool hold);

/* Does the same as complain, then names the command that prints help. Returns STATUS_USAGE. */
int complain_usage(const struct command *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
