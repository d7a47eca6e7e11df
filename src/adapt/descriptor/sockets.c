/* SPDX-License-Identifier: ISC */
/*
 * Connections between processes of this machine: TCP between two addresses of it, and Unix sockets.
 * Their messages are recorded as those of a link whose key is the same at both ends: a number of the
 * connection, the direction, and a byte that no text has (format/format.h).
 *
 * The number is found out by the first call. It needs no agreement of the two: of TCP it is the hash
 * of both addresses, of Unix sockets that of inodes, as the kernel tells (sock_diag(7)).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"
#include "adapt/descriptor/sockets.h"
#include "format/format.h"
#include "port/port.h"

/* By descriptor: the connection's number, with the direction of sending in the lowest bit; 0: not known
 * yet. */
static _Atomic uint64_t connections[DESCRIPTORS];

#define BY_ADDRESS 1 /* no number: each datagram has its own address */

enum found {
	FOUND,
	NOT_YET,
	NEVER
};

/* ---- Both ends -------------------------------------------------------------------------------- */

bool thrum__adapt_socket_take_address(const struct sockaddr *from, struct end *to)
{
	const struct sockaddr_in *four = (const void *)from;
	const struct sockaddr_in6 *six = (const void *)from;

	*to = (struct end){.address = {[10] = 0xff, [11] = 0xff}};
	if (from->sa_family == AF_INET) {
		memcpy(to->address + 12, &four->sin_addr, 4);
		to->port = four->sin_port;
	} else if (from->sa_family == AF_INET6) {
		memcpy(to->address, &six->sin6_addr, 16);
		to->port = six->sin6_port;
	}
	return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

bool thrum__adapt_socket_is_loopback(const struct end *end)
{
	static const uint8_t four[13] = {[10] = 0xff, [11] = 0xff, [12] = 127},
			     six[16] = {[15] = 1};

	return memcmp(end->address, four, sizeof four) == 0 ||
		memcmp(end->address, six, sizeof six) == 0;
}

/* A message of the kernel's answer. It has one attribute, or none. */
struct answer {
	struct nlmsghdr head;
	struct unix_diag_msg body;
	struct rtattr part;
	uint32_t inodes[];
};

int thrum__adapt_open_diag(void)
{
	return thrum__adapt_hide(syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
					 NETLINK_SOCK_DIAG),
		thrum__adapt_process_is_single(own_pid()));
}

/* Asks about Unix sockets. */
static bool ask(int netlink, int flags, struct unix_diag_req body)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req body;
	} question = {.head = {.nlmsg_len = sizeof question,
			      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			      .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
		.body = body};

	question.body.sdiag_family = AF_UNIX;
	return syscall(SYS_sendto, netlink, &question, sizeof question, 0, NULL, 0) >= 0;
}

