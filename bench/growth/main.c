/* SPDX-License-Identifier: ISC */
/*
 * Tells how the cost of the commands grows with the recording. For each kind of edge and each pattern
 * of tasks, records 100,000 edges and then 400,000, and runs the commands on both. A command that is
 * linear takes the same time for an edge of either; the last column is the quotient.
 *
 *   growth [PART OF AN EDGE AND PATTERN [COMMAND]]
 *
 * For `--slow` and `diff` all tasks have one label, and end; `diff` compares them with those that don't end.
 * The command `thrum` is that of the same build.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "thrum.h"

#define FEW 100000
#define MANY 400000
#define SECONDS_MAX 60 /* of CPU time, for one command */
#define SIZE ((uint64_t)256 << 20)
#define LABEL "job"

THRUM_TAG(step, NULL, "step", 1);

/* ---- Edges: `a` does something to `b` ---------------------------------------------------------- */

static void waits_for(thrum_task a, thrum_task b)
{
	thrum_task_wait(a, b);
}

static void reads(thrum_task a, thrum_task b)
{
	thrum_task_read(a, b);
}

static void becomes(thrum_task a, thrum_task b)
{
	thrum_task_become(a, b);
}

static void resolves(thrum_task a, thrum_task b)
{
	thrum_task_switch(a);
	thrum_task_resolve(b);
}

static void signals(thrum_task a, thrum_task b)
{
	thrum_task_switch(a);
	thrum_task_signal(b, 1);
}

static void makes_ready(thrum_task a, thrum_task b)
{
	thrum_task_switch(a);
	thrum_task_ready(b);
}

static void takes(thrum_task a, thrum_task b)
{
	thrum_task_switch(a);
	thrum_lock_acquired(b);
}

static void takes_and_releases(thrum_task a, thrum_task b)
{
	takes(a, b);
	thrum_lock_released(b);
}

static void sends_to(thrum_task a, thrum_task b)
{
	static unsigned number;

	number++;
	thrum_task_switch(a);
	thrum_link_send(&number, sizeof number);
	thrum_task_switch(b);
	thrum_link_receive(&number, sizeof number);
}

static void is_owner_of_a_child(thrum_task a, thrum_task b)
{
	(void)b;
	thrum_task_create_in(a, THRUM_KIND_BIND, NULL);
}

static void labels_and_is_due(thrum_task a, thrum_task b)
{
	thrum_task_label(a, "a label");
	thrum_task_due(b, 1000);
}

static void begins_a_span(thrum_task a, thrum_task b)
{
	(void)b;
	thrum_task_switch(a);
	thrum_span_begin(&step);
}

/* The child never runs. */
static void ends_a_child(thrum_task a, thrum_task b)
{
	(void)b;
	thrum_task_switch(a);
	thrum_task_resolve(thrum_task_create(THRUM_KIND_BIND, LABEL));
}

static void has_a_child_that_waits_for(thrum_task a, thrum_task b)
{
	thrum_task_wait(thrum_task_create_in(a, THRUM_KIND_BIND, LABEL), b);
}

static void runs_a_child(thrum_task a, thrum_task b)
{
	thrum_task child = thrum_task_create_in(a, THRUM_KIND_FIBER, LABEL);

	thrum_task_switch(child);
	thrum_task_ready(b);
	thrum_task_switch(a);
	thrum_task_resolve(child);
}

