/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: kill 1500
 *   ask: why
 *   truth: add_word prints its command into the stream to the spelling checker but doesn't flush it. So main waits for an answer to a command that is still in its own buffer, and the checker waits for a command.
 *   culprit: \bmain\b|add_word|read_answer
 *   victim: run_speller
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* An editor asks a spelling checker, which runs as a child and talks through pipes. */

static bool broken;
static FILE *to_speller, *from_speller;

/* The child: answers each line with one line. */
static void run_speller(FILE *in, FILE *out)
{
	static char known[16][32] = {"a", "loom", "is", "bare"};
	int count = 4;
	char line[80], word[32];

	while (fgets(line, sizeof(line), in)) {
		bool found = false;

		if (sscanf(line, "check %31s", word) == 1) {
			for (int i = 0; i < count; i++)
				found |= !strcmp(known[i], word);
			fprintf(out, "%s\n", found ? "ok" : "unknown");
		} else if (sscanf(line, "add %31s", word) == 1 && count < 16) {
			strcpy(known[count++], word);
			fprintf(out, "added\n");
		} else {
			fprintf(out, "error\n");
		}
		fflush(out);
	}
}

static pid_t start_speller(void)
{
	int there[2], back[2];
	pid_t child;

	if (pipe(there) || pipe(back))
		exit(1);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(there[1]);
		close(back[0]);
		run_speller(fdopen(there[0], "r"), fdopen(back[1], "w"));
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	to_speller = fdopen(there[1], "w");
	from_speller = fdopen(back[0], "r");
	return child;
}

static bool read_answer(const char *expected)
{
	char answer[32];

	if (!fgets(answer, sizeof(answer), from_speller))
		exit(1);
	answer[strcspn(answer, "\n")] = '\0';
	return !strcmp(answer, expected);
}

static bool check_word(const char *word)
{
	fprintf(to_speller, "check %s\n", word);
	fflush(to_speller);
	return read_answer("ok");
}

static bool add_word(const char *word)
{
	fprintf(to_speller, "add %s\n", word);
	if (!broken)
		fflush(to_speller);
	return read_answer("added");
}

int main(int argc, char **argv)
{
	static const char *const text[] = {"a", "loom", "without", "thrums", "is", "bare"};
	pid_t child;
	int wrong = 0;

	broken = argc > 1 && !strcmp(argv[1], "broken");
	child = start_speller();
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		if (check_word(text[i]))
			continue;
		wrong++;
		/* The user says that the word is right. */
		if (!strcmp(text[i], "thrums") && !add_word(text[i]))
			return 1;
	}
	printf("%d unknown words\n", wrong);
	fclose(to_speller);
	waitpid(child, NULL, 0);
	return 0;
}
