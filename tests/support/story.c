/* SPDX-License-Identifier: ISC */
#define _GNU_SOURCE /* strdup, strtok_r */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "story.h"

static void refuse(const char *line)
{
	fprintf(stderr, "story: not understood: %s\n", line);
	abort();
}

static int find(const char *word, const char *(*name)(int), int count)
{
	for (int i = 0; i < count; i++)
		if (strcmp(word, name(i)) == 0)
			return i;
	return -1;
}

static void read_word(const char *line, char *word, struct thrum_event *event, int position)
{
	if (word[0] == '@') {
		event->lane = (uint32_t)strtoul(word + 1, NULL, 10);
	} else if (word[0] == '=') {
		event->value = strtoll(word + 1, NULL, 10);
		event->flags |= THRUM_EVENT_HAS_VALUE;
	} else if (strcmp(word, "-") == 0) {
		;
	} else if (word[0] == '-' || (word[0] >= '0' && word[0] <= '9')) {
		uint64_t id = (uint64_t)strtoll(word, NULL, 10);

		if (position == 0) {
			event->task = id;
			event->flags |= THRUM_EVENT_HAS_TASK;
		} else {
			event->other = id;
			event->flags |= THRUM_EVENT_HAS_OTHER;
		}
	} else {
		int kind = find(word, thrum_kind_name, 64);

		if (kind < 0 || event->type != THRUM_EVENT_CREATE)
			refuse(line);
		event->kind = (uint8_t)kind;
	}
}

static void read_line(char *line, struct thrum_event *event)
{
	char *quote = strchr(line, '"'), *other_way, *rest, *word;
	int type = -1, position = 0;

	*event = (struct thrum_event){.text = ""};
	if (quote) {
		*quote = 0;
		event->text = quote + 1;
		event->text_size = (uint32_t)strlen(event->text);
		event->flags |= THRUM_EVENT_HAS_TEXT;
		if ((other_way = strstr(quote + 1, "\002\377")))
			*other_way = 0;
	}
	word = strtok_r(line, " \t", &rest);
	event->time = strtoll(word, NULL, 10);
	event->clock = (uint64_t)event->time;
	while ((word = strtok_r(NULL, " \t", &rest))) {
		if (type >= 0 || word[0] == '@') {
			bool is_id = word[0] != '@' && word[0] != '=';

			read_word(line, word, event, position);
			position += is_id;
			continue;
		}
		type = find(word, thrum_event_name, THRUM_EVENT_TYPES);
		if (type < 0)
			refuse(word);
		event->type = (uint8_t)type;
	}
	if (type < 0)
		refuse(line);
	if (type == THRUM_EVENT_CREATE || type == THRUM_EVENT_LOCK || type == THRUM_EVENT_WAIT)
		event->site = (uint16_t)event->value;
}

void story_init(struct story *story, const char *lines)
{
	size_t room = 1;
	char *line, *rest;

	for (const char *c = lines; *c; c++)
		room += *c == '\n';
	*story = (struct story){calloc(room, sizeof *story->events), 0, strdup(lines)};
	if (!story->events || !story->text)
		abort();
	for (line = strtok_r(story->text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		line += strspn(line, " \t");
		if (*line)
			read_line(line, &story->events[story->count++]);
	}
}

void story_finish(struct story *story)
{
	free(story->events);
	free(story->text);
}

struct thrum__model *story_model(const char *lines, bool is_mirage)
{
	struct thrum__model *model;
	struct story story;

	story_init(&story, lines);
	if (thrum__model_create(NULL, &model) != 0)
		abort();
	model->is_mirage = model->signed_ids = is_mirage;
	if (thrum__model_append(model, story.events, story.count) != 0)
		abort();
	story_finish(&story);
	return model;
}

uint32_t story_task(const struct thrum__model *model, uint64_t id)
{
	uint32_t task = thrum__model_find(model, id);

	if (task == THRUM__NONE) {
		fprintf(stderr, "story: no task %" PRIu64 "\n", id);
		abort();
	}
	return task;
}

void story_clocks(struct thrum__model *model, int64_t before, int64_t after)
{
	int64_t *errors = malloc(2 * sizeof *errors);

	if (!errors)
		abort();
	errors[0] = before;
	errors[1] = after;
	model->clocks = (struct thrum__read_clocks){.every = 1000000000,
		.times = 2,
		.hosts = 2,
		.errors = errors};
}

/* ---- Line by line ---------------------------------------------------------------------------- */

static struct {
	char lines[1 << 16];
	size_t size;
} told;

void story_begin(void)
{
	told.lines[told.size = 0] = '\0';
}

void story_tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	told.size += (size_t)vsnprintf(told.lines + told.size, sizeof told.lines - told.size,
		format, arguments);
	va_end(arguments);
	if (told.size >= sizeof told.lines)
		refuse(format);
}

void story_take_back(void)
{
	do
		told.lines[--told.size] = '\0';
	while (told.size > 0 && told.lines[told.size - 1] != '\n');
}

const char *story_told(void)
{
	return told.lines;
}
