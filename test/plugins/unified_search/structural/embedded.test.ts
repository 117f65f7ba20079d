import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const program = createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string
const page = `<html><!-- <script>console.log("in a comment")</script> -->
<script>
console.log(name)
</script><script lang="ts">const a: number = 1; console.log(a)</script>
<style>.a { color: red }</style></html>
`
const files: Files = {
  'web/page.html': page,
  'web/more/x.widget': '<template><p/></template>\n<script>\nconsole.log(inWidget)\n</script>\n',
  'src/app.js': 'console.log(1)\nconst B = styled.div`color: blue;`\n',
  'src/real.css': '.b { color: green }\n',
}
const project = `ruleDirs: [rules]
languageGlobs: { html: ['*.widget'] }
languageInjections:
  - hostLanguage: js
    rule: { pattern: styled.$TAG\`$CONTENT\` }
    injected: css
`

let plain: Booted
let configured: Booted
beforeAll(async () => {
  plain = await bootKernel({ files })
  configured = await bootKernel({ files: { ...files, 'sgconfig.yml': project } })
})
afterAll(async () => {
  await plain[Symbol.asyncDispose]()
  await configured[Symbol.asyncDispose]()
})

const places = (found: any[]): string[] =>
  [
    ...new Set(found.map(({ file, text, range }) => `${file.replace(/^\.\//, '')}@${JSON.stringify(range)} ${text}`)),
  ].sort()

function native(ws: Booted, args: string[]): string[] {
  const stdout = execFileSync(program, ['run', '--json=stream', ...args], { cwd: ws.root, encoding: 'utf8' })
  return places(
    stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line)),
  )
}
async function ours(ws: Booted, input: Record<string, unknown>): Promise<string[]> {
  const result = await ws.call('unified_search', { action: 'structural', ...input })
  expect(result).toMatchObject({ ok: true })
  return places((result as any).output.matches)
}

