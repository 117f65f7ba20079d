import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createKernel } from '../../core/index.js'
import type { Config, Kernel, ManifestEntry, Mode, RightsScope, Timeouts } from '../../core/index.js'

/** Path below the workspace → content. */
export type Files = Record<string, string | Uint8Array>

/** A fresh folder to work in and a fresh home beside it, both removed when disposed of. */
export interface TempWorkspace extends AsyncDisposable {
  /** Real path of the workspace. */
  readonly root: string
  /** Stands for `~`; outside the workspace, empty at first. */
  readonly home: string
  write(path: string, content: string | Uint8Array): Promise<void>
  /** The text of a file, `undefined` when it does not exist. */
  read(path: string): Promise<string | undefined>
}

export async function tempWorkspace(files: Files = {}): Promise<TempWorkspace> {
  // Without a change of threads for each call this takes a third of the processor time.
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-test-')))
  const root = join(folder, 'ws')
  const home = join(folder, 'home')
  mkdirSync(root)
  mkdirSync(home)
  const write = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), content)
  }
  const read = (path: string): Promise<string | undefined> => readFile(join(root, path), 'utf8').catch(() => undefined)
  for (const [path, content] of Object.entries(files)) await write(path, content)
  return { root, home, write, read, [Symbol.asyncDispose]: () => removeFolder(folder) }
}

/** Removes a folder; where a program that is about to end still writes there, again and again for some seconds. */
async function removeFolder(folder: string): Promise<void> {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    await rm(folder, { recursive: true, force: true, maxRetries: 20 })
  }
}

export interface Boot {
  files?: Files
  /** Default `full-auto` with every effect allowed, so that a test of behaviour is not a test of policy. */
  mode?: Mode
  /** Settings of the call layer. */
  config?: Config
  /** Manifests beside the built-in ones; relative paths start at the working folder of the test. */
  manifests?: (string | ManifestEntry)[]
  /** Added to an environment of PATH and the temporary home. */
  env?: Record<string, string>
  /** What is left of the rights of every call. */
  only?: readonly RightsScope[]
  /** Vocabularies that are advertised; default `unified`. */
  dialects?: string[]
  /** Milliseconds, where those that are shipped are too long to wait for. */
  timeouts?: Partial<Timeouts>
}
export interface Booted extends TempWorkspace {
  readonly kernel: Kernel
  readonly call: Kernel['call']
}

// A test may ask the same thing often; the guard against circles has tests of its own.
const unguarded = { max_repeated_tool_calls: 0 }
// A process for every plugin of every test would test little and take long; a test of isolation asks for it.
const inProcess = { isolate: 'inline' as const }
const everything = { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'ask'] } }

/** A kernel on a temporary workspace that sees nothing of this machine's settings. */
export async function bootKernel(how: Boot = {}): Promise<Booted> {
  const workspace = await tempWorkspace(how.files)
  try {
    const manifests = (how.manifests ?? []).map((entry) =>
      typeof entry === 'string' ? resolve(entry) : { ...entry, from: resolve(entry.from) },
    )
    const kernel = await createKernel({
      workspace: workspace.root,
      home: workspace.home,
      env: { PATH: process.env.PATH, HOME: workspace.home, VTCODE_HOME: join(workspace.home, '.vtcode'), ...how.env },
      mode: how.mode ?? 'full-auto',
      config: {
        automation: everything,
        tools: unguarded,
        ...how.config,
        plugins: { ...inProcess, ...how.config?.plugins },
        manifests: ['builtin', ...manifests, ...(how.config?.manifests ?? [])],
      },
      surface: 'test',
      ...(how.only && { only: how.only }),
      ...(how.dialects && { dialects: how.dialects }),
      ...(how.timeouts && { timeouts: how.timeouts }),
    })
    const dispose = async (): Promise<void> => {
      await kernel.close()
      await workspace[Symbol.asyncDispose]()
    }
    return { ...workspace, kernel, call: kernel.call, [Symbol.asyncDispose]: dispose }
  } catch (error) {
    await workspace[Symbol.asyncDispose]()
    throw error
  }
}
