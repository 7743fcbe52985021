// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sentences about lines of the program: which has lost blocks, which grows, which has most. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/findings_making.h"
#include "user/analysis/leaks.h"
#include "user/base/util.h"

/* So many lines are named at most; a second one only from such a part of all on. */
#define FINDINGS_LINES	      2
#define FINDINGS_SECOND_SHARE 0.2
/* Below such a part nobody has most of it: it is spread. */
#define FINDINGS_SPREAD 0.1
/* So few arenas name bystanders: whichever object came when the last arena was full. */
#define FINDINGS_FEW_ARENAS 10

/* What shares are of: with --older of old blocks alone. */
static uint64_t findings_all(const struct findings_making *m)
{
	return m->older ? m->live.bytes : m->s->live.bytes;
}

/* "about " where figures are estimates. */
static const char *findings_about(const struct findings_making *m)
{
	return m->s->sample_bytes ? "about " : "";
}

/* ---- a line of the program ---------------------------------------------------------------- */

static bool findings_was_told(const struct findings_making *m, const struct stack *row)
{
	for (size_t i = 0; i < m->told; i++) {
		if (m->told_ids[i] == row->id)
			return true;
	}
	return false;
}

static void findings_tell_row(struct findings_making *m, struct finding *finding,
			      const struct stack *row, const struct frame *frame, double share)
{
	findings_set_where(m, finding, frame);
	if (finding)
		finding->share = share;
	if (m->told < ARRAY_SIZE(m->told_ids))
		m->told_ids[m->told++] = row->id;
}

/* ---- what is lost ------------------------------------------------------------------------- */

/* Blocks that nothing points to, and what hangs on them. */
struct findings_lost {
	struct amount leaders, hang;
};

static struct findings_lost findings_row_lost(const struct findings_making *m,
					      const struct stack *row)
{
	struct findings_lost lost = {0};
	const size_t *members;
	size_t count = report_row_stacks(m->r->rows, row, &members);

	for (size_t i = 0; i < count; i++) {
		const struct stack *stack = &m->s->stacks[members[i]];
		const struct amount *indirect = &stack->verdict[VERDICT_INDIRECT];
		unsigned suppressed = m->r->notes[members[i]].suppressed;

		if (!(suppressed & 1u << VERDICT_DEFINITE)) {
			amount_add(&lost.leaders, &stack->verdict[VERDICT_DEFINITE]);
			amount_add(&lost.hang, &stack->kept);
		}
		/* What hangs on no leader that is known stands for itself. */
		if (!(suppressed & 1u << VERDICT_INDIRECT) &&
		    indirect->bytes > stack->hangs.bytes) {
			lost.hang.bytes += indirect->bytes - stack->hangs.bytes;
			lost.hang.count += indirect->count > stack->hangs.count
						   ? indirect->count - stack->hangs.count
						   : 0;
		}
	}
	return lost;
}

static const struct stack *findings_next_lost(const struct findings_making *m,
					      struct findings_lost *lost)
{
	const struct snapshot *sums = m->lines->snapshot;
	const struct stack *best = NULL;

	for (size_t i = 0; i < sums->stack_count; i++) {
		const struct stack *row = &sums->stacks[i];
		struct findings_lost one;

		if (findings_was_told(m, row))
			continue;
		one = findings_row_lost(m, row);
		if (!one.leaders.count && !one.hang.count)
			continue;
		if (best &&
		    one.leaders.bytes + one.hang.bytes <= lost->leaders.bytes + lost->hang.bytes)
			continue;
		best = row;
		*lost = one;
	}
	return best;
}

