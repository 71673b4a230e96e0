/* What DPDK offers as macros and inline functions, as functions that Rust can call; and the loops that must not pay
 * for a call from Rust at every turn. It promises no more than the functions it names: it checks no argument that the
 * safe half in src/ has checked. */
#include <string.h>
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_gro.h>
#include <rte_gso.h>
#include <rte_ip.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_tcp.h>
#include <rte_udp.h>
#include <rte_version.h>

/* Kinds of packet, as in src/packets.rs. */
enum { TCP4, TCP6, VXLAN_TCP4, KINDS };
/* Bytes from the start of a frame that are looked at when a packet is described: its headers. */
#define HEADERS 128

struct lengths {
	uint16_t outer_l2, outer_l3, l2, l3, l4;
};

static const uint32_t packet_type[KINDS] = {
	RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV6 | RTE_PTYPE_L4_TCP,
	RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_UDP | RTE_PTYPE_TUNNEL_VXLAN |
		RTE_PTYPE_INNER_L2_ETHER | RTE_PTYPE_INNER_L3_IPV4 | RTE_PTYPE_INNER_L4_TCP,
};

static const uint64_t gso_flags[KINDS] = {
	RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4,
	RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV6,
	RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IPV4 | RTE_MBUF_F_TX_OUTER_IPV4 | RTE_MBUF_F_TX_TUNNEL_VXLAN,
};

static const uint64_t gso_type[KINDS] = {
	RTE_ETH_TX_OFFLOAD_TCP_TSO,
	RTE_ETH_TX_OFFLOAD_TCP_TSO,
	RTE_ETH_TX_OFFLOAD_VXLAN_TNL_TSO,
};

/* ---- the environment */

int cl_eal_init(int argc, char **argv) { return rte_eal_init(argc, argv); }
const char *cl_error(void) { return rte_strerror(rte_errno); }
const char *cl_version(void) { return rte_version(); }
uint64_t cl_tsc_hz(void) { return rte_get_tsc_hz(); }
int cl_thread_register(void) { return rte_thread_register(); }
void cl_thread_unregister(void) { rte_thread_unregister(); }

/* Between two readings lies what was called between them, and nothing else. */
uint64_t cl_tsc(void)
{
	rte_mb();
	uint64_t now = rte_rdtsc();
	rte_mb();
	return now;
}

/* ---- packets */

void *cl_pool_create(const char *name, uint32_t n, uint32_t cache, uint16_t room)
{
	return rte_pktmbuf_pool_create(name, n, cache, 0, room, SOCKET_ID_ANY);
}
void cl_pool_free(void *pool) { rte_mempool_free(pool); }
uint32_t cl_pool_used(void *pool) { return rte_mempool_in_use_count(pool); }

void *cl_packet(void *pool, const uint8_t *frame, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	if (m == NULL)
		return NULL;
	char *data = rte_pktmbuf_append(m, len);
	if (data == NULL) {
		rte_pktmbuf_free(m);
		return NULL;
	}
	memcpy(data, frame, len);
	return m;
}
int cl_chain(void *head, void *tail) { return rte_pktmbuf_chain(head, tail); }

