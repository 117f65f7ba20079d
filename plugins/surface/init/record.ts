import { lstatSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/index.js'
import { lock, openWorkspace, type OpenWorkspace } from '../../../core/workspace/index.js'
import { ownText, settingsDraft, writeDraft, type FileDraft } from '../../lib/own_files/index.js'

/** Path of a setting → what it was and what it is then. */
type Keys = Record<string, { was?: unknown; now: unknown }>
/** What `init` is about to write: values for the user's settings, and files of the workspace that are not there yet. */
export interface Plan {
  settings: { draft: FileDraft; keys: Keys } | undefined
  files: { name: string; text: string }[]
}
/** What it wrote for a workspace, so that it can be taken back. */
interface Written {
  settings?: { file: string; keys: Keys }
  /** Name → digest of the text. */
  files: Record<string, string>
}
type Records = Record<string, Written>

const recordFile = (home: string): string => join(home, 'init.json')
function readRecords(home: string): Records {
  try {
    return JSON.parse(ownText(recordFile(home)) ?? '{}') as Records
  } catch {
    return {}
  }
}
function keepRecords(home: string, records: Records): void {
  if (Object.keys(records).length === 0) rmSync(recordFile(home), { force: true })
  else writeStateSync(recordFile(home), `${JSON.stringify(records, null, 2)}\n`)
}

/** Throws where the folder of the user's settings belongs to somebody else: what is written there would be ours, and theirs to change. */
export function requireOwnHome(home: string): void {
  let there = home
  while (!lstatSync(there, { throwIfNoEntry: false })) there = dirname(there)
  const { uid } = statSync(there)
  const me = process.getuid?.()
  if (me !== undefined && uid !== me)
    throw new Error(
      `${there} belongs to another user (${uid}, you are ${me}); set HOME or VTCODE_HOME to a folder of yours`,
    )
}

/** Writes all of a plan or nothing: where one file cannot be written, those before it are taken back. Two that write at once do it one after the other. */
export async function writePlan(
  kernel: Kernel,
  home: string,
  { settings, files }: Plan,
  signal: AbortSignal,
): Promise<void> {
  await using _ = await lock([`init ${home}`], home, signal)
  const workspace = openWorkspace(kernel.workspace, { home })
  const back: (() => unknown)[] = []
  let writing = recordFile(home)
  try {
    if (settings) {
      const { draft } = settings
      writing = draft.file
      writeDraft(draft)
      back.push(() => writeDraft({ file: draft.file, before: draft.after, after: draft.before }))
    }
    for (const { name, text } of files) {
      writing = join(kernel.workspace, name)
      await workspace.write(name, Buffer.from(text), 'nothing')
      back.push(() => workspace.remove(name))
    }
    const records = readRecords(home)
    const before = records[kernel.workspace]
    const written: Written = {
      ...(before?.settings && { settings: before.settings }),
      ...(settings && {
        settings: {
          file: settings.draft.file,
          keys: { ...settings.keys, ...earlier(before, settings.draft.file, settings.keys) },
        },
      }),
      files: { ...before?.files, ...Object.fromEntries(files.map(({ name, text }) => [name, sha256(text)])) },
    }
    writing = recordFile(home)
    keepRecords(home, { ...records, [kernel.workspace]: written })
  } catch (error) {
    for (const undo of back.reverse()) await undo()
    throw new Error(`${writing}: ${(error as Error).message}`)
  } finally {
    workspace.close()
  }
}

/** A key that an earlier run wrote goes back to what was there before that. */
function earlier(before: Written | undefined, file: string, keys: Keys): Keys {
  if (before?.settings?.file !== file) return {}
  const { keys: known } = before.settings
  return Object.fromEntries(
    Object.entries(known).map(([key, said]) => [
      key,
      keys[key] && isDeepStrictEqual(said.now, keys[key].was) ? { ...said, now: keys[key].now } : (keys[key] ?? said),
    ]),
  )
}

/** What taking back would do here: drafts to show, and what stays because it was changed since; `undefined` where nothing was written. */
export async function planUndo(
  kernel: Kernel,
  home: string,
): Promise<{ drafts: FileDraft[]; kept: string[]; perform(signal: AbortSignal): Promise<void> } | undefined> {
  const record = readRecords(home)[kernel.workspace]
  if (!record) return undefined
  const kept: string[] = []
  const drafts: FileDraft[] = []
  const settings = record.settings && (await settingsBack(record.settings, kept))
  if (settings && settings.before !== settings.after) drafts.push(settings)
  const workspace = openWorkspace(kernel.workspace, { home })
  const gone: string[] = []
  try {
    for (const [name, digest] of Object.entries(record.files)) {
      const text = await workspace.readText(name).catch(() => undefined)
      if (text === undefined) continue
      if (sha256(text) !== digest) kept.push(join(kernel.workspace, name))
      else {
        gone.push(name)
        drafts.push({ file: join(kernel.workspace, name), before: text, after: undefined })
      }
    }
  } finally {
    workspace.close()
  }
  const perform = async (signal: AbortSignal): Promise<void> => {
    await using _ = await lock([`init ${home}`], home, signal)
    if (settings && settings.before !== settings.after) writeDraft(settings)
    const open = openWorkspace(kernel.workspace, { home })
    try {
      for (const name of gone) await removeUnchanged(open, name, record.files[name]!)
    } finally {
      open.close()
    }
    const { [kernel.workspace]: _gone, ...rest } = readRecords(home)
    keepRecords(home, rest)
  }
  return { drafts, kept, perform }
}

async function removeUnchanged(workspace: OpenWorkspace, name: string, digest: string): Promise<void> {
  if (sha256(await workspace.readText(name)) === digest) await workspace.remove(name)
}

/** The settings with each key as it was, where it still says what was written. */
async function settingsBack(
  { file, keys }: NonNullable<Written['settings']>,
  kept: string[],
): Promise<FileDraft | undefined> {
  if (ownText(file) === undefined) return undefined
  const { parse } = await import('yaml')
  const now = parse(ownText(file)!) as unknown
  const at = (path: string) =>
    path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], now)
  const own = Object.entries(keys).filter(([path, said]) => isDeepStrictEqual(at(path), said.now))
  if (own.length < Object.keys(keys).length) kept.push(file)
  return settingsDraft(file, Object.fromEntries(own.map(([path, { was }]) => [path, was])))
}