/* Returns how many inodes a message of this size has; -1: it tells of no socket. */
static long count_inodes(const struct answer *answer, size_t size, int attribute)
{
	const size_t before = offsetof(struct answer, part);
	size_t length;

	if (size < before || answer->head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return -1;
	length = size < sizeof *answer ? 0 : answer->part.rta_len;
	return length >= sizeof answer->part && length <= size - before &&
			answer->part.rta_type == attribute
		? (long)((length - sizeof answer->part) / sizeof *answer->inodes)
		: 0;
}

/* Finds the inode of a Unix socket's other end. Sets it to 0 if nobody has accepted the connection yet, which
 * the kernel tells with an inode 0, or without any. */
static enum found ask_peer(int netlink, ino_t inode, uint32_t *peer)
{
	union {
		struct answer answer;
		char bytes[sizeof(struct answer) + sizeof(uint32_t)];
	} room;
	long size, count;

	*peer = 0;
	if (!ask(netlink, 0,
		    (struct unix_diag_req){.udiag_states = UINT32_MAX,
			    .udiag_ino = (uint32_t)inode,
			    .udiag_show = UDIAG_SHOW_PEER,
			    .udiag_cookie = {UINT32_MAX, UINT32_MAX}}))
		return NEVER;
	size = syscall(SYS_recvfrom, netlink, &room, sizeof room, MSG_DONTWAIT, NULL, NULL);
	count = size < 0 ? -1 : count_inodes(&room.answer, (size_t)size, UNIX_DIAG_PEER);
	if (count > 0)
		*peer = room.answer.inodes[0];
	return count < 0 ? NEVER : *peer ? FOUND : NOT_YET;
}

/* Returns the socket of these messages in whose queue an inode is; 0: there is none. */
static uint32_t find_queue(const char *at, size_t size, uint32_t inode)
{
	while (size >= sizeof(struct nlmsghdr)) {
		const struct answer *answer = (const void *)at;
		size_t length = answer->head.nlmsg_len;

		if (length < sizeof answer->head || length > size)
			break;
		for (long i = count_inodes(answer, length, UNIX_DIAG_ICONS); i-- > 0;)
			if (answer->inodes[i] == inode)
				return answer->body.udiag_ino;
		length = NLMSG_ALIGN(length);
		at += length;
		size -= length < size ? length : size;
	}
	return 0;
}

/* The same of all Unix sockets that listen. */
static uint32_t ask_listeners(int netlink, uint32_t inode)
{
	union {
		struct answer answer;
		char bytes[8192]; /* as many as the kernel sends at once */
	} room;
	uint32_t found = 0;
	long size = 1;

	if (!ask(netlink, NLM_F_DUMP,
		    (struct unix_diag_req){.udiag_states = 1 << TCP_LISTEN,
			    .udiag_show = UDIAG_SHOW_ICONS}))
		return 0;
	while (!found && size > 0) {
		size = syscall(SYS_recvfrom, netlink, &room, sizeof room, MSG_DONTWAIT, NULL, NULL);
		if (size > 0)
			found = find_queue(room.bytes, (size_t)size, inode);
	}
	return found;
}

bool thrum__adapt_socket_other(uint64_t inode, uint64_t *other, bool *listens)
{
	int netlink = thrum__adapt_open_diag();
	uint32_t peer = 0;

	*listens = false;
	if (netlink < 0)
		return false;
	if (ask_peer(netlink, (ino_t)inode, &peer) == NOT_YET) {
		peer = ask_listeners(netlink, (uint32_t)inode);
		*listens = peer != 0;
	}
	syscall(SYS_close, netlink);
	*other = peer ? peer : *other;
	return peer != 0;
}

/* Whether a Unix socket has a name. */
static bool is_named(const struct sockaddr_storage *address, socklen_t size)
{
	return size > offsetof(struct sockaddr_un, sun_path) && address->ss_family == AF_UNIX;
}

/* Finds the inode of the peer. */
static enum found find_peer(ino_t own, uint32_t *peer)
{
	int netlink = thrum__adapt_open_diag();
	enum found found = netlink < 0 ? NEVER : ask_peer(netlink, own, peer);

	if (netlink >= 0)
		syscall(SYS_close, netlink);
	return found;
}

/* Finds the inodes of both Unix sockets; only that of the one that asks, if the other one has a name:
 * so it is known before that one has accepted. */
static enum found find_unix(int fd, bool is_server, bool is_client, struct end ends[2])
{
	struct stat file;
	uint32_t peer = 0;
	enum found found = FOUND;

	if (fstat(fd, &file) != 0)
		return NEVER;
	if (is_server || !is_client)
		found = find_peer(file.st_ino, &peer);
	if (is_client || !is_server)
		memcpy(ends[0].address, &(uint32_t){(uint32_t)file.st_ino}, sizeof peer);
	memcpy(ends[1].address, &peer, sizeof peer);
	return found;
}

enum limit thrum__adapt_socket_limit(int fd, bool writes)
{
	struct timeval limit = {0, 0};
	socklen_t size = sizeof limit;

	if (getsockopt(fd, SOL_SOCKET, writes ? SO_SNDTIMEO : SO_RCVTIMEO, &limit, &size) != 0)
		return LIMIT_UNKNOWN;
	return timerisset(&limit) ? LIMITED : ENDLESS;
}

bool thrum__adapt_listens(int fd)
{
	int value = 0;
	socklen_t size = sizeof value;

	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) == 0 && value;
}

