// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sentences about the process: what is clear, what was not seen, where its memory is, what next. */
#include "user/analysis/findings_making.h"

#include "bpf/lost_cause.h"
#include "user/analysis/leaks.h"
#include "user/base/clock.h"
#include "user/base/util.h"

/* One loss in so many allocations changes no figure that is printed. */
#define FINDINGS_FEW_LOSSES 1000
/* From so many calls a second on, it is worth saying that a gate costs less. */
#define FINDINGS_MANY_CALLS 200000.0
/* Blocks that were never touched are worth a word from so much on. */
#define FINDINGS_UNTOUCHED (16ull << 20)

/* ---- nothing ------------------------------------------------------------------------------ */

/* Allocations and processes that are in no figure: a few of some causes are normal. */
static uint64_t findings_losses(const struct snapshot *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < LOST_CAUSES; i++) {
		if (i == LOST_PENDING && s->lost[i] <= s->alloc.count / FINDINGS_FEW_LOSSES)
			continue;
		sum = sum + s->lost[i] < sum ? UINT64_MAX : sum + s->lost[i];
	}
	return sum;
}

/* What a verdict could not look at may point to what it calls lost, and may hold what it does not know. */
static bool findings_verdict_whole(const struct verdict *v)
{
	return !v->approximate && !v->unread_bytes;
}

static void findings_tell_none_lost(struct findings_making *m)
{
	const struct verdict *v = &m->s->verdict;
	char count[FORMAT_GROUPED_MAX], judged[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	struct finding *finding = NULL;

	if (v->state != VERDICT_TAKEN || !m->s->live.count || leaks_of(m->r).count)
		return;
	format_grouped(count, m->s->live.count);
	if (v->classes[VERDICT_DEFINITE].count)
		finding = findings_add(m->to, FINDING_CLEAR, 0, "what is lost is suppressed, %s",
				       format_bytes(bytes, v->classes[VERDICT_DEFINITE].bytes));
	else if (v->before[VERDICT_DEFINITE].count)
		finding = findings_add(
			m->to, FINDING_LOST, v->before[VERDICT_DEFINITE].bytes,
			"of what was allocated since the attach nothing is lost; %s from "
			"before it is",
			format_bytes(bytes, v->before[VERDICT_DEFINITE].bytes));
	else if (v->classes[VERDICT_POSSIBLE].count)
		finding = findings_add(
			m->to, FINDING_CLEAR, 0,
			"no block is certainly lost of the %s that are live; only pointers "
			"into their midst lead to %s",
			count, format_bytes(bytes, v->classes[VERDICT_POSSIBLE].bytes));
	else if (!findings_verdict_whole(v))
		finding = findings_add(
			m->to, FINDING_CLEAR, 0,
			"none of the %s live blocks was found to be lost, but not all memory "
			"could be looked at in one moment",
			count);
	else if (v->classes[VERDICT_REACHABLE].count != m->s->live.count)
		finding = findings_add(
			m->to, FINDING_CLEAR, 0,
			"nothing of what the verdict judged is lost: something still points to %s "
			"of the %s live blocks",
			format_grouped(judged, v->classes[VERDICT_REACHABLE].count), count);
	else
		finding = findings_add(m->to, FINDING_CLEAR, 0,
				       "nothing is lost: something still points to %s%s live %s",
				       m->s->live.count == 1 ? "the " : "each of the ", count,
				       findings_blocks(m->s->live.count));
	m->failed |= !finding;
}

static void findings_tell_nothing(struct findings_making *m)
{
	const struct snapshot *s = m->s;
	const char *seen = findings_losses(s) ? " that was recorded" : " that was seen";
	char count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	struct finding *finding;

	if (m->live.count)
		return;
	format_grouped(count, s->alloc.count);
	if (!s->alloc.count)
		finding = findings_add(
			m->to, FINDING_NOT_SEEN, 0,
			"no call of a traced function was seen: of leaks nothing can be "
			"said");
	else if (s->sample_bytes && !s->live.count)
		finding =
			findings_add(m->to, FINDING_CLEAR, 0,
				     "none of the samples is live: a leak that is small beside the "
				     "sampling would not be seen");
	else if (!s->live.count)
		finding = findings_add(
			m->to, FINDING_CLEAR, 0,
			"nothing is live of what was allocated: each of the %s %s%s was "
			"freed",
			count, findings_blocks(s->alloc.count), seen);
	else if (m->older)
		finding =
			findings_add(m->to, FINDING_CLEAR, 0,
				     "none of the blocks that are live is old enough (--older), or "
				     "suppressions hide them");
	else if (m->r->suppressed && m->r->suppressed->total.count)
		finding = findings_add(m->to, FINDING_CLEAR, 0,
				       "of what is live, %s, all is suppressed",
				       format_bytes(bytes, s->live.bytes));
	else
		return;
	m->failed |= !finding;
}

/* ---- what was not seen -------------------------------------------------------------------- */

static void findings_tell_incomplete(struct findings_making *m)
{
	uint64_t lost = findings_losses(m->s);
	char count[FORMAT_GROUPED_MAX];

	if (lost &&
	    !findings_add(m->to, FINDING_INCOMPLETE, 0,
			  "%s events were not recorded, so figures are incomplete (\"lost\" "
			  "below)",
			  format_grouped(count, lost)))
		m->failed = true;
}

static void findings_tell_untraced(struct findings_making *m)
{
	const struct growth *growth = &m->s->growth;
	char anon[FORMAT_BYTES_MAX], untraced[FORMAT_BYTES_MAX];
	struct finding *finding;

	if (!growth->untraced || findings_have(m->to, FINDING_UNTRACED))
		return;
	finding = findings_add(
		m->to, FINDING_UNTRACED, growth->untraced,
		"its memory grew by %s since the attach, %s of it no live blocks, and more than "
		"freed ones leave behind: none of the traced functions gives it out%s",
		format_bytes(anon, growth->anon), format_bytes(untraced, growth->untraced),
		growth->mmap_traced
			? ""
			: " (a runtime's own allocator?); --mmap traces mappings as well");
	if (finding)
		finding->share = findings_share(growth->untraced, growth->anon);
	m->failed |= !finding;
}

static void findings_tell_heaps(struct findings_making *m)
{
	const struct untraced_heaps *heaps = &m->s->heaps;
	char bytes[FORMAT_BYTES_MAX + 16] = "", human[FORMAT_BYTES_MAX];

	if (findings_have(m->to, FINDING_HEAP))
		return;
	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		if (!(heaps->kinds & 1u << i))
			continue;
		if (heaps->bytes[i])
			snprintf(bytes, sizeof(bytes), "%s of memory",
				 format_bytes(human, heaps->bytes[i]));
		else
			snprintf(bytes, sizeof(bytes), "how much it has is not known");
		if (!findings_add(m->to, FINDING_HEAP, heaps->bytes[i],
				  "%s is not traced, and what leaks there not seen: %s",
				  untraced_heap_text((enum untraced_heap)i), bytes))
			m->failed = true;
	}
}

