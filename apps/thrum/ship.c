/* SPDX-License-Identifier: ISC */
/* `thrum ship`: sends what the programs of this machine record to a NATS server. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fleet/fleet.h"
#include "input.h"
#include "load.h"
#include "port/port.h"
#include "positions.h"
#include "source/input.h"
#include "text.h"

#define MS UINT64_C(1000000)
#define DUE (1000 * MS)   /* between looks at packets that aren't full, and at folders */
#define GRACE (1000 * MS) /* `thrum record` notes the end after the process is gone */
#define PAUSE_LEAST 5     /* ms between steps */
#define PAUSE_MOST 200
#define AGAIN_LEAST 100 /* ms until the next try after a failure */
#define AGAIN_MOST 10000

struct ship_options {
	const char *to, *state, *host;
	int64_t keep;
	uint64_t max_size, replicas;
	bool once;
};

/* A recording, or another file that a folder has. */
struct part {
	struct part *next;
	char path[PATH_MAX];
	struct stat file; /* as it was looked at last */
	bool is_missing;  /* its file was not in its place at the latest look */
	bool is_recording;
	struct thrum__input input; /* without an owner: all is stored, or it can't be sent */
	struct thrum__header header;
	struct thrum__fleet_sender *sender; /* NULL where the input has no owner */
	uint64_t over_since;                /* 0: its process lives */
};

struct ship {
	const struct command *command;
	const struct ship_options *options;
	char **arguments;
	int argument_count;
	struct thrum__fleet_address address;
	struct thrum__fleet_server *server; /* NULL: not connected */
	struct thrum__fleet_outlet outlet;
	struct part *parts;
	char state[PATH_MAX];
	bool watches;    /* a folder */
	bool has_failed; /* the latest try, as a message has told */
	int status;      /* STATUS_FAILED: a recording was damaged meanwhile */
	int again;       /* ms until the next try */
	int pause;       /* ms until the next step */
};

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
	(void)number;
	is_interrupted = 1;
}

/* ---- Recordings ------------------------------------------------------------------------------ */

static struct part *find_part(const struct ship *ship, const struct thrum__header *header)
{
	struct part *part = ship->parts;

	while (part &&
		(!part->is_recording ||
			memcmp(part->header.uuid, header->uuid, sizeof(header->uuid)) != 0))
		part = part->next;
	return part;
}

static void close_part(struct part *part)
{
	thrum__fleet_sender_destroy(part->sender);
	if (part->input.owner)
		thrum__source_close(part->input.owner);
	part->sender = NULL;
	part->input.owner = NULL;
}

/* Says how much of a recording is stored, and what was lost. */
static void report(const struct part *part, const char *how)
{
	const struct thrum__fleet_count *count = thrum__fleet_sender_count(part->sender);
	char packets[NUMBER_ROOM], size[NUMBER_ROOM];

	*put_count(packets, count->packets) = '\0';
	*put_size(size, count->bytes) = '\0';
	complain("%s: %s, %s packet%s (%s) stored", part->path, how, packets,
		count->packets == 1 ? "" : "s", size);
	if (count->overwritten > 0)
		complain("%s: %" PRIu64 " packet%s overwritten before %s stored; a greater "
			 "THRUM_SIZE loses less",
			part->path, count->overwritten, count->overwritten == 1 ? " was" : "s were",
			count->overwritten == 1 ? "it was" : "they were");
	if (count->damaged > 0)
		complain("%s: %" PRIu64 " damaged packet%s left out", part->path, count->damaged,
			count->damaged == 1 ? " was" : "s were");
}

/* Begins to send the recording of this input, which the part then owns. Returns 0 or a negative enum
 * thrum_error. */
static int begin_part(struct ship *ship, struct part *part, struct thrum_error_info *error)
{
	char program[sizeof(part->header.program) + 1] = "", name[64];

	/* A name that fills its room has no NUL. */
	memcpy(program, part->header.program, sizeof(part->header.program));
	input_program(part->path, program, name);
	int result = thrum__fleet_sender_create(&part->input, ship->options->host, name,
		&part->sender, error);

	if (result < 0)
		return result;
	positions_load(ship->state, part->sender, &part->header);
	if (thrum__fleet_sender_is_done(part->sender))
		close_part(part);
	else
		complain("%s: sends it as %s", part->path, thrum__fleet_sender_key(part->sender));
	return 0;
}

