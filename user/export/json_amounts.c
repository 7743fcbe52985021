// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Of what JSON outputs have in common, the numbers. */
#include "bpf/lost_cause.h"
#include "user/base/clock.h"
#include "user/base/util.h"
#include "user/export/json_parts.h"
#include "user/model/lost_causes.h"

void json_put_rate(struct json *to, const char *key, double value)
{
	json_fixed(to, key, value, 1);
}

void json_put_fine_ms(struct json *to, const char *key, uint64_t ns)
{
	json_fixed(to, key, (double)ns / NS_PER_MS, 3);
}

void json_put_amount_members(struct json *to, const struct amount *amount)
{
	json_number(to, "bytes", amount->bytes);
	json_number(to, "count", amount->count);
}

void json_put_amount(struct json *to, const char *key, const struct amount *amount)
{
	json_object(to, key);
	json_put_amount_members(to, amount);
	json_end(to);
}

void json_put_error(struct json *to, bool estimated, double error_bytes)
{
	if (estimated)
		json_number(to, "error_bytes", saturate_u64(error_bytes + 0.5));
}

void json_put_delta(struct json *to, const char *key, int64_t bytes, int64_t count)
{
	json_object(to, key);
	json_signed(to, "bytes", bytes);
	json_signed(to, "count", count);
	json_end(to);
}

void json_put_lost(struct json *to, const uint64_t lost[static LOSSES_ROOM])
{
	json_object(to, "lost");
	/* Zeros too: they say that the cause was watched and did not occur. */
	for (int i = 0; i < LOST_CAUSES; i++)
		json_number(to, lost_cause_name((enum lost_cause)i), lost[i]);
	json_end(to);
}

void json_put_classes(struct json *to, const struct amount classes[static VERDICT_CLASSES])
{
	for (int i = 0; i < VERDICT_CLASSES; i++)
		json_put_amount(to, verdict_class_name((enum verdict_class)i), &classes[i]);
}

void json_put_unjoined(struct json *to, const struct unjoined_threads *unjoined)
{
	if (!unjoined->count)
		return;
	json_object(to, "unjoined_threads");
	json_number(to, "count", unjoined->count);
	json_number(to, "stack_bytes", unjoined->bytes);
	json_number(to, "resident_bytes", unjoined->resident);
	json_number(to, "held", unjoined->held);
	json_end(to);
}

void json_put_growth(struct json *to, int64_t bytes, int64_t count, uint64_t interval_ns,
		     const struct trend *trend)
{
	if (interval_ns)
		json_put_delta(to, "delta", bytes, count);
	if (trend && trend->growth_known)
		json_put_rate(to, "growth_bytes_per_s", trend->growth);
	else if (interval_ns)
		json_put_rate(to, "growth_bytes_per_s",
			      (double)bytes * NS_PER_S / (double)interval_ns);
	if (trend)
		json_text(to, "trend", trend_name(trend->kind));
}
