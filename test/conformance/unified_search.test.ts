import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

// The rows of the tool's own description, action by action and workflow by workflow; each test bears the name of its row.
const files: Files = {
  'src/app.ts':
    "import { a } from 'b'\nexport class App {\n  run() {}\n  private hide() {}\n}\nexport function main() {\n  log('x', 1)\n}\n",
  'src/list.ts': 'const xs = [one, legacy(), two]\n',
  'src/lib.rs': 'fn add(a: u8, b: u8) -> u8 { a + b }\n',
  'docs/notes.md': 'TD-015 and recovery-mode\nTODO\n',
  'sgconfig.yml': 'ruleDirs: [rules]\ntestConfigs:\n- testDir: rule-tests\nutilDirs: [utils]\n',
  'utils/.keep': '',
  'rules/no-log.yml':
    'id: no-log\nlanguage: TypeScript\nseverity: error\nmessage: No log\nnote: Use the logger.\nrule:\n  pattern: log($$$A)\n',
  'rule-tests/no-log-test.yml': "id: no-log\nvalid: ['x()']\ninvalid: ['log(1)']\n",
  '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use for demos.\n---\nStep one.\n',
}
let ws: Booted
beforeAll(async () => {
  ws = await bootKernel({ files })
})
afterAll(() => ws[Symbol.asyncDispose]())
const search = async (input: object): Promise<any> => {
  const result = await ws.call('unified_search', input as never)
  return result.ok ? result.output : result
}
const refusal = async (input: object): Promise<any> =>
  ((await ws.call('unified_search', { action: 'structural', ...input })) as any).error

describe('unified_search', () => {
  it('greps with context, case and a limit', async () => {
    expect(
      await search({
        action: 'grep',
        pattern: 'TD-015|recovery-mode',
        path: 'docs/',
        case_sensitive: true,
        context_lines: 1,
        max_results: 5,
      }),
    ).toMatchObject({ total_matches: 1, matches: [{ file: 'docs/notes.md', line_number: 1, after: ['TODO'] }] })
  })
  it('lists files, recursively and in pages', async () => {
    expect(await search({ action: 'list' })).toMatchObject({
      items: expect.arrayContaining([{ path: 'src', type: 'dir' }]),
    })
    expect(await search({ action: 'list', path: 'src', mode: 'recursive', max_results: 2 })).toMatchObject({
      total: 3,
      has_more: true,
    })
  })
  it('finds code by its syntax with the structural action', async () => {
    expect(
      await search({
        action: 'structural',
        workflow: 'query',
        lang: 'rust',
        pattern: 'fn $NAME($$$ARGS) -> $RET { $$$BODY }',
        path: 'src/',
      }),
    ).toMatchObject({ matches: [{ file: 'src/lib.rs', language: 'Rust' }] })
  })
  it('outlines the symbols of a file as a digest', async () => {
    expect(await search({ action: 'outline', path: 'src/app.ts' })).toMatchObject({
      view: 'digest',
      files: [
        {
          path: 'src/app.ts',
          groups: [
            { kind: 'class', names: ['App'], members: ['run', 'hide'] },
            { kind: 'function', names: ['main'] },
          ],
        },
      ],
    })
  })
  it('finds tools by a keyword', async () => {
    expect(await search({ action: 'tools', keyword: 'structural', detail_level: 'name-only' })).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ tool: 'unified_search', action: 'structural' })]),
    })
  })
  it('lists the errors of a session', async () => {
    await ws.call('unified_file', { action: 'read', path: 'missing.txt' }, { session: 'lookup' })
    const result = await ws.call('unified_search', { action: 'errors', scope: 'current' }, { session: 'lookup' })
    expect(result).toMatchObject({
      ok: true,
      output: { errors: [{ tool: 'unified_file', action: 'read', code: 'VT_PATH_NOT_FOUND' }] },
    })
  })
  it('reports mode and engines of the agent', async () => {
    expect(await search({ action: 'agent' })).toMatchObject({
      mode: 'full-auto',
      engines: { ripgrep: { available: true }, ast_grep: { available: true } },
    })
  })
  it('refuses to fetch a web page from a loopback address', async () => {
    expect(await search({ action: 'web', url: 'http://127.0.0.1:9/' })).toMatchObject({
      ok: false,
      error: { code: 'VT_WEB_BLOCKED' },
    })
  })
  it('loads a skill by name', async () => {
    expect(await search({ action: 'skill', name: 'demo' })).toMatchObject({ name: 'demo', instructions: 'Step one.\n' })
  })
  it('runs the deprecated intelligence action as a grep or a list, with a notice', async () => {
    expect(await ws.call('unified_search', { action: 'intelligence', pattern: 'x' })).toMatchObject({
      ok: true,
      output: { matches: expect.any(Array) },
      notices: [{ code: 'VT_ACTION_DEPRECATED' }],
    })
    expect(await ws.call('unified_search', { action: 'intelligence', operation: 'workspace_symbols' })).toMatchObject({
      ok: true,
      output: { items: expect.any(Array) },
      notices: [
        {
          code: 'VT_ACTION_DEPRECATED',
          message:
            "The action 'intelligence' of unified_search was removed; unified_search/list ran instead. Ignored: 'operation'.",
        },
      ],
    })
  })
})

