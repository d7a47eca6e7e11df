/* SPDX-License-Identifier: ISC */
/* Loads a module with libuv twice, at different places if it can be unloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define SIZE (64 << 10)

int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
		void *function = module ? dlsym(module, "run_module") : NULL;

		if (!function)
			return 1;
		((void (*)(void))(uintptr_t)function)();
		dlclose(module);
		/* Takes the place where it was. */
		for (int j = 0; j < 200; j++)
			mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	puts("done");
	return 0;
}
