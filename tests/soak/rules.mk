# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `make soak`: a busy program under two tools, one exact and one sampled, for SOAK_MINUTES; the figures go to docs/reliability.md.

SOAK_MINUTES ?= 30

.PHONY: soak
soak: all $(BUILD)/tests/targets/soak
	BUILD=$(BUILD) tests/soak/run $(SOAK_MINUTES)

# `make soak-sampling`: estimates by block size against the truth, for SAMPLING_MINUTES, with SAMPLING_MODE=gate by the gate; the figures go to docs/reliability.md.
SAMPLING_MINUTES ?= 5

.PHONY: soak-sampling
soak-sampling: all $(BUILD)/tests/targets/sizes
	BUILD=$(BUILD) tests/soak/sampling $(SAMPLING_MINUTES) $(SAMPLING_MODE)

# `make soak-services`: forty processes of eight kinds under `survey --gate --keep --profiles`, for SERVICES_MINUTES; it prints its figures, which docs/fleet.md has.
SERVICES_MINUTES ?= 60

.PHONY: soak-services
soak-services: all
	BUILD=$(BUILD) tests/soak/services $(SERVICES_MINUTES)

# `make soak-guards`: redis, nginx, PostgreSQL, python3 and git with guarded blocks, each for GUARDS_MINUTES, one allocation in GUARDS_PERIOD; docs/guard.md has what came of it.
GUARDS_MINUTES ?= 10
GUARDS_PERIOD ?= 1000

.PHONY: soak-guards
soak-guards: all
	BUILD=$(BUILD) tests/soak/guards $(GUARDS_MINUTES) $(GUARDS_PERIOD)

# `make soak-found`: how many allocations it takes until a bug that one in many hits is found; docs/guard.md has its table.
.PHONY: soak-found
soak-found: all $(BUILD)/tests/targets/seldom.nofp
	BUILD=$(BUILD) tests/soak/found
