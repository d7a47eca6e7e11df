/* SPDX-License-Identifier: ISC */
/* `thrum xen`: the guests of a Xen host that publish traces. The other commands read them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum/trace.h>
#include <unistd.h>

#include "line/command.h"
#include "line/output.h"
#include "source/input.h"

struct xen_options {
	int unused;
};

static int print_domains(const struct thrum__source_domain *domains, size_t count)
{
	struct output out;
	char line[200];

	if (output_open(&out, STDOUT_FILENO) < 0)
		return STATUS_FAILED;
	for (size_t i = 0; i < count; i++) {
		const struct thrum__source_domain *d = &domains[i];

		if (i == 0)
			output_text(&out, "   id      size  format          name\n");
		snprintf(line, sizeof line, "%5u %5" PRIu32 " KiB  ", d->id, d->pages * 4);
		output_text(&out, line);
		/* The guests wrote both. */
		output_display(&out, d->format, strlen(d->format), sizeof d->format);
		for (size_t size = strlen(d->format); size < 16; size++)
			output_text(&out, " ");
		output_display(&out, d->name, strlen(d->name), sizeof d->name);
		output_text(&out, "\n");
	}
	return output_close(&out);
}

static int run_xen(const struct command *command, int argc, char **argv)
{
	struct xen_options options = {0};
	struct thrum_error_info error = {0};
	struct thrum__source_domain *domains;
	size_t count;
	int status;

	if (options_parse(command, argc, argv, &options, &status) < 0)
		return status;
	if (strcmp(argv[0], "list") != 0)
		return complain_usage(command, "thrum xen list is the only one, not thrum xen %s",
			argv[0]);
	if (thrum__source_list_xen(&domains, &count, &error) < 0) {
		complain("%s", error.message);
		return STATUS_FAILED;
	}
	if (count == 0)
		complain("no domain of this host publishes a trace");
	status = print_domains(domains, count);
	free(domains);
	return status;
}

static const struct option options_of_xen[] = {{0}};

const struct command command_xen = {
	.name = "xen",
	.purpose = "list the guests of this Xen host that publish traces",
	.arguments = "list",
	.min = 1,
	.max = 1,
	.options = options_of_xen,
	.more = "Guests publish their traces through libthrum-xen or mirage-profile. The other\n"
		"commands read them with --xen=NAME, also after a guest has crashed, as long as\n"
		"its domain is kept (on_crash = \"preserve\"). The list compares their clocks with\n"
		"this one's, for the case that they crash.",
	.examples = "thrum xen list\n"
		    "thrum why --xen=example\n"
		    "thrum snapshot --xen=example -o - | ssh desk 'cat > example.thrum'",
	.statuses = "0  success, even if there is no such guest\n"
		    "2  this is no Xen host, or xenstore can't be reached\n"
		    "64 usage error",
	.run = run_xen,
};
