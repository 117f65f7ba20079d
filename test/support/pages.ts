import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A fenced block of a page. */
export interface Block {
  kind: 'file' | 'console' | 'call' | 'not-executed' | 'unmarked'
  lang: string
  /** Of a file: where it is written. */
  path: string
  text: string
  /** Of the opening fence, 1-based. */
  line: number
}
/** The part of a page under one heading of the second level; `''` is the part before the first. */
export interface Section {
  heading: string
  blocks: Block[]
}
export interface Page {
  /** Relative to the folder of the bundled skills. */
  name: string
  file: string
  text: string
  sections: Section[]
}

export const folder = fileURLToPath(new URL('../../skills', import.meta.url))

/** The pages of the bundled skills: every Markdown file but the templates. */
export const pages = (): Page[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('assets/'))
    .sort()
    .map((name) => readPage(join(folder, name)))

export function readPage(file: string): Page {
  const text = readFileSync(file, 'utf8')
  const sections: Section[] = [{ heading: '', blocks: [] }]
  let open: { fence: string; block: Block; indent: number; lines: string[] } | undefined
  text.split('\n').forEach((line, index) => {
    const fence = /^( *)(```+|~~~+)(.*)$/.exec(line)
    if (open) {
      if (fence && fence[2] === open.fence && fence[3] === '') {
        open.block.text = open.lines.map((one) => `${one}\n`).join('')
        sections.at(-1)!.blocks.push(open.block)
        open = undefined
      } else open.lines.push(line.slice(Math.min(open.indent, /^ */.exec(line)![0].length)))
    } else if (fence)
      open = {
        fence: fence[2]!,
        indent: fence[1]!.length,
        lines: [],
        block: { ...marked(fence[3]!.trim()), text: '', line: index + 1 },
      }
    else if (line.startsWith('## ')) sections.push({ heading: line.slice(3).trim(), blocks: [] })
  })
  return { name: relative(folder, file), file, text, sections }
}

function marked(info: string): Pick<Block, 'kind' | 'lang' | 'path'> {
  const [lang = '', word = ''] = info.split(/\s+/)
  if (word === 'not-executed' || word === 'call') return { kind: word, lang, path: '' }
  if (/[./]/.test(word)) return { kind: 'file', lang, path: word }
  return { kind: lang === 'console' ? 'console' : 'unmarked', lang, path: '' }
}

/** `$ command`, `> more of it`, and the output shown; a line `…` stands for any number of lines. */
export function commandsOf({ text }: Block): { command: string; output: string[] }[] {
  const found: { command: string; output: string[] }[] = []
  for (const line of text.replace(/\n$/, '').split('\n')) {
    const last = found.at(-1)
    if (line.startsWith('$ ')) found.push({ command: line.slice(2), output: [] })
    else if (last && last.output.length === 0 && /^>( |$)/.test(line)) last.command += `\n${line.slice(2)}`
    else if (last) last.output.push(line)
    else throw new Error(`An output without a command: ${line}`)
  }
  return found
}

/** Does what a command wrote look as the page shows it? */
export function looksLike(actual: string[], shown: string[]): boolean {
  if (shown.length === 0) return actual.length === 0
  const [first, ...rest] = shown
  if (first === '…') return rest.length === 0 || actual.some((_, index) => looksLike(actual.slice(index), rest))
  return actual.length > 0 && actual[0] === first && looksLike(actual.slice(1), rest)
}
