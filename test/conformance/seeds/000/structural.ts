import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Booted } from 'vtcode/test'
import {
  among,
  apart,
  describes,
  each,
  errorOf,
  listed,
  outputOf,
  type Check,
  type Row,
} from '../../../support/seed.js'
import * as seed from '../../../support/seed.js'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
const structural = (workflow: string | undefined, input: object): object => ({
  action: 'structural',
  ...(workflow && { workflow }),
  ...input,
})
const gives = (workflow: string | undefined, input: object, output: object = {}): Check =>
  seed.gives('unified_search', structural(workflow, input), output)
const refuses = (workflow: string | undefined, input: object, error: object): Check =>
  seed.refuses('unified_search', structural(workflow, input), error)
const found = async (place: Booted, workflow: string, input: object): Promise<any> =>
  outputOf(place, 'unified_search', structural(workflow, input))
const notAllowed = (workflow: string, inputs: Record<string, object>): Check =>
  each(
    ...Object.entries(inputs).map(([field, input]) =>
      refuses(workflow, input, { code: 'VT_INPUT_NOT_ALLOWED', message: new RegExp(field) }),
    ),
  )
const fields: Record<string, object> = {
  pattern: { pattern: 'x' },
  kind: { kind: 'x' },
  lang: { lang: 'ts' },
  selector: { selector: 'x' },
  strictness: { strictness: 'ast' },
  debug_query: { debug_query: 'ast' },
  filter: { filter: 'x' },
  skip_snapshot_tests: { skip_snapshot_tests: true },
  globs: { globs: '*.ts' },
  context_lines: { context_lines: 1 },
  max_results: { max_results: 1 },
  config_path: { config_path: 'sgconfig.yml' },
  fix_config: { fix_config: { template: '' } },
}
const pick = (...names: string[]): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, fields[name]!]))

/** Returns the arguments of ast-grep for a call, as a wrapper of the program sees them. */
const argumentsOf =
  (input: object, check: (args: string) => void): Check =>
  async (place) => {
    const [file, log] = ['ast-grep', 'arguments'].map((name) => join(place.home, name)) as [string, string]
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$*" >> '${log}'\nexec '${program}' "$@"\n`)
    chmodSync(file, 0o755)
    writeFileSync(log, '')
    process.env['VTCODE_AST_GREP_BIN'] = file
    try {
      await outputOf(place, 'unified_search', input)
    } finally {
      delete process.env['VTCODE_AST_GREP_BIN']
    }
    check(readFileSync(log, 'utf8'))
  }
/** A language of which searches are not answered in this process. */
const many = apart({
  files: {
    ...Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`m/${index}.py`, `log(${index})\n`])),
    'sgconfig.yml': 'ruleDirs: [rules]\n',
    'rules/r.yml': 'id: r\nlanguage: Python\nrule: { pattern: log($A) }\n',
  },
})
const embedded = apart({
  files: {
    'web/page.html':
      '<html><!-- <script>console.log(0)</script> --><script>console.log(name)</script><style>.a { color: red }</style></html>\n',
    'web/x.vue': '<template><p/></template>\n<script>\nconsole.log(inVue)\n</script>\n',
    'src/app.js': 'const B = styled.div`color: blue;`\n',
    'sgconfig.yml':
      "ruleDirs: [rules]\nlanguageGlobs: { html: ['*.vue'], json: ['.rcfile'] }\nlanguageInjections:\n  - hostLanguage: js\n    rule: { pattern: styled.$TAG`$CONTENT` }\n    injected: css\n",
    '.rcfile': '{ "a": 1 }\n',
  },
})
const nested = apart({ files: { 'top/sgconfig.yml': 'ruleDirs: [rules]\n', 'top/in/x.ts': '' } })
const texts = async (place: Booted, input: object): Promise<string[]> =>
  (await found(place, 'query', input)).matches.map(({ text }: any) => text)
const expand = { template: '', expand_end: { regex: ',' } }
const flags =
  'stdin json color heading threads no_ignore before after interactive update_all rule inline_rules format report_style error warning info hint off'.split(
    ' ',
  )
