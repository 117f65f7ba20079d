import { randomUUID } from 'node:crypto'
import { lstatSync, realpathSync, renameSync, unlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { inside, makeFolder } from '../../../core/system/index.js'
import type { Context, Notice } from '../../../core/index.js'
import { notice, some } from '../../lib/base/index.js'
import { findGitFolderPrograms } from '../../lib/rules/index.js'
import { ownFolder } from '../../lib/state/index.js'
import { keepsToItself, newcomers, type SteeringPaths } from '../../lib/steering/index.js'
import type { Exit } from './transport.js'

const folder = '.vtcode/aside'

/**
 * The sandbox keeps what steers programs as it is, but it cannot keep a name free that nothing bears. So what bears such a name after a
 * command is moved to a folder of ours, and so is a link in a folder of git, through which the user's git would write. A repository that
 * git made, and in which nothing starts programs, stays and is told. Of a command that failed it is told what it could not write.
 */
export function asideOf({ workspace, log }: Context, before: SteeringPaths): (exit?: Exit) => Promise<Notice[]> {
  const { root } = workspace
  const told = new Set<string>()

  return async (exit) => {
    const { names, repositories, links } = newcomers(root, before)
    const judged = await Promise.all(
      repositories.map(async (one) => ({
        ...one,
        why: keepsToItself(one.folder, root, before)
          ? await findGitFolderPrograms(one.folder, root)
          : 'it leads out of the workspace',
      })),
    )
    const loud = judged.filter(({ why }) => why !== undefined)
    const quiet = judged.filter(({ name, why }) => why === undefined && !told.has(name))
    // What comes with a repository lies in its working tree.
    const kept = (name: string): boolean =>
      judged.some((one) => one.why === undefined && dirname(one.name) !== '.' && inside(dirname(one.name), name))
    const within = links.filter((link) => inside(root, link)).map((link) => relative(root, link))
    const moved = [
      ...(await move([
        ...loud.map(({ name }) => name),
        ...new Set([...names.filter((name) => !kept(name)), ...within]),
      ])),
      ...links.filter((link) => !inside(root, link)).flatMap(removed),
    ]
    for (const { name } of quiet) told.add(name)
    return [
      ...(moved.length > 0 ? [putAside(moved)] : []),
      ...(quiet.length > 0
        ? [
            notice(
              'VT_EXEC_NEW_REPOSITORY',
              `The command made a repository of git, which may bring files that steer other programs: ${some(quiet.map(({ name }) => name))}.`,
            ),
          ]
        : []),
      ...(before.whole.length > 0 && exit !== undefined && exit.exit_code !== 0
        ? [keptWhole(before.whole.map((path) => relative(root, path)))]
        : []),
    ]
  }

  async function move(names: string[]): Promise<string[]> {
    if (names.length === 0) return []
    const at = `${folder}/${randomUUID().slice(0, 8)}`
    await using place = await ownFolder(workspace, at)
    return names.map((name) => {
      try {
        // A link that was put in the place of the folder would have us move what lies elsewhere.
        const parent = realpathSync(dirname(join(root, name)))
        if (parent !== dirname(join(root, name)) || !inside(root, parent))
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

/** Of a repository outside of the workspace nothing is moved into it. */
function removed(link: string): string[] {
  try {
    if (realpathSync(dirname(link)) !== dirname(link) || !lstatSync(link).isSymbolicLink()) return []
    unlinkSync(link)
    return [`${link} (a link, removed)`]
  } catch (error) {
    return [`${link} (not removed: ${(error as Error).message.slice(0, 80)})`]
  }
}

const putAside = (moved: string[]): Notice =>
  notice(
    'VT_EXEC_PUT_ASIDE',
    `Moved away, since it decides what other programs run and was not there before the command: ${some(moved)}. ${toAgree}`,
  )
const keptWhole = (folders: string[]): Notice =>
  notice(
    'VT_EXEC_REPOSITORY_KEPT',
    `There are many repositories here, and git could write nothing in ${some(folders, 5)}. To let it write in one, run the command with its folder as workdir.`,
  )
const toAgree =
  'To have it there, the user moves it back, or agrees to the command with sandbox_permissions: require_escalated and a justification.'