static void findings_tell_lost_row(struct findings_making *m, const struct stack *row,
				   const struct findings_lost *lost, uint64_t all)
{
	const struct frame *frame = findings_site(m, row);
	char where[FINDINGS_WHERE_MAX], count[FORMAT_GROUPED_MAX], bytes[FORMAT_BYTES_MAX];
	char hang[FORMAT_GROUPED_MAX], hang_bytes[FORMAT_BYTES_MAX], more[128] = "", part[64];
	uint64_t sum = lost->leaders.bytes + lost->hang.bytes;
	const char *since;
	struct finding *finding;

	if (lost->leaders.count && lost->hang.count)
		snprintf(more, sizeof(more), ", and %s %s that hang on them, %s",
			 format_grouped(hang, lost->hang.count), findings_blocks(lost->hang.count),
			 format_bytes(hang_bytes, lost->hang.bytes));
	/* Who lost what is from before the attach nobody knows. */
	since = m->s->verdict.before[VERDICT_DEFINITE].count ? " since the attach" : "";
	if (sum >= all)
		snprintf(part, sizeof(part), "all that is lost%s", since);
	else
		snprintf(part, sizeof(part), "%.1f %% of what is lost%s",
			 100 * findings_share(sum, all), since);
	finding = findings_add(
		m->to, FINDING_LOST, sum, "%s has lost %s%s %s, %s%s: %s",
		findings_where(where, frame), findings_about(m),
		format_grouped(count, (lost->leaders.count ? lost->leaders : lost->hang).count),
		findings_blocks((lost->leaders.count ? lost->leaders : lost->hang).count),
		format_bytes(bytes, (lost->leaders.count ? lost->leaders : lost->hang).bytes), more,
		part);
	findings_tell_row(m, finding, row, frame, findings_share(sum, m->s->live.bytes));
}

static void findings_tell_lost(struct findings_making *m)
{
	uint64_t all = leaks_of(m->r).bytes;
	struct findings_lost lost = {0};

	if (m->s->verdict.state != VERDICT_TAKEN)
		return;
	for (size_t i = 0; i < FINDINGS_LINES; i++) {
		const struct stack *row = findings_next_lost(m, &lost);

		if (!row || (i && findings_share(lost.leaders.bytes + lost.hang.bytes, all) <
					  FINDINGS_SECOND_SHARE))
			return;
		findings_tell_lost_row(m, row, &lost, all);
	}
}

/* ---- what grows, and who has most --------------------------------------------------------- */

static void findings_tell_growing(struct findings_making *m)
{
	const struct snapshot *sums = m->lines->snapshot;
	const struct stack *best = NULL;
	const struct trend *trend = NULL;
	char where[FINDINGS_WHERE_MAX], rate[FORMAT_BYTES_MAX], bytes[FORMAT_BYTES_MAX];
	char count[FORMAT_GROUPED_MAX];
	struct finding *finding;

	for (size_t i = 0; i < sums->stack_count; i++) {
		const struct trend *one = &m->lines->notes[i].trend;

		if (one->kind != TREND_GROWING || !one->growth_known ||
		    findings_was_told(m, &sums->stacks[i]))
			continue;
		if (best && one->growth <= trend->growth)
			continue;
		best = &sums->stacks[i];
		trend = one;
	}
	if (!best)
		return;
	finding = findings_add(m->to, FINDING_GROWING, best->live.bytes,
			       "%s grows by %s%s/s: %s in %s %s, %.1f %% of what is live",
			       findings_where(where, findings_site(m, best)), findings_about(m),
			       format_bytes(rate, saturate_u64(trend->growth)),
			       format_bytes(bytes, best->live.bytes),
			       format_grouped(count, best->live.count),
			       findings_blocks(best->live.count),
			       100 * findings_share(best->live.bytes, m->s->live.bytes));
	findings_tell_row(m, finding, best, findings_site(m, best),
			  findings_share(best->live.bytes, m->s->live.bytes));
}

/* Bytes of the row that are a runtime's arenas: whoever filled the last one is their stack. */
static struct amount findings_row_arenas(const struct findings_making *m, const struct stack *row)
{
	struct amount sum = {0};
	const size_t *members;
	size_t count = report_row_stacks(m->r->rows, row, &members);

	for (size_t i = 0; i < count; i++) {
		const struct stack_notes *notes = &m->r->notes[members[i]];

		if (notes->frames && notes->frame_count &&
		    notes->frames[0]->kind == FRAME_KIND_ARENA)
			amount_add(&sum, &m->s->stacks[members[i]].older);
	}
	return sum;
}

static bool findings_few_arenas(const struct findings_making *m, const struct stack *row)
{
	return m->s->arenas.count && m->s->arenas.count < FINDINGS_FEW_ARENAS &&
	       2 * findings_row_arenas(m, row).bytes > row->older.bytes;
}

/* Few arenas are left out: nobody knows who fills them. */
static const struct stack *findings_next_most(const struct findings_making *m)
{
	const struct snapshot *sums = m->lines->snapshot;
	const struct stack *best = NULL;

	for (size_t i = 0; i < sums->stack_count; i++) {
		const struct stack *row = &sums->stacks[i];

		/* What hangs on lost blocks was told with these. */
		if (!row->older.count || m->lines->notes[i].hangs || findings_was_told(m, row) ||
		    findings_few_arenas(m, row))
			continue;
		if (!best || row->older.bytes > best->older.bytes)
			best = row;
	}
	return best;
}

