/* SPDX-License-Identifier: ISC */
/* Writes by uv_try_write that fell short: the rest is the program's, and no request of libuv sends it. */
#include "adapt/descriptor/descriptor.h"
#include "adapt/uv/uv.h"

REAL(uv_fileno)
REAL(uv_try_write)

STAND_IN int uv_try_write(uv_stream_t *handle, const uv_buf_t bufs[], unsigned count)
{
	int result = real_uv_try_write(CALLER)(handle, bufs, count), fd;

	if (thrum__adapt_uv_begin(CALLER) && result > 0 &&
		real_uv_fileno(NULL)((uv_handle_t *)handle, &fd) == 0)
		thrum__adapt_unsent_by(fd, thrum__adapt_caller(CHAIN));
	return result;
}
