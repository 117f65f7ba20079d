import type { Diagnostic, JsonObject, Layer, Manifest } from '../shapes/index.js'
import type { PackageSkills } from '../skills/index.js'

/** The location of a package of another program, and the values that its texts may use. */
export interface PackagePlace {
  readonly root: string
  /** The only file to read: a list of servers. */
  readonly file?: string
  readonly plugin: string
  readonly layer: Layer
  readonly data: string
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly options: Readonly<JsonObject>
}
/** Reads a package. Contract: runs no code of the package and does not throw; unusable parts become diagnostics. */
export type PackageReader = (place: PackagePlace) => {
  format: string
  /** `read` is the hash of the bytes in `file` that the manifest was made from. */
  manifests: readonly { file: string; manifest: Manifest; read?: string }[]
  /** Manifests in our own form, for this program. */
  native?: { folder: string; vtcode?: string; options: Readonly<Record<string, JsonObject>> }
  diagnostics: readonly Diagnostic[]
  /** Finds its skills, when skills are requested; by default they are in `skills`. Contract: does not throw. */
  skills?: () => PackageSkills
  /** `false` disables the whole package, including its skills. */
  usable?: boolean
}
