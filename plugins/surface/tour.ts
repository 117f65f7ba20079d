import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { createKernel, version, type Io, type JsonObject, type Kernel, type Result } from '../../core/index.js'
import { toOneLine, createPaint, printable, runCommand, createVerb, type Paint } from '../lib/terminal/index.js'
import { createTempFolder } from '../lib/base/index.js'

const LINES = 9
const WIDTH = 110
const CODE_EXTENSIONS = ['.ts', '.js', '.py', '.rs', '.go', '.java', '.rb', '.c', '.cpp', '.sh', '.lua']

const manifest = `name: shouting_grep
action: unified_search/grep
stage: override
module: ./shouting_grep.mjs
`
const module = `export default async ({ input }) => ({
  ok: true, output: { matches: [], total_matches: 0 }, text: \`HERE I WOULD LOOK FOR \${input.pattern.toUpperCase()}!\`,
})
`

/** Runs `vtcode tour`: shows a new user real calls over the current folder. */
export default async function tour(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'tour',
    'Show the program at work in this folder by real calls; changes no file.',
    io,
  ).action(async () => {
    const file = await chooseFile(kernel)
    code = file === undefined ? await runOnSample(kernel, io) : await runTour(kernel, file, io)
  })
  return runCommand(command, argv, () => code)
}

const greeter = `/** Greets people by their names. */
export class Greeter {
  constructor(greeting = 'Hello') {
    this.greeting = greeting
  }
  greet(name) {
    return \`\${this.greeting}, \${name}!\`
  }
}
`
const main = `import { Greeter } from './greeter.js'

console.log(new Greeter().greet(process.argv[2] ?? 'world'))
`

