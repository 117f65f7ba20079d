import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { tempWorkspace, type Files } from 'vtcode/test'
import { scene } from '../../support/inside.js'
import { apart, each, gives, refuses, type Check, type Row } from '../../support/seed.js'

// The short description of the whole.
const root = fileURLToPath(new URL('../../..', import.meta.url))
/** Asks a kernel that has these manifests in addition to the built-in ones. */
const having = (manifests: Files, files: Files = {}): ((check: Check) => Check) =>
  apart(async () => {
    const ends = await tempWorkspace(manifests)
    return { manifests: [ends.root], files, ends }
  })
const module = (body: string): string => `export default ${body}\n`
const pipeline = having(
  {
    'before.yaml': 'name: before\nkind: policy\nslots: [unified_search/grep]\nmodule: ./before.js\n',
    'before.js': module("async ({ input }) => (input.pattern === 'forbidden' ? { deny: 'Not this.' } : undefined)"),
    'instead.yaml': 'name: instead\naction: unified_search/structural\nstage: override\nmodule: ./instead.js\n',
    'instead.js': module(
      "async ({ input }) => ({ ok: true, output: { matches: [], backend: 'other', pattern: input.pattern } })",
    ),
    'after.yaml': 'name: after\nkind: compactor\nslots: [unified_search/list]\nmodule: ./after.js\n',
    'after.js': module("async (result) => ({ ...result, text: 'shrunk' })"),
  },
  { 'a.txt': 'one\n' },
)
const settings = having(
  {
    'hello.yaml':
      'action: hello\ndescription: Says hello.\neffects: [read]\ninput: { type: object, properties: { name: { type: string } } }\nmodule: ./hello.js\n',
    'hello.js': module(
      '({ input }) => ({ ok: true, output: { said: `hello ${input.name}` }, text: `hello ${input.name}` })',
    ),
  },
  {
    'vtcode.config.yaml': 'tools: { max_repeated_tool_calls: 0 }\noutput: { max_text_bytes: 512 }\n',
    '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use for demos.\n---\nStep one.\n',
  },
)

export const rows: Row[] = [
  [
    '0',
    'tapable hook pipelines (pre-policy, execute, post-compaction)',
    each(
      pipeline(
        refuses(
          'unified_search',
          { action: 'grep', pattern: 'forbidden' },
          { code: 'VT_POLICY_DENIED', message: /Not this/ },
        ),
      ),
      pipeline(gives('unified_search', { action: 'structural', pattern: 'x' }, { backend: 'other' })),
      pipeline(gives('unified_search', { action: 'list' }, {}, { text: 'shrunk' })),
    ),
  ],
  [
    '0',
    'cosmiconfig loads manifests and settings',
    each(
      settings(gives('hello', { name: 'you' }, { said: 'hello you' })),
      settings(gives('hello', { name: 'long '.repeat(300) }, {}, { text: /^.{0,900}$/s })),
    ),
  ],
  [
    '0',
    'each action independently swappable',
    each(
      pipeline(gives('unified_search', { action: 'structural', pattern: 'x' }, { backend: 'other' })),
      pipeline(
        gives(
          'unified_search',
          { action: 'grep', pattern: 'one' },
          { matches: [{ file: 'a.txt' }], backend: 'ripgrep' },
        ),
      ),
      pipeline(gives('unified_search', { action: 'outline' })),
    ),
  ],
  [
    '0',
    'load_skill at runtime',
    settings(
      gives('load_skill', { name: 'demo' }, { name: 'demo', instructions: 'Step one.\n', already_loaded: false }),
    ),
  ],
  [
    '0',
    'config-driven custom providers',
    async () => {
      const at = await scene([{ content: 'Hello.' }])
      expect(await at.run('go')).toMatchObject({ text: 'Hello.' })
      expect(at.peer.bodies[0]).toMatchObject({ model: 'm' })
    },
  ],
  [
    '0',
    'top level: package.json tsconfig.json core plugins skills manifests test vtcode.config.ts',
    () =>
      expect(readdirSync(root)).toEqual(
        expect.arrayContaining([
          'package.json',
          'tsconfig.json',
          'core',
          'plugins',
          'skills',
          'manifests',
          'test',
          'vtcode.config.ts',
        ]),
      ),
  ],
]
