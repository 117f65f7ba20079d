const toAlternatives = (words: string): RegExp => new RegExp(`^(${words.split(/\s+/).join('|')})$`)

// What a repository may say without anything of it being started. All else (fsmonitor, hooksPath, textconv, filters, aliases,
// included files, whatever git learns next) may be a program. Where the working tree lies is judged by itself.
const HARMLESS_SETTINGS: Record<string, RegExp> = {
  core: toAlternatives(`repositoryformatversion filemode bare worktree logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath abbrev
    compression whitespace sharedrepository untrackedcache preloadindex longpaths protectntfs protecthfs`),
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

/** Whether a setting is known to start nothing. */
export function isHarmlessSetting(key: string, value: string): boolean {
  const [section, name] = [
    key.slice(0, key.indexOf('.')).toLowerCase(),
    key.slice(key.lastIndexOf('.') + 1).toLowerCase(),
  ]
  // `ext::` and its kin start programs, and so does an address that looks like a flag.
  return (
    Object.hasOwn(HARMLESS_SETTINGS, section) && HARMLESS_SETTINGS[section]!.test(name) && !/^(\w+::|-)/.test(value)
  )
}
