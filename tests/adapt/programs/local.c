/* SPDX-License-Identifier: ISC */
/* Loads a module for itself alone, as Python does, and runs it. The program has no GLib. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void *function = module ? dlsym(module, "run_module") : NULL;

	if (!function)
		return 1;
	((void (*)(void))(uintptr_t)function)();
	/* The adapters may have looked for a function that is nowhere. */
	puts(dlerror() ? "an error of another" : "no error");
	return 0;
}
