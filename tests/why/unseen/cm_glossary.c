/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 4000
 *   ask: why
 *   truth: the glossary's process answers each question by a line and flushes it. For a term that it doesn't know
 *     (answer_unknown) it writes the line and doesn't flush: the answer stays in its buffer, and it reads the
 *     next question (run_glossary). The translator waits for the answer.
 *   culprit: run_glossary|answer_unknown
 *   victim: ask_term|translate
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */

/* A translator's desk: a helper process keeps the glossary, and answers a line for each term that it is asked. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct entry {
	const char *term;
	const char *meaning;
};

static const struct entry entries[] = {
	{"warp", "Kette"},
	{"weft", "Schuss"},
	{"shed", "Fach"},
	{"reed", "Blatt"},
	{"heddle", "Litze"},
	{"treadle", "Tritt"},
	{"shuttle", "Schiffchen"},
};

static const char *const text[] = {
	"warp",
	"weft",
	"shed",
	"warp",
	"reed",
	"heddle",
	"treadle",
	"weft",
	"shuttle",
	"shed",
	"temple",
	"reed",
	"warp",
	"shuttle",
	"heddle",
};

enum {
	ENTRIES = sizeof(entries) / sizeof(*entries),
	WORDS = sizeof(text) / sizeof(*text)
};

static bool broken;
static atomic_uint translated;
static atomic_bool finished;

static void nap(unsigned ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000L};

	nanosleep(&time, NULL);
}

/* ---- The glossary's process ---- */

static const char *find_meaning(const char *term)
{
	for (unsigned i = 0; i < ENTRIES; i++)
		if (strcmp(entries[i].term, term) == 0)
			return entries[i].meaning;
	return NULL;
}

static void answer_meaning(FILE *answers, const char *meaning)
{
	fprintf(answers, "= %s\n", meaning);
	fflush(answers);
}

static void answer_unknown(FILE *answers, const char *term)
{
	fprintf(answers, "? %s\n", term);
	if (!broken)
		fflush(answers);
}

static __attribute__((noinline)) void run_glossary(int from, int to)
{
	FILE *questions = fdopen(from, "r");
	FILE *answers = fdopen(to, "w");
	char line[128];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (fgets(line, sizeof(line), questions)) {
		const char *meaning;

		line[strcspn(line, "\n")] = '\0';
		nap(3);
		meaning = find_meaning(line);
		if (meaning)
			answer_meaning(answers, meaning);
		else
			answer_unknown(answers, line);
	}
	fclose(answers);
	fclose(questions);
}

/* ---- The desk ---- */

struct helper {
	pid_t process;
	int questions, answers;
};

static bool start_glossary(struct helper *helper)
{
	int down[2], up[2];

	if (pipe(down) || pipe(up))
		return false;
	helper->process = fork();
	if (helper->process < 0)
		return false;
	if (helper->process == 0) {
		close(down[1]);
		close(up[0]);
		run_glossary(down[0], up[1]);
		_exit(0);
	}
	close(down[0]);
	close(up[1]);
	helper->questions = down[1];
	helper->answers = up[0];
	return true;
}

static bool ask_term(const struct helper *helper, const char *term, char *answer, size_t size)
{
	char line[128];
	int length = snprintf(line, sizeof(line), "%s\n", term);
	size_t have = 0;

	if (write(helper->questions, line, (size_t)length) != length)
		return false;
	while (have + 1 < size) {
		ssize_t n = read(helper->answers, answer + have, size - 1 - have);

		if (n <= 0)
			return false;
		have += (size_t)n;
		if (answer[have - 1] == '\n') {
			answer[have - 1] = '\0';
			return true;
		}
	}
	return false;
}

static void *translate(void *data)
{
	const struct helper *helper = data;
	char answer[128];

	for (unsigned i = 0; i < WORDS; i++) {
		if (!ask_term(helper, text[i], answer, sizeof(answer)))
			break;
		printf("%s %s\n", text[i], answer);
		atomic_fetch_add(&translated, 1);
		nap(40);
	}
	atomic_store(&finished, true);
	return NULL;
}

/* Shows how far the text is. */
static void *show_progress(void *data)
{
	while (!atomic_load(&finished)) {
		printf("%u of %u words\n", atomic_load(&translated), (unsigned)WORDS);
		fflush(stdout);
		nap(150);
	}
	return data;
}

int main(int argc, char **argv)
{
	struct helper helper;
	pthread_t translator, progress;

	broken = argc > 1 && strcmp(argv[1], "broken") == 0;
	if (!start_glossary(&helper))
		return 1;
	pthread_create(&progress, NULL, show_progress, NULL);
	pthread_create(&translator, NULL, translate, &helper);
	pthread_join(translator, NULL);
	pthread_join(progress, NULL);
	close(helper.questions);
	waitpid(helper.process, NULL, 0);
	close(helper.answers);
	printf("done: %u words\n", atomic_load(&translated));
	return 0;
}