/** Runs the tour over a small sample project, where the folder holds no code to show. */
async function runOnSample({ workspace }: Kernel, io: Io): Promise<number> {
  const folder = realpathSync(createTempFolder('tour'))
  try {
    mkdirSync(join(folder, 'src'))
    writeFileSync(join(folder, 'README.md'), '# Greeter\n\nGreets people.\n')
    writeFileSync(join(folder, 'src/greeter.js'), greeter)
    writeFileSync(join(folder, 'src/hello.js'), main)
    io.stdout.write(`${toOneLine(workspace)} holds no code to show, so the tour uses a small project of its own.\n\n`)
    const kernel = await createKernel({ workspace: folder, surface: 'tour' })
    try {
      return await runTour(kernel, 'src/greeter.js', io)
    } finally {
      await kernel.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runTour(kernel: Kernel, file: string, io: Io): Promise<number> {
  const paint = createPaint(io.stdout, io.env)
  const guide = new Guide(kernel, io, paint)
  const pipeline = paint.cyan('resolve → check → pre-policy → execute → post-compaction → result')
  const program = paint.bold(`vtcode ${version}`)
  guide.say(
    `${program}, a runtime for coding-agent tools. Every answer below comes from a real call over\n` +
      `${toOneLine(kernel.workspace)}, and each takes this path:\n\n  ${pipeline}`,
  )

  guide.title('What is here?')
  await guide.call('unified_search', { action: 'list', mode: 'tree', depth: 1 })

  guide.title(`What is in ${file}? The outline of a file saves reading all of it.`)
  const outline = await guide.call('unified_search', { action: 'outline', path: file })
  const name =
    /^\s+(?:class|function|interface|struct|type): (\w{4,})/m.exec(formatResult(outline))?.[1] ??
    basename(file, extname(file))

  guide.title(`Where is ${name} mentioned?`)
  const grep = { action: 'grep', pattern: name, literal: true, max_results: 5 }
  await guide.call('unified_search', grep)

  guide.title('One page of a file; the answer says how to continue.')
  await guide.call('unified_file', { action: 'read', path: file, offset_lines: 1, page_size_lines: 5 })

  guide.title('Your own grep: four lines of YAML and a function. No other file changes.')
  await showOverride(guide, grep)

  guide.title('A path outside the workspace is refused, and the answer says what to do instead.')
  const refused = await guide.call('unified_file', { action: 'read', path: '../../etc/passwd' }, 'refused')

  guide.title('Where to go from here')
  guide.say(`  vtcode tools                             list the tools
  vtcode call unified_search grep --pattern TODO
  vtcode mcp                               serve the tools to Claude Code, Codex, VS Code, Zed …
  vtcode plugins list                      list the plugins and what each serves
  vtcode doctor                            show what to fix
In a checkout \`npm link\` puts vtcode on your path.\n`)
  return refused.ok || guide.surprises > 0 ? 1 : 0
}

class Guide {
  surprises = 0
  #step = 0
  readonly #kernel: Kernel
  readonly #io: Io
  readonly #look: Paint

  constructor(kernel: Kernel, io: Io, paint: Paint) {
    this.#kernel = kernel
    this.#io = io
    this.#look = paint
  }

  get workspace(): string {
    return this.#kernel.workspace
  }

  say(text: string): void {
    this.#io.stdout.write(`${text}\n`)
  }

  title(text: string): void {
    this.say(`\n${this.#look.bold(`${++this.#step}  ${toOneLine(text)}`)}`)
  }

  file(name: string, text: string): void {
    const { dim, yellow } = this.#look
    this.say(
      [
        `  ${yellow(name)}`,
        ...text
          .trimEnd()
          .split('\n')
          .map((line) => `  ${dim('│')} ${line}`),
      ].join('\n'),
    )
  }

  /** Makes a call and prints it with its answer and duration. */
  async call(
    tool: string,
    input: JsonObject,
    expected: 'done' | 'refused' = 'done',
    kernel = this.#kernel,
  ): Promise<Result> {
    const { bold, cyan, dim, green, red } = this.#look
    this.say(`  ${cyan(bold(tool))} ${cyan(JSON.stringify(input))}`)
    const started = performance.now()
    const result = await kernel.call(tool, input, { signal: this.#io.signal, surface: 'tour' })
    const duration = `${(performance.now() - started).toFixed(1)} ms`
    const lines = printable(formatResult(result)).trimEnd().split('\n')
    for (const line of lines.slice(0, LINES))
      this.say(`  ${dim('│')} ${line.length > WIDTH ? `${line.slice(0, WIDTH)}…` : line}`)
    if (lines.length > LINES) this.say(`  ${dim(`│ … ${lines.length - LINES} more lines`)}`)
    this.say(`  ${dim('└')} ${result.ok ? green('done') : red('refused')}  ${dim(duration)}`)
    if ((result.ok ? 'done' : 'refused') !== expected) this.surprises++
    return result
  }
}

const formatResult = (result: Result): string =>
  result.ok
    ? (result.text ?? JSON.stringify(result.output, null, 2))
    : `${result.error.code}: ${result.error.message}\n${result.error.hint}`

/** Chooses a source file: one named like a main part, else the first; undefined where there is no code. */
async function chooseFile(kernel: Kernel): Promise<string | undefined> {
  const result = await kernel.call(
    'unified_search',
    { action: 'list', mode: 'recursive', per_page: 500 },
    { surface: 'tour' },
  )
  const items = result.ok ? (result.output['items'] as { path: string; type: string }[]) : []
  const files = items.filter(({ type }) => type === 'file').map(({ path }) => path)
  const sources = files.filter((path) => CODE_EXTENSIONS.includes(extname(path)))
  const main = ['kernel', 'main', 'app', 'server', 'lib', 'index'].flatMap(
    (name) => sources.find((path) => basename(path, extname(path)) === name) ?? [],
  )
  return main[0] ?? sources[0]
}

/** Makes a call in a second kernel over the same folder, with a plugin in a temporary folder. */
async function showOverride(guide: Guide, input: JsonObject): Promise<void> {
  const folder = createTempFolder('tour')
  try {
    writeFileSync(join(folder, 'shouting_grep.yaml'), manifest)
    writeFileSync(join(folder, 'shouting_grep.mjs'), module)
    guide.file('shouting_grep.yaml', manifest)
    guide.file('shouting_grep.mjs', module)
    const kernel = await createKernel({
      workspace: guide.workspace,
      config: { manifests: ['builtin', folder] },
      surface: 'tour',
    })
    await guide.call('unified_search', input, 'done', kernel)
    await kernel.close()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
