import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Booted } from 'vtcode/test'
import * as seed from '../../../support/seed.js'
import { among, apart, describes, each, outputOf, type Check, type Row } from '../../../support/seed.js'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
const gives = (input: object, output: object = {}): Check =>
  seed.gives('unified_search', { action: 'outline', ...input }, output)
const outlined = async (place: Booted, input: object): Promise<any> =>
  outputOf(place, 'unified_search', { action: 'outline', ...input })
const names =
  (input: object, expected: string[]): Check =>
  async (place) =>
    expect(
      (await outlined(place, { view: 'names', ...input })).files
        .flatMap((file: any) => file.groups.flatMap((group: any) => group.names))
        .sort(),
    ).toEqual([...expected].sort())
/** Another program in the place of ast-grep, which sees its arguments in `$*`. */
const withProgram =
  (script: string, check: Check): Check =>
  async (place) => {
    const file = join(place.home, 'another-ast-grep')
    writeFileSync(file, `#!/bin/bash\n${script}\n`)
    chmodSync(file, 0o755)
    process.env['VTCODE_AST_GREP_BIN'] = file
    try {
      await check(place)
    } finally {
      delete process.env['VTCODE_AST_GREP_BIN']
    }
  }
const linked = apart({ files: { 'real/a.ts': 'export function one() {}\n', 'in/b.ts': 'export function two() {}\n' } })
const long = Array.from(
  { length: 66 },
  (_, index) => `export function part${index}(a: number) {\n  return a + ${index}\n}\n`,
).join('')

export const rows: Row[] = [
  ['175', 'outline needs action only', gives({}, { view: 'digest', files: among({ path: 'src/app.ts' }) })],
  ['176', 'outline: path default "."', gives({}, { files: among({ path: 'src/app.ts' }) })],
  [
    '176',
    'outline: lang',
    async (place) =>
      expect(
        new Set(
          (await outlined(place, { path: '.', lang: 'rust', items: 'structure' })).files.map(({ lang }: any) => lang),
        ),
      ).toEqual(new Set(['Rust'])),
  ],
  [
    '176',
    'outline: type string or array, comma-joined',
    each(
      names({ path: 'src/app.ts', type: 'class' }, ['App']),
      names({ path: 'src/app.ts', type: ['class', 'function'] }, ['App', 'main']),
      names({ path: 'src/app.ts', type: 'class,function' }, ['App', 'main']),
    ),
  ],
  [
    '176',
    'outline: match regex over names/signatures/first lines',
    each(
      names({ path: 'src/app.ts', match: '^Ap' }, ['App']),
      names({ path: 'src/app.ts', match: 'export function' }, ['main']),
    ),
  ],
  [
    '176',
    'outline: items auto/structure/exports/imports/all; auto by file/dir',
    each(
      names({ path: 'src/list.ts' }, ['xs']),
      names({ path: 'src', lang: 'ts' }, ['App', 'main']),
      names({ path: 'src/app.ts', items: 'exports' }, ['App', 'main']),
      names({ path: 'src/list.ts', items: 'exports' }, []),
      async (place) => {
        expect((await outlined(place, { path: 'src/app.ts', items: 'imports' })).total_symbols).toBe(1)
        expect((await outlined(place, { path: 'src/app.ts', items: 'all' })).total_symbols).toBeGreaterThan(
          (await outlined(place, { path: 'src/app.ts', items: 'structure' })).total_symbols,
        )
      },
    ),
  ],
  [
    '176',
    'outline: pub_members',
    gives({ path: 'src/app.ts', pub_members: true, type: 'class' }, { files: [{ groups: [{ members: ['run'] }] }] }),
  ],
  [
    '176',
    'outline: follow',
    linked(async (place) => {
      symlinkSync('../real', join(place.root, 'in/link'))
      await names({ path: 'in' }, ['two'])(place)
      await names({ path: 'in', follow: true }, ['one', 'two'])(place)
    }),
  ],
  [
    '176',
    'outline: view digest/names/full',
    each(
      gives({ path: 'src/app.ts', view: 'digest' }, { view: 'digest' }),
      gives({ path: 'src/app.ts', view: 'names' }, { view: 'names' }),
      gives({ path: 'src/app.ts', view: 'full' }, { view: 'full', files: [{ items: among({ name: 'App' }) }] }),
    ),
  ],
  [
    '177',
    'mapping outline --json=stream; view applied by us',
    withProgram(
      '[[ "$*" == outline*--json=stream*--view* ]] || exit 7; echo \'{"path":"src/lib.rs","language":"Rust","items":[]}\'',
      gives({ path: 'src/lib.rs' }, { backend: 'ast-grep' }),
    ),
    '`outline`, the flag `--view`',
  ],
  [
    '178',
    'needs ast-grep ≥ 0.44.0',
    withProgram(
      'echo "error: unrecognized subcommand" >&2; exit 2',
      gives(
        { path: 'src/app.ts' },
        { backend: 'tree-sitter', files: [{ groups: among({ kind: 'class', names: ['App'] }) }] },
      ),
    ),
    '`outline` without ast-grep',
  ],
  [
    '179',
    'no pattern or kind needed',
    gives({ path: 'src/lib.rs' }, { files: [{ groups: [{ kind: 'function', names: ['add'] }] }] }),
  ],
  [
    '181',
    'unknown JSON keys ignored',
    withProgram(
      `'${program}' "$@" | sed 's/^{/{"future":{"a":[1]},/; s/"items":\\[{/"items":[{"later":null,/'`,
      gives(
        { path: 'src/app.ts' },
        { backend: 'ast-grep', files: [{ groups: among({ kind: 'class', names: ['App'] }) }] },
      ),
    ),
  ],
  [
    '183',
    'digest shape',
    async (place) =>
      expect((await outlined(place, { path: 'src/app.ts' })).files).toEqual([
        {
          path: 'src/app.ts',
          lang: 'TypeScript',
          groups: [
            { kind: 'class', names: ['App'], members: ['run', 'hide'] },
            { kind: 'function', names: ['main'], members: [] },
          ],
        },
      ]),
  ],
  [
    '184',
    'names shape',
    async (place) =>
      expect((await outlined(place, { path: 'src/app.ts', view: 'names' })).files[0].groups[0]).toEqual({
        kind: 'class',
        names: ['App'],
      }),
  ],
  [
    '185',
    'full shape with role kind name signature astKind isImport isExported members',
    gives(
      { path: 'src/app.ts', view: 'full', type: 'class' },
      {
        files: [
          {
            path: 'src/app.ts',
            lang: 'TypeScript',
            items: [
              {
                role: 'item',
                kind: 'class',
                name: 'App',
                signature: 'export class App {',
                astKind: expect.any(String),
                isImport: false,
                isExported: true,
                members: [
                  { role: 'member', kind: 'method', name: 'run', signature: /run/, isPublic: true },
                  { name: 'hide', isPublic: false },
                ],
              },
            ],
          },
        ],
      },
    ),
  ],
  [
    '186',
    '200-line file ~100–300 bytes digest',
    apart({ files: { 'long.ts': long.replaceAll(/part(\d+)/g, 'p$1') } })(async (place) => {
      const { call } = place
      const result = await call('unified_search', { action: 'outline', path: 'long.ts' })
      expect(result.ok && Buffer.byteLength(result.text!)).toBeLessThan(600)
    }),
  ],
  [
    '187',
    'avoid-when guidance',
    describes('unified_search', /Symbols of a file or folder; use it before reading whole files/),
  ],
]
