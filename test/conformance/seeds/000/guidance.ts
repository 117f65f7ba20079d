import { expect } from 'vitest'
import { among, describes, each, gives, outputOf, says, type Check, type Row } from '../../../support/seed.js'

const pages = new Map<string, Promise<string>>()
/** The pages of the bundled skill, as a model loads them, hold each of these. */
const skill =
  (page: string | string[], ...words: (RegExp | string)[]): Check =>
  async (place) => {
    const session = { session: 'skills' }
    const load = async (path: string): Promise<string> => {
      if (path === 'SKILL.md') return (await outputOf(place, 'load_skill', { name: 'ast-grep' })).instructions
      await outputOf(place, 'load_skill', { name: 'ast-grep' }, session)
      let text = ''
      for (let input: object | undefined = { name: 'ast-grep', path: `references/${path}.md` }; input;) {
        const { content, next } = await outputOf(place, 'load_skill_resource', input, session)
        text += content
        input = next?.input
      }
      return text
    }
    const texts = [page].flat().map((path) => pages.get(path) ?? pages.set(path, load(path)).get(path)!)
    const text = (await Promise.all(texts)).join('\n')
    const missing = words.filter((word) => (typeof word === 'string' ? !text.includes(word) : !word.test(text)))
    expect(missing).toEqual([])
  }
/** A model that follows the skill finds its page by this line of the table. */
const leads = (page: string, words: RegExp): Check =>
  skill('SKILL.md', new RegExp(`${words.source}[^\\n]*references/${page}\\.md`, 'i'))

/** Returns the text that a model reads about an action. */
const tells = { action: 'tools', keyword: 'unified_search/structural', detail_level: 'full' }

