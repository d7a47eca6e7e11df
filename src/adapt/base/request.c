/* SPDX-License-Identifier: ISC */
/* Tasks of requests and of what doesn't come, and the words of their labels. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "adapt/base/base.h"

__attribute__((format(printf, 3, 0))) static thrum_task make_request(const void *caller,
	const char *then, const char *format, va_list arguments)
{
	char label[THRUM_TEXT_MAX + PLACE_MAX];

	if (vsnprintf(label, THRUM_TEXT_MAX + 1 - strlen(then), format, arguments) < 0)
		label[0] = '\0';
	return thrum__create(thrum__adapt_site(caller), THRUM_KIND_REQUEST, strcat(label, then));
}

thrum_task thrum__adapt_request(const void *caller, const char *format, ...)
{
	int error = errno;
	va_list arguments;

	va_start(arguments, format);
	thrum_task task = make_request(caller, "", format, arguments);

	va_end(arguments);
	errno = error;
	return task;
}

thrum_task thrum__adapt_request_then(const void *caller, void (*callback)(void), const char *format,
	...)
{
	char then[PLACE_MAX] = "";
	int error = errno;
	va_list arguments;

	if (callback)
		thrum__adapt_label(then, ", then", (const void *)(uintptr_t)callback);
	va_start(arguments, format);
	thrum_task task = make_request(caller, then, format, arguments);

	va_end(arguments);
	errno = error;
	return task;
}

thrum_task thrum__adapt_missing(const char *label, const void *caller)
{
	thrum_task task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK, label);

	thrum_task_should_resolve(task);
	return task;
}

void thrum__adapt_wait_for_run(thrum_task waiter, _Atomic uint64_t *told, const char *words,
	const void *place, const void *caller)
{
	thrum_task task = atomic_load(told), none = THRUM_TASK_NONE;
	char label[PLACE_MAX + 60];

	if (!task) {
		if (place)
			thrum__adapt_label(label, words, place);
		task = thrum__create(thrum__adapt_site(caller), THRUM_KIND_TASK,
			place ? label : words);
		if (!atomic_compare_exchange_strong(told, &none, task)) {
			thrum_task_resolve(task);
			task = none;
		}
	}
	thrum_task_wait(waiter, task);
}

const char *thrum__adapt_put_address(char to[ADDRESS_MAX], const struct sockaddr *address)
{
	char host[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in *four = (const void *)address;
	const struct sockaddr_in6 *six = (const void *)address;

	if (!address)
		return "its peer";
	if (address->sa_family == AF_INET) {
		inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
		snprintf(to, ADDRESS_MAX, "%s:%d", host, ntohs(four->sin_port));
	} else if (address->sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
		snprintf(to, ADDRESS_MAX, "[%s]:%d", host, ntohs(six->sin6_port));
	}
	return to;
}
