/* SPDX-License-Identifier: ISC */
/* Finds the real functions behind the stand-ins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "adapt/adapt.h"
#include "port/port.h"

/* Looks in a module and in the libraries that it needs. The library that has the function stays
 * loaded for ever, since the function is not sought again. */
static void *find_in_module(const char *name, const char *path)
{
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return NULL;
	struct thrum__port_module module;
	void *real = dlsym(handle, name), *kept = NULL;

	if (real && thrum__port_find_module(real, &module))
		kept = dlopen(module.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (kept)
		dlclose(kept);
	dlclose(handle);
	return real;
}

static void *find_for_caller(const char *name, const void *caller)
{
	struct thrum__port_module module;

	return thrum__port_find_module(caller, &module) ? find_in_module(name, module.path) : NULL;
}

/* The path of a loaded module, which is the one with this number. */
struct module_path {
	int number;
	char path[PATH_MAX];
};

static int take_path(struct dl_phdr_info *module, size_t size, void *argument)
{
	struct module_path *wanted = argument;

	(void)size;
	if (wanted->number-- > 0)
		return 0;
	snprintf(wanted->path, sizeof wanted->path, "%s", module->dlpi_name);
	return 1;
}

/* Looks in all modules but this one. An adapter needs a function that its caller's module doesn't
 * name, of a library that was loaded for itself alone. */
static void *find_anywhere(const char *name)
{
	struct thrum__port_module own;

	if (!thrum__port_find_module((const void *)(uintptr_t)find_anywhere, &own))
		return NULL;
	for (int i = 0;; i++) {
		struct module_path module = {.number = i};
		void *real;

		/* Under the lock of dl_iterate_phdr, dlopen may never come back. */
		if (!dl_iterate_phdr(take_path, &module))
			return NULL;
		if (!strchr(module.path, '/') || strcmp(module.path, own.path) == 0)
			continue;
		real = find_in_module(name, module.path);
		if (real)
			return real;
	}
}

void *thrum__adapt_find_real(const char *name, const char *version, const void *caller)
{
	int error = errno;
	void *real = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!real)
		real = dlsym(RTLD_NEXT, name);
	if (!real) {
		if (caller)
			real = find_for_caller(name, caller);
		if (!real)
			real = find_anywhere(name);
		dlerror(); /* the program must not see that something was missing */
	}
	errno = error;
	return real;
}