static void findings_tell_threads(struct findings_making *m)
{
	const struct unjoined_threads *unjoined = &m->s->verdict.unjoined;
	const struct snapshot *sums = m->lines->snapshot;
	const struct stack *best = NULL;
	char where[FINDINGS_WHERE_MAX], count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	char from[FINDINGS_WHERE_MAX + 64] = "";
	struct finding *finding;

	if (m->s->verdict.state != VERDICT_TAKEN || unjoined->count <= unjoined->held)
		return;
	for (size_t i = 0; i < sums->stack_count; i++) {
		if (sums->stacks[i].unjoined.count > (best ? best->unjoined.count : 0))
			best = &sums->stacks[i];
	}
	if (best)
		snprintf(from, sizeof(from), ", begun by %s",
			 findings_where(where, findings_site(m, best)));
	finding = findings_add(m->to, FINDING_THREADS, unjoined->bytes,
			       "%s threads have ended and nobody can join them any more: %s of "
			       "stacks%s",
			       format_grouped(count, unjoined->count - unjoined->held),
			       format_bytes(bytes, unjoined->bytes), from);
	findings_set_where(m, finding, best ? findings_site(m, best) : NULL);
}

/* Addresses that were taken and are not used are memory of nobody: resident sums do not show them. */
static void findings_tell_space(struct findings_making *m)
{
	const struct growth *growth = &m->s->growth;
	char space[FORMAT_BYTES_MAX], resident[FORMAT_BYTES_MAX];

	if (!growth->space || findings_have(m->to, FINDING_THREADS))
		return;
	if (!findings_add(
		    m->to, FINDING_SPACE, growth->space,
		    "its addresses (VmSize) grew by %s, what it has in memory by %s: stacks of "
		    "threads that nobody joined%s, or mappings that it does not use%s",
		    format_bytes(space, growth->space),
		    format_bytes(resident, growth->space_resident),
		    m->s->verdict.state == VERDICT_TAKEN ? "" : " (--verdict tells)",
		    growth->mmap_traced ? "" : " (--mmap)"))
		m->failed = true;
}

static void findings_tell_misuses(struct findings_making *m)
{
	const struct misuse *first = NULL;
	uint64_t kinds = 0;
	char count[FORMAT_GROUPED_MAX];

	for (int i = 0; i < MISUSE_FINDERS; i++) {
		for (size_t k = 0; k < m->r->misuses[i].count; k++) {
			if (m->r->misuses[i].items[k].suppressed)
				continue;
			first = first ?: &m->r->misuses[i].items[k];
			kinds++;
		}
	}
	if (kinds && !findings_add(m->to, FINDING_MISUSES, 0, "%s%s%s (below)",
				   kinds > 1 ? format_grouped(count, kinds) : "",
				   kinds > 1 ? " different misuses of blocks, the first: " : "",
				   misuse_kind_text(first->kind)))
		m->failed = true;
}

