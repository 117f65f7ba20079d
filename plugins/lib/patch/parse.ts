import { trimEndChars } from '../base/index.js'
import { syntax } from './syntax.js'
import type { Hunk, HunkLine, Section } from './types.js'
import { looksUnified, parseUnified } from './unified.js'

/** The sections of a patch, in the `*** Begin Patch` form or as a unified diff. Throws VT_PATCH_SYNTAX. */
export function parsePatch(text: string): Section[] {
  const lines = bare(text).split('\n')
  const clean = lines.every((line, index) => line.endsWith('\r') || index === lines.length - 1)
    ? lines.map((line) => line.replace(/\r$/, ''))
    : lines
  return looksUnified(clean) ? parseUnified(clean) : new Parser(clean).sections()
}

/** Without white space around it, the heredoc it was wrapped in, or a Markdown fence. */
function bare(text: string): string {
  for (let whole = trimmed(text); ;) {
    const inner = unwrapped(whole)
    if (inner === undefined) return whole
    whole = trimmed(inner)
  }
}

// A space at the end of a line is an empty line of context, if the patch is a diff.
const trimmed = (text: string): string => trimEndChars(text.replace(/^\uFEFF/, '').replace(/^\s*\n/, ''), '\r\n')

function unwrapped(text: string): string | undefined {
  return between(/^\s*(?:apply_patch\s+)?<<-?\s*['"]?(\w+)[^\n]*\n/, text) ?? between(/^\s*(`{3,})[^\n`]*\n/, text)
}

/** What lies between a first line and a last one that holds the same mark and nothing else. */
function between(head: RegExp, text: string): string | undefined {
  const [first, mark] = head.exec(text) ?? []
  const whole = text.trimEnd()
  const last = whole.lastIndexOf('\n')
  return first !== undefined && last >= first.length - 1 && whole.slice(last).trim() === mark
    ? text.slice(first.length, Math.max(first.length, last))
    : undefined
}

/** An anchor may stand between two marks, as the numbers of a diff do. */
function withoutSecondMark(anchor: string): string {
  const text = anchor.trimEnd()
  return text.endsWith('@@') ? text.slice(0, -2).trimEnd() : anchor
}

const marker = /^\*\*\* (Add File|Delete File|Update File|Move to): ?(.*)$/

class Parser {
  private at = 0
  constructor(private readonly lines: string[]) {}

  sections(): Section[] {
    if (this.now.trim() !== '*** Begin Patch') throw this.wrong("'*** Begin Patch'")
    this.at++
    const sections: Section[] = []
    for (;;) {
      this.skipBlank()
      if (this.ended) throw this.wrong("'*** End Patch'")
      if (this.now.trim() === '*** End Patch') break
      sections.push(this.section())
    }
    this.at++
    this.skipBlank()
    if (!this.ended) throw this.wrong("nothing after '*** End Patch'")
    return sections
  }

  private section(): Section {
    const line = this.at + 1
    const [, word, path = ''] = marker.exec(this.now.trim()) ?? []
    if (!word || word === 'Move to')
      throw this.wrong("'*** Add File: path', '*** Update File: path', '*** Delete File: path' or '*** End Patch'")
    if (path.trim() === '') throw this.wrong('a path')
    this.at++
    const named = { path: path.trim(), line }
    if (word === 'Delete File') return { op: 'delete', ...named }
    return word === 'Add File'
      ? { op: 'add', ...named, lines: this.added(), newline: true, executable: false }
      : this.update(named)
  }

  private added(): string[] {
    const lines: string[] = []
    for (; !this.ended && !this.now.startsWith('*** '); this.at++) {
      if (this.now.startsWith('+')) lines.push(this.now.slice(1))
      else if (this.now.trim() === '' && this.blankToMarker()) continue
      else throw this.wrong("a line that starts with '+'")
    }
    return lines
  }

  private update(named: { path: string; line: number }): Section {
    const moved = this.ended ? null : marker.exec(this.now.trim())
    const to = moved?.[1] === 'Move to' ? moved[2]!.trim() : undefined
    if (to !== undefined) this.at++
    const hunks: Hunk[] = []
    while (!this.ended && !this.atMarker()) {
      if (this.now.trim() === '' && this.blankToMarker()) this.at++
      else hunks.push(this.hunk())
    }
    if (hunks.length === 0 && to === undefined)
      throw this.wrong("a hunk ('@@' or lines that start with ' ', '-' or '+') or '*** Move to: path'")
    return { op: 'update', ...named, ...(to !== undefined && { to }), hunks }
  }

  private hunk(): Hunk {
    const line = this.at + 1
    const { anchors, hint } = this.anchors()
    const lines: HunkLine[] = []
    let blank = 0
    for (; !this.ended && !this.atMarker() && !this.now.startsWith('@@'); this.at++) {
      const kind = this.now[0]
      blank = this.now === '' ? blank + 1 : 0
      if (kind === ' ' || kind === '-' || kind === '+') lines.push({ kind, text: this.now.slice(1) })
      else if (this.now.trim() === '') lines.push({ kind: ' ', text: '' })
      else throw this.wrong("a line that starts with ' ', '-' or '+', or '@@', or a '***' marker")
    }
    // Behind added lines alone, empty lines only keep the sections apart.
    if (lines.slice(0, lines.length - blank).every(({ kind }) => kind === '+')) lines.length -= blank
    if (!lines.some(({ kind }) => kind !== ' ')) throw this.wrong("at least one line that starts with '-' or '+'")
    const atEnd = !this.ended && this.now.trim() === '*** End of File'
    if (atEnd) this.at++
    return { anchors, lines, atEnd, ...(hint !== undefined && { hint }), line }
  }

  private anchors(): { anchors: string[]; hint?: number } {
    const anchors: string[] = []
    let hint: number | undefined
    for (; !this.ended && this.now.startsWith('@@'); this.at++) {
      const [, numbered] = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/.exec(this.now) ?? []
      const text = withoutSecondMark(this.now.slice(2).replace(/^ /, ''))
      if (numbered !== undefined) hint = Number(numbered)
      else if (text.trim() !== '') anchors.push(text)
    }
    return { anchors, ...(hint !== undefined && { hint }) }
  }

  private get now(): string {
    return this.lines[this.at] ?? ''
  }
  private get ended(): boolean {
    return this.at >= this.lines.length
  }
  private atMarker(): boolean {
    return this.now.startsWith('*** ')
  }
  private blankToMarker(): boolean {
    const next = this.lines.slice(this.at).find((line) => line.trim() !== '')
    return next === undefined || next.startsWith('*** ')
  }
  private skipBlank(): void {
    while (!this.ended && this.now.trim() === '') this.at++
  }
  private wrong(expected: string) {
    return syntax(this.at + 1, this.ended ? 'the end' : this.now, expected)
  }
}
