const toAlternatives = (words: string): RegExp => new RegExp(`^(${words.split(/\s+/).join('|')})$`)

// Settings of a repository that start no program. Every other setting (fsmonitor, hooksPath, textconv, filters,
// aliases, included files, future ones) may name a program. `core.worktree` is checked separately.
const HARMLESS_SETTINGS: Record<string, RegExp> = {
  core: toAlternatives(`repositoryformatversion filemode bare worktree logallrefupdates ignorecase precomposeunicode
    symlinks autocrlf eol safecrlf quotepath abbrev compression
    whitespace sharedrepository untrackedcache preloadindex longpaths protectntfs protecthfs`),
  remote: /^(url|pushurl|fetch|prune|tagopt|promisor|partialclonefilter|gh-resolved)$/,
  branch: /^(remote|merge|rebase|description|pushremote|vscode-merge-base|github-pr-owner-number|gk-[a-z-]+)$/,
  submodule: /^(url|active|branch|path|ignore)$/,
  user: /^(name|email|useconfigonly)$/,
  init: /^defaultbranch$/,
  pull: /^(rebase|ff)$/,
  push: /^(default|autosetupremote|followtags)$/,
  fetch: /^(prune|prunetags|parallel)$/,
  color: /^/,
  log: /^(date|decorate|abbrevcommit|follow)$/,
  status: /^(?!submodulesummary$)/,
  index: /^(version|threads|sparse)$/,
  feature: /^/,
  gc: /^(auto|autodetach|pruneexpire)$/,
  rerere: /^(enabled|autoupdate)$/,
  extensions: /^(worktreeconfig|objectformat|partialclone|refstorage)$/,
  advice: /^/,
}

/** Checks whether a setting is known to start no program. */
export function isHarmlessSetting(key: string, value: string): boolean {
  const [section, name] = [
    key.slice(0, key.indexOf('.')).toLowerCase(),
    key.slice(key.lastIndexOf('.') + 1).toLowerCase(),
  ]
  // `ext::` and similar transports start programs, and so can an address that begins with a dash.
  return (
    Object.hasOwn(HARMLESS_SETTINGS, section) && HARMLESS_SETTINGS[section]!.test(name) && !/^(\w+::|-)/.test(value)
  )
}
