import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fc } from '../../../support/property.js'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { rounds } from '../../../support/exec.js'
import { runs } from '../../../support/property.js'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
const folder = new URL('../../../fixtures/languages/', import.meta.url)
const languages: Record<string, string> = {
  c: 'c',
  cpp: 'cpp',
  cs: 'csharp',
  dart: 'dart',
  ex: 'elixir',
  go: 'go',
  hs: 'haskell',
  java: 'java',
  kt: 'kotlin',
  lua: 'lua',
  nix: 'nix',
  php: 'php',
  py: 'python',
  rb: 'ruby',
  rs: 'rust',
  scala: 'scala',
  sh: 'bash',
  sol: 'solidity',
  swift: 'swift',
  tf: 'hcl',
  ts: 'typescript',
  tsx: 'tsx',
  zig: 'zig',
}

interface Piece {
  kind: string
  start: number
  end: number
}
interface Sample {
  file: string
  lang: string
  text: string
  pieces: Piece[]
}
let ws: Booted
let samples: Sample[]

beforeAll(async () => {
  const files = Object.fromEntries(
    readdirSync(folder).map((name) => [name.replace(/\.txt$/, ''), readFileSync(new URL(name, folder), 'utf8')]),
  )
  ws = await bootKernel({ files })
  samples = Object.keys(files).flatMap((file) => {
    const lang = languages[file.split('.').at(-1)!]
    return lang === undefined ? [] : [{ file, lang, text: files[file]!, pieces: parse(files[file]!, lang) }]
  })
})
afterAll(() => ws[Symbol.asyncDispose]())

/** Returns the nodes of a file, as the program parses it. Patterns of PHP have no opening tag. */
function parse(text: string, lang: string): Piece[] {
  const skipped = lang === 'php' ? text.indexOf('\n') + 1 : 0
  const code = text.slice(skipped)
  const args = ['run', `--lang=${lang}`, `--pattern=${code}`, '--debug-query=cst', '--color=never', '--stdin']
  const tree = execFileSync('sh', ['-c', '"$0" "$@" 2>&1 </dev/null || true', program, ...args], { encoding: 'utf8' })
  const lines = code.split('\n')
  const offset = (line: string, column: string) =>
    skipped +
    lines.slice(0, Number(line)).reduce((sum, one) => sum + one.length + 1, 0) +
    Buffer.from(lines[Number(line)] ?? '').toString('utf8', 0, Number(column)).length
  const pieces = [...tree.matchAll(/^ *(?:\w+: )?([a-z_]+) \((\d+),(\d+)\)-\((\d+),(\d+)\)$/gm)].map(
    ([, kind, line, column, endLine, endColumn]) => ({
      kind: kind!,
      start: offset(line!, column!),
      end: offset(endLine!, endColumn!),
    }),
  )
  // A dollar is a metavariable in a pattern, and a single word is not read in another way.
  return pieces.filter(({ kind, start, end }) => {
    const piece = text.slice(start, end)
    return piece !== kind && piece.length < 240 && /[A-Za-z_]\w{2,}/.test(piece) && !/^\w+$|\$/.test(piece)
  })
}

/** Pieces that models search most. */
const COMMON =
  /^(?:(?:call|invocation|method_call|function_call)(?:_expression)?|method_invocation|(?:expression|if|for|return)_statement|function_definition|function_declaration|method_definition|method_declaration|class_declaration|function_item)$/

it('finds code of 23 languages by a pattern taken from it, or states why it does not', async () => {
  const tried = { found: 0, common: 0 }
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(), fc.nat(), fc.constantFrom('', '$A', '$$$A'), async (file, at, part, hole) => {
      const { lang, text, pieces, file: path } = samples[file % samples.length]!
      const piece = pieces[at % pieces.length]!
      const inner = pieces.filter(({ start, end }) => start > piece.start && end < piece.end)
      const cut = hole === '' ? undefined : inner[part % inner.length]
      const pattern = cut
        ? text.slice(piece.start, cut.start) + hole + text.slice(cut.end, piece.end)
        : text.slice(piece.start, piece.end)
      const result: any = await ws.call('unified_search', {
        action: 'structural',
        lang,
        pattern,
        path,
        max_results: 1000,
      })
      const shown = `${lang} ${piece.kind} ${JSON.stringify(pattern)}`
      if (!result.ok) {
        expect(result.error.code, shown).toMatch(/^VT_SEARCH_(?:PATTERN|FRAGMENT)$/)
        expect(COMMON.test(piece.kind) && !cut, shown).toBe(false)
        return
      }
      const begin = Buffer.byteLength(text.slice(0, piece.start))
      const isFound = result.output.matches.some(({ range }: any) => range.byteOffset.start === begin)
      tried.found += isFound ? 1 : 0
      // Text like a pattern is searched where a word identifies it.
      if (result.output.total_matches === 0 && /[A-Za-z_]\w{2,}/.test(pattern.replace(/\$+\w*/g, ' ')))
        expect(result.notices?.length ?? 0, `silent: ${shown}`).toBeGreaterThan(0)
      if (COMMON.test(piece.kind) && !cut) {
        tried.common++
        expect(isFound, `missed: ${shown}`).toBe(true)
      }
    }),
    { numRuns: runs(rounds(16, 3000)) },
  )
  expect(tried.found).toBeGreaterThan(5)
})
