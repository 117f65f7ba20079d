import type { Diagnostic, Layer, State } from '../shapes/index.js'

/** The parts of a package that are text for models. */
export interface PackageSkills {
  /** Folders of skills, and folders that are one; real paths inside the package. */
  folders: readonly string[]
  /** Commands and prompts, read as skills. */
  texts: readonly PackageText[]
  /** Files with instructions about the package for every model; real paths inside the package. */
  instructions?: readonly string[]
  /** Definitions of agents, for programs that start agents of their own. */
  agents?: readonly PackageAgent[]
  diagnostics: readonly Diagnostic[]
}
export type PackageAgent = Pick<Skill, 'name' | 'description' | 'file'>
/** A value that a plugin provides. */
export type WithPlugin<T> = T & { readonly plugin: string }
export type PackageText = Pick<
  Skill,
  'name' | 'description' | 'metadata' | 'allowed_tools' | 'hidden' | 'prompt' | 'file'
> &
  Partial<Pick<Skill, 'argument_hint'>> & { readonly body: string }

/** A folder with a `SKILL.md`, https://agentskills.io/specification: its metadata, without its body. */
export interface Skill {
  /**
   * Unique: `workspace:<name>`, `workspace/apps/web:<name>`, `user:`, `admin:`, `builtin:`, `<plugin>:`, `root<i>:`.
   */
  readonly id: string
  readonly name: string
  /** Without control and invisible characters, at most 1,024 code points. */
  readonly description: string
  readonly layer: Layer
  readonly scope: 'workspace' | 'user' | 'bundled'
  /** Real path of the folder. */
  readonly folder: string
  /** Real path of the `SKILL.md`. */
  readonly file: string
  readonly state: State
  readonly reason?: string
  /** The instructions of a command or a prompt of a package; others are read from `file`. */
  readonly body?: string
  /** Folders with the same files. */
  readonly also_at: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  readonly metadata: Readonly<Record<string, string>>
  /** Information for the user, never a grant. */
  readonly allowed_tools: readonly string[]
  readonly when_to_use?: string
  readonly argument_hint?: string
  /** Only the user can load the skill. */
  readonly hidden: boolean
  /** Users can call the skill by its name, unless the file has `user-invocable: false`. */
  readonly prompt: boolean
}
/** The skills of a generation. */
export interface Skills {
  /** In the order of precedence, in every state. */
  readonly all: readonly Skill[]
  /** Unusable files with reasons: `path` or `path:line`. */
  readonly skipped: readonly { path: string; reason: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** Returns the skill with a bare or qualified name, if it may be loaded. */
  find(name: string): Skill | undefined
  /** The skills that models see: active and not hidden, pinned ones first. */
  readonly catalogue: readonly Skill[]
  /** Of packages. */
  readonly instructions: readonly WithPlugin<{ readonly file: string; readonly layer: Layer }>[]
  readonly agents: readonly WithPlugin<PackageAgent>[]
}
