/* SPDX-License-Identifier: ISC */
/* A module that uses a library. */

static char handle[256];
static volatile int calls;

int uv_async_send(void *handle);
int call_library(void);

int call_library(void)
{
	int result = uv_async_send(handle);

	calls++;
	return result;
}
