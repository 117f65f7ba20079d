import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Booted } from 'vtcode/test'
import { apart, type Check, type Row } from '../../../support/seed.js'
import { bareProgram, type Bare } from '../../../support/bare.js'

// The program of ast-grep, where npm left it out.
let bare: Promise<Bare> | undefined
const place = apart({ files: { 'a.py': 'log(1)\n', 'src/a.ts': 'export function hello() {}\n' } })
const without = (check: (bare: Bare, place: Booted) => unknown): Check =>
  place(async (at) => check(await (bare ??= bareProgram(at)), at))

export const rows: Row[] = [
  [
    '155',
    'ast-grep auto-installed on first use, checksum, 24 h cooldown',
    without(async (bare, { home }) => {
      bare.answer = { status: 200, body: Buffer.concat([bare.real.subarray(0, -1), Buffer.from([0])]) }
      expect(await bare.search()).toMatchObject({
        ok: false,
        error: { code: 'VT_SEARCH_ENGINE_MISSING', message: expect.stringMatching(/not the pinned package/) },
      })
      expect(await bare.search()).toMatchObject({ ok: false, error: { message: expect.stringContaining('24 h') } })
      expect(bare.registry.seen).toHaveLength(1)
      const note = join(home, '.vtcode/bin/ast-grep.failed.json')
      writeFileSync(
        note,
        JSON.stringify({ ...JSON.parse(readFileSync(note, 'utf8')), at: Date.now() - 25 * 3_600_000 }),
      )
      bare.answer = { status: 200, body: bare.real }
      expect(await bare.search()).toMatchObject({ ok: true, output: { matches: [{ file: 'a.py' }] } })
    }),
    'Missing ast-grep',
  ],
  [
    '155',
    'VTCODE_AST_GREP_NO_INSTALL=1 → actionable error naming `vtcode dependencies install ast-grep`',
    without(async (bare) => {
      const env = { VTCODE_AST_GREP_NO_INSTALL: '1', HOME: '/nonexistent' }
      expect(await bare.search(env)).toMatchObject({
        ok: false,
        error: {
          code: 'VT_SEARCH_ENGINE_MISSING',
          hint: expect.stringContaining('vtcode dependencies install ast-grep'),
        },
      })
    }),
  ],
  [
    '156',
    'installs in ~/.vtcode/bin',
    without(async (bare, { home }) => {
      expect((await bare.run(['dependencies', 'install', 'ast-grep'])).stdout).toContain(
        join(home, '.vtcode/bin/ast-grep'),
      )
      expect(existsSync(join(home, '.vtcode/bin/ast-grep'))).toBe(true)
    }),
  ],
  [
    '157',
    'prefer ast-grep over sg on Linux',
    without(async (bare, { home, root }) => {
      const path = join(root, 'programs')
      // Another program of that name, which changes groups on Linux.
      mkdirSync(path)
      writeFileSync(join(path, 'sg'), '#!/bin/sh\nexit 9\n', { mode: 0o755 })
      expect(
        (
          await bare.run(['dependencies'], {
            PATH: `${path}:/usr/bin:/bin:${join(process.execPath, '..')}`,
            HOME: join(home, 'other'),
          })
        ).stdout,
      ).toMatch(/^ast-grep +missing/)
    }),
  ],
  [
    '180',
    'no grep fallback when missing; auto-install; opt-out error',
    without(async (bare) => {
      const outline = async (path: string) =>
        JSON.parse(
          (
            await bare.run(['call', 'unified_search', 'outline', '--path', path], {
              VTCODE_AST_GREP_NO_INSTALL: '1',
              HOME: '/nonexistent',
            })
          ).stdout,
        )
      expect(await outline('src/a.ts')).toMatchObject({
        ok: true,
        output: { backend: 'tree-sitter' },
        notices: [{ code: 'VT_SEARCH_FALLBACK' }],
      })
    }),
    '`outline` without ast-grep',
  ],
]
