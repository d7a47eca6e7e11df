/* SPDX-License-Identifier: ISC */
/* `thrum watch`: waits until a rule about a running process comes true, and does something then. */
#define _GNU_SOURCE
#include "live/watch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/utf8.h"
#include "line/output.h"
#include "line/text.h"
#include "port/port.h"
#include "trace/load.h"

#define STATUS_NEVER 1
#define SAMPLE_NS 50000000 /* between two samples: actions begin within 200 ms */
#define COOLDOWN_NS INT64_C(60000000000)

struct watch_options {
	struct text_list rules, actions;
	int64_t cooldown;
	bool once;
};

struct watch {
	struct watch_options options;
	struct watch_numbers numbers;
	struct watch_action actions[TEXTS_MAX];
	struct output out;
	unsigned fired;
	uint64_t last; /* CLOCK_MONOTONIC, ns: when it fired */
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* Prints the rule with a caret under the place that is wrong. Returns STATUS_USAGE. */
static int bad_rule(const struct command *command, const char *text,
	const struct thrum__rule_error *error)
{
	unsigned columns = 0;
	size_t size = 0;

	for (const char *p = text; p < text + error->offset; p += size) {
		uint32_t character;

		size = thrum__base_utf8_decode(p, (size_t)(text + error->offset - p), &character);
		if (size == 0)
			size = 1;
		columns += thrum__base_utf8_columns(character);
	}
	complain("--when: %s", error->message);
	fprintf(stderr, "  %s\n  %*s^\n", text, (int)columns, "");
	fprintf(stderr, "See thrum %s --help.\n", command->name);
	return STATUS_USAGE;
}

static int read_options(const struct command *command, struct watch *w)
{
	struct thrum__rule_error error;

	if (w->options.rules.count == 0)
		return complain_usage(command,
			"%s needs --when='CONDITION', such as --when=\"pending('GET *') > 100\"",
			command->name);
	if (w->options.rules.count > 1)
		return complain_usage(command, "there is one --when; join conditions with and, or");
	if (w->options.cooldown < 0)
		return complain_usage(command, "--cooldown can't be negative");
	if (!thrum__rule_parse(&w->numbers.rule, w->options.rules.texts[0], &error))
		return bad_rule(command, w->options.rules.texts[0], &error);
	for (size_t i = 0; i < w->options.actions.count; i++) {
		int status = watch_action_read(command, w->options.actions.texts[i],
			&w->actions[i]);

		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

/* Prints a line, and does all that is to be done. */
static void fire(struct watch *w, const double numbers[THRUM__RULE_TERMS])
{
	char words[2048], date[64];
	struct watch_event event = {&w->numbers.live, w->numbers.rule.text, words, ++w->fired};

	w->last = thrum__port_monotonic();
	watch_numbers_words(&w->numbers, numbers, words, sizeof(words));
	*put_date(date, (int64_t)thrum__port_realtime(), 3) = '\0';
	output_text(&w->out, date);
	output_text(&w->out, "  ");
	output_text(&w->out, w->numbers.live.name);
	output_text(&w->out, ": ");
	output_display(&w->out, words, strlen(words), SIZE_MAX);
	output_text(&w->out, "\n");
	output_flush(&w->out);
	for (size_t i = 0; i < w->options.actions.count; i++)
		(void)watch_action_do(&w->actions[i], &event);
}

static bool may_fire(const struct watch *w)
{
	return w->fired == 0 || thrum__port_monotonic() - w->last >= (uint64_t)w->options.cooldown;
}

static int watch(struct watch *w)
{
	const struct timespec pause = {0, SAMPLE_NS};
	double numbers[THRUM__RULE_TERMS];
	enum thrum__rule_truth truth;

	while (!is_interrupted && output_is_open(&w->out)) {
		int status = watch_numbers_sample(&w->numbers, &truth, numbers);

		if (status != STATUS_OK)
			return status;
		if (truth == THRUM__RULE_TRUE && may_fire(w)) {
			fire(w, numbers);
			if (w->options.once)
				break;
		}
		if (w->numbers.live.has_ended) {
			complain("%s has ended", w->numbers.live.name);
			break;
		}
		watch_action_reap(false);
		nanosleep(&pause, NULL);
	}
	watch_action_reap(true);
	return w->fired > 0 ? STATUS_OK : STATUS_NEVER;
}

static int run(const struct command *command, const char *argument, struct watch *w)
{
	const struct sigaction on_signal = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
	int status = read_options(command, w), closed;

	if (status == STATUS_OK)
		status = live_open(command, argument, &w->numbers.live);
	if (status != STATUS_OK)
		return status;
	if (output_open(&w->out, STDOUT_FILENO) < 0) {
		live_close(&w->numbers.live);
		return STATUS_FAILED;
	}
	/* A second signal ends thrum as usual, even if it waits for a command. */
	sigaction(SIGINT, &on_signal, NULL);
	sigaction(SIGTERM, &on_signal, NULL);
	signal(SIGPIPE, SIG_IGN);
	status = watch_numbers_start(&w->numbers);
	if (status == STATUS_OK)
		status = watch(w);
	watch_numbers_finish(&w->numbers);
	live_close(&w->numbers.live);
	closed = output_close(&w->out);
	return status == STATUS_OK ? closed : status;
}

static int run_watch(const struct command *command, int argc, char **argv)
{
	struct watch *w = calloc(1, sizeof(*w));
	int status;

	if (!w)
		return load_no_memory();
	w->options.cooldown = COOLDOWN_NS;
	if (options_parse(command, argc, argv, &w->options, &status) >= 0)
		status = run(command, argv[0], w);
	free(w);
	return status;
}

#define OFFSET(member) offsetof(struct watch_options, member)

static const struct option options_of_watch[] = {
	{"when", 'w', OPTION_TEXTS, OFFSET(rules), "CONDITION", NULL, "wait for this; see above"},
	{"do", 'd', OPTION_TEXTS, OFFSET(actions), "ACTION", NULL,
		"do this then; repeat it for more (default: only\n"
		"print a line)"},
	{"cooldown", 'c', OPTION_TIME, OFFSET(cooldown), "TIME", NULL,
		"do nothing for this long afterwards (default: 1min)"},
	{"once", '1', OPTION_FLAG, OFFSET(once), NULL, NULL,
		"end when the condition was true once"},
	{0},
};

const struct command command_watch = {
	.name = "watch",
	.purpose = "wait for a condition in a running process, then act",
	.arguments = "PID|RECORDING",
	.min = 1,
	.max = 1,
	.options = options_of_watch,
	.reads_processes = true,
	.more = "Tests CONDITION 20 times a second; the process notices nothing. When it is true,\n"
		"prints a line and does each ACTION; again after the cooldown, if it is still or\n"
		"again true. A CONDITION compares numbers, joined by and, or, not, parentheses:\n"
		"\n"
		"  value(C)  rate(C)              a counter; its growth, as in rate(C) > 10/s\n"
		"  p99(C) p99.9(C) mean(C)        observations of a distribution, of the last\n"
		"  min(C) max(C) count(C)         second\n"
		"  pending(L)  age(L)             pending tasks of a label; the oldest one's age\n"
		"  load(LANE)                     share of time that a thread was not suspended\n"
		"  lost()                         events that were not recorded\n"
		"  finding(CLASS)                 thrum why finds this, such as deadlock; (): it\n"
		"                                 finds anything. Tested twice a second at most\n"
		"\n"
		"Compare with < <= > >= == !=, and units ns us ms s min h, B KiB MiB GiB, %, /s.\n"
		"A counter whose name ends in -ns, -us, -ms or -s is compared with times. Labels\n"
		"may have * and ?; put names with parentheses between quotes. \"over 10s\" behind\n"
		"a comparison means: in the last 10 seconds, or on average. A comparison with a\n"
		"number that isn't known yet is neither true nor false.\n"
		"\n"
		"An ACTION is one of\n"
		"\n"
		"  snapshot=FILE           copy the recording (%p: process id, %n: 1, 2, …,\n"
		"                          %t: time); replaces an older recording\n"
		"  exec=COMMAND            run a shell command, with THRUM_PID, THRUM_RECORDING,\n"
		"                          THRUM_RULE, THRUM_NUMBERS and THRUM_NUMBER\n"
		"  enable=CATEGORY=LEVEL   record more, as thrum ctl --enable does; or less:\n"
		"  disable=CATEGORY",
	.examples = "thrum watch 4711 --when=\"p99(http/latency-us) > 50ms over 10s\" \\\n"
		    "    --do=snapshot=slow-%n.thrum --cooldown=10min\n"
		    "thrum watch 4711 --when=\"pending('TCP connect') > 100\" --do=exec=./alarm\n"
		    "thrum watch 4711 --when=\"finding(deadlock)\" --do=snapshot=dead.thrum --once",
	.statuses = "0  the condition was true at least once\n"
		    "1  the process ended, or thrum was interrupted, before that\n"
		    "2  no such process, not a recording, or it could not be read\n"
		    "64 usage error",
	.run = run_watch,
};
