/* SPDX-License-Identifier: ISC */
/* Error messages, from the table in thrum.h. libthrum and libthrum-trace both contain them. */
#include "thrum.h"

const char *thrum_error_message(int error)
{
	switch (error < 0 ? -error : error) {
	case THRUM_OK: return "success";
#define THRUM__X(name, value, message) \
	case THRUM_E_##name: return message;
		THRUM_ERRORS(THRUM__X)
#undef THRUM__X
	}
	return "unknown error";
}
