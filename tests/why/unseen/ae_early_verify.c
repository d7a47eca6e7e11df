/* SPDX-License-Identifier: ISC */
/*
 * case: good
 *   args: good
 *   ask: why
 *   culprit: nothing
 * case: bad
 *   args: bad
 *   ask: diff good
 *   truth: The package tzdata is in the cache, so verify_package of it runs before load_keyring has ended.
 *     It should wait for load_keyring: without keys tzdata is rejected, and the release isn't activated.
 *   culprit: load_keyring|keyring_loaded
 *   victim: activate_release|unpack_package
 */

/* An installer on libuv: packages are fetched, verified and unpacked by the pool, then all are activated. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#define PACKAGES 6

struct package {
	const char *name;
	int size; /* KiB */
	bool cached, verified;
	uint8_t digest;
	uv_work_t fetch, verify, unpack;
	char path[64];
};

static struct package packages[PACKAGES] = {
	{.name = "libssl", .size = 640},
	{.name = "tzdata", .size = 380},
	{.name = "busybox", .size = 900},
	{.name = "openssh", .size = 720},
	{.name = "dropbear", .size = 330},
	{.name = "firmware", .size = 1200},
};

static uv_loop_t *loop;
static uv_work_t keyring_work, activation;
static uv_timer_t progress;
static char folder[] = "/tmp/installer-XXXXXX";
static uint8_t keyring[64];
static int unpacked, rejected, keys;
static bool active;

static uint8_t digest_of(const struct package *package)
{
	uint8_t digest = 7;

	for (int i = 0; i < package->size * 40; i++)
		digest = (uint8_t)(digest * 33 + package->name[i % 6]);
	return digest;
}

/* Reads the keys from a card that is slow. */
static void load_keyring(uv_work_t *work)
{
	(void)work;
	usleep(12000);
	memset(keyring, 0x42, sizeof(keyring));
}

static void keyring_loaded(uv_work_t *work, int status)
{
	(void)work;
	if (status == 0)
		keys = sizeof(keyring);
}

static void fetch_package(uv_work_t *work)
{
	struct package *package = work->data;

	usleep(25000 + package->size * 10); /* the network */
	package->digest = digest_of(package);
}

static void activate_release(uv_work_t *work)
{
	(void)work;
	for (int i = 0; i < PACKAGES; i++)
		unlink(packages[i].path);
	usleep(2000);
	active = true;
}

static void release_active(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	uv_close((uv_handle_t *)&progress, NULL);
}

static void unpack_package(uv_work_t *work)
{
	struct package *package = work->data;
	FILE *file;

	snprintf(package->path, sizeof(package->path), "%s/%s", folder, package->name);
	file = fopen(package->path, "w");
	if (!file)
		return;
	for (int i = 0; i < package->size; i++)
		fwrite(keyring, 1, sizeof(keyring), file);
	fclose(file);
}

static void package_unpacked(uv_work_t *work, int status)
{
	(void)work;
	(void)status;
	if (++unpacked == PACKAGES)
		uv_queue_work(loop, &activation, activate_release, release_active);
}

static void verify_package(uv_work_t *work)
{
	struct package *package = work->data;

	package->verified = keys > 0 && digest_of(package) == package->digest;
}

static void package_verified(uv_work_t *work, int status)
{
	struct package *package = work->data;

	(void)status;
	if (package->verified) {
		uv_queue_work(loop, &package->unpack, unpack_package, package_unpacked);
		return;
	}
	rejected++;
	unlink(package->path);
}

static void start_verify(struct package *package)
{
	uv_queue_work(loop, &package->verify, verify_package, package_verified);
}

static void package_fetched(uv_work_t *work, int status)
{
	if (status == 0)
		start_verify(work->data);
}

static void install_package(struct package *package)
{
	package->fetch.data = package->verify.data = package->unpack.data = package;
	if (package->cached) {
		package->digest = digest_of(package);
		start_verify(package);
	} else {
		uv_queue_work(loop, &package->fetch, fetch_package, package_fetched);
	}
}

/* Shows the progress, and ends the program when no package is under way any more. */
static void show_progress(uv_timer_t *timer)
{
	if (rejected > 0 && unpacked + rejected == PACKAGES)
		uv_close((uv_handle_t *)timer, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "bad"))
		packages[1].cached = true;
	if (!mkdtemp(folder))
		return 1;
	loop = uv_default_loop();
	uv_timer_init(loop, &progress);
	uv_timer_start(&progress, show_progress, 5, 5);
	uv_queue_work(loop, &keyring_work, load_keyring, keyring_loaded);
	for (int i = 0; i < PACKAGES; i++)
		install_package(&packages[i]);
	uv_run(loop, UV_RUN_DEFAULT);
	for (int i = 0; i < PACKAGES; i++)
		unlink(packages[i].path);
	rmdir(folder);
	printf("%d unpacked, %d rejected, %s\n", unpacked, rejected,
		active ? "active" : "not active");
	return active ? 0 : 1;
}
