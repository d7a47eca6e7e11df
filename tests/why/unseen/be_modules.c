/* SPDX-License-Identifier: ISC */
/*
 * case: broken
 *   args: broken
 *   run: self kill 1500
 *   ask: why
 *   truth: the modules auth and session import each other. import_module returns the promise in the registry
 *     for a module that is still being loaded, also if that one waits for the importer: so "load auth" waits
 *     for "load session" and that one for "load auth"; the page /account waits for both for ever
 *   culprit: load (auth|session)
 *   victim: page|bundle|load (account|app)
 * case: healthy
 *   args: healthy
 *   run: self
 *   ask: why
 *   culprit: nothing
 */

/* A development server that bundles pages: it loads each module once, with all that it imports. */

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <thrum/promise.h>
#include <uv.h>

#define IMPORTS 4
#define PAGES 3

struct registry;

struct module {
	const char *name;
	const char *imports[IMPORTS];
	unsigned read_ms;
	struct registry *registry;
	struct thrum_promise *loaded; /* NULL: nobody has asked for it */
	bool evaluated;
};

typedef struct thrum_promise *import(struct module *module, struct module *importer);

struct registry {
	struct thrum_loop *loop;
	struct module *modules;
	size_t count;
	import *import;
	unsigned reads;
	uv_timer_t watch;
	unsigned looks;
};

static struct module modules[] = {
	{.name = "home", .imports = {"layout", "feed"}, .read_ms = 4},
	{.name = "about", .imports = {"layout", "text"}, .read_ms = 3},
	{.name = "account", .imports = {"layout", "auth", "forms"}, .read_ms = 5},
	{.name = "layout", .imports = {"text", "theme"}, .read_ms = 6},
	{.name = "feed", .imports = {"http", "text"}, .read_ms = 8},
	{.name = "forms", .imports = {"text"}, .read_ms = 2},
	{.name = "auth", .imports = {"http", "session"}, .read_ms = 7},
	{.name = "session", .imports = {"store", "auth"}, .read_ms = 5},
	{.name = "store", .read_ms = 3},
	{.name = "http", .read_ms = 4},
	{.name = "text", .read_ms = 2},
	{.name = "theme", .read_ms = 9},
};

static struct module *module_find(struct registry *registry, const char *name)
{
	for (size_t i = 0; i < registry->count; i++)
		if (strcmp(registry->modules[i].name, name) == 0)
			return &registry->modules[i];
	return NULL;
}

static struct thrum_value evaluate(struct thrum_loop *loop, void *value, void *data)
{
	struct module *module = data;

	(void)loop;
	(void)value;
	module->evaluated = true;
	return thrum_value_none();
}

/* The source is there: loads what it imports, and then runs it. */
static struct thrum_promise *on_source(struct thrum_loop *loop, void *value, void *data)
{
	struct module *module = data;
	struct thrum_promise *promises[IMPORTS];
	size_t count = 0;

	(void)value;
	module->registry->reads++;
	for (size_t i = 0; i < IMPORTS && module->imports[i]; i++) {
		struct module *imported = module_find(module->registry, module->imports[i]);

		if (!imported)
			return thrum_promise_fail(loop, -ENOENT, "no module %s",
				module->imports[i]);
		promises[count++] = module->registry->import(imported, module);
	}
	if (count == 0)
		return thrum_promise_return(loop, evaluate(loop, NULL, module));
	return thrum_promise_map(thrum_promise_join(loop, promises, count), evaluate, module, NULL);
}

static struct thrum_promise *import_module(struct module *module, struct module *importer)
{
	struct thrum_promise *source;

	(void)importer;
	if (!module->loaded) {
		source = thrum_sleep(module->registry->loop, module->read_ms);
		source = thrum_promise_labelf(source, "read %s.js", module->name);
		module->loaded = thrum_promise_bind(source, on_source, module, NULL);
		module->loaded = thrum_promise_labelf(module->loaded, "load %s", module->name);
	}
	return thrum_promise_ref(module->loaded);
}

/* Whether the module imports the other one, in one step or several. */
static bool module_reaches(struct module *module, const struct module *other, int depth)
{
	if (depth == 0)
		return false;
	for (size_t i = 0; i < IMPORTS && module->imports[i]; i++) {
		struct module *next = module_find(module->registry, module->imports[i]);

		if (next && (next == other || module_reaches(next, other, depth - 1)))
			return true;
	}
	return false;
}

/* A module that is being loaded, and needs the importer itself, is bound as it is. */
static struct thrum_promise *import_binding(struct module *module, struct module *importer)
{
	if (importer && module->loaded && !module->evaluated && module_reaches(module, importer, 8))
		return thrum_promise_return(module->registry->loop, thrum_value_none());
	return import_module(module, importer);
}

static struct thrum_value print_page(struct thrum_loop *loop, void *value, void *data)
{
	const struct module *page = data;

	(void)loop;
	(void)value;
	printf("/%s: %u modules read so far\n", page->name, page->registry->reads);
	return thrum_value_none();
}

static struct thrum_promise *serve_page(struct registry *registry, const char *name)
{
	struct module *page = module_find(registry, name);
	struct thrum_promise *served;

	served = thrum_promise_map(registry->import(page, NULL), print_page, page, NULL);
	return thrum_promise_labelf(served, "page /%s", name);
}

struct visit {
	struct registry *registry;
	const char *name;
};

static struct thrum_promise *on_visit(struct thrum_loop *loop, void *value, void *data)
{
	struct visit *visit = data;

	(void)loop;
	(void)value;
	return serve_page(visit->registry, visit->name);
}

/* Looks whether a source has changed. */
static void on_watch(uv_timer_t *timer)
{
	struct registry *registry = timer->data;

	registry->looks++;
}

int main(int argc, char **argv)
{
	struct registry registry = {.modules = modules,
		.count = sizeof(modules) / sizeof(modules[0])};
	struct visit visits[PAGES] = {{&registry, "home"}, {&registry, "about"},
		{&registry, "account"}};
	struct thrum_promise *pages[PAGES], *all;
	uv_loop_t uv;
	int result;

	if (argc != 2)
		return 2;
	thrum_start(NULL);
	registry.import = strcmp(argv[1], "healthy") == 0 ? import_binding : import_module;
	uv_loop_init(&uv);
	if (thrum_loop_create(&uv, &registry.loop))
		return 2;
	for (size_t i = 0; i < registry.count; i++)
		registry.modules[i].registry = &registry;
	uv_timer_init(&uv, &registry.watch);
	registry.watch.data = &registry;
	uv_timer_start(&registry.watch, on_watch, 50, 50);
	for (int i = 0; i < PAGES; i++) {
		pages[i] = thrum_sleep(registry.loop, (uint64_t)i * 40 + 1);
		pages[i] = thrum_promise_bind(pages[i], on_visit, &visits[i], NULL);
	}
	all = thrum_promise_label(thrum_promise_join(registry.loop, pages, PAGES), "bundle");
	result = thrum_promise_run(thrum_promise_should_resolve(all));
	thrum_stop();
	for (size_t i = 0; i < registry.count; i++)
		thrum_promise_unref(registry.modules[i].loaded);
	uv_close((uv_handle_t *)&registry.watch, NULL);
	thrum_loop_destroy(registry.loop);
	uv_run(&uv, UV_RUN_DEFAULT);
	uv_loop_close(&uv);
	printf("%s, %u looks\n", thrum_promise_error_message(result), registry.looks);
	return result ? 1 : 0;
}
