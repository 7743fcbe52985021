# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The rooms of user/ from the ground up, and what each may use of the others: by #include, and by what its objects link to. A room uses only rooms
# that stand above its own line here, so there is no cycle. This is the one place that says so: tools/check-layers proves it, and the Makefile links each
# unit test with its room and these. (One line a room, words and $(room_OTHER) only: awk reads it as well as make.)

room_base :=
room_model := base
room_regime := base
room_process := base
room_kernel := base process
room_freeze := base process kernel
room_gate := base process kernel freeze
room_guard := base process kernel freeze gate
room_heap := base model process
room_growth := base model process kernel freeze
room_target := base process kernel
room_probe := base process kernel target
room_patch := base model process kernel freeze gate guard target probe
room_unwind := base process kernel target
room_symbol := base model process kernel
room_stacks := base model process kernel heap target symbol
room_misuse := $(room_patch) heap symbol patch stacks
room_figures := base model stacks
room_blocks := base model process kernel heap target symbol stacks figures
room_capture := $(room_blocks) freeze blocks
room_scopes := base model process target probe symbol stacks
room_runtime := base model process kernel freeze gate heap target symbol stacks
room_corefile := base model process kernel symbol
room_analysis := base model
room_managed := base model process heap
room_inspect := base model process kernel freeze heap managed symbol corefile analysis
room_recording := base model
room_export := base model recording
room_serve := base model process kernel recording export
room_trace := base model process kernel freeze gate guard heap growth target probe patch unwind symbol stacks misuse figures blocks capture scopes runtime
room_session := $(room_trace) regime corefile analysis managed inspect recording export trace
room_look := $(room_session) session
room_keep := $(room_look) look serve
room_survey := $(room_keep) keep
room_kmem := $(room_session) session
room_live := $(room_survey) survey
room_cli := $(room_live) live kmem

# Beginnings of the files that may include libbpf's headers and the skeletons, and the rooms that may see what both sides of the kernel agree on
# (bpf/; plain enumerations, which people are shown, are for all).
files_with_libbpf := user/kernel/feature user/probe/ user/patch/guarded.c user/unwind/publish user/runtime/ user/stacks/slots user/misuse/ user/figures/ user/blocks/ user/capture/ user/scopes/ user/trace/ user/look/survey_reader user/kmem/kmem_probe
files_with_skeletons := user/trace/ user/capture/sleepers user/look/survey_reader user/kmem/kmem_probe
rooms_with_bpf := freeze target runtime probe patch unwind stacks misuse figures blocks capture scopes trace look keep survey kmem cli
bpf_for_all := bpf/alloc_family.h bpf/language.h bpf/kinds.h bpf/lost_cause.h bpf/stack_end.h

# At most so many objects of user/ depend on a header that changes often: a touch of it rebuilds them all.
objects_at_most := user/base/log.h=150 bpf/abi.h=115 bpf/kinds.h=130 bpf/lost_cause.h=140 bpf/alloc_op.h=80
