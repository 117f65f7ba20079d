import { devNull } from 'node:os'

// Settings that override the repository. No hook exists below the null device.
const settings = {
  'core.fsmonitor': 'false',
  'core.hooksPath': devNull,
  'core.pager': 'cat',
  'protocol.allow': 'never',
  'safe.bareRepository': 'explicit',
  'log.showSignature': 'false',
}

/** Converts settings to environment variables of git, which allow any value. */
const toVariables = (some: Readonly<Record<string, string>>): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(Object.keys(some).length),
  ...Object.fromEntries(
    Object.entries(some).flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
})

/**
 * Environment for git without programs started on its own: no hooks, no file monitor, no fetching for partial clones,
 * no bare repository in plain folders.
 */
export const hardenedGitEnv: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  ...toVariables(settings),
}

/** Returns the hardened environment with settings that take precedence. */
export const hardenGitEnv = (further: Readonly<Record<string, string>>): Readonly<Record<string, string>> => ({
  ...hardenedGitEnv,
  ...toVariables({ ...settings, ...further }),
})

/** Returns settings that disable the filters of a repository, so that git takes each file unchanged. */
export function disableFilters(found: readonly { scope: string; key: string }[]): Record<string, string> {
  const own = found.filter(
    ({ scope, key }) =>
      ['local', 'worktree'].includes(scope) && /^filter\.[^]*\.(clean|smudge|process|required)$/.test(key),
  )
  return Object.fromEntries(own.map(({ key }) => [key, key.endsWith('.required') ? 'false' : '']))
}

/**
 * Hardened environment without the configuration of user and machine. An attribute that names a filter or textconv
 * finds none, unless the repository configures it.
 */
export const isolatedGitEnv: Readonly<Record<string, string>> = {
  ...hardenedGitEnv,
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: devNull,
}
