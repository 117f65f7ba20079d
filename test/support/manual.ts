import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { commandsOf, readPage } from './pages.js'
import { call, startPeer, type Answer, type Home, type Peer } from './peer.js'
import { as, bin, surroundings } from './program.js'
import { runShellLine } from './shell_line.js'
import { typing } from './terminal.js'

/** A command of a page, with what is written before it and what the page says that it prints. */
export interface Step {
  before: { path: string; text: string }[]
  command: string
  /** An ellipsis stands for whatever is of no interest there. */
  shown: string
  /** True for a block at a terminal, where a person types the text that follows a question on the page. */
  terminal: boolean
  /** The system that the page speaks of there, if it is another one than this. */
  platform?: string
}
/** A page as a reader follows it, from its first block to its last. */
export interface Story {
  steps: Step[]
  /** Answers of the page's model, one after the other. */
  script: Answer[]
  /** Blocks that are not run, and outputs that would match anything. */
  faults: string[]
}

/** The server of models that the pages name, and what a reader's folders are called in them. */
const shownUrl = 'http://127.0.0.1:8080'
const [shownHome, shownRoot] = ['/home/me', '/home/me/project']
const project = dirname(dirname(dirname(bin)))
export const pagesOfDocs = readdirSync(join(project, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`)
export const manual = ['README.md', 'CHANGELOG.md', ...pagesOfDocs]
/** The pages that take longest to follow have a test file of their own. */
export const longPages = ['docs/finish.md', 'docs/library.md', 'docs/plugins.md']

/** Follows each page from its first block to its last, as a reader would: writes the files, runs the commands and compares what they print. */
export function followPages(names: readonly string[]): void {
  const stories = names
    .map((name) => ({ name, story: storyOf(join(project, name)) }))
    .filter(({ story }) => story.steps.length > 0)
  describe.each(stories)('$name', ({ story }) => {
    let reader: Reader
    beforeAll(async () => {
      reader = await startReader(story)
    })
    afterAll(() => reader[Symbol.asyncDispose]())

    it.each(story.steps)('shows what really happens: $command', async (step) => {
      expect(await reader.follow(step)).toMatch(asShown(step.shown))
    })
    it('asks its model as often as it says', () => {
      expect(reader.peer.asked.length).toBe(story.script.length)
    })
  })
}

/**
 * Reads a page. In addition to its blocks, hidden comments may hold instructions: `<!-- model: […] -->` is the next answer of the model (a text, or
 * calls as `{ tool: input }`), `<!-- file: path` writes the lines that follow up to `-->`, `<!-- platform: darwin -->` makes the programs of the next block act as on that system. A block `console terminal` runs at a terminal.
 */
export function storyOf(file: string): Story {
  const { text, sections } = readPage(file)
  const story: Story = { steps: [], script: [], faults: [] }
  let before: Step['before'] = []
  let platform: { platform?: string } = {}
  const lineOf = (index: number): number => text.slice(0, index).split('\n').length
  const comments = [...text.matchAll(/^<!-- (model|file|platform): (.*?)(?: *-->|\n([\s\S]*?)-->)$/gm)].map(
    ({ 1: kind, 2: first, 3: text = '', index }) => ({
      kind: kind as 'model' | 'file' | 'platform',
      path: first!,
      text,
      line: lineOf(index),
    }),
  )
  for (const part of [...comments, ...sections.flatMap(({ blocks }) => blocks)].sort((a, b) => a.line - b.line)) {
    if (part.kind === 'model') story.script.push(...(JSON.parse(part.path) as unknown[]).map(answerOf))
    else if (part.kind === 'platform') platform = { platform: part.path }
    else if (part.kind === 'file') before.push({ path: part.path, text: part.text })
    else if (part.kind === 'console') {
      for (const { command, output } of commandsOf(part)) {
        const shown = output.join('\n').trimEnd()
        if (shown !== '' && shown.replace(/[…\s]/g, '') === '')
          story.faults.push(`line ${part.line}: any output would do for ${command}`)
        story.steps.push({
          before,
          command,
          shown,
          terminal: text.split('\n')[part.line - 1]!.endsWith(' terminal'),
          ...platform,
        })
        before = []
      }
      platform = {}
    } else if (part.kind !== 'not-executed') story.faults.push(`line ${part.line}: nothing runs this block`)
  }
  story.faults.push(...before.map(({ path }) => `${path} is written, and no command follows`))
  return story
}

function answerOf(said: unknown): Answer {
  if (typeof said === 'string') return { content: said }
  return { toolCalls: Object.entries(said as Record<string, unknown>).map(([tool, input]) => call(tool, input)) }
}

/** Returns a pattern for the output that a page shows. */
export function asShown(shown: string): RegExp {
  const parts = shown.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`^${parts.join('[\\s\\S]*')}$`)
}

/** Runs at a terminal: answers each question as the page shows, and echoes the typed text. */
async function typed(command: string, shown: string, at: Home): Promise<string> {
  const answers = [...shown.matchAll(/\[y\/N[^\]]*\] (\w+)$/gm)].map(([, answer]) => answer!)
  const { terminal, end } = await typing(at, ['-c', command], { program: '/bin/sh', env: { NO_COLOR: '1' } })
  let [printed, asked] = ['', 0]
  terminal.onData((data) => {
    printed += data
    for (const questions = printed.split(/\[y\/N[^\]]*\] /).length - 1; asked < questions; asked++)
      terminal.write(`${answers[asked] ?? 'n'}\r`)
  })
  await end()
  // Without what moves the cursor.
  return printed.replace(/\x1b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r', '')
}

/** A reader of one page: an empty repository, a home without settings, `vtcode` on the path, and the model that the page speaks of. */
export interface Reader extends AsyncDisposable {
  readonly place: TempWorkspace
  readonly peer: Peer
  /** Writes what stands before the command, runs it, and answers what a terminal would show. */
  follow(step: Step): Promise<string>
}
export async function startReader({ script }: Story): Promise<Reader> {
  const place = await tempWorkspace()
  execFileSync('git', ['init', '-q', place.root])
  const peer = await startPeer(script)
  const path = join(place.home, 'bin')
  mkdirSync(path)
  writeFileSync(join(path, 'vtcode'), `#!/bin/sh\nexec '${process.execPath}' '${bin}' "$@"\n`, { mode: 0o755 })
  mkdirSync(join(place.root, 'node_modules'))
  symlinkSync(project, join(place.root, 'node_modules/vtcode'))
  // Packages that a reader of the library's page has installed.
  for (const name of ['ai', '@modelcontextprotocol'])
    symlinkSync(join(project, 'node_modules', name), join(place.root, 'node_modules', name))
  const env = {
    ...surroundings(place),
    PATH: `${path}:${dirname(process.execPath)}:${process.env['PATH']}`,
    LC_ALL: 'C.UTF-8',
  }
  return {
    place,
    peer,
    async follow({ before, command, shown, terminal, platform }) {
      for (const { path: name, text } of before) {
        const file = name.startsWith('~/') ? join(place.home, name.slice(2)) : join(place.root, name)
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(file, text.replaceAll(shownUrl, peer.url).replaceAll(shownRoot, place.root))
      }
      const printed = terminal
        ? await typed(command, shown, { ...place, env })
        : await runShellLine(command, place.root, { ...env, ...(platform !== undefined && as(platform)) })
      return printed
        .replaceAll(peer.url, shownUrl)
        .replaceAll(place.root, shownRoot)
        .replaceAll(place.home, shownHome)
        .replace(/[^\S\n]+$/gm, '')
        .trimEnd()
    },
    async [Symbol.asyncDispose]() {
      await peer[Symbol.asyncDispose]()
      await place[Symbol.asyncDispose]()
    },
  }
}