describe('unified_search/structural', () => {
  it('runs the query workflow with a pattern or a kind, and answers no match without an error', async () => {
    expect(await search({ action: 'structural', pattern: 'legacy()' })).toMatchObject({
      backend: 'ast-grep',
      matches: [{ file: 'src/list.ts', line_number: 1, range: { start: { line: 0, column: 17 } } }],
    })
    expect(await search({ action: 'structural', kind: 'class_declaration', lang: 'ts' })).toMatchObject({
      matches: [{ line_number: 2 }],
    })
    expect(await search({ action: 'structural', pattern: 'nowhere($A)', lang: 'ts' })).toMatchObject({ matches: [] })
    expect(await refusal({ workflow: 'query' })).toMatchObject({ code: 'VT_INPUT_MISSING' })
  })
  it('runs the scan workflow and lists findings, facts of their rules and a summary', async () => {
    expect(await search({ action: 'structural', workflow: 'scan', filter: 'no-log' })).toMatchObject({
      findings: [
        {
          file: 'src/app.ts',
          line_number: 7,
          language: 'TypeScript',
          rule_id: 'no-log',
          severity: 'error',
          message: 'No log',
          note: 'Use the logger.',
        },
      ],
      summary: { total_findings: 1, has_error_findings: true },
      truncated: false,
      backend: 'ast-grep',
    })
  })
  it('runs the test workflow and answers passed, stdout, stderr and a summary', async () => {
    expect(await search({ action: 'structural', workflow: 'test', skip_snapshot_tests: true })).toMatchObject({
      passed: true,
      stdout: expect.stringContaining('no-log'),
      stderr: expect.any(String),
      summary: { status: 'passed' },
      backend: 'ast-grep',
    })
  })
  it('previews a rewrite given by rewrite or fix_config, and writes nothing', async () => {
    expect(
      await search({
        action: 'structural',
        workflow: 'rewrite',
        lang: 'ts',
        pattern: 'log($A, $B)',
        rewrite: 'print($B)',
      }),
    ).toMatchObject({
      rewrites: [
        {
          file: 'src/app.ts',
          replacement: 'print(1)',
          replacementOffsets: { start: expect.any(Number) },
          metaVariables: { single: { A: { text: "'x'" } } },
        },
      ],
      truncated: false,
      workflow: 'rewrite',
    })
    expect(
      await search({
        action: 'structural',
        workflow: 'rewrite',
        lang: 'ts',
        pattern: 'legacy()',
        fix_config: { template: '', expand_end: { regex: ',' } },
      }),
    ).toMatchObject({ rewrites: [{ replacement: '', replacementOffsets: { start: 17, end: 26 } }] })
    expect(
      await search({
        action: 'structural',
        workflow: 'rewrite',
        lang: 'ts',
        pattern: 'legacy()',
        fix_config: { template: '', expand_start: { regex: ',', stop_by: 'neighbor' } },
      }),
    ).toMatchObject({ rewrites: [{ replacementOffsets: { start: 15, end: 25 } }] })
    expect(readFileSync(join(ws.root, 'src/list.ts'), 'utf8')).toBe(files['src/list.ts'])
  })
  it('inspects sgconfig.yml without the ast-grep program', async () => {
    expect(await search({ action: 'structural', workflow: 'inspect' })).toMatchObject({
      config_exists: true,
      rule_dir_hints: ['rules'],
      util_dirs: ['utils'],
      test_configs: [{ testDir: 'rule-tests' }],
      language_injections: [],
      custom_languages: {},
      language_globs: {},
    })
    mkdirSync(join(ws.root, 'sub'), { recursive: true })
    writeFileSync(join(ws.root, 'sub/x.ts'), '')
    expect(
      await search({ action: 'structural', workflow: 'inspect', config_path: 'sub/none.yml', path: 'sub' }),
    ).toMatchObject({ config_exists: false, discovered_configs: ['sgconfig.yml'] })
  })

  const own: Record<string, object> = {
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
  const rejected: Record<string, string[]> = {
    query: ['config_path', 'filter', 'skip_snapshot_tests', 'fix_config'],
    scan: ['pattern', 'kind', 'lang', 'selector', 'strictness', 'debug_query', 'skip_snapshot_tests', 'fix_config'],
    test: [
      'pattern',
      'kind',
      'lang',
      'selector',
      'strictness',
      'debug_query',
      'globs',
      'context_lines',
      'max_results',
      'fix_config',
    ],
    rewrite: ['config_path', 'filter', 'skip_snapshot_tests'],
    inspect: [
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
      'fix_config',
    ],
  }
  for (const [workflow, fields] of Object.entries(rejected)) {
    it(`refuses ${fields.join(', ')} by name in the ${workflow} workflow`, async () => {
      for (const field of fields) {
        expect(await refusal({ workflow, ...own[field] }), field).toMatchObject({
          code: 'VT_INPUT_NOT_ALLOWED',
          message: expect.stringContaining(field),
        })
      }
    })
  }
  it('refuses raw flags of ast-grep and names the skill that covers them', async () => {
    // `follow` is an input of other actions, whose name the refusal says.
    expect(await refusal({ pattern: 'x', lang: 'ts', follow: true })).toMatchObject({
      code: 'VT_INPUT_NOT_ALLOWED',
      message: expect.stringContaining('follow'),
    })
    const flags =
      'stdin json color heading threads inspect no_ignore before after interactive update_all rule inline_rules format report_style error warning info hint off test_dir snapshot_dir include_off'.split(
        ' ',
      )
    for (const flag of flags) {
      expect(await refusal({ pattern: 'x', lang: 'ts', [flag]: 'x' }), flag).toMatchObject({
        code: 'VT_INPUT_UNKNOWN',
        hint: expect.stringMatching(/`ast-grep` skill.*`unified_exec`/),
      })
    }
  })
  it('ignores rewrite outside of the rewrite workflow', async () => {
    expect(await search({ action: 'structural', pattern: 'legacy()', lang: 'ts', rewrite: 'x()' })).toMatchObject({
      workflow: 'query',
      matches: [{}],
    })
  })
})

describe('unified_search/outline', () => {
  it('outlines in the views digest, names and full', async () => {
    expect((await search({ action: 'outline', path: 'src/app.ts', view: 'names' })).files[0].groups[0]).toEqual({
      kind: 'class',
      names: ['App'],
    })
    expect(
      (await search({ action: 'outline', path: 'src/app.ts', view: 'full', type: ['class'], match: 'App' })).files[0]
        .items,
    ).toMatchObject([
      {
        role: 'item',
        kind: 'class',
        name: 'App',
        signature: 'export class App {',
        isImport: false,
        isExported: true,
        members: [
          { name: 'run', isPublic: true },
          { name: 'hide', isPublic: false },
        ],
      },
    ])
  })
  it('outlines structure of files, exports of directories, imports, everything, and public members', async () => {
    const names = async (input: object) =>
      (await search({ action: 'outline', view: 'names', ...input })).files.flatMap((file: any) =>
        file.groups.flatMap((group: any) => group.names),
      )
    expect(await names({ path: 'src/list.ts' })).toEqual(['xs'])
    expect(await names({ path: 'src', lang: 'ts' })).toEqual(['App', 'main'])
    expect(await names({ path: 'src/app.ts', items: 'imports' })).toHaveLength(1)
    expect(
      (await search({ action: 'outline', path: 'src/app.ts', pub_members: true })).files[0].groups[0].members,
    ).toEqual(['run'])
  })
})

it('replaces the structural action by a manifest of another plugin and leaves grep unchanged', async () => {
  const home = await bootKernel({
    files: {
      'other.json': JSON.stringify({
        name: 'other',
        action: 'unified_search/structural',
        stage: 'override',
        module: './other.mjs',
      }),
      'other.mjs':
        "export default async ({ input }) => ({ ok: true, output: { matches: [], backend: 'other', pattern: input.pattern } })\n",
    },
  })
  await using _ = home
  await using plain = await bootKernel({ files })
  await using replaced = await bootKernel({ files, manifests: [join(home.root, 'other.json')] })
  expect(await replaced.call('unified_search', { action: 'structural', pattern: 'x($A)' })).toMatchObject({
    ok: true,
    output: { backend: 'other', pattern: 'x($A)' },
  })
  expect(await replaced.call('unified_search', { action: 'structural', pattern: 'x', filter: 3 })).toMatchObject({
    ok: true,
  })
  expect(await replaced.call('unified_search', { action: 'grep', pattern: 'TODO' })).toEqual(
    await plain.call('unified_search', { action: 'grep', pattern: 'TODO' }),
  )
})
