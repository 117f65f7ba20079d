import { trimEndChars } from '../base/index.js'
import { createSyntaxError } from './syntax_error.js'
import type { Hunk, HunkLine, Section } from './types.js'
import { isUnified, parseUnified } from './unified.js'

/** Parses the sections of a patch: the `*** Begin Patch` form or a unified diff. Throws VT_PATCH_SYNTAX. */
export function parsePatch(text: string): Section[] {
  const lines = stripWrapping(text).split('\n')
  const clean = lines.every((line, index) => line.endsWith('\r') || index === lines.length - 1)
    ? lines.map((line) => line.replace(/\r$/, ''))
    : lines
  return isUnified(clean) ? parseUnified(clean) : new Parser(clean).parseSections()
}

/** Removes surrounding white space, a heredoc and a Markdown fence. */
function stripWrapping(text: string): string {
  for (let whole = trimPatch(text); ;) {
    const inner = unwrap(whole)
    if (inner === undefined) return whole
    whole = trimPatch(inner)
  }
}

/** Removes empty lines around a patch. Spaces stay: in a diff a space is an empty line of context. */
function trimPatch(text: string): string {
  const whole = text.replace(/^\uFEFF/, '').replace(/^\s*\n/, '')
  const trimmed = trimEndChars(whole, '\r\n')
  // A carriage return of the last line may be part of its text.
  return whole.startsWith('\r\n', trimmed.length) ? `${trimmed}\r` : trimmed
}

function unwrap(text: string): string | undefined {
  return (
    findBetween(/^\s*(?:apply_patch\s+)?<<-?\s*['"]?(\w+)[^\n]*\n/, text) ?? findBetween(/^\s*(`{3,})[^\n`]*\n/, text)
  )
}

/** Returns the text between a first line and a last line with the same mark. */
function findBetween(head: RegExp, text: string): string | undefined {
  const [first, mark] = head.exec(text) ?? []
  const whole = text.trimEnd()
  const last = whole.lastIndexOf('\n')
  return first !== undefined && last >= first.length - 1 && whole.slice(last).trim() === mark
    ? text.slice(first.length, Math.max(first.length, last))
    : undefined
}

/** Removes a second mark: an anchor may lie between two marks, like the numbers of a diff. */
function dropSecondMark(anchor: string): string {
  const text = anchor.trimEnd()
  return text.endsWith('@@') ? text.slice(0, -2).trimEnd() : anchor
}

const MARKER = /^\*\*\* (Add File|Delete File|Update File|Move to): ?(.*)$/

class Parser {
  private at = 0
  constructor(private readonly lines: string[]) {}

  parseSections(): Section[] {
    if (this.current.trim() !== '*** Begin Patch') throw this.createError("'*** Begin Patch'")
    this.at++
    const sections: Section[] = []
    for (;;) {
      this.skipBlank()
      if (this.ended) throw this.createError("'*** End Patch'")
      if (this.current.trim() === '*** End Patch') break
      sections.push(this.parseSection())
    }
    this.at++
    this.skipBlank()
    if (!this.ended) throw this.createError("nothing after '*** End Patch'")
    return sections
  }

  private parseSection(): Section {
    const line = this.at + 1
    const [, word, path = ''] = MARKER.exec(this.current.trim()) ?? []
    if (!word || word === 'Move to')
      throw this.createError(
        "'*** Add File: path', '*** Update File: path', '*** Delete File: path' or '*** End Patch'",
      )
    if (/[\t\0]|^\s*(?:"|$)/.test(path)) throw this.createError('a path without quotes and control characters')
    this.at++
    const named = { path: path.trim(), line }
    if (word === 'Delete File') return { op: 'delete', ...named }
    return word === 'Add File'
      ? { op: 'add', ...named, lines: this.parseAdded(), newline: true, executable: false }
      : this.parseUpdate(named)
  }

  private parseAdded(): string[] {
    const lines: string[] = []
    for (; !this.ended && !this.current.startsWith('*** '); this.at++) {
      if (this.current.startsWith('+')) lines.push(this.current.slice(1))
      else if (this.current.trim() === '' && this.isBlankToMarker()) continue
      else throw this.createError("a line that starts with '+'")
    }
    return lines
  }

  private parseUpdate(named: { path: string; line: number }): Section {
    const moved = this.ended ? null : MARKER.exec(this.current.trim())
    const to = moved?.[1] === 'Move to' ? moved[2]!.trim() : undefined
    if (to !== undefined) this.at++
    const hunks: Hunk[] = []
    while (!this.ended && !this.isAtMarker()) {
      if (this.current.trim() === '' && this.isBlankToMarker()) this.at++
      else hunks.push(this.parseHunk())
    }
    if (hunks.length === 0 && to === undefined)
      throw this.createError("a hunk ('@@' or lines that start with ' ', '-' or '+') or '*** Move to: path'")
    return { op: 'update', ...named, ...(to !== undefined && { to }), hunks }
  }

  private parseHunk(): Hunk {
    const line = this.at + 1
    const { anchors, hint } = this.parseAnchors()
    const lines: HunkLine[] = []
    let blank = 0
    for (; !this.ended && !this.isAtMarker() && !this.current.startsWith('@@'); this.at++) {
      const kind = this.current[0]
      blank = this.current === '' ? blank + 1 : 0
      if (kind === ' ' || kind === '-' || kind === '+') lines.push({ kind, text: this.current.slice(1) })
      else if (this.current.trim() === '') lines.push({ kind: ' ', text: '' })
      else throw this.createError("a line that starts with ' ', '-' or '+', or '@@', or a '***' marker")
    }
    // After added lines only, empty lines merely separate sections.
    if (lines.slice(0, lines.length - blank).every(({ kind }) => kind === '+')) lines.length -= blank
    if (!lines.some(({ kind }) => kind !== ' ')) throw this.createError("at least one line that starts with '-' or '+'")
    const atEnd = !this.ended && this.current.trim() === '*** End of File'
    if (atEnd) this.at++
    return { anchors, lines, atEnd, ...(hint !== undefined && { hint }), line }
  }

  private parseAnchors(): { anchors: string[]; hint?: number } {
    const anchors: string[] = []
    let hint: number | undefined
    for (; !this.ended && this.current.startsWith('@@'); this.at++) {
      const [, numbered] = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/.exec(this.current) ?? []
      const text = dropSecondMark(this.current.slice(2).replace(/^ /, ''))
      if (numbered !== undefined) hint = Number(numbered)
      else if (text.trim() !== '') anchors.push(text)
    }
    return { anchors, ...(hint !== undefined && { hint }) }
  }

  private get current(): string {
    return this.lines[this.at] ?? ''
  }
  private get ended(): boolean {
    return this.at >= this.lines.length
  }
  private isAtMarker(): boolean {
    return this.current.startsWith('*** ')
  }
  private isBlankToMarker(): boolean {
    const next = this.lines.slice(this.at).find((line) => line.trim() !== '')
    return next === undefined || next.startsWith('*** ')
  }
  private skipBlank(): void {
    while (!this.ended && this.current.trim() === '') this.at++
  }
  private createError(expected: string) {
    return createSyntaxError(this.at + 1, this.ended ? 'the end' : this.current, expected)
  }
}
