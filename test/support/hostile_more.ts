import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rounds } from './exec.js'
import type { Answer } from './faces.js'
import type { HostileTree } from './paths.js'

/** Calls of one row of the list of hostile cases, and conditions on each answer and on the tree afterwards. */
export interface RowCalls {
  row: number
  tool: string
  inputs: Record<string, unknown>[]
  holds: (answer: Answer) => boolean
}
const refused = (codes: RegExp) => (answer: Answer) => !answer.ok && codes.test(answer.error?.code ?? '')
const path = refused(/^VT_(?:PATH|INPUT|POLICY)_/)
const shows =
  (...texts: string[]) =>
  (answer: Answer) =>
    answer.ok && texts.every((text) => JSON.stringify(answer.output).includes(text))

/** Lays out what the rows need, once. */
export function layOutMore({ base, root }: HostileTree): void {
  const put = (at: string, text: string | Buffer) => {
    mkdirSync(join(root, at, '..'), { recursive: true })
    writeFileSync(join(root, at), text)
  }
  put('seen/large', '')
  truncateSync(join(root, 'seen/large'), rounds(257, 1024) * 1024 ** 2)
  put('seen/binary', Buffer.from('needle\0needle\n'))
  put('seen/wide.txt', Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('needle\n', 'utf16le')]))
  put('broken/a.js', 'function f( { \nconst needle = 1\n')
  put('deep/a.js', '('.repeat(100))
  symlinkSync('..', join(root, 'seen/up'))
  symlinkSync('/', join(root, 'seen/top'))
  for (const name of ['links/a', 'links/b']) mkdirSync(join(root, name), { recursive: true })
  symlinkSync(join(base, 'out'), join(root, 'links/a/out'))
  symlinkSync('../../../out/secret', join(root, 'links/b/secret'))
  for (let index = 0; index < 6; index++) execFileSync('mkfifo', [join(root, `seen/fifo${index}`)])
  const skill = (name: string, text: string) => put(`.agents/skills/${name}/SKILL.md`, text)
  const front = (name: string, more = '') =>
    `---\nname: ${name}\ndescription: Says what it is for.\n${more}---\nBODY OF ${name}\n`
  skill('none', 'no front matter\n')
  skill('unclosed', '---\nname: unclosed\n')
  skill('list', '---\n- a\n- b\n---\nx\n')
  skill('outside', front('../outside'))
  skill('turned', front('tur\u202ened'))
  skill('code-review', front('code-review'))
  skill('bomb', front('bomb', `paths: "${'{a,b}'.repeat(40)}"\n`))
  skill('scripted', front('scripted'))
  put('.agents/skills/scripted/run.sh', `#!/bin/sh\r\ntouch '${join(root, 'ran')}'\n`)
}

const command = (row: number, holds: RowCalls['holds'], ...commands: (string | string[])[]): RowCalls => ({
  row,
  tool: 'unified_exec',
  inputs: commands.map((command) => ({ action: 'run', command, timeout_secs: 1 })),
  holds,
})
const ends = (facts: Record<string, unknown>) => (answer: Answer) =>
  answer.ok && Object.entries(facts).every(([name, value]) => answer.output?.[name] === value)