/* What a driver and a parser would have left; reads the headers, so that they are in the cache. */
uint64_t cl_describe(void **packets, uint32_t n, int kind, const struct lengths *l)
{
	uint64_t seen = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = packets[i];
		const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
		m->packet_type = packet_type[kind];
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_GOOD;
		m->tx_offload = 0;
		m->outer_l2_len = l->outer_l2;
		m->outer_l3_len = l->outer_l3;
		m->l2_len = l->l2;
		m->l3_len = l->l3;
		m->l4_len = l->l4;
		for (uint32_t at = 0; at < HEADERS && at < m->data_len; at += 64)
			seen += data[at];
	}
	return seen;
}
void cl_mark_bad(void *packet)
{
	struct rte_mbuf *m = packet;
	m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_L4_CKSUM_BAD;
}
int cl_is_bad(const void *packet)
{
	const struct rte_mbuf *m = packet;
	return (m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_BAD;
}

uint32_t cl_len(const void *packet) { return rte_pktmbuf_pkt_len((const struct rte_mbuf *)packet); }
void cl_bytes(const void *packet, uint8_t *out)
{
	for (const struct rte_mbuf *m = packet; m != NULL; m = m->next) {
		memcpy(out, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
		out += m->data_len;
	}
}
void cl_free(void **packets, uint32_t n) { rte_pktmbuf_free_bulk((struct rte_mbuf **)packets, n); }

/* ---- librte_gro */

static uint64_t gro_type(int kind)
{
	if (kind == TCP4)
		return RTE_GRO_TCP_IPV4;
	if (kind == VXLAN_TCP4)
		return RTE_GRO_IPV4_VXLAN_TCP_IPV4;
#ifdef RTE_GRO_TCP_IPV6
	return RTE_GRO_TCP_IPV6;
#else
	return 0;
#endif
}

int cl_gro_has(int kind) { return gro_type(kind) != 0; }

uint32_t cl_gro_burst(void **packets, uint32_t n, int kind)
{
	const struct rte_gro_param param = {
		.gro_types = gro_type(kind), .max_flow_num = n, .max_item_per_flow = n,
	};
	return rte_gro_reassemble_burst((struct rte_mbuf **)packets, n, &param);
}

void *cl_gro_create(int kind, uint16_t flows, uint16_t items)
{
	const struct rte_gro_param param = {
		.gro_types = gro_type(kind), .max_flow_num = flows, .max_item_per_flow = items,
	};
	return rte_gro_ctx_create(&param);
}
void cl_gro_destroy(void *ctx) { rte_gro_ctx_destroy(ctx); }

/* All packets in bursts, then all that is held: one window of the heavy mode. `out` has room for `n`. */
uint32_t cl_gro_window(void *ctx, int kind, void **packets, uint32_t n, uint32_t burst, void **out)
{
	uint32_t made = 0;
	for (uint32_t at = 0; at < n; at += burst) {
		const uint32_t left = n - at < burst ? n - at : burst;
		const uint16_t passed = rte_gro_reassemble((struct rte_mbuf **)packets + at, left, ctx);
		memcpy(out + made, packets + at, passed * sizeof(*out));
		made += passed;
	}
	while (made < n) {
		const uint32_t room = n - made < UINT16_MAX ? n - made : UINT16_MAX;
		const uint16_t flushed =
			rte_gro_timeout_flush(ctx, 0, gro_type(kind), (struct rte_mbuf **)out + made, room);
		if (flushed == 0)
			break;
		made += flushed;
	}
	return made;
}

/* ---- librte_net */

static int sums_hold(const struct rte_mbuf *m, int kind)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);
	if (kind == TCP6) {
		const struct rte_ipv6_hdr *ip = (const void *)(data + m->l2_len);
		return rte_ipv6_udptcp_cksum_verify(ip, ip + 1) == 0;
	}
	uint32_t l3 = m->l2_len;
	if (kind == VXLAN_TCP4) {
		const struct rte_ipv4_hdr *outer = (const void *)(data + m->outer_l2_len);
		const struct rte_udp_hdr *udp = (const void *)((const uint8_t *)outer + m->outer_l3_len);
		if (rte_raw_cksum(outer, m->outer_l3_len) != 0xffff)
			return 0;
		if (udp->dgram_cksum != 0 && rte_ipv4_udptcp_cksum_verify(outer, udp) != 0)
			return 0;
		l3 += m->outer_l2_len + m->outer_l3_len;
	}
	const struct rte_ipv4_hdr *ip = (const void *)(data + l3);
	return rte_raw_cksum(ip, m->l3_len) == 0xffff &&
	       rte_ipv4_udptcp_cksum_verify(ip, (const uint8_t *)ip + m->l3_len) == 0;
}

/* How many of the packets have all their checksums right. */
uint32_t cl_verify(void **packets, uint32_t n, int kind)
{
	uint32_t good = 0;
	for (uint32_t i = 0; i < n; i++)
		good += sums_hold(packets[i], kind);
	return good;
}

/* Every checksum of packets that were cut: IPv4 headers and TCP, as an application without hardware has to. */
void cl_fill(void **packets, uint32_t n, int kind)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = packets[i];
		uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
		uint32_t l3 = m->l2_len;
		if (kind == VXLAN_TCP4) {
			struct rte_ipv4_hdr *outer = (void *)(data + m->outer_l2_len);
			outer->hdr_checksum = 0;
			outer->hdr_checksum = rte_ipv4_cksum(outer);
			l3 += m->outer_l2_len + m->outer_l3_len;
		}
		struct rte_ipv4_hdr *ip = (void *)(data + l3);
		struct rte_tcp_hdr *tcp = (void *)((uint8_t *)ip + m->l3_len);
		ip->hdr_checksum = 0;
		ip->hdr_checksum = rte_ipv4_cksum(ip);
		tcp->cksum = 0;
		tcp->cksum = rte_ipv4_udptcp_cksum_mbuf(m, ip, l3 + m->l3_len);
	}
}

/* `times` sums over buffers of `len` bytes that lie `stride` apart, `count` of them, over and over. */
uint64_t cl_raw_cksum(const uint8_t *buffer, size_t len, size_t stride, size_t count, size_t times)
{
	uint64_t total = 0;
	for (size_t i = 0, at = 0; i < times; i++, at = at + 1 < count ? at + 1 : 0)
		total += rte_raw_cksum(buffer + at * stride, len);
	return total;
}

uint64_t cl_udptcp_cksum(const uint8_t *buffer, size_t stride, size_t count, size_t times)
{
	uint64_t total = 0;
	for (size_t i = 0, at = 0; i < times; i++, at = at + 1 < count ? at + 1 : 0) {
		const struct rte_ipv4_hdr *ip = (const void *)(buffer + at * stride);
		total += rte_ipv4_udptcp_cksum(ip, ip + 1);
	}
	return total;
}

