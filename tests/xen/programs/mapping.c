/* SPDX-License-Identifier: ISC */
/*
 * mapping DOMAIN LIST: maps the pages of these grant references for writing, which has to fail, and
 * then for reading. Prints "refused" or "granted" for each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <xengnttab.h>

int main(int argc, char **argv)
{
	static const int protections[] = {PROT_READ | PROT_WRITE, PROT_READ};
	uint32_t references[1024], count = 0;
	char none[] = "", *list = argc > 2 ? argv[2] : none;
	xengnttab_handle *grants = xengnttab_open(NULL, 0);

	while (*list && count < 1024) {
		references[count++] = (uint32_t)strtoul(list, &list, 10);
		list += *list == ',';
	}
	if (!grants || !count)
		return 2;
	for (int i = 0; i < 2; i++) {
		void *memory = xengnttab_map_domain_grant_refs(grants, count,
			(uint32_t)atoi(argv[1]), references, protections[i]);

		puts(memory ? "granted" : "refused");
		if (memory)
			xengnttab_unmap(grants, memory, count);
	}
	return xengnttab_close(grants) != 0;
}
