import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
// Accents, characters of two UTF-16 units, tabs, CRLF, a byte order mark, no newline at the end, and what does not parse.
const files: Files = {
  'a.ts': "// é😀\nconst héllo = '😀'; log(héllo, [1,\n  2], f(x))\n\tlog()\r\nlog('ß', log(1))\r\n",
  'b.js': "\ufeff'😀'; log('😀é', b)\nfunction log(a, b) { return a ?? b }",
  'c.tsx': 'export const É = () => <p title="é" onClick={() => log("😀", 1)}>😀 {log(2)}</p>\n',
  'd.css': '/* é😀 */ .á { color: red } .b, .é > .c { color: blue; margin: 0 }\n',
  'e.html': '<p title="é😀">é</p><p title="x">😀<b>y</b></p>\n',
  'f.ts': "log('é'\nlog(1)\nconst = ;\nlog('😀', 2)\n",
}
const queries: [lang: string, input: Record<string, unknown>][] = [
  ['ts', { pattern: 'log($$$ALL)' }],
  ['ts', { pattern: 'log($A, $$$REST)', context_lines: 1 }],
  ['ts', { pattern: 'log($_, $_IGNORED)' }],
  ['ts', { pattern: 'const $$VAR = $VALUE' }],
  ['ts', { kind: 'call_expression' }],
  ['ts', { kind: 'string > string_fragment' }],
  ['ts', { pattern: 'log($A)', strictness: 'signature' }],
  ['js', { pattern: 'log($A, $B)' }],
  ['js', { pattern: '$A ?? $B', context_lines: 3 }],
  ['js', { pattern: 'function f() { return $A ?? $B }', selector: 'binary_expression' }],
  ['tsx', { pattern: 'log($$$A)' }],
  ['tsx', { pattern: '<p $$$ATTRS>$$$REST</p>' }],
  ['css', { kind: 'declaration' }],
  ['css', { pattern: '.x { color: $C }', selector: 'declaration' }],
  ['html', { kind: 'attribute' }],
  ['html', { pattern: '<p title="x">$$$A</p>' }],
]
const rewrites: [lang: string, input: Record<string, unknown>][] = [
  ['js', { pattern: 'log($A, $B)', rewrite: 'print($B, $A) // é $ 1' }],
  ['tsx', { pattern: 'log($$$A)', rewrite: 'print([$$$A])' }],
  ['ts', { pattern: 'const $NAME = $VALUE', rewrite: 'let $NAME =\n  $VALUE' }],
  ['ts', { pattern: 'log($$$ALL)', rewrite: 'print($$$ALL)' }],
]

let ws: Booted
beforeAll(async () => {
  ws = await bootKernel({ files })
})
afterAll(() => ws[Symbol.asyncDispose]())

