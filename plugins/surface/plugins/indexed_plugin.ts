import type { MarketplaceEntry } from '../../lib/marketplace/index.js'

/** The source of a plugin of an index, and the promised commit and hash. */
export interface PinnedSource {
  /** An address in the form of `vtcode plugins add`. */
  address: string
  /** Branch, tag or commit of a git repository. */
  ref?: string
  /** A folder of a git repository. */
  subdir?: string
  /** The required commit of a git repository: 40 hexadecimal digits. */
  commit?: string
  /** `sha256-…` or `sha512-…` in base64, 64 hexadecimal digits, or `tree1:sha256-…` of the files. */
  integrity?: string
}
/** An entry of an index. All text is untrusted, except `index` and the `pinned.address` of a local folder. */
export interface IndexedPlugin extends MarketplaceEntry {
  name: string
  index: string
  pinned?: PinnedSource
  /** The reason why the plugin cannot be added; a sentence without its full stop. */
  unavailable?: string
}
export interface IndexContents {
  offers: IndexedPlugin[]
  /** Unreadable indexes and invalid entries. */
  problems: { index: string; problem: string }[]
}
