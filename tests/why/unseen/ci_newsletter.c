/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: template_get keeps a compiled template as long as its file hasn't changed. But it compares the file's
 *     time in seconds with the one that it noted in nanoseconds. They always differ, so each letter
 *     compiles its template anew instead of once for each language.
 *   culprit: compile
 *   victim: letter
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A tool that sends a newsletter: each reader gets it in a language, from a template that is compiled first. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <thrum.h>
#include <unistd.h>

enum {
	LANGUAGES = 3,
	READERS = 48,
};

struct template
{
	char path[64];
	int64_t changed; /* when the file was, by template_time */
	char *code;
	unsigned compilations;
};

static const char *const languages[LANGUAGES] = {"de", "fr", "it"};
static struct template templates[LANGUAGES];
static bool healthy;
static unsigned sent;

static void work_for(unsigned us)
{
	thrum_suspend(THRUM_BLOCKED_FOR_A_TIME);
	usleep(us);
	thrum_resume();
}

static void template_write(struct template *template, const char *language)
{
	FILE *file;

	snprintf(template->path, sizeof(template->path), "/dev/shm/ci_newsletter.%s.%d", language,
		(int)getpid());
	file = fopen(template->path, "w");
	if (!file)
		exit(1);
	fprintf(file, "[%s] {name}: {news}\n", language);
	fclose(file);
}

static int64_t template_time(const struct stat *status)
{
	return (int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec;
}

static void template_compile(struct template *template, const char *language)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_TASK, "compile %s", language);
	char line[64] = "";
	FILE *file;

	THRUM_RUN (task) {
		file = fopen(template->path, "r");
		if (!file || !fgets(line, sizeof(line), file))
			exit(1);
		fclose(file);
		work_for(4000);
		free(template->code);
		template->code = strdup(line);
		template->compilations++;
	}
	thrum_task_resolve(task);
}

static const char *template_get(unsigned language)
{
	struct template *template = &templates[language];
	struct stat status;
	int64_t changed;

	if (stat(template->path, &status))
		exit(1);
	changed = healthy ? template_time(&status) : (int64_t)status.st_mtime;
	if (!template->code || changed != template->changed) {
		template_compile(template, languages[language]);
		template->changed = template_time(&status);
	}
	return template->code;
}

static void hand_over(unsigned reader, const char *code)
{
	thrum_task task = thrum_task_createf(THRUM_KIND_REQUEST, "hand over %u", reader);

	(void)code;
	thrum_task_wait(thrum_task_current(), task);
	work_for(1000);
	thrum_task_resolve(task);
	thrum_task_read(thrum_task_current(), task);
	sent++;
}

static void send_letter(unsigned reader)
{
	thrum_task letter = thrum_task_createf(THRUM_KIND_TASK, "letter %u", reader);

	thrum_task_should_resolve(letter);
	THRUM_RUN (letter)
		hand_over(reader, template_get(reader % LANGUAGES));
	thrum_task_resolve(letter);
}

int main(int count, char **arguments)
{
	unsigned compilations = 0;

	if (count != 2)
		return 2;
	healthy = !strcmp(arguments[1], "healthy");
	thrum_start(NULL);
	for (unsigned i = 0; i < LANGUAGES; i++)
		template_write(&templates[i], languages[i]);
	for (unsigned i = 0; i < READERS; i++)
		send_letter(i);
	thrum_stop();
	for (unsigned i = 0; i < LANGUAGES; i++) {
		compilations += templates[i].compilations;
		free(templates[i].code);
		unlink(templates[i].path);
	}
	printf("%u letters sent\n", sent);
	return compilations < LANGUAGES;
}
