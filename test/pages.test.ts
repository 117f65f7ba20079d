import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { sources, textOf as sourceOf } from './house/sources.js'
import { knownCodes } from './support/codes.js'
import { asShown, manual, pagesOfDocs, startReader, storyOf } from './support/manual.js'
import { packedFiles } from './support/packed.js'
import { bin, vtcode } from './support/program.js'

// The tests in test/pages/ check that the pages show real outputs.
const project = dirname(dirname(dirname(bin)))
const textOf = (name: string): string => readFileSync(join(project, name), 'utf8')
const stories = manual.map((name) => ({ name, story: storyOf(join(project, name)) }))

describe('followed page', () => {
  it('detects wrong outputs, exit codes and line counts, unrun blocks and empty outputs on a page', async () => {
    await using made = await tempWorkspace()
    const page = [
      '```js src/a.js',
      'export const a = 1',
      '```',
      '```console',
      '$ vtcode call unified_file read --path src/a.js',
      '{"ok":true,…"text":"export const b…"}',
      '$ vtcode call unified_file read --path src/a.js',
      '…',
      '$ false; echo $?',
      '0',
      '$ echo more',
      '$ true',
      'more',
      '$ cat src/a.js; vtcode frob',
      'export const a = 1',
      '```',
      '```sh',
      'rm -rf /',
      '```',
      '```js src/b.js',
      '```',
    ]
    writeFileSync(join(made.root, 'page.md'), page.join('\n'))
    const story = storyOf(join(made.root, 'page.md'))
    expect(story.faults).toEqual([
      'line 4: any output would do for vtcode call unified_file read --path src/a.js',
      'line 17: nothing runs this block',
      'src/b.js is written, and no command follows',
    ])
    await using reader = await startReader(story)
    const held: string[] = []
    for (const step of story.steps) if (asShown(step.shown).test(await reader.follow(step))) held.push(step.command)
    expect(held).toEqual(['vtcode call unified_file read --path src/a.js'])
  })
})

describe('manual', () => {
  it('marks every block of the manual that is not run', () => {
    expect(stories.flatMap(({ name, story }) => story.faults.map((fault) => `${name}, ${fault}`))).toEqual([])
  })

  it('names only existing verbs and flags', async () => {
    await using made = await tempWorkspace()
    const help = (await vtcode(made, ['help'])).stdout
    // The overview leaves out some that the program knows.
    const verbs = /known verbs: (.*)\./.exec((await vtcode(made, ['nonsense'])).stderr)![1]!.split(', ')
    const helps = new Map<string, string>()
    const wrong: string[] = []
    for (const name of manual) {
      for (const [said, verb, rest] of textOf(name).matchAll(/(?<=`)vtcode ([a-z_]+)([^`\n|;]*)/g)) {
        if (!verbs.includes(verb!)) wrong.push(`${name}: ${said}`)
        if (verb === 'call') continue
        const sub = /^ ([a-z]+)/.exec(rest!)?.[1]
        for (const words of [[verb!], ...(sub === undefined ? [] : [[verb!, sub]])]) {
          const key = words.join(' ')
          if (!helps.has(key))
            helps.set(
              key,
              words.length === 1
                ? (await vtcode(made, ['help', ...words])).stdout
                : (await vtcode(made, [...words, '--help'])).stdout,
            )
        }
        const known = `${help} ${helps.get(verb!)} ${helps.get(`${verb} ${sub}`) ?? ''}`
        for (const [, flag] of rest!.matchAll(/(?<=\s)(--[a-z][a-z-]*)/g))
          if (!new RegExp(`${flag}(?![a-z-])`).test(known)) wrong.push(`${name}: ${flag} of ${said}`)
      }
    }
    expect(wrong).toEqual([])
  })

  it('names only existing settings', () => {
    const schema = JSON.parse(textOf('manifests/schema/config.1.json')) as Node
    const sections = Object.keys(schema.properties!).filter((key) => schema.properties![key]!.properties)
    const named = new RegExp(`\`((?:${sections.join('|')})(?:\\.[a-z_]+)+)\\b`, 'g')
    const wrong = manual.flatMap((name) =>
      [...textOf(name).matchAll(named)]
        .filter(([, key]) => !hasKey(schema, key!.split('.')))
        .map(([, key]) => `${name}: ${key}`),
    )
    // Fields of a handler's argument, of an example's agent and of an event have such names too.
    expect(
      wrong.filter(
        (one) =>
          !/: (?:context\.(?:workspace|signal|call|reset|conversation|lent|sandbox)|agent\.(?:run|stream|children|ts|sh|mjs)|plugins\.(?:lock\.)?json)$/.test(
            one,
          ),
      ),
    ).toEqual([])
  })

  it('names only existing codes', () => {
    // Codes of errors, and codes of notices.
    const known = new Set([
      ...knownCodes(),
      ...sources.flatMap((file) => sourceOf(file).match(/(?<=')VT_[A-Z_]*[A-Z](?=')/g) ?? []),
    ])
    expect(
      manual.flatMap((name) =>
        [...textOf(name).matchAll(/\bVT_[A-Z_]*[A-Z]\b/g)]
          .filter(([code]) => !known.has(code))
          .map(([code]) => `${name}: ${code}`),
      ),
    ).toEqual([])
  })

  it('links every page of the manual from the README and from the index of docs', () => {
    const pages = pagesOfDocs.filter((name) => name !== 'docs/README.md')
    expect(pages.filter((name) => !textOf('README.md').includes(`](${name})`))).toEqual([])
    const index = textOf('docs/README.md')
    expect(pages.filter((name) => !index.includes(`](${name.slice('docs/'.length)})`))).toEqual([])
  })

  it('packs every page of the manual', () => {
    const packed = packedFiles(project)
    expect(manual.filter((name) => !packed.includes(name))).toEqual([])
  })

  it('links only to packed files from packed pages', () => {
    const packed = new Set(packedFiles(project))
    const pages = [...packed].filter((name) => name.endsWith('.md') && !name.startsWith('dist/'))
    expect(pages).toContain('skills/plugin-author/references/modules.md')
    const dead = pages.flatMap((name) =>
      linksOf(textOf(name))
        .filter(({ path }) => path && !packed.has(join(dirname(name), path)))
        .map(({ path }) => `${name}: ${path}`),
    )
    expect(dead).toEqual([])
  })
})

