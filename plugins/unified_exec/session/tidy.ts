import { randomUUID } from 'node:crypto'
import { lstatSync, realpathSync, renameSync, unlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isInside, makeFolder } from '../../../core/system/index.js'
import type { Context, Notice, Session } from '../../../core/index.js'
import { notice, formatNames } from '../../lib/base/index.js'
import { findGitFolderPrograms } from '../../lib/git/index.js'
import { openPrivateFolder } from '../../lib/state/index.js'
import { isSelfContained, findNewSteeringFiles, SEARCH_LIMITS, type SteeringPaths } from '../../lib/steering/index.js'
import type { Exit } from './transport.js'

const MOVED_FOLDER = '.vtcode/aside'

/**
 * Returns a function that cleans up after a command. The sandbox protects existing auto-executed config, but not unused
 * names for it. New files with such a name are moved to our folder; links in git folders are moved or removed. A new
 * repository that starts no programs stays and is reported. After a failed command, unwritable repositories are
 * reported.
 */
export function createTidy(
  { workspace, session, log }: Context,
  before: SteeringPaths,
): (exit?: Exit) => Promise<Notice[]> {
  const { root } = workspace
  const reported = new Set<string>()

  return async (exit) => {
    const made = findNewSteeringFiles(root, before)
    const { names, repositories, links } = made
    const judged = await Promise.all(
      repositories.map(async (one) => ({
        ...one,
        why: isSelfContained(one.folder, root, before)
          ? await findGitFolderPrograms(one.folder, root)
          : 'it leads out of the workspace',
      })),
    )
    const loud = judged.filter(({ why }) => why !== undefined)
    const quiet = judged.filter(({ name, why }) => why === undefined && !reported.has(name))
    // The files of a repository are in its working tree.
    const isKept = (name: string): boolean =>
      judged.some((one) => one.why === undefined && dirname(one.name) !== '.' && isInside(dirname(one.name), name))
    const within = links.filter((link) => isInside(root, link)).map((link) => relative(root, link))
    const moved = [
      ...(await move([
        ...loud.map(({ name }) => name),
        ...new Set([...names.filter((name) => !isKept(name)), ...within]),
      ])),
      ...links.filter((link) => !isInside(root, link)).flatMap(removeLink),
    ]
    for (const { name } of quiet) reported.add(name)
    return [
      ...(moved.length > 0 ? [createMovedNotice(moved)] : []),
      ...(quiet.length > 0
        ? [
            notice(
              'VT_EXEC_NEW_REPOSITORY',
              `The command created a git repository, which may contain auto-executed config: ` +
                `${formatNames(quiet.map(({ name }) => name))}.`,
            ),
          ]
        : []),
      ...(before.whole.length > 0 && exit !== undefined && exit.exit_code !== 0
        ? [createUnwritableNotice(before.whole.map((path) => relative(root, path)))]
        : []),
      ...createLimitNotices(session, [before, made]),
    ]
  }

  async function move(names: string[]): Promise<string[]> {
    if (names.length === 0) return []
    const at = `${MOVED_FOLDER}/${randomUUID().slice(0, 8)}`
    await using place = await openPrivateFolder(workspace, at)
    return names.map((name) => {
      try {
        // A link in place of the folder would make us move files elsewhere.
        const parent = realpathSync(dirname(join(root, name)))
        if (parent !== dirname(join(root, name)) || !isInside(root, parent))
          return `${name} (not moved: a link leads to it)`
        makeFolder(dirname(join(place.ref, name)))
        renameSync(join(root, name), join(place.ref, name))
        return `${name} (now ${at}/${name})`
      } catch (error) {
        log('warn', `${name} could not be moved away: ${(error as Error).message}`)
        return `${name} (not moved: ${(error as Error).message.slice(0, 80)})`
      }
    })
  }
}

/** Removes a link in a repository outside the workspace; its files are never moved into the workspace. */
function removeLink(link: string): string[] {
  try {
    if (realpathSync(dirname(link)) !== dirname(link) || !lstatSync(link).isSymbolicLink()) return []
    unlinkSync(link)
    return [`${link} (a link, removed)`]
  } catch (error) {
    return [`${link} (not removed: ${(error as Error).message.slice(0, 80)})`]
  }
}

const createMovedNotice = (moved: string[]): Notice =>
  notice(
    'VT_EXEC_PUT_ASIDE',
    `Moved away, because the command created auto-executed config: ${formatNames(moved)}. ${AGREE_HINT}`,
  )
const createUnwritableNotice = (folders: string[]): Notice =>
  notice(
    'VT_EXEC_REPOSITORY_KEPT',
    `The workspace has many repositories, so git could not write in ${formatNames(folders, 5)}. ` +
      'To let it write in one, run the command with that folder as workdir.',
  )
/** Reports once a session that a search of the workspace ended at its limits. */
function createLimitNotices(session: Session, searches: readonly { isComplete: boolean }[]): Notice[] {
  const known = session.state('exec/steering_search', () => ({ isReported: false }))
  if (known.isReported || searches.every(({ isComplete }) => isComplete)) return []
  known.isReported = true
  return [
    notice(
      'VT_EXEC_SEARCH_LIMIT',
      `The workspace has more than ${SEARCH_LIMITS.folders} folders, or more than ${SEARCH_LIMITS.depth} levels. ` +
        'In the others, auto-executed config was neither protected from commands nor searched after them. ' +
        'Check new files there with `git status` before you use them.',
    ),
  ]
}
const AGREE_HINT =
  'To keep it, the user can move it back, or approve the command with ' +
  'sandbox_permissions: require_escalated and a justification.'