/* Opens a regular file as it is, without waiting for a pipe's writer or unpacking a copy. */
static int open_plain(const char *path, struct thrum__input *input)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat status;

	if (fd < 0)
		return thrum__source_error_of(errno);
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		return thrum__source_input_of(fd, input);
	close(fd);
	return -THRUM_E_FORMAT;
}

static void drop_part(struct ship *ship, struct part *part)
{
	struct part **at = &ship->parts;

	while (*at != part)
		at = &(*at)->next;
	*at = part->next;
	close_part(part);
	free(part);
}

static void note_place(struct part *part, const char *path, const struct stat *file)
{
	snprintf(part->path, sizeof(part->path), "%s", path);
	part->file = *file;
}

/* Adds a file. One that is no recording, or can't be sent, is kept, too, so that it is looked at once
 * only. `error` is NULL for one that a folder has. Returns 0, also if it is known already, or a negative
 * enum thrum_error. */
static int add_file(struct ship *ship, const char *path, struct thrum_error_info *error)
{
	struct part *part = calloc(1, sizeof(*part)), *known;
	struct stat file = {0};
	int result;

	if (!part)
		return -THRUM_E_MEMORY;
	/* First: what happens to the file from now on is a change. */
	(void)!stat(path, &file);
	note_place(part, path, &file);
	result = error ? thrum__source_open(path, &part->input, error)
		       : open_plain(path, &part->input);
	if (result == 0)
		result = thrum__source_header(&part->input, &part->header, error);
	known = result == 0 ? find_part(ship, &part->header) : NULL;
	/* `thrum record` may have added something after all was sent. */
	if (known && !known->sender)
		drop_part(ship, known);
	else if (known) {
		note_place(known, path, &file);
		close_part(part);
		free(part);
		return 0;
	}
	part->is_recording = result == 0;
	if (result == 0)
		result = begin_part(ship, part, error);
	if (result < 0)
		close_part(part);
	part->next = ship->parts;
	ship->parts = part;
	return result;
}

/* Whether a file of a folder was looked at already, and is the same; it may have a new name. A recording
 * that is being sent changes all the time; the number of another one may be given to a new file. */
static bool is_known(struct ship *ship, const char *path, const struct stat *now)
{
	for (struct part *part = ship->parts; part; part = part->next) {
		const struct stat *then = &part->file;

		if (then->st_dev != now->st_dev || then->st_ino != now->st_ino)
			continue;
		if (part->input.owner ||
			(then->st_size == now->st_size &&
				then->st_mtim.tv_sec == now->st_mtim.tv_sec &&
				then->st_mtim.tv_nsec == now->st_mtim.tv_nsec)) {
			snprintf(part->path, sizeof(part->path), "%s", path);
			return true;
		}
		if (!part->is_recording)
			drop_part(ship, part);
		return false;
	}
	return false;
}

/* Whether its file was deleted or replaced. */
static bool is_gone(const struct part *part)
{
	struct stat status;

	if (stat(part->path, &status) < 0)
		return errno == ENOENT;
	return status.st_dev != part->file.st_dev || status.st_ino != part->file.st_ino;
}

/* Forgets files that were done with and are gone. Looks twice: between, the folder may tell a new name. */
static void forget_files(struct ship *ship)
{
	struct part *next;

	for (struct part *part = ship->parts; part; part = next) {
		bool was_missing = part->is_missing;

		next = part->next;
		part->is_missing = is_gone(part);
		if (part->input.owner || !was_missing || !part->is_missing)
			continue;
		if (part->is_recording)
			positions_forget(ship->state, &part->header);
		drop_part(ship, part);
	}
}

