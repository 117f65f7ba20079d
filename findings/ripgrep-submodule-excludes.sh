#!/usr/bin/env bash
# @vscode/ripgrep 1.18.0 (ripgrep 15.0.0): `info/exclude` of a submodule is not read, that of a linked worktree is.
#
# Guess: ripgrep reads `info/exclude` of a working tree wherever its `.git` is a file, so a submodule behaves like a worktree.
# Seen:  a linked worktree hides the file that `info/exclude` of the common folder names. A submodule shows the file that its own
#        `.git/modules/sub/info/exclude` names, although `git status` of the submodule does not list it. A plain repository hides it.
# Consequence here: the rules of such a file are given to ripgrep as an ignore file of their own, with paths from the searched folder.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @vscode/ripgrep@1.18.0 >/dev/null
rg=$(node -e "import('@vscode/ripgrep').then(({ rgPath }) => console.log(rgPath))")
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
git() { command git -c protocol.file.allow=always -c user.name=a -c user.email=a@example.org "$@"; }
for name in other top; do
  git init -q "$name"
  git -C "$name" commit -q --allow-empty -m first
done
git -C top submodule --quiet add ../other sub 2>/dev/null || git -C top submodule --quiet add "$work/other" sub
git -C top commit -q -m second
git -C top worktree add -q ../tree
for exclude in top/.git/info/exclude top/.git/modules/sub/info/exclude; do
  mkdir -p "$(dirname "$exclude")"
  echo secret.txt >"$exclude"
done
for folder in top top/sub tree; do echo x >"$folder/secret.txt"; done
listed() { (cd "$1" && "$rg" --no-config --files | grep -c '^secret.txt$' || true); }
seen="$(listed top) $(listed tree) $(listed top/sub)"
echo "listed by ripgrep in the repository, the worktree, the submodule: $seen"
in_git=$(git -C top/sub status --porcelain | wc -l)
echo "untracked files of the submodule by git: $in_git"
[ "$seen $in_git" = '0 0 1 0' ]