describe('unified_search/structural: embedded code', () => {
  const rows: [string, () => Booted, Record<string, unknown>, string[], number][] = [
    [
      'a script of a page, below a directory',
      () => plain,
      { lang: 'js', pattern: 'console.log($A)', path: 'web' },
      ['-l', 'js', '-p', 'console.log($A)', 'web'],
      1,
    ],
    [
      'a script of a page that is named',
      () => plain,
      { lang: 'js', pattern: 'console.log($A)', path: 'web/page.html' },
      ['-l', 'js', '-p', 'console.log($A)', 'web/page.html'],
      1,
    ],
    [
      'a script in TypeScript',
      () => plain,
      { lang: 'ts', pattern: 'console.log($A)' },
      ['-l', 'ts', '-p', 'console.log($A)', '.'],
      1,
    ],
    [
      'scripts and files together',
      () => plain,
      { lang: 'js', pattern: 'console.log($A)' },
      ['-l', 'js', '-p', 'console.log($A)', '.'],
      2,
    ],
    [
      'every language where none is named',
      () => plain,
      { pattern: 'console.log($A)' },
      ['-p', 'console.log($A)', '.'],
      3,
    ],
    [
      'a style of a page',
      () => plain,
      { lang: 'css', kind: 'declaration' },
      ['-l', 'css', '-k', 'declaration', '.'],
      2,
    ],
    [
      'styles in strings and pages, as the project injects them',
      () => configured,
      { lang: 'css', kind: 'declaration' },
      ['-l', 'css', '-k', 'declaration', '.'],
      3,
    ],
    [
      'scripts of files that the project reads as HTML',
      () => configured,
      { lang: 'js', pattern: 'console.log($A)' },
      ['-l', 'js', '-p', 'console.log($A)', '.'],
      3,
    ],
    [
      'scripts of such a file below a directory',
      () => configured,
      { lang: 'js', pattern: 'console.log($A)', path: 'web' },
      ['-l', 'js', '-p', 'console.log($A)', 'web'],
      2,
    ],
  ]
  it.each(rows)('finds embedded code like ast-grep: %s', async (_, ws, input, args, count) => {
    const found = await ours(ws(), input)
    expect(found).toEqual(native(ws(), args))
    expect(found).toHaveLength(count)
  })

  it('rewrites embedded code at its place in the page', async () => {
    const result: any = await plain.call('unified_search', {
      action: 'structural',
      workflow: 'rewrite',
      lang: 'js',
      pattern: 'console.log($A)',
      rewrite: 'log($A)',
      path: 'web',
    })
    const [rewrite] = result.output.rewrites
    expect(rewrite).toMatchObject({ file: 'web/page.html', replacement: 'log(name)' })
    const { start, end } = rewrite.replacementOffsets
    expect(Buffer.from(page).subarray(start, end).toString()).toBe('console.log(name)')
  })

  it.each(['vue', 'svelte'])('searches scripts and styles of %s files, alone and with other files', async (lang) => {
    const text =
      '<script lang="ts">\nconst size: number = load(1)\n</script>\n<p on:click={() => 1 < 2}>{size}</p>\n<style>\n.a { color: red }\n</style>\n'
    await using ws = await bootKernel({ files: { [`src/one.${lang}`]: text, 'src/two.ts': 'load(2)\n' } })
    const found = async (input: object) => (await ours(ws, input as any)).map((place) => place.replace(/@.* /, ' '))
    expect(await found({ pattern: 'load($A)' })).toEqual([`src/one.${lang} load(1)`, 'src/two.ts load(2)'])
    expect(await found({ pattern: 'load($A)', lang: 'ts' })).toEqual([`src/one.${lang} load(1)`, 'src/two.ts load(2)'])
    expect(await found({ pattern: 'load($A)', lang })).toEqual([`src/one.${lang} load(1)`])
    expect(await found({ pattern: 'load($A)', path: `src/one.${lang}` })).toEqual([`src/one.${lang} load(1)`])
    expect(await found({ kind: 'declaration', lang: 'css' })).toEqual([`src/one.${lang} red`])
    expect(await found({ pattern: 'gone($A)', lang, path: 'src/two.ts' })).toEqual([])
  })

  // Each text is one page; invalid pages are left to the program.
  const odd = [
    '<p a="<script>f(0)</script>">x</p><script>f(1)</script>',
    "<!-- <script>f(0)</script> -- > --><script>f('é😀', 1)</script>\r\n<p title=é>é😀</p><script>\r\n  f(2)\r\n</script>",
    '<SCRIPT type="module">f(1)</SCRIPT ><Style>a { b: c }</stylE>',
    '<script lang="ts">f(1)</script><script lang=js>f(2)</script><script lang>f(3)</script><script lang="">f(4)</script><script lang="scss">f(5)</script>',
    '<script data-lang="ts" lang=\'js\'>f(1)</script>\n<script>f(2); f(\n3)</script>',
    '<script></script><script>f(1)</script >',
    '<div><p>unclosed <b>x</i></div></div>\n<script>\nf(1)\n</script>',
    '<p>1 < 2 & 3</p><script>f(1)</script>\n',
    '<p>{{ a && b }}</p><style>a{}</style><script>f("</p>"); f("<script>")</script>\n',
    '<script>f(1',
    '<script>f(1)</script><script>f(\n</script>',
    '<script/><script>f(1)</script>',
    '<svg><style>a { b: c }</style><script>f(1)</script></svg><textarea><script>f(2)</script></textarea>',
    '<br/><a href=/x/y class=z>&nbsp;&#39;&#xe9;&copy</a><script src=/a.js></script><script>f(1) // no end</script>\n<script>f(2)</script>',
    '\ufeff<!DOCTYPE html>\n<html lang="ts"><script>\n\tf(1)</script></html>',
    '<script>function a() {</script>\n<script>f(1) }</script>',
    '',
  ]
  it('finds embedded code in pages of every kind, at the same places', async () => {
    await using ws = await bootKernel({ files: Object.fromEntries(odd.map((text, at) => [`p${at}.html`, text])) })
    for (const [lang, ...args] of [
      ['js', '-p', 'f($$$A)'],
      ['ts', '-p', 'f($A)'],
      ['css', '-k', 'declaration'],
      ['js', '-k', 'program'],
      ['js', '-p', '$A'],
    ] as const) {
      const expected = native(ws, ['-l', lang, ...args, '.'])
      expect(expected.length, lang).toBeGreaterThan(0)
      expect(
        await ours(ws, { lang, [args[0] === '-p' ? 'pattern' : 'kind']: args[1], max_results: 1000 }),
        args.join(' '),
      ).toEqual(expected)
    }
  })

  it('finds no code in a comment of a page', async () => {
    expect((await ours(plain, { lang: 'js', pattern: 'console.log($A)', path: 'web' })).join()).not.toContain(
      'in a comment',
    )
  })

  it('finds code in each of 10,000 scripts of one page', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `<script>call(${at})</script>`).join('\n')
    await using ws = await bootKernel({ files: { 'many.html': many } })
    const result: any = await ws.call('unified_search', {
      action: 'structural',
      lang: 'js',
      pattern: 'call($A)',
      max_results: 10_000,
    })
    expect(result.output).toMatchObject({ total_matches: 10_000, files_searched: 1 })
  })

  it('finds code once where two injections cover the same string', async () => {
    const twice = `${project}  - hostLanguage: js\n    rule: { pattern: styled.div\`$CONTENT\` }\n    injected: css\n`
    await using ws = await bootKernel({ files: { 'src/app.js': files['src/app.js']!, 'sgconfig.yml': twice } })
    expect(await ours(ws, { lang: 'css', kind: 'declaration' })).toEqual(
      native(ws, ['-l', 'css', '-k', 'declaration', '.']),
    )
  })
})
