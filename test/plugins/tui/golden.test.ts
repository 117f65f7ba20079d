import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { spawnSession, type UiCommand, type UiHandle } from '../../../build/plugins/tui/index.js'
import { memoryTerminal } from '../../support/memory_terminal.js'

interface Scene {
  /** Returns the screen after all drawing. */
  until: string | RegExp
  commands?: UiCommand[]
  keys?: string[]
}
const code = '```js\n// Says hello.\nexport function hello(name) {\n  return `Hello, ${name}!`\n}\n```'
const diff =
  '--- a/hello.js\n+++ b/hello.js\n@@ -1,3 +1,3 @@\n export function hello(name) {\n-  return `Hello, ${name}!`\n+  return `Hello, ${name ?? "you"}!`\n }'
const status: UiCommand = {
  type: 'status',
  left: 'acme/large · ask · 12 % context · 24.1k tokens · $0.0712 · main',
  right: '/help',
}
const slashCommands = [
  { name: 'compact', description: 'Shortens the conversation', arguments: '[what matters]' },
  { name: 'model', description: 'Continue with another model', arguments: '[provider/model]' },
  { name: 'mode', description: 'Says the mode, or changes it', arguments: '<mode>' },
]

/** One screen per feature; review a changed screen by eye. */
const scenes: Record<string, Scene> = {
  beginning: {
    until: '/ for commands',
    commands: [{ type: 'header', lines: ['acme/large, mode ask, session ses_1; /help lists commands.'] }, status],
  },
  answer: {
    until: 'It is done.',
    commands: [
      { type: 'commit', block: { kind: 'user', text: 'Write a function that says hello.' } },
      {
        type: 'commit',
        block: {
          kind: 'markdown',
          text: `# A greeting\n\nThe function takes a **name** and gives \`Hello\`:\n\n${code}\n\n1. it has no *state*\n2. it is [documented](https://example.org)\n\n> It is done.`,
        },
      },
      status,
    ],
  },
  streaming: {
    until: 'waits',
    commands: [
      { type: 'commit', block: { kind: 'user', text: 'Explain it.' } },
      {
        type: 'live',
        id: 'a',
        block: { kind: 'markdown', text: 'The first paragraph is complete.\n\nThe second one is being' },
      },
      { type: 'activity', state: 'Answering', detail: '24.1k tokens · Enter queues' },
      { type: 'queue', items: ['and the tests?', 'then commit; what waits is one line each'] },
      { type: 'subagents', lines: ['explorer · reading src/'] },
      { type: 'input', text: 'what is typed\nin two lines' },
      status,
    ],
  },
  command: {
    until: 'line 19',
    commands: [
      { type: 'commit', block: { kind: 'note', text: '● unified_exec npm test' } },
      {
        type: 'live',
        id: 'o',
        block: {
          kind: 'output',
          text: Array.from({ length: 20 }, (_, at) => `\u001b[32mline ${at}\u001b[0m\n`).join(''),
        },
      },
      { type: 'activity', state: 'Running unified_exec' },
      status,
    ],
  },
  approval: {
    until: 'no, because',
    commands: [
      {
        type: 'overlay',
        overlay: {
          kind: 'confirm',
          id: 'q',
          title: 'Edit hello.js? (+1 −1)',
          body: [
            { kind: 'diff', text: diff },
            { kind: 'note', text: "Mode ask needs approval to edit 'hello.js'." },
          ],
          answers: [
            { key: 'y', value: 'yes', label: 'yes' },
            { value: 'session', label: 'yes, for this session' },
            { key: 'n', value: 'no', label: 'no' },
            { key: 'w', value: 'why', label: 'no, because' },
          ],
          texts: [],
        },
      },
      { type: 'input', text: 'half a mess' },
      status,
    ],
  },
  menu: { until: '/model', keys: ['/', 'm', 'o'], commands: [status] },
  files: { until: 'src/main.ts', keys: ['see ', '@', 'm', 'a'], commands: [status] },
  choice: {
    until: 'Which model?',
    keys: ['m', 'i'],
    commands: [
      {
        type: 'overlay',
        overlay: {
          kind: 'select',
          id: 'm',
          title: 'Which model?',
          choices: [
            { value: 'a', label: 'acme/large', description: 'the default' },
            { value: 'b', label: 'acme/mini' },
            { value: 'c', label: 'acme/micro' },
          ],
        },
      },
      status,
    ],
  },
  pager: {
    until: 'row 0',
    commands: [
      {
        type: 'overlay',
        overlay: {
          kind: 'pager',
          id: 'p',
          title: 'npm test',
          body: [{ kind: 'output', text: Array.from({ length: 60 }, (_, at) => `row ${at}`).join('\n') }],
        },
      },
      status,
    ],
  },
  hostile: {
    until: 'end',
    commands: [
      {
        type: 'commit',
        block: { kind: 'output', text: 'a\u001b]52;c;YQ==\u0007b\u001b[2J\u202ec\u001b[31mred\u001b[0m end' },
      },
      status,
    ],
  },
  wide: {
    until: 'emoji',
    keys: ['漢字かな交じり文 '],
    commands: [
      {
        type: 'commit',
        block: {
          kind: 'markdown',
          text: '日本語の文章は幅が二倍で、行の終わりで折り返される。これは長い段落なので必ず二行以上になるはずである。emoji 👩‍👩‍👧 🎉',
        },
      },
      status,
    ],
  },
}

