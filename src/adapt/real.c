/* SPDX-License-Identifier: ISC */
/* Finds the real functions behind the stand-ins. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>

#include "adapt/adapt.h"
#include "port/port.h"

/* Looks in the caller's module and in the libraries that it needs. */
static void *find_for_caller(const char *name, const void *caller)
{
	struct thrum__port_module module;

	if (!thrum__port_find_module(caller, &module))
		return NULL;
	void *handle = dlopen(module.path, RTLD_LAZY | RTLD_NOLOAD);

	if (!handle)
		return NULL;
	void *real = dlsym(handle, name);

	/* The caller's module stays loaded, since its code runs. */
	dlclose(handle);
	return real;
}

void *thrum__adapt_find_real(const char *name, const char *version, const void *caller)
{
	int error = errno;
	void *real = version ? dlvsym(RTLD_NEXT, name, version) : NULL;

	if (!real)
		real = dlsym(RTLD_NEXT, name);
	if (!real && caller)
		real = find_for_caller(name, caller);
	errno = error;
	return real;
}
