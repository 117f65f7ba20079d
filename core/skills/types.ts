import type { Diagnostic, Layer, State } from '../shapes/index.js'

/** What of a package is text for models. */
export interface PackageSkills {
  /** Folders of skills, and folders that are one; real paths inside the package. */
  folders: readonly string[]
  /** Commands and prompts, which are read as skills. */
  texts: readonly PackageText[]
  /** Files that tell every model of the package; real paths inside it. */
  instructions?: readonly string[]
  /** What it defines for programs that start agents of their own. */
  agents?: readonly PackageAgent[]
  diagnostics: readonly Diagnostic[]
}
export type PackageAgent = Pick<Skill, 'name' | 'description' | 'file'>
/** Something that a plugin in use brings. */
export type Brought<T> = T & { readonly plugin: string }
export type PackageText = Pick<
  Skill,
  'name' | 'description' | 'metadata' | 'allowed_tools' | 'hidden' | 'prompt' | 'file'
> &
  Partial<Pick<Skill, 'argument_hint'>> & { readonly body: string }

/** A folder with a `SKILL.md`, https://agentskills.io/specification: what is known of it without loading it. */
export interface Skill {
  /** Names exactly this one: `workspace:<name>`, `workspace/apps/web:<name>`, `user:`, `admin:`, `builtin:`, `<plugin>:`, `root<i>:`. */
  readonly id: string
  readonly name: string
  /** Without control and invisible characters, at most 1,024 code points. */
  readonly description: string
  readonly layer: Layer
  readonly scope: 'workspace' | 'user' | 'bundled'
  /** Real path of the folder. */
  readonly folder: string
  /** Real path of its `SKILL.md`. */
  readonly file: string
  readonly state: State
  readonly reason?: string
  /** The instructions, where they are a command or a prompt of a package; else they are read from `file`. */
  readonly body?: string
  /** Folders that hold the same files. */
  readonly also_at: readonly string[]
  readonly license?: string
  readonly compatibility?: string
  readonly metadata: Readonly<Record<string, string>>
  /** Information for the user, never a grant. */
  readonly allowed_tools: readonly string[]
  readonly when_to_use?: string
  readonly argument_hint?: string
  /** Only the user can load it. */
  readonly hidden: boolean
  /** Users call it by its name, unless it says `user-invocable: false`. */
  readonly prompt: boolean
}
/** The skills of a generation. */
export interface Skills {
  /** In the order of precedence, in every state. */
  readonly all: readonly Skill[]
  /** What looked like a skill and is none: `path` or `path:line`, and why. */
  readonly skipped: readonly { path: string; reason: string }[]
  readonly diagnostics: readonly Diagnostic[]
  /** By bare or qualified name, what may be loaded. */
  find(name: string): Skill | undefined
  /** What a model is told of: active, not hidden, pinned ones first. */
  readonly catalogue: readonly Skill[]
  /** Of packages. */
  readonly instructions: readonly Brought<{ readonly file: string; readonly layer: Layer }>[]
  readonly agents: readonly Brought<PackageAgent>[]
}