/* Finds both ends, this process's first, if both are on this machine. */
static enum found find_ends(int fd, struct end ends[2])
{
	struct sockaddr_storage own, peer;
	socklen_t own_size = sizeof own, peer_size = sizeof peer;

	if (getsockname(fd, (struct sockaddr *)&own, &own_size) != 0)
		return NEVER;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
		return errno == ENOTCONN && !thrum__adapt_listens(fd) ? NOT_YET : NEVER;
	if (own.ss_family == AF_UNIX) {
		bool has_name = is_named(&own, own_size), asks_name = is_named(&peer, peer_size);

		return find_unix(fd, has_name && !asks_name, asks_name && !has_name, ends);
	}
	if (!thrum__adapt_socket_take_address((struct sockaddr *)&own, &ends[0]) ||
		!thrum__adapt_socket_take_address((struct sockaddr *)&peer, &ends[1]))
		return NEVER;
	return memcmp(ends[0].address, ends[1].address, sizeof ends[0].address) == 0 ||
			(thrum__adapt_socket_is_loopback(&ends[0]) &&
				thrum__adapt_socket_is_loopback(&ends[1]))
		? FOUND
		: NEVER;
}

/* ---- Its number ------------------------------------------------------------------------------- */

/* FNV-1a: the same in all processes. */
static uint64_t hash(uint64_t before, const void *bytes, size_t size)
{
	for (const uint8_t *at = bytes, *end = at + size; at < end; at++)
		before = (before ^ *at) * UINT64_C(0x100000001b3);
	return before;
}

uint64_t thrum__adapt_socket_machine(void)
{
	static _Atomic uint64_t known_boot; /* to read it takes some calls */
	struct stat network = {.st_ino = 0};
	uint64_t boot = atomic_load(&known_boot);

	if (!boot) {
		boot = thrum__port_boot();
		atomic_store(&known_boot, boot);
	}
	stat("/proc/self/ns/net", &network);
	return hash(hash(UINT64_C(0xcbf29ce484222325), &boot, sizeof boot), &network.st_ino,
		sizeof network.st_ino);
}

uint64_t thrum__adapt_socket_number(uint64_t machine, const struct end ends[2], int order)
{
	uint64_t number = hash(machine, &ends[order > 0], sizeof ends[0]);

	number = hash(number, &ends[order < 0], sizeof ends[0]);
	number = (number & ~UINT64_C(1)) | (order > 0);
	return number > 1 ? number : 2;
}

static bool is_of_datagrams(int fd)
{
	int type = 0;
	socklen_t size = sizeof type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
}

static uint64_t find_out(int fd)
{
	struct end ends[2] = {{.port = 0}, {.port = 0}};
	enum found found = find_ends(fd, ends);
	int order = memcmp(&ends[0], &ends[1], sizeof ends[0]);
	uint64_t number;

	if (found == NEVER || (found == FOUND && order == 0))
		atomic_fetch_and(&thrum__adapt_descriptors[fd], (uint8_t)~DESCRIPTOR_SOCKET);
	if (found == NOT_YET && is_of_datagrams(fd))
		atomic_store(&connections[fd], BY_ADDRESS);
	if (found != FOUND || order == 0)
		return 0;
	number = thrum__adapt_socket_number(thrum__adapt_socket_machine(), ends, order);
	atomic_store(&connections[fd], number);
	return number;
}

void thrum__adapt_socket_key(uint64_t number, bool receives, struct thrum__connection_key *key)
{
	memcpy(key->number, &(uint64_t){number & ~UINT64_C(1)}, sizeof number);
	key->way = (number & 1) ^ receives;
	key->mark = THRUM__CONNECTION_MARK;
}

/* Finds the number of a connection; 0: there is none. */
static NOINLINE uint64_t find_number(int fd)
{
	uint64_t number = atomic_load_explicit(&connections[fd], memory_order_relaxed);
	int error = errno, before;

	if (!number) {
		/* A file is open meanwhile. */
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
		number = find_out(fd);
		pthread_setcancelstate(before, NULL);
		errno = error;
	}
	return number == BY_ADDRESS ? thrum__adapt_datagram_peer(fd) : number;
}