static const struct edge {
	const char *name;
	void (*make)(thrum_task a, thrum_task b);
	enum thrum_kind kind; /* of the tasks */
} edges[] = {
	{"waits for", waits_for, THRUM_KIND_PROMISE},
	{"waits for lock", waits_for, THRUM_KIND_LOCK},
	{"reads", reads, THRUM_KIND_PROMISE},
	{"becomes", becomes, THRUM_KIND_PROMISE},
	{"resolves", resolves, THRUM_KIND_PROMISE},
	{"signals", signals, THRUM_KIND_CONDITION},
	{"makes ready", makes_ready, THRUM_KIND_FIBER},
	{"takes", takes, THRUM_KIND_LOCK},
	{"takes and releases", takes_and_releases, THRUM_KIND_LOCK},
	{"sends to", sends_to, THRUM_KIND_FIBER},
	{"creates", is_owner_of_a_child, THRUM_KIND_FIBER},
	{"labels, due", labels_and_is_due, THRUM_KIND_TIMER},
	{"begins a span", begins_a_span, THRUM_KIND_FIBER},
	{"ends a child", ends_a_child, THRUM_KIND_FIBER},
	{"child waits for", has_a_child_that_waits_for, THRUM_KIND_PROMISE},
	{"runs a child", runs_a_child, THRUM_KIND_FIBER},
};

/* ---- Patterns --------------------------------------------------------------------------------- */

enum pattern {
	ALL_TO_ONE,
	ONE_TO_ALL,
	CHAIN,
	BACKWARDS,
	A_PAIR,
	PATTERNS,
};
static const char *const pattern_names[] = {"all to one", "one to all", "each to the next",
	"each to the last", "always the same two"};

/* The tasks of edge `i`, as indices: two for each pattern. */
static void choose(enum pattern pattern, unsigned i, unsigned *a, unsigned *b)
{
	*a = pattern == ONE_TO_ALL || pattern == A_PAIR ? 0 : i + 1;
	*b = pattern == ALL_TO_ONE ? 0 : pattern == A_PAIR ? 1 : i + 1;
	if (pattern == CHAIN)
		*a = i;
	if (pattern == BACKWARDS)
		*b = i;
}

/* One tick of 4 ns for each event. */
static uint64_t read_clock(void *context)
{
	uint64_t *ticks = context;

	return (*ticks += 100) * 16;
}

enum tasks {
	BARE,
	LABELLED,
	ENDED, /* and labelled */
	STATES,
};

static void record(const char *file, const struct edge *edge, enum pattern pattern, unsigned count,
	enum tasks state)
{
	uint64_t ticks = 1000;
	struct thrum_clock clock = {read_clock, &ticks, 250000000};
	thrum_task *tasks = calloc(count + 1, sizeof *tasks);
	struct thrum_config config = {.file = file,
		.size = SIZE,
		.full = THRUM_FULL_DISCARD,
		.clock = &clock};
	int error = tasks ? thrum_start(&config) : -THRUM_E_MEMORY;

	if (error) {
		fprintf(stderr, "growth: %s: %s\n", file, thrum_error_message(error));
		exit(1);
	}
	for (unsigned i = 0; i <= count; i++)
		tasks[i] = thrum_task_create_in(THRUM_TASK_NONE, edge->kind,
			state == BARE ? NULL : LABEL);
	thrum_task_should_resolve(tasks[0]);
	thrum_task_should_resolve(tasks[count]);
	for (unsigned i = 0; i < count; i++) {
		unsigned a, b;

		choose(pattern, i, &a, &b);
		edge->make(tasks[a], tasks[b]);
	}
	for (unsigned i = 0; state == ENDED && i <= count; i++)
		thrum_task_resolve(tasks[i]);
	thrum_stop();
	free(tasks);
}

/* ---- Commands --------------------------------------------------------------------------------- */

struct files {
	char of[STATES][64];
};

/* `%` stands for the file, whose tasks are in that state. Where there is none, the file comes last. */
static const struct command {
	const char *name;
	enum tasks state;
	const char *words[6];
} commands[] = {
	{"why", BARE, {"why"}},
	{"tasks", BARE, {"tasks"}},
	{"stats", BARE, {"stats"}},
	{"render", BARE, {"render", "-o", "-", "-f", "svg"}},
	{"convert", BARE, {"convert", "--to=chrome", "%", "-"}},
	{"html", BARE, {"html", "-o", "-"}},
	{"--slow", ENDED, {"why", "--slow=" LABEL, "--folded=/dev/null"}},
	{"diff", LABELLED, {"diff", "ended", "%"}},
};
#define COMMANDS (sizeof commands / sizeof *commands)

