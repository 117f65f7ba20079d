import { devNull } from 'node:os'

// What the repository may say of these does not count. There is nothing below the null device, so no hook is found there.
const settings = {
  'core.fsmonitor': 'false',
  'core.hooksPath': devNull,
  'core.pager': 'cat',
  'protocol.allow': 'never',
  'safe.bareRepository': 'explicit',
  'log.showSignature': 'false',
}

/** Settings as git takes them from its surroundings, by names that may hold anything. */
const toVariables = (some: Readonly<Record<string, string>>): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(Object.keys(some).length),
  ...Object.fromEntries(
    Object.entries(some).flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
})

/** Git without what it starts by itself: no hooks, no watcher, no fetching of what a partial clone lacks, no repository that lies in a folder as plain files. */
export const hardenedGitEnv: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  ...toVariables(settings),
}

/** The same, with settings that have the last word. */
export const hardenGitEnv = (further: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...hardenedGitEnv,
  ...toVariables({ ...settings, ...further }),
})

/** Settings by which the filters of a repository's own start nothing: each file is then taken as it lies there. */
export function disableFilters(found: readonly { scope: string; key: string }[]): Record<string, string> {
  const own = found.filter(
    ({ scope, key }) =>
      ['local', 'worktree'].includes(scope) && /^filter\.[^]*\.(clean|smudge|process|required)$/.test(key),
  )
  return Object.fromEntries(own.map(({ key }) => [key, key.endsWith('.required') ? 'false' : '']))
}

/**
 * The same without the configuration of the user and the machine: an attribute that names a filter or a textconv finds none, unless the
 * repository's own configuration brings it.
 */
export const isolatedGitEnv: Readonly<Record<string, string>> = {
  ...hardenedGitEnv,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: devNull,
}
