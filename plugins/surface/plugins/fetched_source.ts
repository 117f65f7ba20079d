import type { JsonObject } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/index.js'
import type { PluginSource } from '../../../core/trust/index.js'

export interface FetchedSource {
  /** A temporary folder with the fetched files. */
  root: string
  source: PluginSource
  /** The default name of the plugin. */
  name: string
  /** The parts that an entry of a marketplace lists, which are in the fetched `plugin.json`. */
  listed?: JsonObject
  /** Address of the attestation that the npm registry names for the package. */
  attested?: string
}
export interface FetchOptions {
  kernel: Kernel
  io: Io
  /** An empty temporary folder. */
  into: string
  ref?: string | undefined
  /** A folder of the repository. */
  subdir?: string | undefined
  /**
   * The required hash of the archive: 64 hexadecimal digits of SHA-256, or `sha256-…`, `sha384-…`, `sha512-…` in
   * base64.
   */
  sha256?: string | undefined
  /** The name that the user chose. */
  name?: string | undefined
}