/* Looks for recordings in a folder. Copies and other files are left alone. */
static void add_folder(struct ship *ship, const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		size_t size = strlen(entry->d_name);
		char file[PATH_MAX];
		struct stat status;

		if (size > 6 && strcmp(entry->d_name + size - 6, ".thrum") == 0 &&
			snprintf(file, sizeof(file), "%s/%s", path, entry->d_name) <
				(int)sizeof(file) &&
			stat(file, &status) == 0 && !is_known(ship, file, &status))
			(void)!add_file(ship, file, NULL);
	}
	if (folder)
		closedir(folder);
}

static bool is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Adds what the arguments name. Returns STATUS_OK, or another status after a message. */
static int add_arguments(struct ship *ship)
{
	struct thrum_error_info error = {0};
	int status = STATUS_OK;

	for (int i = 0; i < ship->argument_count && status == STATUS_OK; i++) {
		char path[PATH_MAX];

		if (is_folder(ship->arguments[i])) {
			ship->watches = true;
			add_folder(ship, ship->arguments[i]);
			continue;
		}
		status = input_find(ship->command, ship->arguments[i], path, sizeof(path));
		if (status == STATUS_OK && add_file(ship, path, &error) < 0)
			status = input_failed(path, &error);
	}
	return status;
}

/* ---- Sending --------------------------------------------------------------------------------- */

/* Returns the server's name for messages, without a password. */
static const char *name_server(const struct ship *ship)
{
	const char *at = strrchr(ship->address.server, '@');

	return at ? at + 1 : strstr(ship->address.server, "://") + 3;
}

/* Tells a failure once, and waits longer after each. The next try connects anew, and looks for the
 * streams. */
static void note_failure(struct ship *ship, const struct thrum_error_info *error)
{
	uint32_t random;

	thrum__fleet_close(ship->server);
	ship->server = NULL;

	if (!ship->has_failed)
		complain("%s: %s%s", name_server(ship), error->message,
			ship->options->once ? "" : "; tries again");
	ship->has_failed = true;
	ship->again = ship->again < AGAIN_LEAST ? AGAIN_LEAST : ship->again * 2;
	ship->again = ship->again > AGAIN_MOST ? AGAIN_MOST : ship->again;
	thrum__port_random(&random, sizeof(random));
	ship->pause = ship->again / 2 + (int)(random % (uint32_t)ship->again);
}

static void note_success(struct ship *ship)
{
	if (ship->has_failed)
		complain("%s: stores again", name_server(ship));
	ship->has_failed = false;
	ship->again = 0;
}

/* The server has lost what it kept: sends again all that the recordings still have. */
static void begin_again(struct ship *ship)
{
	struct part *parts = ship->parts, *part;
	bool was_told = false;

	ship->parts = NULL;
	while ((part = parts)) {
		bool is_new = part->sender && thrum__fleet_sender_count(part->sender)->pieces == 0;

		parts = part->next;
		if (is_new || !part->is_recording) {
			part->next = ship->parts;
			ship->parts = part;
			continue;
		}
		if (!was_told)
			complain("%s: it has lost what it kept; sends all again",
				name_server(ship));
		was_told = true;
		positions_forget(ship->state, &part->header);
		close_part(part);
		(void)!add_file(ship, part->path, NULL);
		free(part);
	}
}

/* Connects, unless that is done. */
static bool connect_server(struct ship *ship)
{
	const struct thrum__fleet_keeping keeping = {ship->options->keep, ship->options->max_size,
		ship->options->replicas};
	struct thrum_error_info error = {0};

	if (ship->server)
		return true;
	int result = thrum__fleet_connect(&ship->address, &ship->server, &error);

	if (result == 0)
		result = thrum__fleet_make_streams(ship->server, &keeping, &error);
	if (result > 0)
		begin_again(ship);
	if (result >= 0) {
		ship->outlet = thrum__fleet_outlet(ship->server);
		return true;
	}
	note_failure(ship, &error);
	return false;
}