export const rows: Row[] = [
  [
    '213',
    'prefer unified_search over shell grep/find',
    describes('unified_exec', /Use the other tools to find and read files/),
  ],
  ['214', 'prefer grep for text', describes('unified_search', /Searches text by regular expression/)],
  ['215', 'prefer structural for syntax', describes('unified_search', /for syntax use structural/)],
  [
    '216',
    'strictness for tuning',
    each(
      describes('unified_search', /Default smart; relaxed/),
      skill('SKILL.md', 'strictness'),
      skill('concepts', /cst/, /smart/, /relaxed/, /signature/),
    ),
  ],
  [
    '217',
    'scan/test for sg scan/test',
    each(
      says('unified_search', tells, /scan and test \(the rules of the\s+project/),
      skill('SKILL.md', /run the rules of the project.*workflow=scan/, /run the rule tests.*workflow=test/),
    ),
  ],
  [
    '218',
    'inspect for config',
    each(says('unified_search', tells, /inspect \(its sgconfig\.yml\)/), skill('SKILL.md', /workflow=inspect/)),
  ],
  [
    '219',
    'rewrite + fix_config',
    says('unified_search', tells, /rewrite \(needs rewrite or fix_config\)/, /expand_start/, /expand_end/),
  ],
  ['220', 'skill for rule authoring', skill('SKILL.md', /write rules, apply rewrites/, /references\/rules\.md/)],
  [
    '221',
    'skill: quick start, install, shell quoting, optional chaining',
    skill(
      ['SKILL.md', 'rewrite', 'troubleshooting', 'cli'],
      'npm install --save-dev @ast-grep/cli',
      '--help',
      /single quotes|quot/i,
      '?.',
    ),
  ],
  ['222', 'skill: catalog examples', each(leads('catalog', /ready examples to adapt/), skill('catalog', /rule:/))],
  [
    '223',
    'skill: ast-grep new scaffolding',
    skill('project', 'ast-grep new', /rules\//, /rule-tests\//, /utils\//, 'sgconfig.yml'),
  ],
  [
    '224',
    'skill: sgconfig top-level semantics',
    skill(
      'project',
      'ruleDirs',
      'testConfigs',
      'testDir',
      'snapshotDir',
      'utilDirs',
      'languageGlobs',
      'libraryPath',
      'languageSymbol',
      'languageInjections',
    ),
  ],
  [
    '225',
    'skill: scan flags, relational/composite, nthChild, stopBy, range, ESQuery',
    skill(
      ['rules', 'cli'],
      '--rule',
      '--inline-rules',
      '--error',
      '--warning',
      '--info',
      '--hint',
      '--off',
      '--format',
      '--report-style',
      /relational/i,
      /composite/i,
      /positive/i,
      'ESQuery',
      'matches',
      'nthChild',
      'reverse',
      'ofRule',
      'range',
      'field',
      'stopBy',
    ),
  ],
  [
    '226',
    'skill: test flags, snapshots',
    skill('testing', '--test-dir', '--snapshot-dir', '--include-off', '--update-all', /interactive/),
  ],
  [
    '227',
    'skill: rule-config keys, multi-document',
    skill(
      ['rule-config', 'rules'],
      'url',
      'metadata',
      'constraints',
      'severity',
      'message',
      'note',
      'labels',
      'files',
      'ignores',
      'caseInsensitive',
      /severity: off|`off`/,
      '--include-metadata',
      '---',
    ),
  ],
  [
    '228',
    'skill: constraints, note without metas, files/ignores, ./ gotcha',
    skill('rule-config', 'constraints', /note/, 'files', 'ignores', /\.\//, '--no-ignore'),
  ],
  [
    '229',
    'skill: FixConfig, indentation',
    skill(
      'rewrite',
      '--rewrite',
      'FixConfig',
      'template',
      'expandStart',
      'expandEnd',
      '--interactive',
      '--update-all',
      /indent/i,
      /comma/i,
    ),
  ],
  [
    '230',
    'skill: transform objects',
    skill('transform', 'replace', 'substring', 'convert', 'toCase', 'separatedBy', /CaseChange|caseChange/, 'rewrite'),
  ],
  ['231', 'skill: rewriters', skill('transform', 'rewriters', /utils/, 'transform', /barrel/i)],
  [
    '232',
    'skill: raw CLI flags, GitHub Action, exit codes',
    skill(
      'cli',
      '--stdin',
      '--json',
      '--heading',
      '--threads',
      '--inspect',
      '--follow',
      '--no-ignore',
      '--before',
      '--after',
      /scan -r/,
      'lsp',
      'completions',
      /GitHub Action|github/i,
      '--color',
      /exit code/i,
    ),
  ],
  [
    '233',
    'skill: top-level commands',
    skill('cli', /--help/, 'run', 'scan', 'test', 'new', 'lsp', 'completions', 'help'),
  ],
  ['234', 'skill: pattern syntax', skill('patterns', '$$$', '$_', '$$', 'context', 'selector')],
  [
    '235',
    'skill: debug_query, playground, selector',
    skill(['troubleshooting', 'patterns'], /debug.query/, /Playground/, 'context', 'selector', /fragment|incomplete/i),
  ],
  [
    '236',
    'skill: kind+pattern, prefix matching',
    skill(
      ['rules', 'rule-config', 'troubleshooting', 'languages', 'project'],
      'kind',
      'pattern',
      'regex',
      /order/,
      'languageGlobs',
    ),
  ],
  ['237', 'skill: how it works', skill('concepts', /Tree-sitter/i, /YAML/, /API/, /core|parallel|thread/i)],
  [
    '238',
    'skill: CST/AST, named nodes',
    skill('concepts', /textual|text/, 'AST', 'CST', /named/, /unnamed/, 'kind', 'field', /significant/, /trivial/),
  ],
  [
    '239',
    'skill: parsing heuristics, expandoChar',
    skill(
      ['patterns', 'concepts', 'languages', 'project'],
      /ambiguous/i,
      'selector',
      /effective/i,
      /lazy|lazily/i,
      'expandoChar',
    ),
  ],
  [
    '240',
    'skill: match algorithm, strictness',
    skill('concepts', /match/i, 'cst', 'smart', 'ast', 'relaxed', 'signature', 'strictness'),
  ],
  ['241', 'skill: Find & Patch', skill('transform', /Find & Patch/i, 'rewriters', 'joinBy', /barrel/i)],
  [
    '242',
    'skill: NAPI/Python/Rust API',
    skill(
      'api',
      'parse',
      'Lang',
      'pattern',
      'kind',
      'SgRoot',
      'SgNode',
      'NapiConfig',
      'ast_grep_core',
      /ast_grep_py|Python/,
    ),
  ],
  ['243', 'skill: js.parse deprecated', skill('api', /js\.parse/, /deprecated/i)],
  ['244', 'skill: pattern object + selector', skill('patterns', 'context:', 'selector:')],
  ['245', 'skill: $$VAR, CST-level', skill('patterns', '$$', 'field', /modifier/, /operator/)],
  ['246', 'skill: customLanguages', skill(['languages', 'project'], 'customLanguages', 'expandoChar')],
  [
    '247',
    'skill: tree-sitter build, TREE_SITTER_LIBDIR, Neovim',
    skill('languages', 'tree-sitter build', 'TREE_SITTER_LIBDIR', /neovim/i, 'tree-sitter parse'),
  ],
  ['248', 'skill: language catalog, aliases', skill('languages', /alias/i, /extension/i, 'languageGlobs')],
  [
    '249',
    'skill: languageInjections, styled-components, GraphQL',
    skill(
      ['languages', 'project'],
      'languageInjections',
      'hostLanguage',
      'injected',
      '$LANG',
      '$CONTENT',
      /styled/,
      /graphql/i,
    ),
  ],
  [
    '250',
    'other tools for scope/type/taint',
    skill('SKILL.md', /scope, types/, /control flow, data flow, taint, constant propagation/),
  ],
  [
    '251',
    'action=intelligence stays executor-compatible',
    each(
      gives(
        'unified_search',
        { action: 'intelligence', pattern: 'TD-015' },
        { matches: [{ file: 'docs/notes.md' }] },
        { notices: [{ code: 'VT_ACTION_DEPRECATED' }] },
      ),
      gives('unified_search', { action: 'intelligence', operation: 'workspace_symbols' }, { items: expect.any(Array) }),
    ),
  ],
  [
    '251',
    'intelligence not in the public schema',
    ({ kernel }) => expect(JSON.stringify(kernel.tools())).not.toContain('intelligence'),
  ],
  [
    '251',
    'its `next` is a valid call',
    each(
      says('unified_search', { action: 'intelligence', operation: 'x' }, /entr/),
      gives(
        'unified_search',
        { action: 'intelligence', operation: 'x' },
        {},
        { notices: among({ message: /'operation'/ }) },
      ),
    ),
  ],
]