/** Returns the answer of the program, in the form of the slot. */
function native(lang: string, { context_lines, ...input }: Record<string, unknown>): any[] {
  const flags = Object.entries(input).map(([name, value]) => `--${name}=${value}`)
  const args = [
    'run',
    '--json=stream',
    '--color=never',
    `--lang=${lang}`,
    ...(context_lines ? ['--context', String(context_lines)] : []),
    ...flags,
    '.',
  ]
  const result = (() => {
    try {
      return execFileSync(program, args, { cwd: ws.root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    } catch (error) {
      return (error as { stdout: string }).stdout
    }
  })()
  const found = result
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  return found
    .map((match) => ({ ...match, file: match.file.replace(/^\.\//, '') }))
    .sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.range.byteOffset.start - b.range.byteOffset.start))
}
const empty = { single: {}, multi: {}, transformed: {} }
/** Removes the `secondary` nodes of a kind selector, which only the program reports. */
function plain({
  file,
  text,
  lines,
  language,
  range,
  charCount,
  metaVariables = empty,
  replacement,
  replacementOffsets,
}: any) {
  const { secondary: _, ...multi } = metaVariables.multi
  return {
    file,
    text,
    lines,
    language,
    range,
    charCount,
    metaVariables: { ...metaVariables, multi },
    replacement,
    replacementOffsets,
  }
}

async function ours(lang: string, input: Record<string, unknown>): Promise<any[]> {
  const result = await ws.call('unified_search', { action: 'structural', lang, ...input, response_format: 'detailed' })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  const output = result.output as any
  return output.matches ?? output.rewrites
}

describe('unified_search/structural in process compared with the program', () => {
  for (const [lang, input] of queries) {
    it(`finds the matches of the program for ${lang} ${JSON.stringify(input)}`, async () => {
      const expected = native(lang, input)
      expect(expected.length).toBeGreaterThan(0)
      expect((await ours(lang, input)).map(plain)).toEqual(expected.map(plain))
    })
  }
  for (const [lang, input] of rewrites) {
    it(`previews the rewrites of the program for ${lang} ${JSON.stringify(input)}`, async () => {
      const expected = native(lang, input)
      expect(expected.length).toBeGreaterThan(0)
      const sound = expected.filter(({ file, text }) => file !== 'f.ts' || !text.includes('\n'))
      expect((await ours(lang, { workflow: 'rewrite', ...input })).map(plain)).toEqual(sound.map(plain))
    })
  }
})

it('refuses a pattern in process with the error of the program', async () => {
  const why = async (input: object) => {
    const result = await ws.call('unified_search', { action: 'structural', lang: 'ts', ...input })
    return result.ok ? undefined : [result.error.code, result.error.message]
  }
  // A debugging query is answered by the program.
  for (const input of [{ pattern: 'where is the log' }, { pattern: 'log(' }, { pattern: 'a; b' }]) {
    expect(await why(input)).toEqual(await why({ ...input, debug_query: 'pattern' }))
  }
})

it('sees errors deep inside a pattern in process where the program sees them', async () => {
  const patterns: Record<string, string[]> = {
    ts: [
      'none($$$A)',
      'if ($A) { foo( }',
      'class $A { $$$B }',
      'class $A { $$$B foo() {} }',
      'none({ $$$, x: [ })',
      'type $A = { $$$ }',
      'é("😀", $A) { none',
    ],
    tsx: ['<none $$$A>$B</none>', 'const $V = () => { return <p> }', '<none>{$A</none>'],
    js: ['none($A) ?? $B', 'none(', 'for ($A of $B) { $$$ }', 'function* none($$$) { yield $A'],
    css: ['.none { color: $C }', '$A { $B: none; $$$ }', '.none { color }', '.none { : $A }'],
    html: ['<none $A>$$$B</none>', '<p class=">$A</p>', '<none x="$A">'],
  }
  const told = async (lang: string, pattern: string, extra: object = {}) => {
    const result = await ws.call('unified_search', { action: 'structural', lang, pattern, ...extra })
    return result.ok
      ? (result.notices ?? []).map(({ code, message }) => [code, message])
      : [result.error.code, result.error.message]
  }
  for (const [lang, all] of Object.entries(patterns)) {
    for (const pattern of all)
      expect(await told(lang, pattern), pattern).toEqual(await told(lang, pattern, { debug_query: 'pattern' }))
  }
})

it('names the files that do not parse and replaces nothing in their broken parts', async () => {
  const result = await ws.call('unified_search', { action: 'structural', lang: 'ts', pattern: 'log($$$ALL)' })
  expect(result).toMatchObject({
    ok: true,
    notices: [{ code: 'VT_SEARCH_PARSE', message: expect.stringMatching(/^1 file .*f\.ts/) }],
  })
})

it('leaves a page of one long line to the program', async () => {
  const calls = Array.from({ length: 2500 }, (_, at) => `log(${at});`).join('')
  await using ws = await bootKernel({ files: { 'long.html': `<p>é</p><script>${calls}</script>\n` } })
  const found = (await ws.call('unified_search', {
    action: 'structural',
    pattern: 'log($A)',
    lang: 'js',
    path: 'long.html',
    max_results: 3,
    response_format: 'detailed',
  })) as any
  expect(found).toMatchObject({
    ok: true,
    output: { total_matches: 2500, matches: [{ text: 'log(0)', range: { start: { line: 0, column: 16 } } }, {}, {}] },
  })
})

it('reads scripts inside a named page', async () => {
  await ws.write('page.html', '<script>\nlog("é")\n</script>\n')
  const result = await ws.call('unified_search', { action: 'structural', pattern: 'log($A)', path: 'page.html' })
  expect(result).toMatchObject({
    ok: true,
    output: { matches: [{ file: 'page.html', line_number: 2, text: 'log("é")' }] },
  })
})