static void run(const char *thrum, const struct command *command, const struct files *files)
{
	const char *arguments[9] = {thrum}, *file = files->of[command->state];
	struct rlimit limit = {SECONDS_MAX, SECONDS_MAX};
	int n = 1, null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	bool has_file = false;

	for (int i = 0; i < 6 && command->words[i]; i++) {
		const char *word = command->words[i];
		bool is_file = strcmp(word, "%") == 0;

		has_file = has_file || is_file;
		arguments[n++] = is_file             ? file
			: strcmp(word, "ended") == 0 ? files->of[ENDED]
						     : word;
	}
	if (!has_file)
		arguments[n++] = file;
	setrlimit(RLIMIT_CPU, &limit);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execv(thrum, (char *const *)arguments);
	_exit(127);
}

/* Returns the seconds of CPU time that a command takes; negative if it was too many, or if it
 * fails. */
static double measure(const char *thrum, const struct command *command, const struct files *files)
{
	struct rusage usage;
	int status;
	pid_t child = fork();

	if (child == 0)
		run(thrum, command, files);
	if (child < 0 || wait4(child, &status, 0, &usage) < 0 || !WIFEXITED(status) ||
		WEXITSTATUS(status) > 1)
		return -1;
	return bench_seconds(&usage);
}

static void compare(const char *thrum, const char *name, const struct command *command,
	const struct files *few, const struct files *many)
{
	double small = measure(thrum, command, few) / FEW;
	double large = small < 0 ? -1 : measure(thrum, command, many) / MANY;

	printf("%-40s %-8s ", name, command->name);
	if (large < 0)
		printf("%10s\n", "fails or takes too long");
	else
		printf("%8.0f %8.0f %8.2f%s\n", small * 1e9, large * 1e9, large / small,
			large > 2 * small ? " !" : "");
	fflush(stdout);
}

static void compare_all(const char *thrum, const struct edge *edge, enum pattern pattern,
	const char *name, const char *only, const struct files *few, const struct files *many)
{
	for (enum tasks state = 0; state < STATES; state++) {
		record(few->of[state], edge, pattern, FEW, state);
		record(many->of[state], edge, pattern, MANY, state);
	}
	for (size_t c = 0; c < COMMANDS; c++)
		if (!only || strcmp(commands[c].name, only) == 0)
			compare(thrum, name, &commands[c], few, many);
}

int main(int argc, char **argv)
{
	char thrum[4096], folder[] = "/tmp/growth.XXXXXX", name[80];
	struct files few, many;

	bench_program(thrum, "thrum");
	if (!mkdtemp(folder)) {
		perror("growth");
		return 1;
	}
	for (int i = 0; i < STATES; i++) {
		snprintf(few.of[i], sizeof few.of[i], "%s/few%d.thrum", folder, i);
		snprintf(many.of[i], sizeof many.of[i], "%s/many%d.thrum", folder, i);
	}
	printf("%-40s %-8s %8s %8s %8s\n", "ns of CPU time an edge", "", "100,000", "400,000",
		"growth");
	for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
		for (enum pattern pattern = 0; pattern < PATTERNS; pattern++) {
			snprintf(name, sizeof name, "%s: %s", edges[i].name,
				pattern_names[pattern]);
			if (argc < 2 || strstr(name, argv[1]))
				compare_all(thrum, &edges[i], pattern, name,
					argc > 2 ? argv[2] : NULL, &few, &many);
		}
	for (int i = 0; i < STATES; i++) {
		unlink(few.of[i]);
		unlink(many.of[i]);
	}
	rmdir(folder);
	return 0;
}
