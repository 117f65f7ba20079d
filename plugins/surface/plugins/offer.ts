/** Where a plugin of an index is, and what the index promises of it. */
export interface Pinned {
  /** As `vtcode plugins add` takes it. */
  address: string
  /** Branch, tag or commit of a git repository. */
  ref?: string
  /** A folder of a git repository. */
  subdir?: string
  /** 40 hexadecimal digits that a git repository has to be at. */
  commit?: string
  /** `sha256-…` or `sha512-…` in base64, 64 hexadecimal digits, or `tree1:sha256-…` of the files. */
  integrity?: string
}
/** What an index says of a plugin. All but `index` and `pinned.address` of a folder here is foreign text. */
export interface IndexedPlugin {
  name: string
  index: string
  description?: string
  version?: string
  author?: string
  homepage?: string
  license?: string
  keywords: string[]
  pinned?: Pinned
  /** Why it cannot be added, where it cannot; a sentence without its full stop. */
  unavailable?: string
}
export interface IndexContents {
  offers: IndexedPlugin[]
  /** Indexes that cannot be read, and entries that are no plugin. */
  problems: { index: string; problem: string }[]
}
