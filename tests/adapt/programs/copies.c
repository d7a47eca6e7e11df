/* SPDX-License-Identifier: ISC */
/* Loads modules for themselves alone, each with a copy of a library, and calls their functions in turn.
 * It knows nothing of thrum. Arguments: the modules. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 4 * (argc - 1); i++) {
		void *module = dlopen(argv[1 + i % (argc - 1)], RTLD_NOW | RTLD_LOCAL);
		int (*call)(void) = module ? (int (*)(void))dlsym(module, "call_library") : NULL;

		if (!call)
			return 1;
		printf("copy %d\n", call());
	}
	return 0;
}