describe.each([...manual, 'AGENTS.md', 'core/README.md', 'manifests/README.md', 'test/bench/README.md'])(
  '%s',
  (name) => {
    const text = textOf(name)
    const from = dirname(join(project, name))

    it('links only to existing files and headings', () => {
      for (const { path, heading } of linksOf(text)) {
        const file = path ? join(from, path) : join(project, name)
        expect(existsSync(file), file).toBe(true)
        if (heading !== undefined) expect(headings(readFileSync(file, 'utf8')), `${path}#${heading}`).toContain(heading)
      }
    })

    it('names only existing files', () => {
      // Rooms are named from the floor that the page is about; a page may also speak of the files that it writes.
      const written = new Set(
        storyOf(join(project, name)).steps.flatMap(({ before }) => before.map(({ path }) => path)),
      )
      const floors = ['.', 'core', 'plugins', 'plugins/lib', 'manifests']
        .map((floor) => join(project, floor))
        .concat(from)
      for (const [, path] of text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|mjs|yaml))`/g)) {
        if (!/^(?:acme|~|\.vtcode)/.test(path!) && !written.has(path!))
          expect(
            floors.some((floor) => existsSync(join(floor, path!))),
            path,
          ).toBe(true)
      }
    })
  },
)

/** Returns the links of a page that lead to a file or a heading. */
const linksOf = (text: string): { path: string; heading: string | undefined }[] =>
  [
    ...text
      .replace(/^```[\s\S]*?^```$/gm, '')
      .replace(/``.*?``|`[^`\n]*`/g, '')
      .matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g),
  ].map(([, path = '', heading]) => ({ path, heading }))

interface Node {
  properties?: Record<string, Node>
  additionalProperties?: unknown
}
/** Returns true if the schema has a key; a map may have any. */
function hasKey(node: Node, [key, ...rest]: string[]): boolean {
  if (key === undefined) return true
  const inside = node.properties?.[key]
  return inside ? hasKey(inside, rest) : node.properties === undefined
}
const headings = (text: string): string[] =>
  [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  )
