/* SPDX-License-Identifier: ISC */
/* Messages for error codes. uv_strerror can't be used: for a code that libuv doesn't name it
 * allocates the text, which nobody frees. */
#include "promise/promise.h"
#include <limits.h>
#include <string.h>

/* Returns the message of a code that this version of libuv doesn't name; NULL if there is none. */
static const char *system_message(int code)
{
	switch (code) {
	case 0: return "success";
	case -EBADMSG: return "bad message";
	case -ECHILD: return "no child processes";
	case -EDEADLK: return "resource deadlock would occur";
	case -EDOM: return "argument out of the function's domain";
	case -EDQUOT: return "disk quota exceeded";
	case -EIDRM: return "identifier removed";
	case -EINPROGRESS: return "operation in progress";
	case -EMULTIHOP: return "multihop attempted";
	case -ENETRESET: return "connection aborted by network";
	case -ENOEXEC: return "executable file format error";
	case -ENOLCK: return "no locks available";
	case -ENOLINK: return "link has been severed";
	case -ENOMSG: return "no message of the desired type";
	case -ENOTRECOVERABLE: return "state not recoverable";
	case -EOWNERDEAD: return "previous owner died";
	case -ESTALE: return "stale file handle";
	default: break;
	}
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 32)
	/* Unlike strerror, this never writes to a buffer that threads share. */
	if (code < 0 && code > INT_MIN)
		return strerrordesc_np(-code);
#endif
	return NULL;
}

const char *thrum_promise_error_message(int code)
{
	const char *message;

	switch (code) {
#define X(name, text) \
	case UV_##name: return text;
		UV_ERRNO_MAP(X)
#undef X
	default: break;
	}
	message = system_message(code);
	return message ? message : "failed";
}
