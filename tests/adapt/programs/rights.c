/* SPDX-License-Identifier: ISC */
/* Gives up the rights of root by the call that the argument names, and sleeps. */
#define _GNU_SOURCE
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *call = argc > 1 ? argv[1] : "";
	int result = -1;

	if (strcmp(call, "nothing") == 0)
		return setuid(0) | seteuid(0) | setreuid(0, 0) | setresuid(0, 0, 0);
	if (strcmp(call, "setuid") == 0)
		result = setuid(65534);
	else if (strcmp(call, "seteuid") == 0)
		result = seteuid(65534);
	else if (strcmp(call, "setreuid") == 0)
		result = setreuid(65534, 65534);
	else if (strcmp(call, "setresuid") == 0)
		result = setresuid(65534, 65534, 65534);
	else if (strcmp(call, "chroot") == 0)
		result = chroot("/proc");
	usleep(100000);
	return result != 0;
}
