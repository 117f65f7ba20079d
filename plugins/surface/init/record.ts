import { lstatSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/index.js'
import { lock, openWorkspace, type OpenWorkspace } from '../../../core/workspace/index.js'
import {
  readOwnFile,
  createReversal,
  draftSettings,
  revertText,
  writeDraft,
  type FileDraft,
  type Reversal,
} from '../../lib/own_files/index.js'

/** Path of a setting → its value before and after. */
type SettingChanges = Record<string, { was?: unknown; now: unknown }>
/** Changes that `init` will make: values of the user's settings, and new files of the workspace. */
export interface Plan {
  settings: { draft: FileDraft; keys: SettingChanges } | undefined
  files: { name: string; text: string }[]
}
/** Changes that `init` made for a workspace, for the undo. */
interface InitRecord {
  settings?: { file: string; keys: SettingChanges; reversal?: Reversal }
  /** Name → digest of the text. */
  files: Record<string, string>
}
type InitRecords = Record<string, InitRecord>

const recordFile = (home: string): string => join(home, 'init.json')
function readRecords(home: string): InitRecords {
  try {
    return JSON.parse(readOwnFile(recordFile(home)) ?? '{}') as InitRecords
  } catch {
    return {}
  }
}
function writeRecords(home: string, records: InitRecords): void {
  if (Object.keys(records).length === 0) rmSync(recordFile(home), { force: true })
  else writeStateSync(recordFile(home), `${JSON.stringify(records, null, 2)}\n`)
}

/** Throws if the folder of the user's settings belongs to another user, who could change the written files. */
export function requireOwnHome(home: string): void {
  let existing = home
  while (!lstatSync(existing, { throwIfNoEntry: false })) existing = dirname(existing)
  const { uid } = statSync(existing)
  const me = process.getuid?.()
  if (me !== undefined && uid !== me)
    throw new Error(
      `${existing} belongs to another user (${uid}, you are ${me}); set HOME or VTCODE_HOME to a folder of yours`,
    )
}

/** Writes all of a plan or, after an error, undoes the earlier writes. A lock serializes concurrent runs. */
export async function writePlan(
  kernel: Kernel,
  home: string,
  { settings, files }: Plan,
  signal: AbortSignal,
): Promise<void> {
  await using _ = await lock([`init ${home}`], home, signal)
  const workspace = openWorkspace(kernel.workspace, { home })
  const undoSteps: (() => unknown)[] = []
  let writing = recordFile(home)
  try {
    if (settings) {
      const { draft } = settings
      writing = draft.file
      writeDraft(draft)
      undoSteps.push(() => writeDraft({ file: draft.file, before: draft.after, after: draft.before }))
    }
    for (const { name, text } of files) {
      writing = join(kernel.workspace, name)
      await workspace.write(name, Buffer.from(text), 'nothing')
      undoSteps.push(() => workspace.remove(name))
    }
    const records = readRecords(home)
    const before = records[kernel.workspace]
    const written: InitRecord = {
      ...(before?.settings && { settings: before.settings }),
      ...(settings && {
        settings: {
          file: settings.draft.file,
          keys: { ...settings.keys, ...mergeEarlierKeys(before, settings.draft.file, settings.keys) },
          ...toReversal(before, settings.draft),
        },
      }),
      files: { ...before?.files, ...Object.fromEntries(files.map(({ name, text }) => [name, sha256(text)])) },
    }
    writing = recordFile(home)
    writeRecords(home, { ...records, [kernel.workspace]: written })
  } catch (error) {
    for (const undo of undoSteps.reverse()) await undo()
    throw new Error(`${writing}: ${(error as Error).message}`)
  } finally {
    workspace.close()
  }
}

/** Returns how to restore each byte of the settings file, also those before an earlier run. */
function toReversal(record: InitRecord | undefined, { file, before, after }: FileDraft): { reversal?: Reversal } {
  if (before === undefined || after === undefined) return {}
  const earlier = record?.settings?.file === file ? record.settings.reversal : undefined
  return { reversal: createReversal((earlier && revertText(before, earlier)) ?? before, after) }
}

/** Merges the keys of an earlier run, so that an undo restores the value before that run. */
function mergeEarlierKeys(before: InitRecord | undefined, file: string, keys: SettingChanges): SettingChanges {
  if (before?.settings?.file !== file) return {}
  const { keys: known } = before.settings
  return Object.fromEntries(
    Object.entries(known).map(([key, change]) => [
      key,
      keys[key] && isDeepStrictEqual(change.now, keys[key].was)
        ? { ...change, now: keys[key].now }
        : (keys[key] ?? change),
    ]),
  )
}

/** Plans the undo for this workspace: drafts to show, and files that stay because they changed. */
export async function planUndo(
  kernel: Kernel,
  home: string,
): Promise<{ drafts: FileDraft[]; kept: string[]; perform(signal: AbortSignal): Promise<void> } | undefined> {
  const record = readRecords(home)[kernel.workspace]
  if (!record) return undefined
  const kept: string[] = []
  const drafts: FileDraft[] = []
  const settings = record.settings && (await draftSettingsUndo(record.settings, kept))
  if (settings && settings.before !== settings.after) drafts.push(settings)
  const workspace = openWorkspace(kernel.workspace, { home })
  const removable: string[] = []
  try {
    for (const [name, digest] of Object.entries(record.files)) {
      const text = await workspace.readText(name).catch(() => undefined)
      if (text === undefined) continue
      if (sha256(text) !== digest) kept.push(join(kernel.workspace, name))
      else {
        removable.push(name)
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
      for (const name of removable) await removeUnchanged(open, name, record.files[name]!)
    } finally {
      open.close()
    }
    const { [kernel.workspace]: _removed, ...rest } = readRecords(home)
    writeRecords(home, rest)
  }
  return { drafts, kept, perform }
}

async function removeUnchanged(workspace: OpenWorkspace, name: string, digest: string): Promise<void> {
  if (sha256(await workspace.readText(name)) === digest) await workspace.remove(name)
}

/** Drafts the settings with the earlier value of each key that still has the written value. */
async function draftSettingsUndo(
  { file, keys, reversal }: NonNullable<InitRecord['settings']>,
  kept: string[],
): Promise<FileDraft | undefined> {
  const before = readOwnFile(file)
  if (before === undefined) return undefined
  const original = reversal && revertText(before, reversal)
  if (original !== undefined) return { file, before, after: original }
  const { parse } = await import('yaml')
  const now = parse(before) as unknown
  const readValue = (path: string) =>
    path.split('.').reduce<unknown>((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], now)
  const own = Object.entries(keys).filter(([path, change]) => isDeepStrictEqual(readValue(path), change.now))
  if (own.length < Object.keys(keys).length) kept.push(file)
  return draftSettings(file, Object.fromEntries(own.map(([path, { was }]) => [path, was])))
}
