import type { Diagnostic, JsonObject, Layer, Manifest } from '../shapes/index.js'
import type { PackageSkills } from '../skills/index.js'

/** Where a package made for another program lies, and what its texts may name. */
export interface PackagePlace {
  readonly root: string
  /** Read only this file of it: a list of servers. */
  readonly file?: string
  readonly plugin: string
  readonly layer: Layer
  readonly data: string
  readonly workspace: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly options: Readonly<JsonObject>
}
/** Contract: runs nothing of the package and does not throw; what cannot be used is a diagnostic. */
export type PackageReader = (place: PackagePlace) => {
  format: string
  /** `read` is the hash of the bytes in `file` that a manifest was made from. */
  manifests: readonly { file: string; manifest: Manifest; read?: string }[]
  /** Manifests in our own form that it brings for this program. */
  native?: { folder: string; vtcode?: string; options: Readonly<Record<string, JsonObject>> }
  diagnostics: readonly Diagnostic[]
  /** Its skills, looked for when somebody asks for skills; without it they lie in `skills`. Contract: does not throw. */
  skills?: () => PackageSkills
  /** Without it nothing of the package counts, its skills neither. */
  usable?: boolean
}