export function rowsMore(tree: HostileTree): RowCalls[] {
  const { base, root } = tree
  const file = (row: number, holds: RowCalls['holds'], ...inputs: Record<string, unknown>[]): RowCalls => ({
    row,
    tool: 'unified_file',
    inputs,
    holds,
  })
  const search = (row: number, holds: RowCalls['holds'], ...inputs: Record<string, unknown>[]): RowCalls => ({
    row,
    tool: 'unified_search',
    inputs,
    holds,
  })
  const skill = (row: number, holds: RowCalls['holds'], ...names: string[]): RowCalls => ({
    row,
    tool: 'load_skill',
    inputs: names.map((name) => ({ name })),
    holds,
  })
  return [
    file(
      8,
      path,
      ...['folder/a/b/c', 'one/x'].flatMap((destination) =>
        ['move', 'copy'].map((action) => ({ action, path: 'a.txt', destination })),
      ),
    ),
    file(
      14,
      path,
      ...['x'.repeat(256), 'x/'.repeat(2_049), 'a/'.repeat(10_000)].map((path) => ({ action: 'read', path })),
    ),
    search(19, shows('bytes-\\\\xff'), { action: 'list' }, { action: 'grep', pattern: 'inside' }),
    file(
      25,
      refused(/^VT_PATH_SPECIAL$/),
      ...Array.from({ length: 6 }, (_, index) => ({ action: 'read', path: `seen/fifo${index}` })),
    ),
    file(
      31,
      path,
      ...[`${root}/..`, '/', base, `${root}-evil`].flatMap((path) => [
        { action: 'read', path },
        { action: 'delete', path, recursive: true },
      ]),
    ),
    file(35, (answer) => answer.ok && existsSync(join(base, 'out/secret')), {
      action: 'delete',
      path: 'links',
      recursive: true,
    }),
    search(86, (answer) => answer.ok || (answer.error?.code ?? '').startsWith('VT_'), {
      action: 'grep',
      pattern: 'needle',
      path: 'seen/large',
    }),
    search(
      88,
      (answer) => answer.ok && !JSON.stringify(answer).includes('\\u0000'),
      { action: 'grep', pattern: 'needle', path: 'seen' },
      { action: 'grep', pattern: 'needle', path: 'seen/binary' },
    ),
    search(
      91,
      (answer) => answer.ok && !JSON.stringify(answer.output).includes('root:x'),
      { action: 'list', mode: 'recursive', path: 'seen' },
      { action: 'list', mode: 'recursive', path: 'seen', follow: true },
      { action: 'grep', pattern: 'root:x', path: 'seen' },
    ),
    search(
      97,
      refused(/^VT_/),
      { action: 'grep', pattern: 'x', globs: ['{a,b}'.repeat(40)] },
      { action: 'list', mode: 'find_name', name_pattern: '{a,b}'.repeat(40) },
    ),
    search(100, refused(/^VT_/), { action: 'structural', pattern: 'foo((', lang: 'js', path: 'a.js' }),
    search(101, refused(/^VT_/), { action: 'structural', pattern: '$A', lang: 'no-such-language' }),
    search(
      103,
      (answer) => answer.ok,
      { action: 'structural', pattern: 'needle', lang: 'js', path: 'broken' },
      { action: 'structural', workflow: 'rewrite', pattern: 'needle', rewrite: 'x', lang: 'js', path: 'broken' },
    ),
    search(
      104,
      (answer) => answer.ok || (answer.error?.code ?? '').startsWith('VT_'),
      { action: 'structural', pattern: 'f($A)', lang: 'js', path: 'deep' },
      { action: 'outline', path: 'deep' },
    ),
    search(107, refused(/^VT_/), {
      action: 'structural',
      workflow: 'rewrite',
      pattern: 'f($A)',
      rewrite: 'g($B)',
      lang: 'js',
      path: 'broken',
    }),
    command(110, ends({ timed_out: true }), 'sleep 71 & (setsid sleep 72 &) ; sleep 73'),
    command(112, ends({ exit_code: 3, stdout_bytes: 1_048_576 }), 'head -c 1048576 /dev/zero | tr "\\0" x; exit 3'),
    command(113, ends({ timed_out: true }), 'yes & exec yes 1>&2'),
    command(115, ends({ exit_code: 0, stdout: '' }), 'cat'),
    command(116, ends({ timed_out: true }), 'exec >&- 2>&-; sleep 74'),
    command(118, refused(/^VT_EXEC_/), ['/no/such/program'], [join(root, 'a.txt')]),
    command(118, ends({ signal: 'SIGKILL' }), ['bash', '-c', 'kill -9 $$']),
    command(118, ends({ exit_code: 126 }), 'exit 126'),
    {
      row: 121,
      tool: 'unified_exec',
      inputs: ['../1', 'run-00000000', '', 'run-1'].map((session_id) => ({ action: 'poll', session_id })),
      holds: refused(/^VT_/),
    },
    command(124, (answer) => answer.ok && !/SECRET|NODE_OPTIONS/.test(String(answer.output?.['stdout'])), 'env', [
      'env',
    ]),
    {
      row: 127,
      tool: 'unified_exec',
      inputs: ['../out', 'folder', 'gone', 'a.txt'].map((workdir) => ({ action: 'run', command: 'pwd', workdir })),
      holds: refused(/^VT_/),
    },
    command(127, (answer) => answer.ok, 'mkdir -p gone2 && cd gone2 && rmdir ../gone2; pwd'),
    {
      row: 128,
      tool: 'unified_exec',
      inputs: ['ls \ud800', `ls ${'x'.repeat(1_100_000)}`].map((command) => ({ action: 'run', command })),
      holds: refused(/^VT_/),
    },
    command(151, refused(/^VT_POLICY_/), 'bcmd', ['bcmd'], 'env bcmd'),
    {
      row: 196,
      tool: 'list_skills',
      inputs: [{}],
      holds: (answer) =>
        answer.ok &&
        (answer.output!['skills'] as { name: string }[]).every(
          ({ name }) => !/^(?:unclosed|list)$|[./\u202e]/.test(name),
        ),
    },
    skill(196, refused(/^VT_/), 'none', 'unclosed'),
    skill(199, refused(/^VT_/), '../outside', 'a/b', 'CON', 'x'.repeat(65), 'tur\u202ened', ''),
    skill(200, (answer) => answer.ok && !JSON.stringify(answer).includes('BODY OF code-review'), 'code-review'),
    skill(202, (answer) => answer.ok || (answer.error?.code ?? '').startsWith('VT_'), 'bomb'),
    skill(203, () => !existsSync(join(root, 'ran')), 'scripted'),
    file(
      242,
      refused(/^VT_POLICY_/),
      ...[
        '.vtcode/tool-policy.json',
        'vtcode.config.json',
        '.vtcode/skills/x/SKILL.md',
        '.agents/skills/x/SKILL.md',
        '.vtcode/plugins/x/vtcode.yaml',
      ].map((path) => ({ action: 'write', path, content: '{}' })),
    ),
  ]
}