static inline uint64_t number_of(int fd)
{
	uint64_t number = atomic_load_explicit(&connections[fd], memory_order_relaxed);

	return LIKELY(number > BY_ADDRESS) ? number : find_number(fd);
}

struct thrum__adapt_talk thrum__adapt_talk;

/* Threads at once may count one for two: those who look want to know only whether any came. */
static void count_one(_Atomic uint32_t *messages)
{
	atomic_store_explicit(messages, atomic_load_explicit(messages, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

static void note_message(int fd)
{
	struct thread *self = thrum__adapt_self;

	count_one(&thrum__adapt_talk.messages);
	atomic_store_explicit(&thrum__adapt_talk.by, fd + 1, memory_order_relaxed);
	if (!self)
		return;
	count_one(&self->messages);
	atomic_store_explicit(&self->talks_by, fd + 1, memory_order_relaxed);
}

void thrum__adapt_socket_send(int fd)
{
	struct thrum__connection_key key;
	uint64_t number = number_of(fd);

	note_message(fd);
	if (!number || atomic_load_explicit(&connections[fd], memory_order_relaxed) == BY_ADDRESS)
		return;
	thrum__adapt_socket_key(number, false, &key);
	thrum_link_send(&key, sizeof key);
}

void thrum__adapt_socket_wants_room(int fd)
{
	struct thrum__connection_key key;
	uint64_t number = thrum__adapt_socket_is_here(fd) ? number_of(fd) : 0;
	int error = errno;

	/* One that ends by itself, or by a handler, goes on without room. */
	if (number && !thrum__adapt_may_interrupt() &&
		thrum__adapt_socket_limit(fd, true) == ENDLESS &&
		atomic_load_explicit(&connections[fd], memory_order_relaxed) != BY_ADDRESS) {
		thrum__adapt_socket_key(number, false, &key);
		thrum_link_send(&key, sizeof key);
	}
	errno = error;
}

void thrum__adapt_socket_receive(int fd)
{
	struct thrum__connection_key key;
	uint64_t number = number_of(fd);

	note_message(fd);
	if (!number)
		return;
	thrum__adapt_socket_key(number, true, &key);
	thrum_link_receive(&key, sizeof key);
}

bool thrum__adapt_socket_is_here(int fd)
{
	return number_of(fd) && !is_of_datagrams(fd);
}

bool thrum__adapt_socket_is_by_address(int fd)
{
	(void)number_of(fd);
	return atomic_load_explicit(&connections[fd], memory_order_relaxed) == BY_ADDRESS;
}

bool thrum__adapt_socket_is_known(int fd)
{
	return atomic_load_explicit(&connections[fd], memory_order_relaxed) > BY_ADDRESS;
}

void thrum__adapt_socket_wait(struct wait *wait, int fd, const void *caller)
{
	char label[CALL_MAX];

	thrum__adapt_put_call(label, "receive from", fd);
	thrum__adapt_wait_outside(wait, THRUM_KIND_HANDLE, label, -1, caller);
	thrum__adapt_socket_receive(fd);
}

bool thrum__adapt_socket_is_queued(int fd)
{
	struct stat file;
	uint32_t peer;

	return fstat(fd, &file) == 0 && find_peer(file.st_ino, &peer) == NOT_YET;
}

/* ---- The other end, if this process has it ----------------------------------------------------- */

struct search {
	struct end own, peer; /* Unix: peer alone, by its inode */
	ino_t inode;          /* of this one */
	bool is_unix, is_doubled;
	int fd, found;
};

static bool find_inode(int fd, struct end *peer)
{
	struct stat file;
	uint32_t inode = 0;

	if (fstat(fd, &file) != 0 || find_peer(file.st_ino, &inode) != FOUND)
		return false;
	memcpy(peer->address, &inode, sizeof inode);
	return true;
}

static bool find_addresses(int fd, struct search *search)
{
	struct sockaddr_storage own, peer;
	socklen_t own_size = sizeof own, peer_size = sizeof peer;

	if (getsockname(fd, (struct sockaddr *)&own, &own_size) != 0 ||
		getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
		return false;
	search->is_unix = own.ss_family == AF_UNIX;
	return search->is_unix ||
		(thrum__adapt_socket_take_address((struct sockaddr *)&own, &search->own) &&
			thrum__adapt_socket_take_address((struct sockaddr *)&peer, &search->peer));
}

static void compare(struct search *search, int fd)
{
	struct search other = {.found = -1};
	struct stat file;

	if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode))
		return;
	search->is_doubled |= file.st_ino == search->inode && fd != search->fd;
	if (search->found >= 0)
		return;
	if (search->is_unix ? memcmp(search->peer.address, &(uint32_t){(uint32_t)file.st_ino},
				      sizeof(uint32_t)) == 0
			    : find_addresses(fd, &other) && !other.is_unix &&
				memcmp(&other.own, &search->peer, sizeof other.own) == 0 &&
				memcmp(&other.peer, &search->own, sizeof other.peer) == 0)
		search->found = fd;
}

static void compare_end(void *context, int directory, const char *name)
{
	compare(context, atoi(name));
}

/* Returns false if a descriptor is no socket that is connected. */
static bool begin_search(struct search *search, int fd)
{
	struct stat file;

	*search = (struct search){.fd = fd, .found = -1};
	if (fstat(fd, &file) != 0 || !S_ISSOCK(file.st_mode))
		return false;
	search->inode = file.st_ino;
	return find_addresses(fd, search) && (!search->is_unix || find_inode(fd, &search->peer));
}

int thrum__adapt_socket_peer(int fd)
{
	struct search search;

	if (begin_search(&search, fd))
		thrum__adapt_process_each(own_pid(), "/fd", compare_end, &search);
	return search.is_doubled ? -1 : search.found;
}

int thrum__adapt_socket_peer_among(int fd, const int *among, unsigned count)
{
	struct search search;

	if (count > 0 && begin_search(&search, fd))
		for (unsigned i = 0; i < count; i++)
			compare(&search, among[i]);
	return count == 0 || search.is_doubled ? -1 : search.found;
}

bool thrum__adapt_socket_is_copy(int fd, int other)
{
	struct stat file, others;

	return fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode) && fstat(other, &others) == 0 &&
		file.st_dev == others.st_dev && file.st_ino == others.st_ino;
}

bool thrum__adapt_socket_is_before(int fd, int listener)
{
	struct sockaddr_storage at, asked;
	socklen_t size = sizeof at, asked_size = sizeof asked;
	struct end to, door;

	if (getsockname(listener, (struct sockaddr *)&at, &size) != 0 ||
		getpeername(fd, (struct sockaddr *)&asked, &asked_size) != 0 ||
		at.ss_family != asked.ss_family || thrum__adapt_socket_peer(fd) >= 0)
		return false;
	if (at.ss_family == AF_UNIX)
		return is_named(&at, size) && size == asked_size && memcmp(&at, &asked, size) == 0;
	return thrum__adapt_socket_take_address((struct sockaddr *)&at, &door) &&
		thrum__adapt_socket_take_address((struct sockaddr *)&asked, &to) &&
		door.port == to.port;
}

int thrum__adapt_socket_of(uint64_t inode)
{
	struct search search = {.is_unix = true, .fd = -1, .found = -1};

	memcpy(search.peer.address, &(uint32_t){(uint32_t)inode}, sizeof(uint32_t));
	thrum__adapt_process_each(own_pid(), "/fd", compare_end, &search);
	return search.found;
}

void thrum__adapt_socket_connects(int fd)
{
	if ((unsigned)fd >= DESCRIPTORS)
		return;
	atomic_store_explicit(&connections[fd], 0, memory_order_relaxed);
	thrum__adapt_datagrams_over(fd);
}

void thrum__adapt_socket_forget(unsigned fd)
{
	thrum__adapt_socket_connects((int)fd);
	note_reader((int)fd, NULL);
}