async function shown(
  { until, commands = [], keys = [] }: Scene,
  surface: 'inline' | 'alternate',
  how: 'text' | 'styled' = 'text',
  columns = 72,
): Promise<string> {
  const at = memoryTerminal({ columns, rows: 24 })
  const files = async (query: string): Promise<string[]> =>
    ['src/main.ts', 'src/map.ts', 'README.md'].filter((path) => path.includes(query))
  const { handle }: { handle: UiHandle } = spawnSession({
    stdin: at.stdin,
    output: at.output,
    env: {},
    theme: 'dark',
    placeholder: '/ for commands',
    slashCommands,
    files,
    surface,
  })
  for (const command of commands) handle.send(command)
  for (const key of keys) {
    at.type(key)
    await sleep(40)
  }
  await at.until(until)
  await sleep(100)
  const text = at[how]()
  handle.send({ type: 'shutdown' })
  await handle.closed
  // Animations are stopped.
  return `${text.replace(/\d+ s ·/g, '0 s ·').replace(/^((?:\{\d*\})?)[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/gmu, '$1⠋')}\n`
}

it.each(Object.entries(scenes))('draws the screen of %s like its golden file', async (name, scene) => {
  await expect(await shown(scene, 'inline')).toMatchFileSnapshot(`golden/${name}.txt`)
})
/** Questions about an edit, a delete and a command, as the chat asks them. */
const questions: Record<
  string,
  { title: string; body: { kind: 'diff' | 'text' | 'note'; text: string }[]; session: string }
> = {
  edit: {
    title: 'Edit src/greet.js? (+2 −2)',
    body: [
      { kind: 'note', text: 'replaces 2 places' },
      {
        kind: 'diff',
        text:
          '--- a/src/greet.js\n+++ b/src/greet.js\n@@ -98,3 +98,3 @@\n-export const greeting = "hi"\n' +
          '+export const greeting = "hello, and a line that is longer than any of the terminals of this test, which wraps it"\n' +
          ' export const b = 2\n-export const c = "hi"\n+export const c = "hello"\n',
      },
      { kind: 'note', text: "Mode ask needs approval to edit 'src/greet.js'." },
    ],
    session: "all edits in 'src/'",
  },
  delete: {
    title: 'Delete lib? (4 entries, 2.9 KiB)',
    body: [
      { kind: 'text', text: 'a/\n  one.txt  2.9 KiB\ne\\u{1b}[2J  0 B\ntwo.txt  4 B' },
      { kind: 'note', text: "Mode ask needs approval to delete 'lib'." },
    ],
    session: '',
  },
  run: {
    title: 'Run `npm test`?',
    body: [
      { kind: 'text', text: '$ npm test' },
      { kind: 'note', text: 'folder: the workspace' },
      { kind: 'note', text: 'Mode ask needs approval to run `npm test` (`npm test` is not known to only read).' },
    ],
    session: "`npm test` in '.'",
  },
}
const widths = [60, 80, 120].flatMap((columns) => Object.keys(questions).map((name) => [name, columns] as const))
it.each(widths)('draws the question about %s at %i columns like its golden file', async (name, columns) => {
  const { title, body, session } = questions[name]!
  const answers = [
    { key: 'y', value: 'yes', label: 'yes' },
    ...(session === '' ? [] : [{ value: 'session', label: `yes, this session: ${session}` }]),
    { value: 'rule', label: 'always, with a rule' },
    { key: 'n', value: 'no', label: 'no' },
    { key: 'w', value: 'why', label: 'no, do this instead' },
  ]
  const overlay = { kind: 'confirm' as const, id: 'q', title, body, answers, texts: [] }
  const scene: Scene = { until: /^y yes/m, commands: [{ type: 'overlay', overlay }, status] }
  const text = await shown(scene, 'inline', 'text', columns)
  expect(text.split('\n').filter((row) => row.length > columns)).toEqual([])
  await expect(text).toMatchFileSnapshot(`golden/question_${name}_${columns}.txt`)
})
it('shows the same on the second screen, from its first row on', async () => {
  const lines = (await shown(scenes['answer']!, 'alternate')).split('\n')
  expect(lines.filter((line) => line !== '')).toEqual(
    (await shown(scenes['answer']!, 'inline')).split('\n').filter((line) => line !== ''),
  )
})
// `node scripts/pictures.mjs` draws the pictures of the docs from these files.
it.each(['answer', 'approval', 'streaming'])('draws the colors of %s like its golden file', async (name) => {
  // Code has colors when the languages are loaded.
  if (name === 'answer') await expect.poll(() => shown(scenes[name]!, 'inline', 'styled')).toContain('{35}export')
  await expect(await shown(scenes[name]!, 'inline', 'styled')).toMatchFileSnapshot(`golden/${name}.styled.txt`)
})