/* -1 where the chain is too short. */
int32_t cl_raw_cksum_chain(const void *packet, uint32_t from, uint32_t len)
{
	uint16_t sum;
	return rte_raw_cksum_mbuf(packet, from, len, &sum) == 0 ? sum : -1;
}

/* Ceilings: what reading and what copying the same bytes costs, whatever is done with them. */
uint64_t cl_load(const uint8_t *buffer, size_t len, size_t stride, size_t count, size_t times)
{
	uint64_t total = 0;
	for (size_t i = 0, at = 0; i < times; i++, at = at + 1 < count ? at + 1 : 0) {
		const uint8_t *bytes = buffer + at * stride;
		uint64_t word = 0;
		size_t done = 0;
		for (; done + sizeof(word) <= len; done += sizeof(word)) {
			memcpy(&word, bytes + done, sizeof(word));
			total ^= word;
		}
		for (; done < len; done++)
			total ^= bytes[done];
		__asm__ volatile("" : "+r"(total) : : "memory");
	}
	return total;
}

void cl_copy(const uint8_t *from, uint8_t *to, size_t len, size_t stride, size_t count, size_t times)
{
	for (size_t i = 0, at = 0; i < times; i++, at = at + 1 < count ? at + 1 : 0) {
		memcpy(to + at * stride, from + at * stride, len);
		__asm__ volatile("" : : : "memory");
	}
}

/* ---- librte_gso */


/* The number of segments; 0: nothing to do; negative: an error number. */
int cl_gso_cut(void *packet, int kind, void *direct, void *indirect, uint16_t size, void **out, uint16_t room)
{
	const struct rte_gso_ctx ctx = {
		.direct_pool = direct,
		.indirect_pool = indirect,
		.gso_types = gso_type[kind],
		.gso_size = size,
	};
	struct rte_mbuf *m = packet;
	m->ol_flags = gso_flags[kind];
	return rte_gso_segment(m, &ctx, (struct rte_mbuf **)out, room);
}

/* ---- rte_ring, one producer and one consumer */

void *cl_ring_create(const char *name, uint32_t slots)
{
	return rte_ring_create(name, slots, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}
void cl_ring_free(void *ring) { rte_ring_free(ring); }

/* Most objects a call moves; src/ring.rs holds its callers to it. */
#define BURST 64

uint64_t cl_ring_same_core(void *ring, uint32_t burst, uint64_t turns)
{
	void *in[BURST], *out[BURST];
	uint64_t sum = 0;
	for (uint32_t i = 0; i < burst; i++)
		in[i] = (void *)(uintptr_t)(i + 7);
	for (uint64_t turn = 0; turn < turns; turn++) {
		rte_ring_sp_enqueue_burst(ring, in, burst, NULL);
		const uint32_t got = rte_ring_sc_dequeue_burst(ring, out, burst, NULL);
		for (uint32_t i = 0; i < got; i++)
			sum += (uintptr_t)out[i];
	}
	return sum;
}

void cl_ring_produce(void *ring, uint32_t burst, uint64_t total)
{
	void *in[BURST];
	for (uint32_t i = 0; i < burst; i++)
		in[i] = (void *)(uintptr_t)7;
	for (uint64_t sent = 0; sent < total;) {
		const uint32_t left = total - sent < burst ? total - sent : burst;
		sent += rte_ring_sp_enqueue_burst(ring, in, left, NULL);
	}
}

uint64_t cl_ring_consume(void *ring, uint32_t burst, uint64_t total)
{
	void *out[BURST];
	uint64_t sum = 0;
	for (uint64_t seen = 0; seen < total;) {
		const uint32_t got = rte_ring_sc_dequeue_burst(ring, out, burst, NULL);
		for (uint32_t i = 0; i < got; i++)
			sum += (uintptr_t)out[i];
		seen += got;
	}
	return sum;
}

/* The whole hop: a packet from the pool, over the ring, its header read there, and back to the pool. */
void cl_hop_produce(void *ring, void *pool, uint32_t burst, uint64_t total)
{
	struct rte_mbuf *made[BURST];
	for (uint64_t sent = 0; sent < total;) {
		const uint32_t left = total - sent < burst ? total - sent : burst;
		if (rte_ring_free_count(ring) < left || rte_pktmbuf_alloc_bulk(pool, made, left) != 0)
			continue;
		for (uint32_t i = 0; i < left; i++)
			made[i]->pkt_len = made[i]->data_len = 18;
		sent += rte_ring_sp_enqueue_bulk(ring, (void **)made, left, NULL);
	}
}

uint64_t cl_hop_consume(void *ring, uint32_t burst, uint64_t total)
{
	struct rte_mbuf *got[BURST];
	uint64_t bytes = 0;
	for (uint64_t seen = 0; seen < total;) {
		const uint32_t n = rte_ring_sc_dequeue_burst(ring, (void **)got, burst, NULL);
		for (uint32_t i = 0; i < n; i++)
			bytes += got[i]->pkt_len;
		rte_pktmbuf_free_bulk(got, n);
		seen += n;
	}
	return bytes;
}