static struct thrum__fleet_moment moment_of(struct ship *ship, struct part *part, uint64_t now,
	bool is_due)
{
	struct thrum__fleet_moment moment = {.is_due = is_due};
	struct thrum__header header;

	if (thrum__source_header(&part->input, &header, NULL) == 0)
		part->header = header;
	if (thrum__source_is_recorded_to(&part->input, &part->header)) {
		moment.ticks = thrum__source_ticks_now(&part->input);
		part->over_since = 0;
		return moment;
	}
	if (part->over_since == 0)
		part->over_since = now;
	moment.is_over = ship->options->once || now - part->over_since >= GRACE;
	moment.was_killed = thrum__source_was_killed(&part->input, &part->header);
	return moment;
}

/* Sends what is new of a recording. False: the server doesn't store now. */
static bool step_part(struct ship *ship, struct part *part, uint64_t now, bool is_due)
{
	struct thrum__fleet_moment moment = moment_of(ship, part, now, is_due);
	struct thrum_error_info error = {0};
	int64_t sent = thrum__fleet_sender_step(part->sender, &ship->outlet, &moment, &error);

	/* That is no fault of the server's: sending goes on with the others. */
	if (sent == -THRUM_E_DAMAGED) {
		report(part, error.message);
		ship->status = STATUS_FAILED;
		close_part(part);
		return true;
	}
	if (sent < 0) {
		note_failure(ship, &error);
		return false;
	}
	/* The faster the recorder goes round, the shorter the pauses. */
	if ((uint64_t)sent > part->header.packets / 8)
		ship->pause = PAUSE_LEAST;
	if (is_due || thrum__fleet_sender_is_done(part->sender))
		positions_save(ship->state, part->sender, &part->header);
	if (thrum__fleet_sender_is_done(part->sender)) {
		report(part, "its program has ended");
		close_part(part);
	}
	return true;
}

/* Sends what is new of all recordings. Returns whether any of them goes on. */
static bool step_all(struct ship *ship, bool is_due)
{
	uint64_t now = thrum__port_monotonic();
	bool goes_on = false, is_connected;

	ship->pause = ship->pause * 2 > PAUSE_MOST ? PAUSE_MOST : ship->pause * 2;
	is_connected = connect_server(ship);
	for (struct part *part = ship->parts; part; part = part->next) {
		if (!part->sender)
			continue;
		is_connected = is_connected && step_part(ship, part, now, is_due);
		goes_on |= part->sender != NULL;
	}
	if (is_connected)
		note_success(ship);
	return goes_on;
}

static void ship_all(struct ship *ship)
{
	uint64_t due = 0;
	bool goes_on = true;

	while (!is_interrupted && (goes_on || ship->watches)) {
		bool is_due = thrum__port_monotonic() >= due;

		if (is_due) {
			due = thrum__port_monotonic() + DUE;
			forget_files(ship);
			for (int i = 0; i < ship->argument_count; i++)
				if (is_folder(ship->arguments[i]))
					add_folder(ship, ship->arguments[i]);
		}
		goes_on = step_all(ship, is_due);
		if (!is_interrupted && (goes_on || ship->watches)) {
			struct timespec time = {ship->pause / 1000, ship->pause % 1000 * 1000000L};

			nanosleep(&time, NULL);
		}
	}
	if (is_interrupted)
		step_all(ship, true);
}

/* ---- The command ----------------------------------------------------------------------------- */

static int run_all(struct ship *ship)
{
	int status = positions_folder(ship->options->state, ship->state, sizeof(ship->state));

	if (status == STATUS_OK)
		status = add_arguments(ship);
	if (status != STATUS_OK)
		return status;
	positions_tidy(ship->state);
	if (!ship->parts && !ship->watches) {
		complain("nothing to send");
		return STATUS_FAILED;
	}
	if (ship->options->once)
		step_all(ship, true);
	else
		ship_all(ship);
	for (struct part *part = ship->parts; part; part = part->next)
		if (part->sender)
			report(part,
				part->over_since ? "not all is stored" : "its program goes on");
	return ship->has_failed ? STATUS_FAILED : ship->status;
}

