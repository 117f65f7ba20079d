import { expect } from 'vitest'
import type { Files } from 'vtcode/test'
import {
  apart,
  each,
  errorOf,
  gives,
  outputOf,
  refuses,
  says,
  takes,
  type Check,
  type Row,
} from '../../support/seed.js'

// The structural search of oh-my-pi.
export const files: Files = {
  'cap/a.ts': 'log(1)\n'.repeat(30),
  'cap/b.ts': 'log(2)\n'.repeat(30),
  'meta/a.ts': 'f()\nf(1)\nf(1, 2)\nadd(x, x)\nadd(x, y)\n',
  'long/a.ts': 'f(\n  1,\n)\n',
  'mixed/a.ts': 'log(1)\n',
  'mixed/b.py': 'log(2)\n',
  'mixed/c.go': 'package c\nfunc d() { log(3) }\n',
  'mixed/readme.txt': 'log(4)\n',
  'bad/broken.js': 'log(1)\nconst = (\n',
  'bad/fine.js': 'log(2)\n',
  ...Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`worse/w${index}.js`, 'log(1)\nconst = (\n'])),
  ...Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`crowd/${index}.js`, 'one(1)\n'])),
  '.gitignore': 'out/\n',
  'tree/.hidden.ts': 'seen(1)\n',
  'tree/out/a.ts': 'seen(1)\n',
  'tree/node_modules/x/a.ts': 'seen(1)\n',
  'tree/a.ts': 'seen(1)\n',
  'tree/deep/b.ts': 'seen(1)\n',
  'other/a.astro': 'log(1)\n',
  '.vtcode/skills/one/SKILL.md': '---\nname: one\ndescription: One.\n---\nDo.\n',
  '.vtcode/skills/one/lib.ts': 'log(1)\n',
}
/** A file of each language that is served, in which the call is found that its grammar has. */
const served =
  'sh c cpp cs css dart ex go hs hcl html java js json kt lua md nix php py rb rs scala sol swift tsx ts yaml'.split(
    ' ',
  )
const languages = apart({ files: Object.fromEntries(served.map((end) => [`a.${end}`, 'log(1)\n'])), dialects: ['omp'] })
const hashed = apart({
  files,
  dialects: ['omp'],
  config: { plugins: { settings: { 'builtin:ast_grep': { options: { anchors: 'hash' } } } } },
})

const ask = (pat: string, paths: string[], skip?: number): object => ({
  pat,
  paths,
  ...(skip !== undefined && { skip }),
})
const finds = (input: object, output: object = {}, ...texts: (RegExp | string)[]): Check =>
  each(gives('ast_grep', input, output), says('ast_grep', input, ...texts))
const refusesInput = (input: object, message: RegExp): Check =>
  each(refuses('ast_grep', input, { code: /^VT_INPUT_/, message, hint: /\S/ }))
const lines = async (place: Parameters<Check>[0], input: object): Promise<string[]> => {
  const result = await place.call('ast_grep', input)
  return result.ok ? result.text!.split('\n') : [JSON.stringify(result.error)]
}
/** A line of the text of the answer is this one. */
const shows =
  (input: object, ...expected: string[]): Check =>
  async (place) =>
    expect(await lines(place, input)).toEqual(expect.arrayContaining(expected))
const loaded =
  (check: Check): Check =>
  async (place) => {
    await place.call('load_skill', { name: 'one' })
    return check(place)
  }
const cancelled: Check = async ({ call }) => {
  const stop = new AbortController()
  const answer = call('ast_grep', ask('one($A)', ['crowd']), { signal: stop.signal })
  stop.abort()
  expect(await answer).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED' } })
}

