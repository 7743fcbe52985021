# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Completion for fish (3.4 or newer). As in memleakbpf.bash, memleakbpf says itself what a subcommand takes: here is no list of options.

# What the argument can be, where that is known, each behind a prefix that stays as it is.
function __memleakbpf_values --argument-names argument word prefix
    switch $argument
        case 'PID*'
            # One of a list.
            set -l before (string replace -rf '^(.*,).*$' '$1' -- $word)
            for process in (grep -H . /proc/*/comm 2>/dev/null | string replace -rf '^/proc/([0-9]+)/comm:(.*)$' '$1\t$2')
                printf '%s\n' "$prefix$before$process"
            end
        case '*|*'
            printf "$prefix%s\n" (string split '|' -- $argument)
        case FILE
            printf "$prefix%s\n" (__fish_complete_path "$word")
        case DIR
            printf "$prefix%s\n" (__fish_complete_directories "$word" '')
        case USER
            printf "$prefix%s\n" (__fish_complete_users)
    end
end

function __memleakbpf
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program $words[1]
    set -l at (contains -i -- -- $words)
    # Behind "--" is a command of its own.
    if test -n "$at"
        complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-1]) "$word")
        return
    end
    set -l commands ($program --help 2>/dev/null | string replace -rf '^       memleakbpf ([a-z]+)  +(.*)$' '$1\t$2')
    set -l command
    if set -q words[2]; and string match -q -- "$words[2]"\t'*' $commands
        set command $words[2]
    end
    # The word before, or what stands before a "=" in this one.
    set -l option $words[-1]
    set -l prefix ''
    if string match -rq '^(?<name>--[a-z-]+)=(?<value>.*)$' -- "$word"
        set option $name
        set prefix $name=
        set word $value
    end
    set -l offered
    for line in ($program $command --help=options 2>/dev/null)
        string match -rq '^((?<letter>-.), )?(?<name>--[a-z-]+)(?<optional>\[=)? ?(?<argument>[^\t]*?)\]?(\t(?<said>.*))?$' -- $line; or continue
        if contains -- "$option" $letter $name; and string length -q -- $argument
            # An argument that may be left out is no word of its own.
            if test -n "$prefix" -o -z "$optional"
                __memleakbpf_values $argument "$word" $prefix
                return
            end
        end
        for word_of in $letter $name
            set -a offered "$word_of"\t"$said"
        end
    end
    if test -n "$prefix"
        return
    else if string match -q -- '-*' "$word"
        printf '%s\n' $offered
    else if test -z "$command"; and not set -q words[2]
        printf '%s\n' $commands
    else if contains -- "$command" report diff inspect
        __fish_complete_path "$word"
    end
end

complete -c memleakbpf -f -a '(__memleakbpf)'