static int run_ship(const struct command *command, int argc, char **argv)
{
	struct ship_options options = {.keep = INT64_C(7) * 86400 * 1000000000, .replicas = 1};
	struct ship ship = {.command = command, .options = &options, .pause = PAUSE_LEAST};
	struct sigaction action = {.sa_handler = interrupt};
	struct thrum_error_info error = {0};
	int status, count = options_parse(command, argc, argv, &options, &status);

	if (count < 0)
		return status;
	if (!options.to)
		return complain_usage(command, "ship needs --to nats://SERVER");
	if (thrum__fleet_parse(options.to, 0, &ship.address, &error) < 0)
		return complain_usage(command, "--to %s: %s", options.to, error.message);
	if (ship.address.pattern[0])
		return complain_usage(command, "--to names a server, not recordings");
	if (options.keep < 0 || options.replicas < 1 || options.replicas > 5)
		return complain_usage(command, "--keep can't be negative, --replicas is 1 to 5");
	ship.arguments = argv;
	ship.argument_count = count;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	status = run_all(&ship);
	while (ship.parts) {
		struct part *part = ship.parts;

		ship.parts = part->next;
		close_part(part);
		free(part);
	}
	thrum__fleet_close(ship.server);
	return status;
}

#define OFFSET(member) offsetof(struct ship_options, member)

static const struct option options_of_ship[] = {
	{"to", 't', OPTION_STRING, OFFSET(to), "nats://SERVER", NULL,
		"the server: nats://[USER:PASSWORD@]HOST[:PORT], or\n"
		"tls://...; ?creds=FILE, ca=FILE, cert=FILE&key=FILE\n"
		"name files with what the server asks for"},
	{"host", 0, OPTION_STRING, OFFSET(host), "NAME", NULL,
		"the machine's name for readers, if not its own"},
	{"once", '1', OPTION_FLAG, OFFSET(once), NULL, NULL,
		"send what is recorded so far, and end"},
	{"state", 0, OPTION_STRING, OFFSET(state), "FOLDER", NULL,
		"keep there how much of each recording is stored"},
	{"keep", 0, OPTION_TIME, OFFSET(keep), "TIME", NULL,
		"when the streams are made: how long the server keeps\n"
		"packets, 168h if not given; 0: for ever"},
	{"max-size", 0, OPTION_SIZE, OFFSET(max_size), "SIZE", NULL,
		"when the streams are made: how much it keeps"},
	{"replicas", 0, OPTION_COUNT, OFFSET(replicas), "N", NULL,
		"when the streams are made: on how many servers of\n"
		"a cluster"},
	{0},
};

const struct command command_ship = {
	.name = "ship",
	.purpose = "send what the programs of this machine record to a NATS server",
	.arguments = "FOLDER|PID|RECORDING...",
	.min = 1,
	.max = UINT32_MAX,
	.options = options_of_ship,
	.more = "One agent on each machine is enough. It reads the files that the programs write\n"
		"and never waits for them, nor they for it. It sends all recordings of a folder,\n"
		"also those that come later, until it is interrupted. The commands that read\n"
		"traces then take nats://SERVER/PATTERN: see thrum why --help.\n"
		"\n"
		"The server needs JetStream (nats-server --jetstream). Each message is stored\n"
		"once, also if the agent or the program is killed. While the server can't be\n"
		"reached the recordings keep what they have room for: the rate times the time\n"
		"that an outage may last is the size that they need (THRUM_SIZE). The agent says\n"
		"how many packets were overwritten before, and traces have gaps there.\n"
		"\n"
		"FOLDER of --state is $STATE_DIRECTORY, or else ~/.local/state/thrum.",
	.examples = "thrum ship /var/lib/thrum --to nats://trace.example.org\n"
		    "thrum ship 4711 --to 'tls://trace.example.org?creds=/etc/thrum/agent.creds'\n"
		    "thrum why 'nats://trace.example.org/web*?last=10m'",
	.statuses = "0  all that was recorded is stored\n"
		    "2  no recording, or the server doesn't store all of it\n"
		    "64 usage error",
	.run = run_ship,
};
