/* SPDX-License-Identifier: ISC */
/*
 * What a command is: its name, its options and its help, in one table, from which arguments are
 * parsed and both
 * `--help` and the shells' completion are made.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stddef.h>
#include <stdint.h>

enum status {
	STATUS_OK = 0,
	STATUS_FAILED = 2, /* bad input, or it could not be done */
	STATUS_USAGE = 64,
};

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_STRING, /* const char * */
	OPTION_SIZE,   /* uint64_t, bytes */
	OPTION_COUNT,  /* uint64_t */
	OPTION_TIME,   /* int64_t, ns */
	OPTION_CHOICE, /* int: which of `choices` */
	OPTION_SET,    /* uint64_t: bits of `choices`; may be repeated, takes commas */
	OPTION_IDS,    /* struct id_list; may be repeated, takes commas */
};

struct id_list {
	uint64_t *ids; /* signed ones as two's complement */
	size_t count;
};

struct option {
	const char *name; /* without the dashes */
	char letter;      /* 0: none */
	enum option_kind kind;
	size_t offset;     /* of what it sets in the command's struct of options */
	const char *value; /* what stands for its value in the help; NULL: the choices themselves */
	const char *choices;             /* "text|tsv|json" */
	const char *help;                /* may have several lines */
	const char *old_name, *new_name; /* of OPTION_SET: a choice's former name is understood */
};

struct command {
	const char *name;
	const char *purpose;   /* one sentence, small first letter, no full stop */
	const char *arguments; /* as in the usage line */
	unsigned min, max; /* how many; max 0: what follows is a program with its own arguments */
	const struct option *options; /* ends with a NULL name */
	const char *more;             /* explains */
	const char *examples;
	const char *statuses;
	int (*run)(const struct command *, int argc,
		char **argv); /* argv without the command's name */
};

extern const struct command command_record, command_dump, command_tasks, command_stats,
	command_render, command_html, command_view, command_info, command_snapshot, command_convert,
	command_why, command_diff;
extern const struct command *const commands[]; /* ends with NULL */

/*
 * Sets the members of *into by the options in argv. Moves the arguments that aren't options to the
 * front of argv and returns how many. Returns -1 when the command is done already: help was printed
 * or a mistake told; *status is then what to exit with.
 */
int options_parse(const struct command *, int argc, char **argv, void *into, int *status);

/*
 * Print help for one command, for all, and the table that the shells' completion reads: command,
 * option, letter, value, what it does, separated by tabs. Return the exit status.
 */
int help_command(const struct command *);
int help_all(void);
int help_table(void);

/* The nearest of `count` words to a mistyped one; NULL when none is near. */
const char *nearest(const char *word, const char *const *words, size_t count);

/* Prints "thrum: …" and a newline on standard error. */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, then where to find help; returns STATUS_USAGE. */
int complain_usage(const struct command *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
