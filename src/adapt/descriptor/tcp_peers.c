/* SPDX-License-Identifier: ISC */
/*
 * Finds the other end of a TCP connection of this machine. The kernel tells its inode by both addresses
 * (sock_diag(7)), so a socket of another process takes a duplicate for a moment.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "adapt/base/process.h"
#include "adapt/descriptor/descriptor.h"

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* One side of the socket that is asked for. */
static bool put_address(const struct sockaddr_storage *from, __be32 to[4], __be16 *port)
{
	const struct sockaddr_in *four = (const void *)from;
	const struct sockaddr_in6 *six = (const void *)from;

	if (from->ss_family == AF_INET) {
		*port = four->sin_port;
		memcpy(to, &four->sin_addr, sizeof four->sin_addr);
	} else if (from->ss_family == AF_INET6) {
		bool is_four = IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);

		*port = six->sin6_port;
		memcpy(to, six->sin6_addr.s6_addr + (is_four ? 12 : 0), is_four ? 4 : 16);
		return !is_four;
	}
	return false;
}

/* Asks for the socket whose own address is this one's other, and the other way round. */
static bool put_question(int fd, struct question *question)
{
	struct sockaddr_storage own, peer;
	socklen_t own_size = sizeof own, peer_size = sizeof peer;
	struct inet_diag_sockid *id = &question->body.id;
	int protocol = 0;
	socklen_t size = sizeof protocol;
	bool is_six;

	if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 ||
		protocol != IPPROTO_TCP ||
		getsockname(fd, (struct sockaddr *)&own, &own_size) != 0 ||
		getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0)
		return false;
	*question = (struct question){.head = {.nlmsg_len = sizeof *question,
					      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
					      .nlmsg_flags = NLM_F_REQUEST},
		.body = {.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = UINT32_MAX,
			.id = {.idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
	is_six = put_address(&peer, id->idiag_src, &id->idiag_sport);
	put_address(&own, id->idiag_dst, &id->idiag_dport);
	question->body.sdiag_family = is_six ? AF_INET6 : AF_INET;
	return true;
}

bool thrum__adapt_tcp_other(int fd, uint64_t *inode)
{
	struct question question;
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
		char parts[1024];
	} answer;
	long size = -1;
	int netlink;

	if (!put_question(fd, &question))
		return false;
	netlink = thrum__adapt_open_diag();
	if (netlink < 0)
		return false;
	if (syscall(SYS_sendto, netlink, &question, sizeof question, 0, NULL, 0) >= 0)
		size = syscall(SYS_recvfrom, netlink, &answer, sizeof answer, MSG_DONTWAIT, NULL,
			NULL);
	syscall(SYS_close, netlink);
	if (size < (long)(sizeof answer.head + sizeof answer.body) ||
		answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
		answer.body.id.idiag_dport != question.body.id.idiag_dport ||
		answer.body.idiag_inode == 0)
		return false;
	*inode = answer.body.idiag_inode;
	return true;
}