/* ---- where it is, and what next ----------------------------------------------------------- */

static void findings_tell_memory(struct findings_making *m)
{
	const struct memory_use *memory = &m->s->memory;
	char rss[FORMAT_BYTES_MAX], anon[FORMAT_BYTES_MAX], rest[FORMAT_BYTES_MAX];
	char live[FORMAT_BYTES_MAX], parts[3 * FORMAT_BYTES_MAX] = "";
	struct finding *finding;

	if (!memory->rss)
		return;
	if (memory->anon && memory->anon <= memory->rss)
		snprintf(parts, sizeof(parts), ": %s of its own, %s of files and shared memory",
			 format_bytes(anon, memory->anon),
			 format_bytes(rest, memory->rss - memory->anon));
	finding = findings_add(
		m->to, FINDING_MEMORY, memory->rss,
		"it has %s in memory%s; live blocks asked for %s%s", format_bytes(rss, memory->rss),
		parts, format_bytes(live, m->s->live.bytes),
		/* Far more than there is, and not a block too many in a sum of many. */
		m->s->live.bytes / 2 >= memory->rss && m->s->live.bytes > FINDINGS_UNTOUCHED
			? ", most of which was never touched, or is swapped out"
			: "");
	m->failed |= !finding;
}

/* The heap that may well be what matters: larger than all that was seen; NULL: none is. */
static const char *findings_heap_tool(const struct snapshot *s)
{
	static const char *const tools[UNTRACED_HEAPS] = {
		[UNTRACED_JAVA] = "jcmd PID GC.class_histogram lists what is in Java's heap",
		[UNTRACED_V8] = "node --heapsnapshot-signal=SIGUSR2 writes what is in V8's heap",
		[UNTRACED_GO] = "net/http/pprof's heap profile lists what is in Go's heap",
	};

	for (size_t i = 0; i < UNTRACED_HEAPS; i++) {
		if (s->heaps.kinds & 1u << i &&
		    (!s->heaps.bytes[i] || s->heaps.bytes[i] > s->live.bytes))
			return tools[i];
	}
	return NULL;
}

static double findings_calls_per_s(const struct snapshot *s)
{
	return s->elapsed_ns ? ((double)s->alloc.count + (double)s->free.count) * NS_PER_S /
				       (double)s->elapsed_ns
			     : 0;
}

static void findings_tell_next(struct findings_making *m)
{
	const struct snapshot *s = m->s;
	const bool lives = !s->exited && !s->execed && !s->processes, exact = !s->sample_bytes;
	const char *heap = findings_heap_tool(s);
	struct finding *finding = NULL;
	char rate[FORMAT_GROUPED_MAX];

	if (s->growth.untraced && lives)
		finding = findings_add(m->to, FINDING_NEXT, 0,
				       "next: memleakbpf inspect -p %d tells what its memory is",
				       s->pid);
	else if (heap)
		finding = findings_add(m->to, FINDING_NEXT, 0, "next: %s", heap);
	else if (!s->alloc.count && lives)
		finding = findings_add(
			m->to, FINDING_NEXT, 0,
			"next: memleakbpf doctor -p %d tells which functions are traced", s->pid);
	else if (lives && exact && s->attached != ATTACHED_BY_GATE &&
		 s->attached != ATTACHED_BY_USDT && findings_calls_per_s(s) > FINDINGS_MANY_CALLS)
		finding = findings_add(m->to, FINDING_NEXT, 0,
				       "next: it makes %s calls a second, which -s 512k --gate "
				       "costs next to nothing",
				       format_grouped(rate, saturate_u64(findings_calls_per_s(s))));
	else if (m->live.count && lives && s->verdict.state == VERDICT_NOT_ASKED)
		finding = findings_add(
			m->to, FINDING_NEXT, 0,
			"next: memleakbpf -p %d --verdict tells which of it is lost, and what "
			"holds the rest",
			s->pid);
	else if (m->live.count && s->exited && s->end.cause == END_EXIT &&
		 s->verdict.state == VERDICT_NOT_ASKED)
		finding = findings_add(m->to, FINDING_NEXT, 0,
				       "next: --verdict tells, as it exits, which of it is lost");
	else
		return;
	m->failed |= !finding;
}

void findings_tell_elsewhere(struct findings_making *m, bool spread)
{
	if (m->s->growth.untraced > m->s->live.bytes)
		findings_tell_untraced(m);
	if (spread)
		findings_tell_heaps(m);
}

void findings_tell_process(struct findings_making *m)
{
	findings_tell_misuses(m);
	findings_tell_threads(m);
	findings_tell_none_lost(m);
	findings_tell_nothing(m);
	findings_tell_incomplete(m);
	findings_tell_untraced(m);
	findings_tell_heaps(m);
	findings_tell_space(m);
	findings_tell_memory(m);
	findings_tell_next(m);
}