const toSkill: Check = each(
  ...flags.map((flag) =>
    refuses(
      'query',
      { pattern: 'x', lang: 'ts', [flag]: 'x' },
      { code: 'VT_INPUT_UNKNOWN', hint: /`ast-grep` skill.*`unified_exec`/ },
    ),
  ),
)

export const rows: Row[] = [
  [
    '108',
    'structural needs action=structural',
    each(
      (place) => expect(listed(place, 'unified_search').input.properties.action.enum).toContain('structural'),
      gives(undefined, { pattern: 'legacy()' }, { workflow: 'query' }),
    ),
  ],
  [
    '109',
    'workflow query/scan/test/inspect/rewrite, default query',
    each(
      refuses('apply', { pattern: 'x' }, { code: 'VT_INPUT_INVALID', message: /query.*scan.*test.*rewrite.*inspect/ }),
      gives(undefined, { pattern: 'legacy()' }, { workflow: 'query' }),
    ),
  ],
  [
    '109',
    'path default ".", one root per call',
    each(
      gives('query', { pattern: 'legacy()' }, { path: '.', matches: [{ file: 'src/list.ts' }] }),
      refuses('query', { pattern: 'x', path: ['src', 'langs'] }, { code: 'VT_INPUT_INVALID', message: /path/ }),
    ),
  ],
  [
    '109',
    'config_path default workspace sgconfig.yml',
    each(
      gives('scan', {}, { config_path: 'sgconfig.yml' }),
      gives('test', {}, { config_path: 'sgconfig.yml' }),
      gives('inspect', {}, { config_path: 'sgconfig.yml' }),
    ),
  ],
  [
    '109',
    'filter, globs, context_lines, max_results common fields',
    each(
      gives(
        'scan',
        { filter: 'no-log', globs: '**/*.ts', context_lines: 1, max_results: 1 },
        { findings: [{ lines: /main[^]*log[^]*\}/ }] },
      ),
      gives('query', { pattern: 'legacy()', globs: '**/*.ts', context_lines: 1, max_results: 1 }, { matches: [{}] }),
      gives(
        'rewrite',
        {
          pattern: 'log($A, $B)',
          lang: 'ts',
          fix_config: { template: 'x()', expand_end: { regex: ',' } },
          context_lines: 1,
        },
        { rewrites: [{ lines: /main[^]*log/ }] },
      ),
    ),
  ],
  [
    '111',
    'query needs pattern or kind',
    each(
      refuses('query', {}, { code: 'VT_INPUT_MISSING' }),
      gives('query', { kind: 'class_declaration', lang: 'ts' }, { matches: [{ file: 'src/app.ts' }] }),
    ),
  ],
  [
    '112',
    'query: lang',
    gives('query', { pattern: 'call($A)', lang: 'py', path: 'langs' }, { matches: [{ file: 'langs/a.py' }] }),
  ],
  [
    '112',
    'query: selector',
    gives(
      'query',
      { pattern: 'class A { $M() {} }', selector: 'method_definition', lang: 'ts', path: 'src' },
      { matches: among({ text: 'run() {}' }) },
    ),
  ],
  [
    '112',
    'query: strictness',
    each(
      gives(
        'query',
        { pattern: 'export function main() {}', strictness: 'signature', lang: 'ts', path: 'src' },
        { matches: [] },
      ),
      refuses('query', { pattern: 'x', strictness: 'loose' }, { code: 'VT_INPUT_INVALID' }),
    ),
  ],
  [
    '112',
    'query: debug_query',
    gives(
      'query',
      { pattern: 'legacy()', lang: 'ts', debug_query: 'ast' },
      { debug: { format: 'ast', text: /call_expression/ } },
    ),
  ],
  [
    '113',
    'mapping to ast-grep run --json=compact, repeated globs, --context',
    each(
      many(
        argumentsOf(
          structural('query', {
            pattern: 'log($A)',
            lang: 'py',
            selector: 'call',
            strictness: 'ast',
            globs: ['m/1*.py', '!m/10.py'],
            context_lines: 1,
          }),
          (args) => {
            expect(args).toMatch(/^run .*--json=/m)
            for (const part of [
              '--color=never',
              '--context=1',
              '--pattern=log($A)',
              '--lang=python',
              '--selector=call',
              '--strictness=ast',
            ])
              expect(args.replaceAll(/ ?--(\w+) /g, ' --$1=')).toContain(part)
          },
        ),
      ),
      many(
        argumentsOf(
          structural('query', { pattern: 'log($A)', lang: 'py', selector: 'call', strictness: 'ast' }),
          (args) => {
            expect(args).toContain(
              '"rule":{"pattern":{"context":"log($A)","selector":"call","strictness":"ast"}},"language":"Python"',
            )
          },
        ),
      ),
    ),
    '`query`, `rewrite`',
  ],
  [
    '114',
    'lang accepts ast-grep aliases',
    each(
      ...['ts', 'typescript', 'TypeScript'].map((lang) =>
        gives('query', { pattern: 'legacy()', lang }, { matches: [{ file: 'src/list.ts' }] }),
      ),
      gives('query', { pattern: 'call($A)', lang: 'golang', path: 'langs' }, { matches: [{ file: 'langs/a.go' }] }),
    ),
  ],
  [
    '114',
    'unsupported aliases passed through to ast-grep',
    refuses('query', { pattern: 'x', lang: 'klingon' }, { code: 'VT_SEARCH_LANG', message: /klingon/ }),
  ],
  [
    '114',
    'inference for Rust Python JS TS TSX Go Java',
    gives(
      'query',
      { pattern: 'call(1)', path: 'langs' },
      {
        matches: ['A.java', 'a.go', 'a.js', 'a.py', 'a.rs', 'a.ts', 'a.tsx'].map((name) => ({ file: `langs/${name}` })),
      },
    ),
  ],
  [
    '114',
    'error names served languages correctly',
    each(
      async (place) => {
        const { message } = await errorOf(place, 'unified_search', structural('query', { pattern: 'x', lang: 'toml' }))
        expect(message).toMatch(/'toml'/)
        expect(message.slice(message.indexOf(':'))).not.toMatch(/\btoml\b/)
      },
      async (place) =>
        expect(
          (await errorOf(place, 'unified_search', structural('query', { pattern: 'x', path: 'langs/f.toml' }))).message,
        ).not.toMatch(/undefined/),
    ),
  ],
  [
    '115',
    'smart default; cst ast relaxed signature; template passed through',
    each(
      ...['cst', 'smart', 'ast', 'relaxed', 'signature', 'template'].map((strictness) =>
        gives('query', { pattern: 'legacy()', lang: 'ts', strictness }, { matches: [{ file: 'src/list.ts' }] }),
      ),
    ),
  ],
  [
    '116',
    'context_lines → --context in query',
    gives(
      'query',
      { pattern: "log('x', 1)", lang: 'ts', context_lines: 1 },
      { matches: [{ lines: /main[^]*log[^]*\}/ }] },
    ),
  ],
  [
    '116',
    '--before/--after not exposed',
    each(
      refuses('query', { pattern: 'x', before: 1 }, { code: 'VT_INPUT_UNKNOWN' }),
      refuses('query', { pattern: 'x', after: 1 }, { code: 'VT_INPUT_UNKNOWN' }),
    ),
  ],
  [
    '117',
    'exit code 1 → empty matches',
    gives('query', { pattern: 'nowhere($A)', lang: 'ts' }, { matches: [], total_matches: 0 }),
  ],
  [
    '118',
    'result: file, line_number, text/lines, language, range, backend',
    gives(
      'query',
      { pattern: 'legacy()', lang: 'ts' },
      {
        backend: 'ast-grep',
        matches: [
          {
            file: 'src/list.ts',
            line_number: 1,
            text: 'legacy()',
            lines: 'const xs = [one, legacy(), two]',
            language: 'TypeScript',
            range: { start: { line: 0, column: 17 } },
          },
        ],
      },
    ),
  ],
  [
    '119',
    'normalised, not the raw object',
    async (place) =>
      expect(Object.keys((await found(place, 'query', { pattern: 'legacy()', lang: 'ts' })).matches[0])).not.toEqual(
        expect.arrayContaining(['charCount']),
      ),
  ],
  [
    '120',
    'zero-based line/column/byte kept, line_number convenience',
    gives(
      'query',
      { pattern: "log('x', 1)", lang: 'ts', response_format: 'detailed' },
      { matches: [{ line_number: 7, range: { start: { line: 6, column: 2 }, byteOffset: { start: 104 } } }] },
    ),
  ],
  ['121', 'scan with no workflow-specific required field', gives('scan', {}, { workflow: 'scan' })],
  ['122', 'scan: path', gives('scan', { path: 'src/list.ts' }, { findings: [{ rule_id: 'no-legacy' }] })],
  [
    '122',
    'scan: config_path',
    gives(
      'scan',
      { config_path: 'other.yml', path: 'src' },
      { config_path: 'other.yml', findings: [{ rule_id: 'no-add' }] },
    ),
  ],
  ['122', 'scan: filter', gives('scan', { filter: 'no-leg' }, { findings: [{ rule_id: 'no-legacy' }] })],
  ['122', 'scan: globs', gives('scan', { globs: '**/list.ts' }, { findings: [{ file: 'src/list.ts' }] })],
  [
    '122',
    'scan: max_results',
    gives('scan', { max_results: 1 }, { findings: [{}], truncated: true, summary: { total_findings: 2 } }),
  ],
  [
    '123',
    'mapping scan --json=stream --include-metadata --color=never',
    each(
      many(
        argumentsOf(structural('scan', { filter: 'r' }), (args) => {
          for (const part of ['scan ', '--json=stream', '--include-metadata', '--color=never', '--config', '--filter'])
            expect(args).toContain(part)
        }),
      ),
    ),
  ],
  ['124', 'scan needs project config', refuses('scan', { config_path: 'none.yml' }, { message: /none\.yml/ })],
  [
    '125',
    'scan: context_lines maps to --context',
    gives('scan', { filter: 'no-log', context_lines: 1 }, { findings: [{ lines: /main[^]*log[^]*\}/ }] }),
    '`scan`, `context_lines`',
  ],
  [
    '126',
    'exit 1 on error findings → structured findings',
    gives('scan', { filter: 'no-log' }, { findings: [{ severity: 'error' }], summary: { has_error_findings: true } }),
  ],
  [
    '127',
    'findings: file … rule_id severity message note metadata',
    gives(
      'scan',
      { filter: 'no-log' },
      {
        findings: [
          {
            file: 'src/app.ts',
            line_number: 7,
            text: "log('x', 1)",
            lines: /log/,
            language: 'TypeScript',
            range: { start: { line: 6 } },
            rule_id: 'no-log',
            severity: 'error',
            message: 'No log',
            note: 'Use the logger.',
            metadata: { since: '1' },
          },
        ],
      },
    ),
  ],
  [
    '127',
    'summary, truncated, backend',
    gives(
      'scan',
      {},
      {
        summary: { total_findings: 2, returned_findings: 2, by_rule: { 'no-log': 1, 'no-legacy': 1 } },
        truncated: false,
        backend: 'ast-grep',
      },
    ),
  ],
  [
    '128',
    'raw rule fields mapped, not verbatim',
    async (place) =>
      expect(Object.keys((await found(place, 'scan', { filter: 'no-log' })).findings[0])).not.toEqual(
        expect.arrayContaining(['ruleId']),
      ),
  ],
  [
    '130',
    'test: config_path, filter, skip_snapshot_tests',
    each(
      gives(
        'test',
        { config_path: 'other.yml', skip_snapshot_tests: true },
        { config_path: 'other.yml', stdout: /no-add/ },
      ),
      async (place) =>
        expect((await found(place, 'test', { filter: 'no-log', skip_snapshot_tests: true })).stdout).not.toMatch(
          /no-legacy/,
        ),
    ),
  ],
  [
    '131',
    'test result: passed stdout stderr summary backend',
    gives(
      'test',
      { skip_snapshot_tests: true },
      {
        passed: true,
        stdout: /no-log/,
        stderr: expect.any(String),
        summary: { status: 'passed', total: 2 },
        backend: 'ast-grep',
      },
    ),
  ],
  [
    '133',
    'rewrite: pattern and rewrite or fix_config required',
    each(
      refuses('rewrite', { rewrite: 'x' }, { code: 'VT_INPUT_MISSING', message: /pattern/ }),
      refuses('rewrite', { pattern: 'x' }, { code: 'VT_INPUT_MISSING', message: /rewrite.*fix_config/ }),
    ),
  ],
  [
    '134',
    'rewrite: lang selector strictness globs max_results',
    gives(
      'rewrite',
      {
        pattern: 'call($A)',
        rewrite: 'dial($A)',
        lang: 'js',
        strictness: 'ast',
        selector: 'call_expression',
        globs: '**/*.js',
        max_results: 1,
      },
      { rewrites: [{ file: 'langs/a.js', replacement: 'dial(1)' }] },
    ),
  ],
  [
    '134',
    'rewrite: context_lines',
    each(
      gives(
        'rewrite',
        { pattern: "log('x', 1)", rewrite: 'x()', lang: 'ts', context_lines: 1 },
        { rewrites: [{ lines: /main[^]*log/ }] },
      ),
      gives(
        'rewrite',
        { pattern: "log('x', 1)", fix_config: { template: 'x()' }, lang: 'ts', context_lines: 1 },
        { rewrites: [{ lines: /main[^]*log/ }] },
      ),
    ),
  ],
  [
    '135',
    'mapping dry-run run --rewrite',
    many(
      argumentsOf(structural('rewrite', { pattern: 'log($A)', rewrite: 'say($A)', lang: 'py' }), (args) => {
        expect(args).toMatch(/run .*--rewrite/)
        expect(args).not.toMatch(/update-all|interactive|-U\b/)
      }),
    ),
  ],
  [
    '136',
    'preview only, nothing on disk',
    each(
      gives('rewrite', { pattern: 'legacy()', rewrite: 'modern()', lang: 'ts' }, { rewrites: [{}] }),
      seed.holds('src/list.ts', /legacy\(\)/),
    ),
  ],
  [
    '137',
    'lang selector strictness as in query',
    each(
      refuses('rewrite', { pattern: 'x', rewrite: 'y', lang: 'klingon' }, { code: 'VT_SEARCH_LANG' }),
      refuses('rewrite', { pattern: 'x', rewrite: 'y', strictness: 'loose' }, { code: 'VT_INPUT_INVALID' }),
    ),
  ],
  [
    '138',
    'config_path, filter, skip_snapshot_tests rejected',
    notAllowed('rewrite', pick('config_path', 'filter', 'skip_snapshot_tests')),
  ],
  [
    '139',
    'fix_config.template',
    each(
      gives(
        'rewrite',
        { pattern: 'legacy()', lang: 'ts', fix_config: { template: 'modern()' } },
        { rewrites: [{ replacement: 'modern()' }] },
      ),
      refuses('rewrite', { pattern: 'x', fix_config: {} }, { message: /template/ }),
    ),
  ],
  [
    '139',
    'expand_start',
    gives(
      'rewrite',
      { pattern: 'legacy()', lang: 'ts', fix_config: { template: '', expand_start: { regex: ',' } } },
      { rewrites: [{ replacementOffsets: { start: 15, end: 25 } }] },
    ),
  ],
  [
    '139',
    'expand_end',
    gives(
      'rewrite',
      { pattern: 'legacy()', lang: 'ts', fix_config: expand },
      { rewrites: [{ replacement: '', replacementOffsets: { start: 17, end: 26 } }] },
    ),
  ],
  [
    '139',
    'rule by regex, kind or pattern',
    each(
      ...[{ regex: '^two$' }, { kind: 'identifier' }, { pattern: 'two' }].map((rule) =>
        gives(
          'rewrite',
          { pattern: 'legacy()', lang: 'ts', fix_config: { template: '', expand_end: { ...rule, stop_by: 'end' } } },
          { rewrites: [{ replacementOffsets: { start: 17, end: 30 } }] },
        ),
      ),
    ),
  ],
  [
    '139',
    'stop_by',
    each(
      gives(
        'rewrite',
        {
          pattern: 'legacy()',
          lang: 'ts',
          fix_config: { template: '', expand_end: { regex: '^two$', stop_by: 'neighbor' } },
        },
        { rewrites: [{ replacementOffsets: { start: 17, end: 25 } }] },
      ),
      gives(
        'rewrite',
        {
          pattern: 'legacy()',
          lang: 'ts',
          fix_config: { template: '', expand_end: { regex: '^two$', stop_by: { kind: 'identifier' } } },
        },
        { rewrites: [{ replacementOffsets: { start: 17, end: 30 } }] },
      ),
    ),
  ],
  [
    '139',
    'temporary YAML rule and sg scan',
    many(
      argumentsOf(structural('rewrite', { pattern: 'log($A)', lang: 'py', fix_config: { template: 'x' } }), (args) =>
        expect(args).toMatch(/scan .*--inline-rules/),
      ),
    ),
    '`fix_config`',
  ],
  [
    '139',
    'an invalid expand rule is reported as such',
    async (place) => {
      const { message, next } = await errorOf(
        place,
        'unified_search',
        structural('rewrite', {
          pattern: 'legacy()',
          lang: 'ts',
          fix_config: { template: '', expand_end: { kind: ',' } },
        }),
      )
      expect(message).toMatch(/fix_config/)
      expect(next).toBeUndefined()
    },
  ],
  [
    '140',
    'exit 1 → empty rewrites',
    gives('rewrite', { pattern: 'nowhere()', rewrite: 'x()', lang: 'ts' }, { rewrites: [], total_rewrites: 0 }),
  ],
  [
    '141',
    'rewrites: file line_number text/lines language range replacement replacementOffsets metaVariables',
    gives(
      'rewrite',
      { pattern: 'log($A, $B)', rewrite: 'print($B)', lang: 'ts' },
      {
        rewrites: [
          {
            file: 'src/app.ts',
            line_number: 7,
            text: "log('x', 1)",
            lines: /log/,
            language: 'TypeScript',
            range: { start: { line: 6 } },
            replacement: 'print(1)',
            replacementOffsets: { start: 104, end: 115 },
            metaVariables: { single: { A: { text: "'x'" } } },
          },
        ],
      },
    ),
  ],
  [
    '141',
    'truncated, backend, workflow',
    gives(
      'rewrite',
      { pattern: 'legacy()', rewrite: 'x()', lang: 'ts' },
      { truncated: false, backend: 'ast-grep', workflow: 'rewrite' },
    ),
  ],
  [
    '143',
    'inspect: config_path, path',
    gives(
      'inspect',
      { config_path: 'other.yml', path: 'src' },
      { config_path: 'other.yml', rule_dir_hints: ['more-rules'] },
    ),
  ],
  [
    '144',
    'inspect needs no binary',
    async (place) => {
      process.env['VTCODE_AST_GREP_BIN'] = '/nowhere/ast-grep'
      try {
        await gives('inspect', {}, { config_exists: true })(place)
      } finally {
        delete process.env['VTCODE_AST_GREP_BIN']
      }
    },
  ],
  [
    '145',
    'returns config_exists rule_dir_hints test_configs util_dirs language_injections custom_languages language_globs',
    each(
      gives(
        'inspect',
        {},
        {
          config_exists: true,
          rule_dir_hints: ['rules'],
          test_configs: [{ testDir: 'rule-tests' }],
          util_dirs: ['utils'],
          language_injections: [],
          custom_languages: {},
          language_globs: {},
        },
      ),
      embedded(
        gives(
          'inspect',
          {},
          { language_injections: [{ hostLanguage: 'js', injected: 'css' }], language_globs: { html: ['*.vue'] } },
        ),
      ),
    ),
  ],
  [
    '145',
    'discovered_configs found in a parent directory',
    each(
      nested(
        gives(
          'inspect',
          { path: 'top/in', config_path: 'top/in/sgconfig.yml' },
          { config_exists: false, discovered_configs: ['top/sgconfig.yml'] },
        ),
      ),
      async () => {
        const place = await seed.outer(
          { 'sgconfig.yml': 'ruleDirs: [rules]\n', '.git/HEAD': 'ref: refs/heads/main\n', 'inner/x.ts': '' },
          'inner',
        )
        await gives('inspect', {}, { config_exists: false, discovered_configs: ['../sgconfig.yml'] })(place)
      },
    ),
  ],
  [
    '148',
    'read-only; apply flags rejected',
    each(
      refuses('rewrite', { pattern: 'x', rewrite: 'y', update_all: true }, { code: 'VT_INPUT_UNKNOWN' }),
      refuses('rewrite', { pattern: 'x', rewrite: 'y', interactive: true }, { code: 'VT_INPUT_UNKNOWN' }),
    ),
  ],
  [
    '149',
    'lang/kind/selector/strictness/debug_query only for query and rewrite',
    each(
      ...['scan', 'test', 'inspect'].map((workflow) =>
        notAllowed(workflow, pick('lang', 'kind', 'selector', 'strictness', 'debug_query')),
      ),
    ),
  ],
  [
    '149',
    'debug_query in rewrite',
    gives(
      'rewrite',
      { pattern: 'legacy()', rewrite: 'x()', lang: 'ts', debug_query: 'ast' },
      { debug: { format: 'ast', text: /call_expression/ } },
    ),
  ],
  [
    '150',
    'lang required with debug_query',
    refuses('query', { pattern: 'x', debug_query: 'ast' }, { code: 'VT_INPUT_MISSING', message: /lang/ }),
  ],
  [
    '151',
    'skip_snapshot_tests only test',
    each(
      ...['query', 'scan', 'rewrite', 'inspect'].map((workflow) => notAllowed(workflow, pick('skip_snapshot_tests'))),
    ),
  ],
  [
    '152',
    'fix_config only rewrite',
    each(...['query', 'scan', 'test', 'inspect'].map((workflow) => notAllowed(workflow, pick('fix_config')))),
  ],
  [
    '153',
    'inspect rejects pattern kind lang selector strictness debug_query filter skip_snapshot_tests globs context_lines max_results',
    notAllowed(
      'inspect',
      pick(
        'pattern',
        'kind',
        'lang',
        'selector',
        'strictness',
        'debug_query',
        'filter',
        'skip_snapshot_tests',
        'globs',
        'context_lines',
        'max_results',
      ),
    ),
  ],
  [
    '154',
    'no upward discovery for scan/test',
    nested(
      each(
        refuses('scan', { path: 'top/in' }, { message: /sgconfig\.yml/ }),
        refuses('test', {}, { message: /sgconfig\.yml/ }),
      ),
    ),
  ],
  ['158', '22 raw CLI flags not on the surface, routed to skill + unified_exec', toSkill],
  [
    '158',
    'rewrite with other workflows silently ignored',
    async ({ call }) =>
      expect(
        await call('unified_search', structural('query', { pattern: 'legacy()', lang: 'ts', rewrite: 'x()' })),
      ).toMatchObject({
        ok: true,
        output: { workflow: 'query', matches: [{}] },
        notices: [{ code: 'VT_INPUT_IGNORED' }],
      }),
    '`rewrite` outside of its workflow',
  ],
  [
    '159',
    '--test-dir etc. CLI-only',
    each(
      ...['test_dir', 'snapshot_dir', 'include_off'].map((flag) =>
        refuses('test', { [flag]: 'x' }, { code: 'VT_INPUT_UNKNOWN', hint: /`ast-grep` skill/ }),
      ),
    ),
  ],
  [
    '160',
    'new, lsp, completions CLI-only via skill',
    each(
      ...['new', 'lsp', 'completions'].map((workflow) => refuses(workflow, {}, { code: 'VT_INPUT_INVALID' })),
      describes('unified_search', /ast-grep skill|skill ast-grep/),
    ),
  ],
  ['161', 'description: syntax only, no scope/type/data flow', describes('unified_search', /Knows no scopes or types/)],
  [
    '162',
    '$VAR, $$$ARGS, $$VAR, $_',
    each(
      gives(
        'query',
        { pattern: 'log($VAR, 1)', lang: 'ts', response_format: 'detailed' },
        { matches: [{ metaVariables: { single: { VAR: { text: "'x'" } } } }] },
      ),
      gives('query', { pattern: 'log($$$ARGS)', lang: 'ts' }, { matches: [{}] }),
      gives('query', { pattern: '$_ + $$OP', lang: 'rs', path: 'src/lib.rs', strictness: 'relaxed' }),
      gives('query', { pattern: 'log($_, $_)', lang: 'ts' }, { matches: [{}] }),
    ),
  ],
  [
    '163',
    'patterns must be parseable',
    refuses('query', { pattern: 'if ($A) { log( }', lang: 'ts' }, { code: 'VT_SEARCH_FRAGMENT' }),
  ],
  [
    '164',
    'local subset for inference; explicit lang otherwise',
    each(
      refuses('query', { pattern: 'x', path: 'langs/f.toml' }, { code: 'VT_SEARCH_LANG' }),
      gives('query', { pattern: 'call(1)', lang: 'py', path: 'langs/a.py' }, { matches: [{}] }),
    ),
  ],
  [
    '165',
    'customLanguages by local config',
    apart({
      files: {
        'sgconfig.yml':
          'ruleDirs: [rules]\ncustomLanguages:\n  mojo:\n    libraryPath: mojo.so\n    extensions: [mojo]\n',
        'a.mojo': 'log(1)\n',
      },
    })(
      each(
        gives('inspect', {}, { custom_languages: { mojo: { extensions: ['mojo'] } } }),
        refuses('query', { pattern: 'log($A)', lang: 'mojo' }, {}),
      ),
    ),
  ],
  [
    '166',
    'embedded languages that ast-grep knows: HTML <script>/<style>',
    embedded(async (place) => {
      expect([
        await texts(place, { pattern: 'console.log($A)', lang: 'js', path: 'web/page.html' }),
        await texts(place, { kind: 'declaration', lang: 'css', path: 'web' }),
      ]).toEqual([['console.log(name)'], ['color: red']])
    }),
  ],
  [
    '166',
    'other nested languages through languageInjections',
    embedded(async (place) => {
      expect([
        await texts(place, { kind: 'declaration', lang: 'css', path: 'src' }),
        await texts(place, { pattern: 'console.log($A)', lang: 'js' }),
      ]).toEqual([['color: blue;'], ['console.log(name)', 'console.log(inVue)']])
    }),
  ],
  [
    '167',
    'languageGlobs honoured',
    embedded(gives('query', { kind: 'pair', lang: 'json', include_hidden: true }, { matches: [{ file: '.rcfile' }] })),
  ],
  [
    '168',
    'project support stops at scan and test',
    each(
      refuses('new', {}, { message: /query.*scan.*test/ }),
      seed.refuses('unified_search', structural('scan', { inline_rules: 'id: x' }), { code: 'VT_INPUT_UNKNOWN' }),
    ),
  ],
  [
    '169',
    'everything beyond by the bundled ast-grep skill',
    seed.gives(
      'load_skill',
      { name: 'ast-grep' },
      {
        scope: 'bundled',
        resources: among(
          'references/rewrite.md',
          'references/transform.md',
          'references/project.md',
          'references/cli.md',
        ),
      },
    ),
  ],
  ['170', '"use when" guidance in description', describes('unified_search', /Searches syntax/)],
  ['171', '"avoid when" guidance', describes('unified_search', /Avoid it for text and regex/)],
]