static bool findings_is_spread(const struct findings_making *m)
{
	const struct stack *row = findings_next_most(m);

	return !row || findings_share(row->older.bytes, findings_all(m)) < FINDINGS_SPREAD;
}

static void findings_tell_most_row(struct findings_making *m, const struct stack *row, bool first)
{
	const struct frame *frame = findings_site(m, row);
	const double share = findings_share(row->older.bytes, findings_all(m));
	char where[FINDINGS_WHERE_MAX], bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	char lines[FORMAT_GROUPED_MAX];
	const char *what = m->older ? "what is live and old enough (--older)" : "what is live";
	struct finding *finding;

	findings_where(where, frame);
	format_bytes(bytes, row->older.bytes);
	format_grouped(count, row->older.count);
	if (share < FINDINGS_SPREAD && first)
		finding = findings_add(
			m->to, FINDING_MOST, row->older.bytes,
			"%s is spread over %s lines: %s has most of it, %.1f %%, %s%s in "
			"%s %s",
			what, format_grouped(lines, m->lines->snapshot->stack_count), where,
			100 * share, findings_about(m), bytes, count,
			findings_blocks(row->older.count));
	else
		finding = findings_add(m->to, FINDING_MOST, row->older.bytes,
				       "%s has %.1f %% of %s: %s%s in %s %s", where, 100 * share,
				       what, findings_about(m), bytes, count,
				       findings_blocks(row->older.count));
	findings_tell_row(m, finding, row, frame, share);
}

static void findings_tell_arenas(struct findings_making *m)
{
	const struct amount *arenas = &m->s->arenas;
	char bytes[FORMAT_BYTES_MAX], count[FORMAT_GROUPED_MAX];
	struct finding *finding;

	if (!arenas->count || arenas->count >= FINDINGS_FEW_ARENAS ||
	    findings_share(arenas->bytes, findings_all(m)) < FINDINGS_SECOND_SHARE)
		return;
	finding = findings_add(
		m->to, FINDING_MOST, arenas->bytes,
		"arenas of a runtime have %.1f %% of what is live, %s in %s: too few to "
		"tell who fills them",
		100 * findings_share(arenas->bytes, findings_all(m)),
		format_bytes(bytes, arenas->bytes), format_grouped(count, arenas->count));
	if (finding)
		finding->share = findings_share(arenas->bytes, findings_all(m));
	m->failed |= !finding;
}

/* Nobody wants to hear that libstdc++ keeps some memory for bad times. */
static bool findings_is_second(const struct findings_making *m, const struct stack *row)
{
	const struct frame *frame = findings_site(m, row);

	return frame && frame_owner(frame, m->rules) == OWNER_PROGRAM &&
	       findings_share(row->older.bytes, findings_all(m)) >= FINDINGS_SECOND_SHARE;
}

/* Behind lines that are lost or grow, only who has a good part is named. */
static void findings_tell_most(struct findings_making *m)
{
	bool first = m->told == 0;

	for (size_t i = 0; i < FINDINGS_LINES; i++) {
		const struct stack *row = findings_next_most(m);

		if (!row || (!(first && !i) && !findings_is_second(m, row)))
			break;
		findings_tell_most_row(m, row, first && !i);
	}
	findings_tell_arenas(m);
}

int findings_of_report(struct report *report, bool older, const struct site_rules *rules)
{
	struct findings_making m = {
		.r = report,
		.s = report->snapshot,
		.lines = report->rows->sums,
		.rules = rules,
		.to = calloc(1, sizeof(*m.to)),
		.older = older,
	};

	findings_free(report->findings);
	report->findings = NULL;
	if (!m.to)
		return -ENOMEM;
	for (size_t i = 0; i < m.lines->snapshot->stack_count; i++)
		amount_add(&m.live, &m.lines->snapshot->stacks[i].older);
	findings_tell_lost(&m);
	findings_tell_growing(&m);
	/* What no line of the program is behind comes first where it is the larger part. */
	if (!m.told)
		findings_tell_elsewhere(&m, findings_is_spread(&m));
	findings_tell_most(&m);
	findings_tell_process(&m);
	findings_trim(m.to, FINDINGS_SHOWN);
	if (m.failed) {
		findings_free(m.to);
		return -ENOMEM;
	}
	report->findings = m.to;
	return 0;
}
