/* SPDX-License-Identifier: ISC */
/*
 * words/: every sentence that users read about a trace, for all front ends.
 *
 *	time.c     durations, times, counts
 *	task.c     names of tasks
 *	trace.c    the missing parts of a trace
 *	finding.c  findings and their steps, in sentences
 *	slow.c     why a task was slow; its face is slow.h
 *	diff.c     the differences of two recordings; its face is diff.h
 *	bands.c    names of groups and threads; its face is bands.h
 *	sentence.c writes the sentences of these two
 *	match.c    the search in all these texts; its face is match.h
 *	condition.c  the conditions in a search
 *
 * Nothing here draws, allocates for the caller, or knows where a text will stand. Front ends print
 * these texts as they are.
 *
 * Unless its comment says otherwise, a function writes at most `size` bytes to `to`, NUL included,
 * and returns the length of the whole text without NUL, as snprintf does: a result of `size` or
 * more means that the text is cut. `size` may be 0. Names and labels stand in the texts as they
 * were recorded, which may be any bytes.
 */
#ifndef WORDS_WORDS_H
#define WORDS_WORDS_H

#include "analyse/why/finding.h"
#include "model/model.h"

/* ---- Durations, times, counts --------------------------------------------------------------- */

/* A duration with `digits` significant digits, without zeros at the end: "5.09 ms", "627 µs",
 * "12 s". Seconds are the largest unit, and whole numbers are never shortened: "1234 s". */
size_t thrum__words_duration(int64_t ns, int digits, char *to, size_t size);

/* A time, precise enough to tell apart times that differ by `step` ns: "12.50 ms". */
size_t thrum__words_time(int64_t ns, int64_t step, char *to, size_t size);

/* The time of an event: to 100 ns if it is below 1 ms, else to 1 µs. */
size_t thrum__words_event_time(int64_t time, char *to, size_t size);

/* Returns the ns of the unit that the text begins with ("ms", "min"), and sets *size to the length
 * of the unit's name. Returns 0 with *size 0 if the text begins with no unit. */
int64_t thrum__words_time_unit(const char *text, size_t *size);

/* Reads a number such as "1.5" and its unit of time, with blanks around them. Sets *unit to the unit's
 * ns, or to 0 if there is none. Returns the text behind both, or NULL if there is no number. */
const char *thrum__words_read_amount(const char *text, double *number, int64_t *unit);

/* A number of at least 0 with so many decimals (at most 9), rounded: "0.8". Not by printf, whose decimal
 * point depends on the locale, and which the page's core has without fractions. */
size_t thrum__words_decimal(double number, int decimals, char *to, size_t size);

/* A share of 0 … 1 as "81 %", or "0.8 %" if it is below a hundredth. */
size_t thrum__words_percent(double share, char *to, size_t size);

#define THRUM__NUMBER_ROOM 32

/* Writes a count with commas and a NUL: "1,234". Returns the length, which always fits. */
size_t thrum__words_number(uint64_t number, char to[THRUM__NUMBER_ROOM]);

/* ---- Names of tasks ------------------------------------------------------------------------- */

/* Unless its comment says otherwise, `task` must be a row that the model still has. */

/* The process of a task, if the trace joins several and the task's name doesn't begin with it; else "". Any
 * index is allowed. */
const char *thrum__words_process(const struct thrum__model *, uint32_t task);

/* The task's name, or else thrum__words_kind_and_site. Any index is allowed for `task`: one that
 * the model doesn't have is "a forgotten task". */
size_t thrum__words_task(const struct thrum__model *, uint32_t task, char *to, size_t size);

/* Up to five lines for a card beside the pointer: the name, the state and its duration, the reason of a
 * failure, what it waits for, the call site. Returns as snprintf does. */
size_t thrum__words_card(const struct thrum__model *, uint32_t task, char *to, size_t size);

/* "runs 85.8 ms from 42 ms on loop 1" about a run of the model; the lane only if there are several. */
size_t thrum__words_run(const struct thrum__model *, uint32_t run, char *to, size_t size);

/* The kind's name, such as "bind". For a task that the trace never saw created: "task". */
const char *thrum__words_kind(const struct thrum__model *, uint32_t task);

