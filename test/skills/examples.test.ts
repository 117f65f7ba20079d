import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { bootKernel, published } from 'vtcode/test'
import { runShellLine } from '../support/shell_line.js'
import { commandsOf, looksLike, pages, type Block, type Section } from '../support/pages.js'

// Every example of the bundled skills is run unchanged: blocks with a file name are written, `console` blocks are run by bash with the
// output compared, `call` blocks are given to the program. With VTCODE_UPDATE=1 the outputs in the pages are written again.
const update = process.env['VTCODE_UPDATE'] === '1'
const root = fileURLToPath(new URL('../..', import.meta.url))
const require = createRequire(import.meta.url)
const base = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-skills-')))
const astGrep = engine()
afterAll(() => rmSync(base, { recursive: true, force: true }))

function engine(): string | undefined {
  try {
    return (require('@ast-grep/cli/postinstall.js') as { resolveBinaryPath(): string }).resolveBinaryPath()
  } catch {
    return undefined
  }
}

const bin = join(base, 'bin')
mkdirSync(bin)
mkdirSync(join(base, 'node_modules'))
symlinkSync(join(root, 'node_modules/@ast-grep'), join(base, 'node_modules/@ast-grep'))
symlinkSync(root, join(base, 'node_modules/vtcode'))
if (astGrep) symlinkSync(astGrep, join(bin, 'ast-grep'))
writeFileSync(join(bin, 'vtcode'), `#!/bin/sh\nexec '${process.execPath}' '${join(root, 'dist/core/bin.js')}' "$@"\n`)
chmodSync(join(bin, 'vtcode'), 0o755)

async function run(command: string, cwd: string): Promise<string[]> {
  const home = join(base, 'home')
  const env = {
    PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: home,
    NO_COLOR: '1',
    TERM: 'dumb',
    LC_ALL: 'C.UTF-8',
    GIT_CONFIG_NOSYSTEM: '1',
  }
  const printed = await runShellLine(command, cwd, env)
  return printed === ''
    ? []
    : printed
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => line.replaceAll(cwd, '/work').trimEnd())
}

function write(blocks: Block[], cwd: string): void {
  for (const { kind, path, text } of blocks) {
    if (kind !== 'file') continue
    mkdirSync(dirname(join(cwd, path)), { recursive: true })
    writeFileSync(join(cwd, path), text)
  }
}

let folders = 0
async function runSection(preamble: Section, section: Section): Promise<Map<Block, string>> {
  const cwd = join(base, `w${++folders}`, 'work')
  mkdirSync(cwd, { recursive: true })
  write(preamble.blocks, cwd)
  const seen = new Map<Block, string>()
  for (const block of section.blocks) {
    write([block], cwd)
    if (block.kind !== 'console') continue
    const lines: string[] = []
    for (const { command, output } of commandsOf(block)) {
      const actual = await run(command, cwd)
      lines.push(
        `$ ${command.split('\n').join('\n> ').replace(/ +$/gm, '')}`,
        ...(looksLike(actual, output) ? output : actual),
      )
      if (!update)
        expect(
          looksLike(actual, output) ? output.join('\n') : actual.join('\n'),
          `line ${block.line}: ${command}`,
        ).toBe(output.join('\n'))
    }
    seen.set(block, lines.map((line) => `${line}\n`).join(''))
  }
  return seen
}

for (const page of pages()) {
  describe(`skills/${page.name}`, () => {
    const [preamble, ...sections] = page.sections as [Section, ...Section[]]
    const needsEngine = page.name.startsWith('ast-grep/')
    const seen = new Map<Block, string>()
    const skip = needsEngine && !astGrep && !process.env['CI']
    for (const section of [preamble, ...sections]) {
      if (!section.blocks.some(({ kind }) => kind === 'console')) continue
      const title = `runs as shown: ${section.heading || 'the introduction'}`
      it.skipIf(skip)(skip ? `${title} (SKIPPED: needs ast-grep)` : title, async () => {
        for (const [block, text] of await runSection(
          section === preamble ? { heading: '', blocks: [] } : preamble,
          section,
        ))
          seen.set(block, text)
      })
    }
    if (update)
      it('rewrites the page', () => {
        const lines = page.text.split('\n')
        for (const [block, text] of [...seen].sort(([a], [b]) => b.line - a.line)) {
          lines.splice(block.line, block.text.split('\n').length - 1, ...text.replace(/\n$/, '').split('\n'))
        }
        writeFileSync(page.file, lines.join('\n'))
      })

    const calls = page.sections.flatMap(({ blocks }) => blocks.filter(({ kind }) => kind === 'call'))
    if (calls.length > 0)
      it('shows calls that the tools accept', async () => {
        await using booted = await bootKernel({ mode: 'plan' })
        for (const { text, line } of calls) {
          const { tool, ...input } = JSON.parse(text) as { tool: string; action?: string }
          const result = await booted.call(tool, input)
          const code = result.ok ? 'ok' : result.error.code
          // The published contract may be ahead of this build.
          if (
            /^VT_(TOOL|ACTION)_UNKNOWN$/.test(code) &&
            published().includes(`"call":["${tool}",{"action":"${String(input.action)}"`)
          )
            continue
          expect(code, `line ${line}: ${text} ${result.ok ? '' : result.error.message}`).not.toMatch(
            /^VT_(INPUT|TOOL|ACTION)_/,
          )
        }
      })

    it('states for every block whether it was run', () => {
      const unmarked = page.sections.flatMap(({ blocks }) =>
        blocks.filter(({ kind }) => kind === 'unmarked').map(({ line }) => `${page.name}:${line}`),
      )
      expect(unmarked).toEqual([])
    })

    it('names only existing files', () => {
      const named = [...page.text.matchAll(/\]\(((?!https?:|#)[^)#\s]+)/g)].map((match) => match[1]!)
      expect(named.filter((path) => !existsSync(join(dirname(page.file), path)))).toEqual([])
    })
  })
}
