import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { bootKernel, type Booted } from 'vtcode/test'
import { expect, it } from 'vitest'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string

/** Returns the output of `ast-grep run` in path order. */
function native(ws: Booted, lang: string, input: Record<string, unknown>): any[] {
  const args = [
    'run',
    '--json=stream',
    '--color=never',
    `--lang=${lang}`,
    ...Object.entries(input).map(([name, value]) => `--${name}=${value}`),
    '.',
  ]
  const found = execFileSync(program, args, {
    cwd: ws.root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1e9,
  })
  const matches = found
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .map((match) => ({ ...match, file: match.file.replace(/^\.\//, '') }))
  return matches.sort((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.range.byteOffset.start - b.range.byteOffset.start,
  )
}
const plain = ({ file, text, lines, language, range, charCount, metaVariables }: any) => ({
  file,
  text,
  lines,
  language,
  range,
  charCount,
  metaVariables,
})

async function ours(ws: Booted, input: Record<string, unknown>): Promise<any> {
  const result = await ws.call('unified_search', { action: 'structural', ...input, response_format: 'detailed' })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return {
    ...(result.output as any),
    notices: (result.notices ?? []).map(({ code, message }) => `${code}: ${message}`),
  }
}

const samples: Record<string, [string, string]> = {
  py: ['# é😀\nlog("é", [1,\n  log(2)])\n\tlog()\nclass A:\n    x = log("😀", y)\n', 'log(1\nlog(2)\ndef = ;\n'],
  rs: ['// é😀\nfn main() { log("é", vec![1]); log(log(2)); }\n', 'fn main() { log(1) = ; = }\n'],
  go: ['package main // é😀\nfunc main() { log("é", 1); log(log(2)) }\n', 'package main\nfunc main() { = ; log(1) }\n'],
}

it.each(Object.keys(samples))(
  'finds matches and parse errors of %s in one run, whatever comments ask rules to ignore',
  async (lang) => {
    const [sound, broken] = samples[lang]!
    const comment = lang === 'py' ? '#' : '//'
    await using ws = await bootKernel({
      files: { [`a.${lang}`]: sound, [`b.${lang}`]: broken, [`c/d.${lang}`]: sound.replaceAll('\n', '\r\n') },
    })
    const same = async (query: Record<string, unknown>) => {
      const { matches, parse_issues } = await ours(ws, { lang, ...query })
      const expected = native(ws, lang, query)
      expect(matches.map(plain)).toEqual(expected.map(plain))
      expect(parse_issues).toEqual(
        [...new Set(native(ws, lang, { kind: 'ERROR' }).map(({ file }) => file))].map((file) => ({
          file,
          reason: 'syntax error',
        })),
      )
      expect(parse_issues.length).toBeGreaterThan(0)
      return expected.length
    }
    const found = await same({ pattern: 'log($$$ALL)' })
    expect(found).toBeGreaterThan(4)
    await same({ pattern: 'log($A)', strictness: 'relaxed' })
    await ws.write(`e.${lang}`, `${comment} ast-grep-ignore\n${sound}`)
    expect(await same({ pattern: 'log($$$ALL)' })).toBeGreaterThan(found)
  },
)

it('returns many matches in pages, in order of path and place, and counts them by file', async () => {
  // The outer of two calls at one place comes first. The program lists files in no fixed order.
  const files = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `d${at % 7}/m${at}.py`,
      Array.from({ length: 25 }, (_, line) => `f${line}(${at})(${line})\n`).join(''),
    ]),
  )
  await using ws = await bootKernel({ files })
  const expected = native(ws, 'py', { pattern: '$F($A)' })
  expect(expected).toHaveLength(3_000)
  const key = ({ file, text }: any) => `${file}: ${text}`
  for (const size of [1_100, 7]) {
    const found: any[] = []
    for (let skip = 0; skip < (size === 7 ? 21 : expected.length); skip += size) {
      const {
        matches,
        total_matches,
        files_with_matches,
        files: counted,
      } = await ours(ws, { lang: 'py', pattern: '$F($A)', max_results: size, skip })
      expect([total_matches, files_with_matches, counted.every(({ count }: any) => count === 50)]).toEqual([
        3_000,
        60,
        true,
      ])
      expect(counted.map(({ file }: any) => file)).toEqual([...new Set(expected.map(({ file }) => file))])
      found.push(...matches.map(key))
    }
    expect(found).toEqual(expected.slice(0, found.length).map(key))
  }
})

it('counts more than 50,000 matches exactly and pages through the last of them', async () => {
  const files = Object.fromEntries(
    Array.from({ length: 110 }, (_, at) => [
      `m${String(at).padStart(3, '0')}.py`,
      Array.from({ length: 500 }, (_, line) => `f(${at * 500 + line})\n`).join(''),
    ]),
  )
  await using ws = await bootKernel({ files })
  const input = { lang: 'py', pattern: 'f($A)', max_results: 600 }
  const far = await ours(ws, { ...input, skip: 50_200 })
  expect(far).toMatchObject({ total_matches: 55_000, files_with_matches: 110, truncated: true, notices: [] })
  expect(far.matches.map(({ text }: any) => text)).toEqual(Array.from({ length: 600 }, (_, at) => `f(${50_200 + at})`))
  expect(far.next.input.skip).toBe(50_800)
  const last = await ours(ws, { ...input, skip: 54_999 })
  expect(last).toMatchObject({ total_matches: 55_000, truncated: false, matches: [{ text: 'f(54999)' }] })
})

it('answers a pattern that rules refuse like a plain search', async () => {
  await using ws = await bootKernel({ files: { 'a.py': 'x = 1\n' } })
  const why = async (input: object) => {
    const result = await ws.call('unified_search', { action: 'structural', lang: 'py', ...input })
    return result.ok
      ? [result.output, result.notices?.map(({ code, message }) => `${code}: ${message}`)]
      : [result.error.code, result.error.message]
  }
  for (const pattern of ['$A', 'a b c', 'x = [1', 'def $F($A)', '']) {
    const [said, explained] = [await why({ pattern }), await why({ pattern, debug_query: 'pattern' })]
    if (typeof said[0] === 'object') delete (explained[0] as any).debug
    expect(said, pattern).toEqual(explained)
  }
})

it('searches files with endings unknown to the program like the known ones', async () => {
  await using ws = await bootKernel({
    files: {
      'a.hxx': 'int a = log(1);\n',
      'b.HPP': 'int b = log(2);\n',
      'c.cc': 'int c = log(3);\n',
      'D.PY': 'log(4)\n',
      'f.sbt': 'log(6)\n',
    },
  })
  for (const query of [{ pattern: 'log($A)' }, { pattern: 'log($A)', context_lines: 1 }]) {
    expect((await ours(ws, { lang: 'cpp', ...query })).matches.map(({ file }: any) => file)).toEqual([
      'a.hxx',
      'b.HPP',
      'c.cc',
    ])
    for (const [lang, file] of [
      ['py', 'D.PY'],
      ['scala', 'f.sbt'],
    ])
      expect((await ours(ws, { lang, ...query })).matches.map((match: any) => match.file)).toEqual([file])
  }
})