/* A sentence that says what a task of this kind does, for those kinds whose names don't: "bind"; else "".
 * Static. */
const char *thrum__words_kind_help(int kind);

/* "bind 12", or "main context". */
size_t thrum__words_kind_and_id(const struct thrum__model *, uint32_t task, char *to, size_t size);

/* "file.c:42 connect", or "libfoo.so libfoo.so+0x1234" if the line is unknown. Returns as snprintf
 * does. */
size_t thrum__words_site(const struct thrum_trace_site *, char *to, size_t size);

/* "bind in connect:42" if the call site is known, or else thrum__words_kind_and_id, whether or not
 * the task has a label. Any index is allowed, as for thrum__words_task. */
size_t thrum__words_kind_and_site(const struct thrum__model *, uint32_t task, char *to,
	size_t size);

/* How well the clock of a task's machine is known from `from` to `until`, " ± 12 µs", if the task is that of
 * the first lane of a process whose times may be wrong; else "". Any index is allowed. */
size_t thrum__words_clock_error(const struct thrum__model *, uint32_t task, int64_t from,
	int64_t until, char *to, size_t size);

/* Whether the task is the main context of a mirage trace: the task with id 0, which runs while no
 * other does and has no label. Any index is allowed. */
bool thrum__words_is_main_context(const struct thrum__model *, uint32_t task);

/* ---- Traces --------------------------------------------------------------------------------- */

/* The missing parts of a trace, with the causes of lost events: "1 place is damaged, 2 gaps in
 * lanes, 12 events were not recorded (recording full: 12)". "" if nothing is missing. */
size_t thrum__words_missing(const struct thrum_trace_info *, char *to, size_t size);

/*
 * One or two sentences on what nobody can learn from the trace, so that findings may be missing:
 * "Events before 1.2 s are overwritten. 12 tasks from before may be unknown." "" if it is whole.
 */
size_t thrum__words_unknown(const struct thrum__model *, const struct thrum_trace_info *, char *to,
	size_t size);

/* How the recording ended: "exited with status 1", "ended by SIGSEGV", "still recording". "" if
 * nothing tells it. `code` is struct thrum_trace_info's ending_code. */
size_t thrum__words_ending(enum thrum_ending, int code, char *to, size_t size);

/* Returns the name of a signal by which programs end, "SIGSEGV", or NULL for any other number. */
const char *thrum__words_signal(int number);

/* ---- Findings ------------------------------------------------------------------------------- */

/* A finding in one sentence, which names the task that suffers. */
size_t thrum__words_finding(const struct thrum__model *, const struct thrum__finding *, char *to,
	size_t size);

/* The cause of a finding, to be said after its sentence: "“b” ends without releasing “lock”". It is
 * empty where the sentence tells the cause, or where none is known. */
size_t thrum__words_finding_cause(const struct thrum__model *, const struct thrum__finding *,
	char *to, size_t size);

/* The further tasks of a finding: "2 more hang behind it", "3 more hang behind it or 1 like it", "1 like it
 * hangs, too". "" if there is none. */
size_t thrum__words_finding_more(const struct thrum__finding *, char *to, size_t size);

/* A finding as a title, with a capital letter: "Lost wake-up on “arp-reply”". */
size_t thrum__words_finding_title(const struct thrum__model *, const struct thrum__finding *,
	char *to, size_t size);

/* In the three functions that follow, `step` is the step's index, less than step_count. */

/* The title of a step's note in the picture. */
size_t thrum__words_step_title(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size);

/* The line below that title; "" if there is none. */
size_t thrum__words_step_line(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size);

/* A place where a sentence names a task. */
struct thrum__words_mention {
	uint32_t offset, size, task;
};

#define THRUM__MENTIONS_MAX 6

/* A step as a whole sentence. Sets *count to the number of mentions in that part of the sentence
 * that fits. */
size_t thrum__words_step_sentence(const struct thrum__model *, const struct thrum__finding *,
	unsigned step, char *to, size_t size, struct thrum__words_mention[THRUM__MENTIONS_MAX],
	unsigned *count);

#endif
