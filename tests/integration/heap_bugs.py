#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""heap_bugs.py DIRECTORY ROUNDS [asan] [memcheck]: what was found of the cases of tests/targets/heap_bugs*.

Of each program the directory has PROGRAM.guard, a snapshot with bad accesses; PROGRAM.asan, AddressSanitizer's words; PROGRAM.memcheck, valgrind's XML. Prints one line a case: in how many of
the rounds a guard found it and as what, whether the others did in one round, and why a guard does not. Exits with 1 when it found what it is not known to find, or did not find what it is; and
when anybody tells of a twin without a bug.
"""
import collections, json, os, re, sys, xml.etree.ElementTree

SLACK = 'a read of the bytes up to the next multiple of 16'
LARGE = 'larger than a page'
# What --guard=1 finds of each, with its kinds; or why not.
CASES = {
    'heap_bugs': {
        'index_write': {'overflow', 'slack_overwrite'}, 'index_read': {'overflow'}, 'odd_size_write': {'slack_overwrite'}, 'odd_size_read': SLACK,
        'count_for_size': {'overflow', 'slack_overwrite'}, 'memcpy_beyond': {'overflow', 'slack_overwrite'}, 'memcpy_from_beyond': {'overflow'},
        'memmove_beyond': {'overflow', 'slack_overwrite'}, 'memset_beyond': {'overflow', 'slack_overwrite'}, 'strcpy_beyond': {'overflow', 'slack_overwrite'},
        'strcat_beyond': {'overflow', 'slack_overwrite'}, 'sprintf_beyond': {'overflow', 'slack_overwrite'}, 'snprintf_beyond': {'overflow', 'slack_overwrite'},
        'unterminated': {'overflow'}, 'wide_string': {'overflow', 'slack_overwrite'}, 'system_call_write': {'overflow', 'slack_overwrite'},
        'wrong_struct': {'overflow', 'slack_overwrite'}, 'flexible_array': {'overflow', 'slack_overwrite'}, 'calloc_rows': {'overflow', 'slack_overwrite'}, 'whole_page': {'overflow'},
        'far_beyond': {'overflow'}, 'realloc_null': {'overflow'}, 'realloc_shrunk': 'what realloc gives for a guarded block is the allocator\'s',
        'aligned': {'overflow'}, 'large_block': LARGE, 'within_a_block': 'inside the block', 'underrun_write': {'underflow', 'slack_overwrite'},
        'underrun_read': {'underflow'}, 'trimmed': {'underflow'}, 'underrun_memcpy': {'underflow', 'slack_overwrite'},
    },
    'heap_bugs_freed': {
        'freed_read': {'use_after_free'}, 'freed_write': {'use_after_free'}, 'freed_memcpy': {'use_after_free'}, 'freed_string': {'use_after_free'}, 'freed_list': {'use_after_free'},
        'freed_function': {'use_after_free'}, 'freed_member': {'use_after_free'}, 'freed_owner': {'use_after_free'}, 'freed_returned': {'use_after_free'}, 'moved_by_realloc': {'use_after_free'},
        'freed_system_call': {'use_after_free'}, 'freed_by_thread': {'use_after_free'}, 'used_by_thread': {'use_after_free'},
        'freed_long_ago': {'use_after_free'}, 'large_freed': LARGE, 'double_free': {'double_free'}, 'double_free_by_thread': {'double_free'}, 'interior_free': {'invalid_free'},
        'interior_realloc': {'invalid_free'}, 'realloc_freed': {'double_free'},
    },
    'heap_bugs_cxx': {
        'new_array_beyond': {'overflow', 'slack_overwrite'}, 'vector_beyond': {'overflow', 'slack_overwrite'}, 'vector_end': {'overflow'}, 'vector_iterator': {'use_after_free'},
        'vector_reference': {'use_after_free'}, 'list_erase': {'use_after_free'}, 'map_erase': {'use_after_free'}, 'string_moved': {'use_after_free'}, 'view_of_gone': {'use_after_free'},
        'unique_reset': {'use_after_free'}, 'shared_reset': {'use_after_free'}, 'captured': {'use_after_free'}, 'virtual_call': {'use_after_free'}, 'deleted_twice': {'double_free'},
        'two_owners': {'double_free'}, 'delete_interior': {'invalid_free'}, 'placed_in_too_little': {'overflow', 'slack_overwrite'},
    },
}
directory, rounds, others = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def case_of(functions, cases):
    """The case, and whether that was its twin; None where it is neither."""
    for function in functions:
        name = re.sub(r'\(.*', '', function or '').split(' ')[-1]
        name = re.sub('_thread$', '', name) if re.sub('_thread$', '', name) in cases else name
        if name in cases:
            return name, 'good' in [re.sub(r'\(.*', '', f or '') for f in functions]
    return None, False


def guard(path, cases):
    with open(path) as file:
        for bad in json.load(file)['bad_accesses']:
            for part in 'touch', 'free', 'alloc':
                name, twin = case_of([frame.get('function') for frame in bad.get(part, {}).get('frames', [])], cases)
                if name:
                    break
            yield name, twin, bad['kind'], bad['count']


def asan(path, cases):
    with open(path, errors='replace') as file:
        for report in file.read().split('==ERROR: AddressSanitizer: ')[1:]:
            stack = re.split(r'\n\s*\n', report, maxsplit=1)[0]
            if report.startswith('SEGV'):
                continue  # what comes of a bug that has been told of
            yield *case_of(re.findall(r'^\s*#\d+ 0x\w+ in (.+) \S+$', stack, re.M), cases), report.split()[0], 1


def memcheck(path, cases):
    for error in xml.etree.ElementTree.parse(path).getroot().iter('error'):
        kind = error.findtext('kind')
        if kind.startswith('Leak') or kind.startswith('Uninit'):
            continue
        yield *case_of([frame.findtext('fn') for frame in error.find('stack').iter('frame')], cases), kind, 1


def main():
    faults, sums = [], collections.Counter()
    print(f"{'':22} {'guard':>{len(str(rounds)) * 2 + 4}}  " + ''.join(f'{other:9}' for other in others))
    for program, cases in CASES.items():
        found = {}
        for how in ['guard', *others]:
            found[how] = collections.defaultdict(collections.Counter)
            for name, twin, kind, count in globals()[how](os.path.join(directory, f'{program}.{how}'), cases):
                if twin or not name:
                    faults.append(f"{how} tells of {kind} in {'the twin of ' + name if twin else 'none of the cases'}")
                    sums[how, 'false'] += 1
                else:
                    found[how][name][kind] += count
        for name, expected in cases.items():
            ours = found['guard'][name]
            sums['guard', 'found'] += bool(ours)
            if isinstance(expected, str):  # why not
                if ours:
                    faults.append(f'{name} was found: {dict(ours)}')
            elif set(ours) - expected or not ours:
                faults.append(f'{name} was found as {dict(ours)}, not as {expected}')
            said = ''
            for other in others:
                sums[other, 'found'] += bool(found[other][name])
                said += f"{'found' if found[other][name] else '-':9}"
            kinds = expected if isinstance(expected, str) else ', '.join(f'{kind} {count}' for kind, count in sorted(ours.items()))
            print(f"{name:22} {sum(ours.values()) if ours else '-':>{len(str(rounds)) + 2}} of {rounds}  {said}{kinds}")
        sums['cases'] += len(cases)
    for how in ['guard', *others]:
        print(f"{how}: found {sums[how, 'found']} of {sums['cases']}, false: {sums[how, 'false']}")
    for fault in faults:
        print('FAULT: ' + fault)
    return bool(faults)


sys.exit(main())
