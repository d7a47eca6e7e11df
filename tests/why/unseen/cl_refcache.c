/* SPDX-License-Identifier: ISC */
/*
 * After flatpak/flatpak #4251.
 *
 * case: broken
 *   args: broken
 *   run: self
 *   ask: diff healthy
 *   truth: The caller asks for what is in the cache only (QUERY_ONLY_CACHED), but list_remote_refs_sync_full doesn't
 *     hand that flag on. So remote_state_ensure_summary fetches the summary from the remote for each project anew, where
 *     the healthy program fetches it once per remote, at the beginning.
 *   culprit: fetch summary|remote_state_ensure_summary|list_remote_refs_sync_full
 *   victim: resolve project
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* An editor finds out which runtimes the projects of its user need, and which of the remotes offer them. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

enum {
	REMOTES = 2,
	PROJECTS = 12,
	FETCH_MS = 7,
	READ_MS = 1,
	MANIFEST_MS = 2
};
enum {
	QUERY_NONE = 0,
	QUERY_ONLY_CACHED = 1
};

struct remote {
	const char *name;
	bool has_summary; /* in the cache */
	unsigned fetches;
};

struct listing {
	struct remote *remote;
	int flags;
};

struct project {
	int number;
};

static struct thrum_loop *loop;
static struct remote remotes[REMOTES] = {{.name = "flathub"}, {.name = "nightly"}};
static struct project projects[PROJECTS];
static unsigned refs_listed;
static bool broken;

/* ---- The library ---------------------------------------------------------------------------- */

static struct thrum_promise *summary_fetched(struct thrum_loop *own, void *value, void *data)
{
	struct remote *remote = data;

	(void)value;
	remote->fetches++;
	remote->has_summary = true;
	return thrum_promise_return(own, thrum_value_none());
}

/* With QUERY_ONLY_CACHED it takes the summary that is there, else it asks whether there is a newer one. */
static struct thrum_promise *remote_state_ensure_summary(struct thrum_loop *own,
	struct remote *remote, int flags)
{
	struct thrum_promise *fetch;

	if (remote->has_summary && flags & QUERY_ONLY_CACHED)
		return thrum_promise_return(own, thrum_value_none());
	fetch = thrum_promise_labelf(thrum_sleep(own, FETCH_MS), "fetch summary of %s",
		remote->name);
	return thrum_promise_bind(fetch, summary_fetched, remote, NULL);
}

static struct thrum_promise *parse_refs(struct thrum_loop *own, void *value, void *data)
{
	const struct listing *listing = data;

	(void)value;
	refs_listed++;
	return thrum_promise_labelf(thrum_sleep(own, READ_MS), "parse refs of %s",
		listing->remote->name);
}

static struct thrum_promise *list_remote_refs_sync_full(struct thrum_loop *own,
	struct remote *remote, int flags)
{
	struct listing *listing = malloc(sizeof(*listing));
	struct thrum_promise *state;

	if (!listing)
		exit(2);
	listing->remote = remote;
	listing->flags = flags;
	state = remote_state_ensure_summary(own, remote, broken ? QUERY_NONE : listing->flags);
	return thrum_promise_label(thrum_promise_bind(state, parse_refs, listing, free),
		"list refs");
}

/* ---- The editor ----------------------------------------------------------------------------- */

static struct thrum_promise *list_second(struct thrum_loop *own, void *value, void *data)
{
	(void)value;
	(void)data;
	return list_remote_refs_sync_full(own, &remotes[1], QUERY_ONLY_CACHED);
}

static struct thrum_promise *resolve_extension(struct thrum_loop *own, void *value, void *data)
{
	struct thrum_promise *first = list_remote_refs_sync_full(own, &remotes[0],
		QUERY_ONLY_CACHED);

	(void)value;
	return thrum_promise_bind(first, list_second, data, NULL);
}

static struct thrum_promise *resolve_project(struct thrum_loop *own, struct project *project)
{
	struct thrum_promise *manifest = thrum_promise_label(thrum_sleep(own, MANIFEST_MS),
		"read manifest");
	struct thrum_promise *resolved = thrum_promise_bind(manifest, resolve_extension, project,
		NULL);

	resolved = thrum_promise_labelf(resolved, "resolve project %d", project->number);
	return thrum_promise_should_resolve(resolved);
}

static struct thrum_promise *next_project(struct thrum_loop *own, void *value, void *data)
{
	struct project *project = data;

	(void)value;
	if (project == projects + PROJECTS)
		return thrum_promise_return(own, thrum_value_none());
	project->number = (int)(project - projects) + 1;
	return thrum_promise_bind(resolve_project(own, project), next_project, project + 1, NULL);
}

/* Once, when the editor starts. */
static struct thrum_promise *update_remotes(struct thrum_loop *own)
{
	struct thrum_promise *all[REMOTES];

	for (int i = 0; i < REMOTES; i++)
		all[i] = remote_state_ensure_summary(own, &remotes[i], QUERY_NONE);
	return thrum_promise_label(thrum_promise_join(own, all, REMOTES), "update remotes");
}

int main(int argc, char **argv)
{
	struct thrum_promise *start;
	int code;

	if (argc != 2 || (strcmp(argv[1], "broken") && strcmp(argv[1], "healthy")))
		return 2;
	broken = !strcmp(argv[1], "broken");
	thrum_start(NULL);
	if (thrum_loop_create(uv_default_loop(), &loop))
		return 2;
	start = thrum_promise_bind(update_remotes(loop), next_project, projects, NULL);
	start = thrum_promise_label(start, "open the workspace");
	thrum_promise_should_resolve(start);
	code = thrum_promise_run(start);
	thrum_stop();
	printf("%u lists of refs, %u and %u fetches; %s\n", refs_listed, remotes[0].fetches,
		remotes[1].fetches, thrum_promise_error_message(code));
	thrum_loop_destroy(loop);
	uv_run(uv_default_loop(), UV_RUN_DEFAULT);
	return code ? 1 : 0;
}
