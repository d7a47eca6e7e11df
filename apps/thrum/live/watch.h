/* SPDX-License-Identifier: ISC */
/* The parts of `thrum watch`: the numbers of its rule, and the things that it does. */
#ifndef LIVE_WATCH_H
#define LIVE_WATCH_H

#include "live/live.h"
#include "monitor/rule/rule.h"
#include "monitor/window.h"

/* ---- Numbers --------------------------------------------------------------------------------- */

/* The findings of the recording, which are looked for now and then. */
struct watch_findings {
	bool was_looked;
	uint64_t next;  /* CLOCK_MONOTONIC, ns: when to look again */
	uint64_t found; /* bits by class of findings that are likely or certain */
};

/* The rule, and the recording about which it asks. */
struct watch_numbers {
	struct live live;
	struct thrum__rule rule;
	struct thrum__monitor_window windows[THRUM__RULE_TERMS];
	struct watch_findings findings;
	unsigned parts; /* of a sample that the rule needs */
};

/* Prepares the windows that the rule needs, and warns of counters that don't exist. The recording
 * and the rule are set. Returns STATUS_OK, or STATUS_FAILED after a message. */
int watch_numbers_start(struct watch_numbers *);
void watch_numbers_finish(struct watch_numbers *);

/* Samples the recording and says whether the rule holds now. Returns STATUS_OK, or STATUS_FAILED
 * after a message. */
int watch_numbers_sample(struct watch_numbers *, enum thrum__rule_truth *truth,
	double numbers[THRUM__RULE_TERMS]);

/* Writes "p99(latency) 61 ms, pending('x') 104" of the numbers that were asked for; as snprintf. */
size_t watch_numbers_words(const struct watch_numbers *, const double numbers[THRUM__RULE_TERMS],
	char *to, size_t size);

/* ---- Actions --------------------------------------------------------------------------------- */

/* X(NAME, word, value) */
#define WATCH_ACTIONS(X) \
	X(SNAPSHOT, "snapshot", "FILE") \
	X(ENABLE, "enable", "CATEGORY=LEVEL") \
	X(DISABLE, "disable", "CATEGORY") \
	X(EXEC, "exec", "COMMAND")

enum watch_action_kind {
#define THRUM__X(NAME, word, value) WATCH_##NAME,
	WATCH_ACTIONS(THRUM__X)
#undef THRUM__X
};

struct watch_action {
	enum watch_action_kind kind;
	const char *value;
};

/* Reads the value of --do. Returns STATUS_OK, or STATUS_USAGE after a message. */
int watch_action_read(const struct command *, const char *text, struct watch_action *);

/* Things that commands get in their environment, and from which file names are made. */
struct watch_event {
	const struct live *live;
	const char *rule, *numbers;
	unsigned number; /* of times that the rule came true: 1, 2, … */
};

/* Does it. Returns STATUS_OK, or STATUS_FAILED after a message. */
int watch_action_do(const struct watch_action *, const struct watch_event *);

/* Reaps the commands that have ended; or waits for all. */
void watch_action_reap(bool is_last);

#endif
