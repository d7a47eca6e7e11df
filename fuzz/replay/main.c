/* SPDX-License-Identifier: ISC */
/* Runs a fuzz target once with each file of a folder. So tests repeat libFuzzer's findings with any
 * compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path)
{
	perror(path);
	exit(1);
}

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		fail(path);
	long size = ftell(file);
	if (size < 0)
		fail(path);
	rewind(file);
	/* Exactly this size, so that ASan sees a read behind the end. */
	uint8_t *data = malloc((size_t)size + (size == 0));
	if (!data || fread(data, 1, (size_t)size, file) != (size_t)size)
		fail(path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, (size_t)size);
	free(data);
}

int main(int argc, char **argv)
{
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	if (!folder) {
		printf("no folder of seeds: %s\n", argc == 2 ? argv[1] : "(none given)");
		return argc == 2 ? 77 : 1;
	}
	unsigned count = 0;
	for (struct dirent *entry; (entry = readdir(folder));) {
		char path[4096];
		if (entry->d_name[0] == '.')
			continue;
		int length = snprintf(path, sizeof(path), "%s/%s", argv[1], entry->d_name);
		if (length < 0 || (size_t)length >= sizeof(path))
			continue;
		run_file(path);
		count++;
	}
	closedir(folder);
	printf("%u seeds\n", count);
	return count ? 0 : 77;
}
