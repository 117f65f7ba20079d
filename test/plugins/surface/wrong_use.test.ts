import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

/** Ways to use a verb: without a word, with an unknown flag, with text on its standard input, with `--json`. */
const uses = { nothing: [], flag: ['--nonsense'], stdin: [], json: ['--json'] } as const
type Use = keyof typeof uses
/** Exit code, stdout, stderr. */
type Told = readonly [code: number, out: RegExp, err: RegExp]

const none = /^$/
const usage = (says: string | RegExp): Told => [
  2,
  none,
  new RegExp(`^vtcode: error: ${typeof says === 'string' ? says : says.source}`),
]
const noFlag = usage(/unknown option '--nonsense'\nSee `vtcode [a-z]+ --help`\.\n$/)
const noJson = usage('--json has no place here; it goes with call, ask, exec')
const missing = (what: string): Told => usage(`missing required argument '${what}'\nSee \`vtcode [a-z]+ --help\``)
const nothingToRevert: Told = [
  1,
  none,
  /^vtcode: error: No command has changed files here; there is nothing to revert\.\n$/,
]
const noQueue: Told = [3, none, /^vtcode: error: VT_QUEUE_SETTINGS: [\s\S]*\n {2}\S/]
const noModel: Told = [3, none, /^vtcode: error: VT_LLM_NO_MODEL: [\s\S]*\n {2}\S/]
const document: Told = [0, /^[[{][^\n]*\n$/, none]
const same = (told: Told, flag: Told = noFlag, json: Told = noJson): Record<Use, Told> => ({
  nothing: told,
  stdin: told,
  flag,
  json,
})

// In an empty home and an empty folder, where nothing is configured and no key is set.
const table: Record<string, Record<Use, Told>> = {
  acp: {
    nothing: [0, none, none],
    stdin: [0, /^\{"jsonrpc":"2\.0".*-32700.*\}\n$/, none],
    flag: usage("Unknown option '--nonsense'"),
    json: usage("Unknown option '--json'"),
  },
  agents: same(document, noFlag, document),
  approvals: same([0, /^No approvals are pending\.\n$/, none], noFlag, document),
  ask: { ...same(usage('The question is empty'), noFlag, usage('The question is empty')), stdin: noModel },
  call: same(
    usage('Name the tool to call'),
    usage('Unknown flag --nonsense before the name of the tool'),
    usage('Name the tool to call'),
  ),
  chat: same(noModel),
  completion: same(missing('shell')),
  config: same([0, none, /^All settings have their defaults; --all shows them\.\n$/], noFlag, document),
  docs: same(usage(/\S+ is not the source of vtcode/)),
  doctor: same([0, /^vtcode \d/, none], noFlag, document),
  eval: same([0, /^Usage: vtcode eval/, none]),
  exec: { ...same(usage('The task is empty. Run vtcode exec'), noFlag, usage('The task is empty')), stdin: noModel },
  export: same([0, /^Usage: vtcode export/, none]),
  help: same(
    [0, /^vtcode \d[\s\S]*Usage: vtcode/, none],
    usage("Unknown option '--nonsense'"),
    usage("Unknown option '--json'"),
  ),
  mcp: {
    nothing: [0, none, none],
    stdin: [0, /^\{"jsonrpc":"2\.0".*-32700.*\}\n$/, none],
    flag: usage("Unknown option '--nonsense'"),
    json: usage("Unknown option '--json'"),
  },
  models: same(document, noFlag, document),
  plugins: {
    nothing: [2, none, /^Usage: vtcode plugins/],
    stdin: [2, none, /^Usage: vtcode plugins/],
    flag: noFlag,
    json: noJson,
  },
  policy: same([0, /^Usage: vtcode policy/, none]),
  replay: same([1, none, /^vtcode: error: VT_SESSION_NOT_FOUND: /], noFlag, [
    1,
    none,
    /^vtcode: error: VT_SESSION_NOT_FOUND: /,
  ]),
  queue: {
    nothing: [2, none, /^Usage: vtcode queue/],
    stdin: [2, none, /^Usage: vtcode queue/],
    flag: noFlag,
    json: noJson,
  },
  resume: same(usage('No session given. Pass an id or --last'), noFlag, usage('No session given')),
  review: same([1, none, /^vtcode: error: VT_REVIEW_NO_DIFF: /], noFlag, [
    1,
    none,
    /^vtcode: error: VT_REVIEW_NO_DIFF: /,
  ]),
  revert: same(nothingToRevert, noFlag, nothingToRevert),
  schedule: {
    nothing: [2, none, /^Usage: vtcode schedule/],
    stdin: [2, none, /^Usage: vtcode schedule/],
    flag: noFlag,
    json: noJson,
  },
  sessions: same(document, noFlag, document),
  setup: same([0, /^claude-code +not found/, none], noFlag, document),
  skills: same(document, usage("Unknown option '--nonsense'"), document),
  tools: same(document, noFlag, document),
  tour: same([0, /^(?:\S+ holds no code to show[^\n]*\n\n)?vtcode \d/, none]),
  trace: same([1, none, /^vtcode: error: VT_SESSION_NOT_FOUND: /]),
  trust: same([0, /^Nothing in this workspace needs your consent\.\n$/, none]),
  undo: same([1, none, /^vtcode: error: There is nothing to undo\.\n$/]),
  verify: same(missing('certificate')),
  worker: same(noQueue, noFlag, noQueue),
}
// `dependencies` would install programs; `init` and `inspect` have tests of their own.
const elsewhere = ['dependencies', 'init', 'inspect']

describe('wrong use of a verb', () => {
  it.each(Object.entries(table))(
    'prints what %s takes: exit code, stdout and stderr of each use',
    async (verb, told) => {
      await using made = await tempWorkspace({ 'a.txt': 'a\n' })
      for (const [use, words] of Object.entries(uses)) {
        const { code, stdout, stderr } = await vtcode(made, [verb, ...words], {
          stdin: use === 'stdin' ? 'some words\n' : '',
        })
        const [exit, out, err] = told[use as Use]
        expect([use, code, stdout, stderr]).toEqual([use, exit, expect.stringMatching(out), expect.stringMatching(err)])
        expect(stderr).not.toMatch(/\n {4}at |VT_INTERNAL|undefined/)
      }
    },
  )

  it('lists every verb in the table, and rejects an unknown flag of each', async () => {
    await using made = await tempWorkspace()
    const verbs = /known verbs: (.*)\./.exec((await vtcode(made, ['nonsense'])).stderr)![1]!.split(', ')
    expect(verbs.filter((verb) => !elsewhere.includes(verb)).sort()).toEqual(Object.keys(table).sort())
    expect((await vtcode(made, ['dependencies', '--nonsense'])).code).toBe(2)
    for (const [verb, { flag }] of Object.entries(table)) expect([verb, flag[0]]).toEqual([verb, 2])
  })
})

it('names the file of an error, and the remedy in words of the command line', async () => {
  await using made = await tempWorkspace({
    'a.txt': 'a\n',
    'tools/bad.yaml': 'nam: x\n',
    'my.config.json': '{ "manifests": ["builtin", "./tools"] }',
  })
  execFileSync('git', ['init', '-q'], { cwd: made.root })
  const told = [
    [
      ['--config', 'my.config.json', 'call', 'unified_file', 'read', '--path', 'a.txt'],
      0,
      "/tools/bad.yaml:1:1: Unknown key 'nam'; did you mean 'name'? Fix the file",
    ],
    [
      ['verify', 'nope.json'],
      1,
      "'nope.json' does not exist.\n  `vtcode sessions show <id> --certificate` prints one.\n",
    ],
    [['skills', 'show'], 2, "'vtcode skills show' takes one name.\n"],
    [['review'], 1, 'there is no commit yet; --staged reviews staged changes.\n'],
  ] as const
  for (const [words, code, stderr] of told)
    expect(await vtcode(made, [...words]), words.join(' ')).toMatchObject({
      code,
      stderr: expect.stringContaining(stderr),
    })
})
