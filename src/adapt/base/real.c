/* SPDX-License-Identifier: ISC */
/*
 * Finds the real functions behind the stand-ins: those of the libraries that are loaded when the
 * program starts before it runs, those of a library that is loaded later all at the first call of
 * one. So a signal handler's call rarely has to search.
 *
 * Several modules may have loaded a library for themselves alone (RTLD_LOCAL), each its own copy. So
 * such functions are known by the caller's module, too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapt/base/base.h"
#include "port/port.h"

/* All functions that REAL declares, between the linker's symbols. */
extern struct real *const __start_thrum_reals[] __attribute__((visibility("hidden")));
extern struct real *const __stop_thrum_reals[] __attribute__((visibility("hidden")));
#define FOR_EACH_REAL(at) \
	for (struct real *const *(at) = __start_thrum_reals; (at) < __stop_thrum_reals; (at)++)

/* ---- Libraries that all modules share -------------------------------------------------------- */

static void *find_shared(const struct real *real)
{
	void *found = real->version ? dlvsym(RTLD_NEXT, real->name, real->version) : NULL;

	return found ? found : dlsym(RTLD_NEXT, real->name);
}

/* An allocator that starts before this library takes its first lock within malloc, where nothing may be
 * sought in vain, as that allocates. */
static _Atomic bool is_loaded;

void thrum__adapt_find_reals(void)
{
	int error = errno;

	atomic_store(&is_loaded, true);
	FOR_EACH_REAL(at)
	if (!__atomic_load_n(&(*at)->known, __ATOMIC_RELAXED))
		__atomic_store_n(&(*at)->known, find_shared(*at), __ATOMIC_RELAXED);
	dlerror(); /* the program must not see that something was missing */
	errno = error;
}

/* ---- Libraries of one module ----------------------------------------------------------------- */

/* The function that the callers in a module mean. It never changes. */
struct local {
	const struct real *real;
	uintptr_t module; /* its address; 0 for callers that are not known */
	void *function;
};

#define LOCALS 4096u /* a power of two */
#define TRIES 32
static _Atomic(struct local *) locals[LOCALS];

static _Atomic(struct local *) *local_at(const struct real *real, uintptr_t module, uint32_t i)
{
	uint64_t bits = ((uintptr_t)real >> 3) + (module >> 12) * 61;

	return &locals[(uint32_t)((bits * UINT64_C(0x9e3779b97f4a7c15) >> 52) + i) % LOCALS];
}

static void *known_local(const struct real *real, uintptr_t module)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		const struct local *local = atomic_load(local_at(real, module, i));

		if (!local)
			return NULL;
		if (local->real == real && local->module == module)
			return local->function;
	}
	return NULL;
}

static void keep_local(const struct real *real, uintptr_t module, void *function)
{
	struct local *local = malloc(sizeof *local), *none = NULL;

	if (!local)
		return;
	*local = (struct local){real, module, function};
	for (uint32_t i = 0; i < TRIES; i++, none = NULL)
		if (atomic_compare_exchange_strong(local_at(real, module, i), &none, local))
			return;
	free(local);
}

/* Keeps the other functions of the library, too, which the handle sees. */
static void keep_library(void *handle, uintptr_t caller, uintptr_t library)
{
	struct thrum__port_module module;

	FOR_EACH_REAL(at)
	{
		if (__atomic_load_n(&(*at)->known, __ATOMIC_RELAXED) || known_local(*at, caller))
			continue;
		void *function = dlsym(handle, (*at)->name);

		if (function && thrum__port_find_module(function, &module) &&
			module.address == library)
			keep_local(*at, caller, function);
	}
}

/* Looks in a module, but this one, and in the libraries that it needs. The library that has the
 * function stays loaded for ever, since the function is not sought again. */
static void *find_in_module(const struct real *real, const char *path, uintptr_t caller)
{
	struct thrum__port_module module;

	/* A callback that ends in a jump to a stand-in seems to be this module's own call. */
	if (thrum__port_find_module((const void *)(uintptr_t)find_in_module, &module) &&
		strcmp(module.path, path) == 0)
		return NULL;
	void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return NULL;
	void *found = dlsym(handle, real->name), *kept = NULL;

	if (found && thrum__port_find_module(found, &module))
		kept = dlopen(module.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (kept) {
		keep_library(handle, caller, module.address);
		dlclose(kept);
	}
	dlclose(handle);
	return found;
}

/* The path of a loaded module, which is the one with this number. */
struct module_path {
	int number;
	char path[PATH_MAX];
};

static int take_path(struct dl_phdr_info *module, size_t size, void *argument)
{
	struct module_path *wanted = argument;

	if (wanted->number-- > 0)
		return 0;
	snprintf(wanted->path, sizeof wanted->path, "%s", module->dlpi_name);
	return 1;
}

/* Looks in all other modules. An adapter needs a function that its caller's module doesn't name, of a
 * library that was loaded for itself alone. */
static void *find_anywhere(const struct real *real, uintptr_t caller)
{
	for (int i = 0;; i++) {
		struct module_path module = {.number = i};
		void *found;

		/* Under the lock of dl_iterate_phdr, dlopen may never come back. */
		if (!dl_iterate_phdr(take_path, &module))
			return NULL;
		if (!strchr(module.path, '/'))
			continue;
		found = find_in_module(real, module.path, caller);
		if (found)
			return found;
	}
}

void *thrum__adapt_find_real(struct real *real, const void *caller)
{
	int error = errno;
	struct thrum__port_module module;
	bool has_module = caller && thrum__port_find_module(address_of_caller(caller), &module);
	uintptr_t key = has_module ? module.address : 0;
	void *found = known_local(real, key);

	errno = error;
	if (found)
		return found;
	found = find_shared(real);
	if (found) {
		__atomic_store_n(&real->known, found, __ATOMIC_RELAXED);
		if (atomic_load(&is_loaded)) /* the library was loaded later */
			thrum__adapt_find_reals();
		return found;
	}
	if (has_module)
		found = find_in_module(real, module.path, key);
	if (!found)
		found = find_anywhere(real, key);
	dlerror();
	errno = error;
	return found;
}
