import type { Next } from '../../../core/shapes/index.js'

export interface OutlineInput {
  path: string
  lang?: string
  type?: string | string[]
  match?: string
  items: 'auto' | 'structure' | 'exports' | 'imports' | 'all'
  pub_members: boolean
  follow: boolean
  view: 'digest' | 'names' | 'full'
  max_results: number
}
interface Place {
  line: number
  column: number
}
/** Zero-based lines and columns (code points), offsets in bytes, as ast-grep counts them. */
export interface Range {
  byteOffset: { start: number; end: number }
  start: Place
  end: Place
}
export interface Member {
  role: string
  kind: string
  name: string
  signature: string
  isPublic: boolean
  line_number: number
}
export interface OutlineItem {
  role: string
  kind: string
  name: string
  signature: string
  astKind: string
  isImport: boolean
  isExported: boolean
  line_number: number
  end_line: number
  range: Range
  members: Member[]
}
/** The symbols of a file. */
export interface ParsedOutline {
  items: OutlineItem[]
  /** The file has syntax errors, so symbols can be missing. */
  isBroken: boolean
}
export interface OutlinedFile extends ParsedOutline {
  path: string
  lang: string
}
export interface OutlineOutput {
  view: OutlineInput['view']
  files: unknown[]
  backend: 'ast-grep' | 'tree-sitter' | 'mixed'
  total_symbols: number
  truncated: boolean
  next?: Next
}