export const rows: Row[] = [
  ['1', 'tool ast_grep', (place) => expect(place.kernel.tools().map(({ name }) => name)).toEqual(['ast_grep'])],
  ['11', 'pat required', refusesInput({ paths: ['cap'] }, /'pat'/)],
  [
    '11',
    'errors with a hint',
    each(
      refusesInput(ask('', ['cap']), /empty/),
      refusesInput(ask('x', [' ']), /empty/),
      refusesInput(ask('x', ['skill://one/*.ts']), /pattern/),
      refusesInput(ask('x', ['https://a/b']), /a\/b/),
      refusesInput(ask('x', ['cap'], -1), /skip/),
    ),
  ],
  ['13', 'pat trimmed', finds(ask('  log($A)\n', ['mixed/a.ts']), { matchCount: 1 })],
  ['13', 'empty pat rejected', refusesInput(ask('   ', ['mixed']), /'pat' is empty/)],
  ['14', 'paths required', refusesInput({ pat: 'log($A)' }, /'paths'/)],
  ['16', 'files', finds(ask('log($A)', ['mixed/a.ts']), { files: ['mixed/a.ts'] })],
  ['16', 'directories', finds(ask('log($A)', ['cap']), { files: ['cap/a.ts', 'cap/b.ts'] })],
  ['16', 'globs', finds(ask('log($A)', ['mixed/*.ts']), { files: ['mixed/a.ts'] })],
  [
    '16',
    'internal URLs with backing files',
    loaded(finds(ask('log($A)', ['skill://one/lib.ts']), { matchCount: 1 })),
    '`ast_grep`, `skill://`',
  ],
  ['16', 'empty entries rejected', refusesInput(ask('log($A)', ['mixed', '']), /paths/)],
  ['16', 'globs forbidden for internal URLs', loaded(refusesInput(ask('log($A)', ['skill://one/*.ts']), /pattern/))],
  ['19', 'skip default 0', shows(ask('log($A)', ['cap/a.ts']), '*1|log(1)')],
  [
    '19',
    'skip floored',
    async (place) =>
      expect(await lines(place, ask('log($A)', ['cap/a.ts'], 1.9))).toEqual(
        await lines(place, ask('log($A)', ['cap/a.ts'], 1)),
      ),
  ],
  ['19', 'negatives fail', refusesInput(ask('log($A)', ['cap'], -1), /skip/)],
  [
    '19',
    'non-finite fail',
    each(
      refusesInput({ ...ask('log($A)', ['cap']), skip: Infinity }, /number/),
      refusesInput({ ...ask('log($A)', ['cap']), skip: 'NaN' }, /skip/),
    ),
  ],
  ['21', '$NAME', shows(ask('f($ONE)', ['meta/a.ts']), '*2|f(1)', '  meta: ONE=1')],
  [
    '21',
    '$_ no binding',
    async (place) => expect(await lines(place, ask('f($_)', ['meta/a.ts']))).toEqual(['*2|f(1)']),
  ],
  ['21', '$$$NAME lazy', shows(ask('f($$$FIRST, 2)', ['meta/a.ts']), '*3|f(1, 2)', '  meta: FIRST=1')],
  [
    '21',
    '$$$ no binding',
    async (place) =>
      expect(await lines(place, ask('f($$$)', ['meta/a.ts']))).toEqual(['*1|f()', '*2|f(1)', '*3|f(1, 2)']),
  ],
  [
    '21',
    'metavariables upper case',
    async (place) =>
      expect((await errorOf(place, 'ast_grep', ask('$name', ['meta/a.ts']))).code).toBe('VT_SEARCH_PATTERN'),
  ],
  [
    '22',
    'repeated metavariable = identical code',
    async (place) =>
      expect(await lines(place, ask('add($A, $A)', ['meta/a.ts']))).toEqual(['*4|add(x, x)', '  meta: A=x']),
  ],
  [
    '23',
    'patterns parse as one node',
    refuses('ast_grep', ask('if ($A) { log( }', ['meta']), { code: 'VT_SEARCH_FRAGMENT' }),
  ],
  [
    '25',
    '56 languages',
    each(
      languages(async (place) => {
        const wrong = await Promise.all(
          served.map(async (end) => [end, await place.call('ast_grep', ask('log($A)', [`a.${end}`]))] as const),
        )
        expect(wrong.filter(([, result]) => !result.ok && result.error.code === 'VT_SEARCH_LANG')).toEqual([])
        expect(
          wrong.filter(([, result]) => result.ok && result.output['matchCount'] === 1).map(([end]) => end),
        ).toEqual('sh c cpp cs ex go hs hcl java js kt lua nix php py rb rs scala sol swift tsx ts'.split(' '))
      }),
      refuses('ast_grep', ask('log($A)', ['other/a.astro']), { code: 'VT_SEARCH_LANG', message: /typescript/ }),
    ),
    '`ast_grep`, languages',
  ],
  [
    '27',
    'single-shot result',
    async ({ call }) =>
      expect(Object.keys(await call('ast_grep', ask('log($A)', ['mixed']))).sort()).toEqual(['ok', 'output', 'text']),
  ],
  [
    '29',
    'one text block, grouped by file',
    finds(ask('log($A)', ['cap']), {}, /^# cap\/a\.ts\n\*1\|log\(1\)[^]*\n\n# cap\/b\.ts\n\*1\|/),
  ],
  [
    '31',
    'hashline mode ¶PATH#HASH, *LINE:text',
    hashed(finds(ask('log($A)', ['mixed/a.ts']), {}, /^¶mixed\/a\.ts#\S+\n\*1:log\(1\)/)),
  ],
  ['31', 'line mode *LINE|text', shows(ask('log($A)', ['mixed/a.ts']), '*1|log(1)')],
  ['31', 'continuation lines with a leading space', shows(ask('f($$$A)', ['long/a.ts']), '*1|f(', ' 2|  1,', ' 3|)')],
  ['33', 'meta: NAME=value', shows(ask('add($A, $B)', ['meta/a.ts']), '  meta: A=x, B=y')],
  ['33', 'readable value of a multi capture', shows(ask('f($$$ARGS)', ['meta/a.ts']), '  meta: ARGS=1, 2')],
  ['35', '"No matches found"', says('ast_grep', ask('nothing($A)', ['mixed/a.ts']), /^No matches found$/)],
  [
    '35',
    '"No matches found. Parse issues mean …" plus issues',
    says(
      'ast_grep',
      ask('log(9)', ['bad/broken.js']),
      /^No matches found\. Parse issues mean the query may be mis-scoped; narrow paths before concluding absence\.\n\nParse issues:\n- bad\/broken\.js: syntax error$/,
    ),
  ],
  [
    '35',
    'parse issues of every candidate file',
    each(
      says('ast_grep', ask('nothing($A)', ['bad/broken.js']), /Parse issues/),
      finds(ask('nothing($A)', ['bad']), { matchCount: 0 }),
    ),
    '`ast_grep`, parse issues',
  ],
  [
    '37',
    '"Result limit reached; narrow paths or increase limit."',
    says('ast_grep', ask('log($A)', ['cap']), /\n\nResult limit reached; narrow paths or increase limit\.$/),
  ],
  [
    '38',
    'details matchCount fileCount filesSearched limitReached',
    finds(ask('log($A)', ['cap']), { matchCount: 60, fileCount: 2, filesSearched: 2, limitReached: true }),
  ],
  [
    '38',
    'optional parseErrors, scopePath, files, fileMatches',
    finds(ask('log($A)', ['bad']), {
      parseErrors: ['bad/broken.js: syntax error'],
      scopePath: 'bad',
      files: ['bad/broken.js', 'bad/fine.js'],
      fileMatches: [
        { path: 'bad/broken.js', count: 1 },
        { path: 'bad/fine.js', count: 1 },
      ],
    }),
  ],
  [
    '38',
    'optional displayContent, meta',
    async (place) =>
      expect(Object.keys(await outputOf(place, 'ast_grep', ask('log($A)', ['cap']))).sort()).toEqual([
        'fileCount',
        'fileMatches',
        'files',
        'filesSearched',
        'limitReached',
        'matchCount',
        'scopePath',
      ]),
    '`ast_grep`, `displayContent` and `meta`',
  ],
  [
    '39',
    'native ranges not emitted',
    async ({ call }) =>
      expect(JSON.stringify(await call('ast_grep', ask('log($A)', ['cap'])))).not.toMatch(
        /byteStart|byteEnd|startColumn|endLine|byteOffset/,
      ),
  ],
  [
    '41',
    'validates pat, skip, paths',
    each(
      refusesInput(ask('', ['cap']), /pat/),
      refusesInput(ask('x', ['cap'], -2), /skip/),
      refusesInput(ask('x', []), /paths/),
    ),
  ],
  [
    '42',
    'URLs without sourcePath fail',
    each(
      refusesInput(ask('x', ['local://plan']), /local:\/\/plan/),
      loaded(refusesInput(ask('x', ['skill://one/gone.ts']), /is not a file of the skill/)),
    ),
  ],
  [
    '43',
    'missing bases dropped while one survives',
    finds(ask('log($A)', ['gone', 'mixed/a.ts']), { files: ['mixed/a.ts'] }),
  ],
  [
    '43',
    'all missing fails',
    refuses('ast_grep', ask('log($A)', ['gone', 'lost']), { code: 'VT_PATH_NOT_FOUND', message: /gone.*lost/ }),
  ],
  [
    '44',
    'path split into base and glob',
    finds(ask('seen($A)', ['tree/**/*.ts']), { files: ['tree/.hidden.ts', 'tree/a.ts', 'tree/deep/b.ts'] }),
  ],
  [
    '45',
    'several inputs collapsed or per target',
    finds(ask('log($A)', ['mixed/a.ts', 'bad/*.js', 'cap']), { matchCount: 63, fileCount: 5 }),
  ],
  ['46', 'dir result grouped', says('ast_grep', ask('log($A)', ['long', 'mixed/a.ts']), /^# mixed\/a\.ts\n\*1\|/)],
  [
    '46',
    'global sort, then skip and limit',
    says(
      'ast_grep',
      ask('log($A)', ['cap/b.ts', 'cap/a.ts'], 29),
      /^# cap\/a\.ts\n\*30\|log\(1\)\n  meta: A=1\n\n# cap\/b\.ts\n\*1\|/,
    ),
  ],
  ['50', 'patterns deduplicated', refusesInput({ pat: ['log($A)', 'log($A)'], paths: ['cap'] }, /pat/)],
  ['51', 'smart strictness', finds(ask('log( 1 )', ['mixed/a.ts']), { matchCount: 1 })],
  [
    '52',
    'gitignore-aware scan',
    finds(ask('seen($A)', ['tree']), { files: ['tree/.hidden.ts', 'tree/a.ts', 'tree/deep/b.ts'] }),
  ],
  [
    '53',
    'language per candidate',
    finds(ask('log($A)', ['mixed']), { files: ['mixed/a.ts', 'mixed/b.py', 'mixed/c.go'] }),
  ],
  ['54', 'pattern compiled per language', finds(ask('log($A) as any', ['mixed']), { matchCount: 0 })],
  [
    '55',
    'syntax-error trees reported',
    finds(ask('log($A)', ['bad']), { parseErrors: ['bad/broken.js: syntax error'] }),
  ],
  [
    '56',
    'sorted by path and position, paged',
    async (place) =>
      expect((await lines(place, ask('log($A)', ['cap'], 50))).filter((line) => line.startsWith('*'))).toEqual(
        Array.from({ length: 10 }, (_, index) => `*${21 + index}|log(2)`),
      ),
  ],
  [
    '57',
    'issues normalised and deduplicated',
    finds(ask('log($A)', ['bad/broken.js', 'bad', 'bad/*.js']), { parseErrors: ['bad/broken.js: syntax error'] }),
  ],
  ['60', 'single file: flat list, no header', says('ast_grep', ask('log($A)', ['mixed/a.ts']), /^\*1\|log/)],
  ['61', 'directory + glob', finds(ask('seen($A)', ['tree/*.ts']), { files: ['tree/.hidden.ts', 'tree/a.ts'] })],
  [
    '62',
    'multiple explicit paths',
    finds(ask('log($A)', ['mixed/a.ts', 'mixed/b.py']), { files: ['mixed/a.ts', 'mixed/b.py'] }),
  ],
  [
    '63',
    'internal URLs only with backing path',
    each(
      loaded(finds(ask('log($A)', ['skill://one/lib.ts']))),
      refusesInput(ask('x', ['skill://two/lib.ts']), /skill/),
    ),
  ],
  [
    '64',
    'hashline mode conditions',
    each(
      says('ast_grep', ask('log($A)', ['mixed/a.ts']), /^\*1\|/),
      hashed(says('ast_grep', ask('log($A)', ['mixed/a.ts']), /^¶/)),
    ),
    '`ast_grep`, hashes',
  ],
  ['68', 'stats inputs', refuses('ast_grep', ask('log($A)', ['../..']), { code: 'VT_PATH_OUTSIDE' })],
  [
    '72',
    'no session state',
    async ({ call }) =>
      expect(await call('ast_grep', ask('log($A)', ['cap']), { session: 'a' })).toEqual(
        await call('ast_grep', ask('log($A)', ['cap']), { session: 'b' }),
      ),
  ],
  [
    '74',
    'runs off the main loop',
    async ({ call }) => {
      let turns = 0
      const tick = setInterval(() => (turns += 1), 1)
      await call('ast_grep', ask('one($A)', ['crowd']))
      clearInterval(tick)
      expect(turns).toBeGreaterThan(0)
    },
  ],
  ['76', 'cancellation', cancelled],
  [
    '80',
    'cap 50',
    async (place) =>
      expect((await lines(place, ask('log($A)', ['cap']))).filter((line) => line.startsWith('*'))).toHaveLength(50),
  ],
  [
    '82',
    'skip + 50 + 1 per target then re-page',
    async (place) =>
      expect(
        (await lines(place, ask('log($A)', ['cap/a.ts', 'cap/b.ts', 'mixed/a.ts'], 9))).filter((line) =>
          line.startsWith('*'),
        ),
      ).toHaveLength(50),
  ],
  [
    '85',
    'limit at least 1, offset 0',
    each(
      shows(ask('log($A)', ['cap/a.ts'], 29), '*30|log(1)'),
      refusesInput({ ...ask('log($A)', ['cap']), limit: 0 }, /limit/),
    ),
  ],
  [
    '86',
    '≤ 20 issue lines rendered, details not capped',
    each(gives('ast_grep', ask('log($A)', ['worse']), { parseErrors: { length: 25 } }), async (place) =>
      expect((await lines(place, ask('log($A)', ['worse']))).filter((line) => line.startsWith('- '))).toHaveLength(20),
    ),
  ],
  ['87', 'hidden included', finds(ask('seen($A)', ['tree/.*.ts']), { files: ['tree/.hidden.ts'] })],
  [
    '87',
    'node_modules skipped unless glob names it',
    finds(ask('seen($A)', ['tree/node_modules/**/*.ts']), { files: ['tree/node_modules/x/a.ts'] }),
  ],
  [
    '88',
    'no file-count cap',
    finds(ask('one($A)', ['crowd']), { matchCount: 300, fileCount: 300, filesSearched: 300 }),
  ],
  [
    '89',
    'identical paths deduplicated',
    finds(ask('log($A)', ['mixed/a.ts', 'mixed/a.ts', ' mixed/a.ts']), { matchCount: 1 }),
  ],
  [
    '92',
    'errors: empty pattern, invalid skip, empty entry, URL globs, no sourcePath, missing paths',
    each(
      refusesInput(ask(' ', ['cap']), /pat/),
      refusesInput({ ...ask('x', ['cap']), skip: 'two' }, /skip/),
      refusesInput(ask('x', ['  ']), /empty/),
      refusesInput(ask('x', ['skill://one/*']), /pattern/),
      refusesInput(ask('x', ['artifact://1']), /artifact/),
      refuses('ast_grep', ask('x', ['gone']), { code: 'VT_PATH_NOT_FOUND' }),
    ),
  ],
  ['93', 'unsupported explicit lang', refusesInput({ ...ask('x', ['cap']), lang: 'klingon' }, /lang/)],
  [
    '94',
    'language not inferable = error',
    refuses('ast_grep', ask('log($A)', ['mixed/readme.txt']), { code: 'VT_SEARCH_LANG' }),
  ],
  [
    '96',
    'invalid pattern everywhere = error',
    refuses('ast_grep', ask('where is the log', ['cap']), { code: /^VT_SEARCH_(PATTERN|FRAGMENT)$/ }),
  ],
  [
    '97',
    'unreadable roots, bad globs',
    each(
      refuses('ast_grep', ask('log($A)', ['../outside']), { code: 'VT_PATH_OUTSIDE' }),
      refuses('ast_grep', ask('log($A)', ['cap/[']), { code: /^VT_/, message: /\[/ }),
    ),
  ],
  ['98', 'cancellation/timeout errors', cancelled],
  ['100', 'file-level failures non-fatal', finds(ask('log($A)', ['bad']), { matchCount: 2 })],
  ['101', 'no matches is no error', finds(ask('nothing($A)', ['mixed']), { matchCount: 0, limitReached: false })],
  [
    '103',
    'one pattern a call',
    each(refusesInput({ pat: ['a', 'b'], paths: ['cap'] }, /pat/), takes('ast_grep', { pat: { type: 'string' } })),
  ],
  ['103', 'mixed trees allowed', finds(ask('log($A)', ['mixed']), { matchCount: 3 })],
  [
    '104',
    'file with errors still searched',
    finds(ask('log($A)', ['bad/broken.js']), { matchCount: 1 }, /\*1\|log\(1\)/),
  ],
  [
    '105',
    '*.ts direct children, **/*.ts all',
    each(
      finds(ask('seen($A)', ['tree/*.ts']), { fileCount: 2 }),
      finds(ask('seen($A)', ['tree/**/*.ts']), { fileCount: 3 }),
    ),
  ],
  [
    '106',
    'anchors for follow-up tools',
    hashed(async (place) => {
      const [head] = await lines(place, ask('log($A)', ['mixed/b.py']))
      expect(
        await place.call('unified_file', {
          action: 'edit',
          path: 'mixed/b.py',
          old_str: '2',
          new_str: '2',
          expected_hash: head!.split('#')[1],
        }),
      ).not.toMatchObject({ error: { code: 'VT_FILE_STALE' } })
      expect(
        await place.call('unified_file', {
          action: 'edit',
          path: 'mixed/b.py',
          old_str: '2',
          new_str: '3',
          expected_hash: '0'.repeat(head!.split('#')[1]!.length),
        }),
      ).toMatchObject({ ok: false, error: { code: 'VT_FILE_STALE' } })
    }),
  ],
]
