/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: profile_get looks profiles up by the name in small letters, but profile_store keeps them under
 *     the name as it was given. Names with capitals are never found, so each page that needs one loads the
 *     profile anew ("load profile" many times instead of once each), and pages wait for a place of
 *     "database".
 *   culprit: load profile|profile_load|profile_get
 *   victim: render page|page_render
 * case: healthy
 *   args: healthy
 *   ask: why
 *   culprit: nothing
 */
/* A forum that renders pages with the profiles of their authors, from a cache before a database. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define PAGES 60
#define CACHE_SIZE 64

struct profile {
	char key[24];
	int posts;
};

struct page {
	int number;
	const char *author;
};

static const char *const authors[] = {"Anna", "bob", "Carla", "Dmitri", "eve", "Franz"};

static struct {
	struct thrum_loop *loop;
	struct thrum_semaphore *database;
	struct profile profiles[CACHE_SIZE];
	int count, hits, misses;
	void (*make_key)(const char *name, char *key, size_t size);
	struct page pages[PAGES];
} forum;

static void key_lower(const char *name, char *key, size_t size)
{
	size_t i;

	for (i = 0; name[i] && i + 1 < size; i++)
		key[i] = (char)tolower((unsigned char)name[i]);
	key[i] = '\0';
}

static void key_as_given(const char *name, char *key, size_t size)
{
	snprintf(key, size, "%s", name);
}

static struct profile *profile_find(const char *key)
{
	for (int i = 0; i < forum.count; i++)
		if (strcmp(forum.profiles[i].key, key) == 0)
			return &forum.profiles[i];
	return NULL;
}

static struct profile *profile_store(const char *name, int posts)
{
	char key[24];
	struct profile *profile;

	forum.make_key(name, key, sizeof(key));
	profile = profile_find(key);
	if (!profile) {
		profile = &forum.profiles[forum.count++];
		snprintf(profile->key, sizeof(profile->key), "%s", key);
	}
	profile->posts = posts;
	return profile;
}

static struct thrum_promise *on_row(struct thrum_loop *loop, void *value, void *data)
{
	const struct page *page = data;

	(void)value;
	return thrum_promise_return(loop,
		thrum_value_static(profile_store(page->author, page->number)));
}

/* A place of the database is taken. */
static struct thrum_promise *query_database(struct thrum_loop *loop, void *data)
{
	return thrum_promise_bind(thrum_sleep(loop, 9), on_row, data, NULL);
}

static struct thrum_promise *profile_load(struct page *page)
{
	struct thrum_promise *row = thrum_semaphore_with(forum.database, query_database, page,
		NULL);

	return thrum_promise_labelf(row, "load profile %d", page->number);
}

static struct thrum_promise *profile_get(struct page *page)
{
	struct profile *profile;
	char key[24];

	key_lower(page->author, key, sizeof(key));
	profile = profile_find(key);
	if (profile) {
		forum.hits++;
		return thrum_promise_return(forum.loop, thrum_value_static(profile));
	}
	forum.misses++;
	return profile_load(page);
}

static struct thrum_promise *page_send(struct thrum_loop *loop, void *value, void *data)
{
	(void)value;
	(void)data;
	return thrum_promise_label(thrum_sleep(loop, 2), "send");
}

static struct thrum_promise *page_render(struct thrum_loop *loop, void *value, void *data)
{
	struct page *page = data;

	(void)loop;
	(void)value;
	return thrum_promise_label(thrum_promise_bind(profile_get(page), page_send, page, NULL),
		"body");
}

/* A visitor opens a page every 12 ms. */
static struct thrum_promise *visit(struct page *page)
{
	struct thrum_promise *arrived = thrum_sleep(forum.loop, (uint64_t)page->number * 12);

	return thrum_promise_labelf(thrum_promise_bind(arrived, page_render, page, NULL),
		"render page %d", page->number);
}

static struct thrum_promise *render_pages(void)
{
	struct thrum_promise *all[PAGES];

	for (int i = 0; i < PAGES; i++) {
		struct page *page = &forum.pages[i];

		page->number = i;
		page->author = authors[i % 6];
		all[i] = visit(page);
	}
	return thrum_promise_join(forum.loop, all, PAGES);
}

int main(int argc, char **argv)
{
	uv_loop_t *uv = uv_default_loop();
	int code;

	if (argc != 2 || thrum_start(NULL) || thrum_loop_create(uv, &forum.loop))
		return 2;
	forum.make_key = strcmp(argv[1], "healthy") == 0 ? key_lower : key_as_given;
	forum.database = thrum_semaphore_create(forum.loop, "database", 1);
	code = thrum_promise_run(
		thrum_promise_should_resolve(thrum_promise_label(render_pages(), "forum")));
	thrum_stop();
	printf("%d hits, %d misses\n", forum.hits, forum.misses);
	thrum_semaphore_destroy(forum.database);
	thrum_loop_destroy(forum.loop);
	uv_run(uv, UV_RUN_DEFAULT);
	uv_loop_close(uv);
	return code ? 1 : 0;
}
