#!/usr/bin/env python3
"""Completes command lines in an interactive shell: complete.py bash|zsh FOLDER < LINES

FOLDER contains the completion scripts. Each line of standard input is typed into the shell, followed by Tab, or by
"insert all completions" if it begins with "*". Prints the resulting command line of each.
"""
import os
import pty
import select
import sys
import tempfile
import time

BASH = r"""
PS1='ready> '
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set completion-query-items 0'
[ -z "$WITH_PACKAGE" ] || . /usr/share/bash-completion/bash_completion
. "$SCRIPTS/gqlrun.bash"
show() { printf '\n<<%s>>\n' "$READLINE_LINE"; }
bind -x '"\C-x\C-p": show'
"""

ZSH = r"""
PS1='ready> '
unsetopt prompt_cr prompt_sp
fpath=("$SCRIPTS" $fpath)
autoload -Uz compinit
compinit -u -D
show() { print -r -- $'\n'"<<$BUFFER>>" }
zle -N show
bindkey '^X^P' show
bindkey '^U' kill-whole-line
zle -C all-matches complete-word _generic
bindkey '\e*' all-matches
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
"""


def read_until(terminal, mark):
    text = b""
    deadline = time.monotonic() + 60
    while mark not in text:
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            sys.exit(f"the shell did not print {mark!r}: {text!r}")
        text += os.read(terminal, 65536)
    return text


def main():
    shell, scripts = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        name = "bashrc" if shell == "bash" else ".zshrc"
        with open(f"{folder}/{name}", "w") as file:
            file.write(BASH if shell == "bash" else ZSH)
        command = ["bash", "--noprofile", "--rcfile", f"{folder}/bashrc", "-i"]
        command = command if shell == "bash" else ["zsh", "-d", "-i"]
        process, terminal = pty.fork()
        if process == 0:
            os.environ.update(SCRIPTS=scripts, ZDOTDIR=folder, TERM="dumb", COLUMNS="4000")
            os.execvp(command[0], command)
        read_until(terminal, b"ready> ")
        for line in sys.stdin.read().splitlines():
            key = b"\x1b*" if line.startswith("*") else b"\t"
            os.write(terminal, line.removeprefix("*").encode() + key + b"\x18\x10")
            text = read_until(terminal, b">>")
            print(text[text.rindex(b"<<") + 2 : text.rindex(b">>")].decode(), flush=True)
            os.write(terminal, b"\x15")
        os.close(terminal)
        os.waitpid(process, 0)


main()
