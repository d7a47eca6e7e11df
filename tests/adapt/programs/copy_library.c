/* SPDX-License-Identifier: ISC */
/* A copy of a library, by its number. It has the name of one of libuv's functions only. */

int uv_async_send(void *handle);

int uv_async_send(void *handle)
{
	return handle ? COPY : 0;
}
