import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Boot, Booted, Files } from 'vtcode/test'

export type Call = readonly [tool: string, input: Record<string, unknown>]

/** A call that has to succeed, or a change from outside of the program. */
export type Step = Call | ((booted: Booted) => void | Promise<void>)

/** A situation that produces a code, and the calls that follow its advice. */
export interface Situation {
  readonly code: string
  /** Distinguishes several situations of one code. */
  readonly when?: string
  /** Settings and plugins of the situation. */
  readonly boot?: Boot
  readonly before?: readonly Step[]
  /** The call, or a function that makes it from what is in the workspace. */
  readonly call: Call | ((booted: Booted) => Call)
  /** Part of the advice that names the calls under `then`. */
  readonly advice?: RegExp
  /** Calls that the advice names besides `next` and its example. Each has to succeed. */
  readonly then?: readonly Step[]
}

const PNG = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1')

/** The workspace of each situation. Examples in hints work on these files too. */
export const files: Files = {
  'README.md': '# Old heading\n\nold line\nTODO: write docs\n',
  'src/main.ts': 'function load(name: string) {\n  return name\n}\nconsole.log(load("a"))\nconsole.log(1)\n',
  'src/lib.py': 'def top(a, b):\n    print(a)\n',
  'old.md': 'old\n',
  'template.md': 'template\n',
  'old/notes.md': 'notes\n',
  'data.bin': Buffer.from([0, 1, 2, 3]),
  'image.png': PNG,
  'page.pdf': '%PDF-1.4\nnot one\n',
  'crlf.txt': 'a\r\nb\r\n',
  'latin1.txt': Buffer.from('caf\xe9\nsize = 1\n', 'latin1'),
  'twice.txt': 'one\ntwo\none\n',
  'long.txt': Array.from({ length: 300 }, (_, at) => `line ${at}\n`).join(''),
}

const at = ({ root }: Booted, path: string) => join(root, path)
const file = (action: string, input: Record<string, unknown>): Call => ['unified_file', { action, ...input }]
const search = (action: string, input: Record<string, unknown>): Call => ['unified_search', { action, ...input }]
const exec = (action: string, input: Record<string, unknown>): Call => ['unified_exec', { action, ...input }]
const structural = (input: Record<string, unknown>): Call => search('structural', input)
const patch = (body: string): Call => ['apply_patch', { input: `*** Begin Patch\n${body}\n*** End Patch` }]
const edit = (path: string, old_str: string, new_str: string): Call => file('edit', { path, old_str, new_str })
/** Changes a file outside of the program. */
const change = (path: string, text: string) => (booted: Booted) => writeFileSync(at(booted, path), text)
const link = (path: string, target: string) => (booted: Booted) => symlinkSync(target, at(booted, path))
const lines = (count: number) => Array.from({ length: count }, (_, line) => `line ${line}\n`).join('')

export const situations: readonly Situation[] = [
  // The name of a tool or an action, and its input.
  { code: 'VT_TOOL_UNKNOWN', call: ['unified_serch', {}], advice: /names/, then: [search('list', {})] },
  { code: 'VT_ACTION_MISSING', call: ['unified_file', {}], advice: /"action"/ },
  { code: 'VT_ACTION_UNKNOWN', call: file('writ', { path: 'x' }), advice: /Use one of the known actions/ },
  {
    code: 'VT_ACTION_DEPRECATED',
    call: search('intelligence', { query: 'Old' }),
    then: [search('grep', { pattern: 'Old' })],
  },
  { code: 'VT_INPUT_MISSING', call: file('move', { path: 'old.md' }), advice: /"destination"/ },
  {
    code: 'VT_INPUT_MISSING',
    when: 'a directory is copied',
    call: file('copy', { path: 'old', destination: 'x' }),
    advice: /recursive: true/,
    then: [file('copy', { path: 'old', destination: 'x', recursive: true })],
  },
  { code: 'VT_INPUT_UNKNOWN', call: file('read', { path: 'README.md', ofset: 1 }) },
  {
    code: 'VT_INPUT_NOT_ALLOWED',
    call: search('grep', { pattern: 'Old', type: 'class' }),
    advice: /Leave it out\. Or call unified_search outline/,
    then: [search('grep', { pattern: 'Old' }), search('outline', { type: 'class' })],
  },
  { code: 'VT_INPUT_INVALID', call: file('read', { path: 'README.md', offset_lines: 0 }) },
  {
    code: 'VT_INPUT_INVALID',
    when: 'a new file has a slash at its end',
    call: file('write', { path: 'nd/', content: 'x' }),
    advice: /Leave out the slash/,
    then: [file('write', { path: 'nd', content: 'x' })],
  },
  {
    code: 'VT_INPUT_INVALID',
    when: 'a file has a slash at its end',
    call: file('read', { path: 'README.md/' }),
    advice: /Leave out the slash/,
    then: [file('read', { path: 'README.md' })],
  },
  {
    code: 'VT_INPUT_INVALID',
    when: 'an edit has no old text',
    call: edit('README.md', '', 'x'),
    advice: /unified_file write for a new file.*apply_patch/,
    then: [file('write', { path: 'new', content: 'x' }), patch('*** Update File: README.md\n@@ # Old heading\n+x')],
  },
  {
    code: 'VT_INPUT_CONFLICT',
    call: file('read', { path: 'long.txt', offset_lines: 1, offset_bytes: 1 }),
    advice: /Give only one/,
    then: [file('read', { path: 'long.txt', offset_lines: 1 })],
  },
  {
    code: 'VT_INPUT_TOO_LARGE',
    call: file('write', { path: 'big', content: 'x'.repeat(3 * 1024 * 1024 + 1) }),
    advice: /Split it into several calls/,
    then: [
      file('write', { path: 'big', content: 'x'.repeat(1024 * 1024) }),
      file('write', { path: 'big', content: 'x', mode: 'append' }),
    ],
  },
  {
    code: 'VT_INPUT_CAPPED',
    call: file('read', { path: 'long.txt', offset_lines: 1, page_size_lines: 100_000 }),
    then: [file('read', { path: 'long.txt', offset_lines: 301 - 1 })],
  },

  // Paths.
  {
    code: 'VT_PATH_OUTSIDE',
    call: file('read', { path: '../x' }),
    advice: /inside/,
    then: [file('read', { path: 'old.md' })],
  },
  {
    code: 'VT_PATH_NOT_FOUND',
    call: file('read', { path: 'READM.md' }),
    advice: /Use one of these paths, or list the folder/,
    then: [file('read', { path: 'README.md' })],
  },
  {
    code: 'VT_PATH_NOT_FOUND',
    when: 'a link leads to nothing',
    before: [link('broken', 'nowhere.txt')],
    call: edit('broken', 'a', 'b'),
    advice: /replace the link/,
    then: [file('delete', { path: 'broken' }), file('write', { path: 'broken', content: 'a' })],
  },
  {
    code: 'VT_PATH_EXISTS',
    call: file('write', { path: 'old.md', content: 'x' }),
    advice: /"overwrite".*"append".*"skip_if_exists".*unified_file edit/,
    then: [
      file('write', { path: 'old.md', content: 'x', mode: 'skip_if_exists' }),
      file('write', { path: 'old.md', content: 'x', mode: 'append' }),
      edit('old.md', 'old', 'new'),
      file('write', { path: 'old.md', content: 'x', mode: 'overwrite' }),
    ],
  },
  {
    code: 'VT_PATH_EXISTS',
    when: 'a file is moved',
    call: file('move', { path: 'old.md', destination: 'template.md' }),
    advice: /overwrite: true/,
    then: [file('move', { path: 'old.md', destination: 'template.md', overwrite: true })],
  },
  {
    code: 'VT_PATH_EXISTS',
    when: 'a file is copied to a directory',
    call: file('copy', { path: 'old.md', destination: 'src' }),
    advice: /for example 'src\/old\.md'/,
    then: [file('copy', { path: 'old.md', destination: 'src/old.md' })],
  },
  {
    code: 'VT_PATH_EXISTS',
    when: 'a patch adds it',
    call: patch('*** Add File: old.md\n+new'),
    advice: /Update File.*another name.*delete the file in an earlier section/,
    then: [
      patch('*** Update File: old.md\n@@\n-old\n+new'),
      patch('*** Delete File: old.md\n*** Add File: old.md\n+again'),
      patch('*** Add File: other.md\n+new'),
    ],
  },
  {
    code: 'VT_PATH_EXISTS',
    when: 'a patch moves a file to it',
    call: patch('*** Update File: old.md\n*** Move to: template.md\n@@\n-old\n+new'),
    then: [patch('*** Update File: old.md\n*** Move to: other.md\n@@\n-old\n+new')],
  },
  {
    code: 'VT_PATH_IS_DIRECTORY',
    call: file('read', { path: 'src' }),
    advice: /unified_search list/,
    then: [search('list', { path: 'src' })],
  },
  {
    code: 'VT_PATH_NOT_DIRECTORY',
    call: search('list', { path: 'README.md/x' }),
    then: [search('list', { path: '.' }), file('read', { path: 'README.md' })],
  },
  {
    code: 'VT_PATH_NOT_EMPTY',
    call: file('delete', { path: 'old' }),
    advice: /recursive: true/,
    then: [file('delete', { path: 'old', recursive: true })],
  },
  {
    code: 'VT_PATH_SPECIAL',
    before: [exec('run', { command: ['mkfifo', 'pipe'] })],
    call: search('grep', { pattern: 'old', path: 'pipe' }),
    advice: /Leave it out/,
    then: [search('grep', { pattern: 'old', path: '.' })],
  },
  {
    code: 'VT_PATH_LOOP',
    before: [link('one', 'two'), link('two', 'one')],
    call: file('read', { path: 'one' }),
    advice: /Name the file itself/,
    then: [file('read', { path: 'old.md' })],
  },

  // Content of files.
  { code: 'VT_FILE_BINARY', call: file('read', { path: 'data.bin' }), advice: /range of bytes/ },
  {
    code: 'VT_FILE_BINARY',
    when: 'text is written over it',
    call: file('write', { path: 'data.bin', content: 'x', mode: 'overwrite' }),
    advice: /Or delete the file first with unified_file delete/,
    then: [file('delete', { path: 'data.bin' }), file('write', { path: 'data.bin', content: 'x' })],
  },
  {
    code: 'VT_FILE_BINARY',
    when: 'a patch changes UTF-16',
    before: [(booted) => writeFileSync(at(booted, 'wide.txt'), Buffer.from('\uFEFFone\n', 'utf16le'))],
    call: patch('*** Update File: wide.txt\n@@\n-one\n+two'),
    advice: /unified_file edit for a UTF-16 text/,
    then: [edit('wide.txt', 'one', 'two')],
  },
  { code: 'VT_FILE_OFFSET', call: file('read', { path: 'long.txt', offset_lines: 900 }), advice: /earlier position/ },
  { code: 'VT_FILE_IMAGE', call: file('read', { path: 'image.png' }), advice: /range of its bytes/ },
  {
    code: 'VT_FILE_PDF',
    call: file('read', { path: 'page.pdf' }),
    advice: /range of its bytes/,
    then: [file('read', { path: 'page.pdf', offset_bytes: 0 })],
  },
  {
    code: 'VT_FILE_STALE',
    before: [file('read', { path: 'long.txt' }), change('long.txt', lines(300).replace('line 150\n', 'changed\n'))],
    call: edit('long.txt', 'line 150\n', 'mine\n'),
    advice: /Read the changed lines/,
    then: [edit('long.txt', 'changed\n', 'mine\n')],
  },
  {
    code: 'VT_FILE_STALE',
    when: 'the whole file is replaced',
    before: [file('read', { path: 'old.md' }), change('old.md', 'new\n')],
    call: file('write', { path: 'old.md', content: 'x', mode: 'overwrite' }),
    advice: /Read the changed lines/,
    then: [file('write', { path: 'old.md', content: 'x', mode: 'overwrite' })],
  },
  {
    code: 'VT_FILE_STALE',
    when: 'the call gives a hash',
    call: file('edit', { path: 'old.md', old_str: 'old', new_str: 'new', expected_hash: '0'.repeat(16) }),
    advice: /leave expected_hash out/,
    then: [edit('old.md', 'old', 'new')],
  },
  {
    code: 'VT_FILE_STALE',
    when: 'a patch changes another text',
    before: [file('read', { path: 'old.md' }), change('old.md', 'new\n')],
    call: patch('*** Update File: old.md\n@@\n-old\n+mine'),
    advice: /Read the changed lines/,
    then: [patch('*** Update File: old.md\n@@\n-new\n+mine')],
  },
  {
    code: 'VT_FILE_CHANGED',
    before: [file('read', { path: 'long.txt' }), (booted) => appendFileSync(at(booted, 'long.txt'), lines(100))],
    call: edit('long.txt', 'line 150\n', 'mine\n'),
    then: [
      file('read', { path: 'long.txt', offset_lines: 300 }),
      file('write', { path: 'long.txt', content: 'x', mode: 'overwrite' }),
    ],
  },
  {
    code: 'VT_FILE_ENCODING',
    call: edit('latin1.txt', 'size', 'größe'),
    advice: /ASCII characters only, or convert the file to UTF-8 first, for example with iconv/,
    then: [
      edit('latin1.txt', 'size', 'groesse'),
      exec('run', { command: 'iconv -f ISO-8859-1 -t UTF-8 latin1.txt > utf8.txt && mv utf8.txt latin1.txt' }),
      edit('latin1.txt', 'groesse', 'größe'),
    ],
  },
  {
    code: 'VT_FILE_ENCODING',
    when: 'the file is replaced',
    call: file('write', { path: 'latin1.txt', content: 'thé', mode: 'overwrite' }),
    advice: /Or delete the file first with unified_file delete/,
    then: [file('delete', { path: 'latin1.txt' }), file('write', { path: 'latin1.txt', content: 'thé' })],
  },
  {
    code: 'VT_FILE_HARDLINK',
    before: [exec('run', { command: ['ln', 'old.md', 'twin.md'] })],
    call: edit('old.md', 'old', 'new'),
    then: [edit('twin.md', 'old', 'new')],
  },
  {
    code: 'VT_FILE_EOL_CHANGED',
    call: file('write', { path: 'old.md', content: 'a\r\n', mode: 'overwrite' }),
    then: [file('write', { path: 'old.md', content: 'a\n', mode: 'overwrite' })],
  },
  {
    code: 'VT_EDIT_NOT_FOUND',
    call: edit('src/main.ts', 'functon load(name: string)', 'x'),
    advice: /Copy old_str exactly from a fresh read/,
    then: [edit('src/main.ts', 'function load(name: string)', 'function read(name: string)')],
  },
  {
    code: 'VT_EDIT_NOT_FOUND',
    when: 'the text has bytes that are not UTF-8',
    call: edit('latin1.txt', 'caf\ufffd', 'x'),
    advice: /Choose an old_str without this character/,
    then: [edit('latin1.txt', 'caf', 'x')],
  },
  {
    code: 'VT_EDIT_NOT_UNIQUE',
    call: edit('twice.txt', 'one', 'x'),
    advice: /Add surrounding lines.*replace_all: true/,
    then: [
      edit('twice.txt', 'one\ntwo', 'x\ntwo'),
      file('edit', { path: 'twice.txt', old_str: 'one', new_str: 'y', replace_all: true }),
    ],
  },
  {
    code: 'VT_EDIT_NO_CHANGE',
    call: edit('old.md', 'old', 'old'),
    advice: /differs/,
    then: [edit('old.md', 'old', 'new')],
  },
  {
    code: 'VT_EDIT_LARGE',
    call: edit('long.txt', lines(201), 'x\n'),
    then: [
      file('write', { path: 'long.txt', content: lines(300), mode: 'overwrite' }),
      patch('*** Update File: long.txt\n@@\n-line 1\n+x'),
    ],
  },

  // Patches.
  {
    code: 'VT_PATCH_SYNTAX',
    call: ['apply_patch', { input: 'change the heading' }],
    advice: /\*\*\* Begin Patch\n\*\*\* Update File/,
    then: [patch('*** Update File: README.md\n@@ # Old heading\n \n-old line\n+new line')],
  },
  {
    code: 'VT_PATCH_EMPTY',
    call: ['apply_patch', { input: '*** Begin Patch\n*** End Patch' }],
    advice: /Update File/,
    then: [patch('*** Update File: old.md\n@@\n-old\n+new')],
  },
  {
    code: 'VT_PATCH_CONTEXT',
    call: patch('*** Update File: old.md\n@@\n-odl\n+new'),
    advice: /fresh lines/,
    then: [patch('*** Update File: old.md\n@@\n-old\n+new')],
  },
  {
    code: 'VT_PATCH_AMBIGUOUS',
    call: patch('*** Update File: twice.txt\n@@\n-one\n+x'),
    advice: /more context lines, or an anchor/,
    then: [
      patch('*** Update File: twice.txt\n@@ two\n-one\n+x'),
      patch('*** Update File: twice.txt\n@@\n-one\n+x\n two'),
    ],
  },
  {
    code: 'VT_PATCH_OVERLAP',
    call: patch('*** Update File: long.txt\n@@\n line 1\n-line 2\n+x\n@@\n-line 2\n+y\n line 3'),
    advice: /Join them/,
    then: [patch('*** Update File: long.txt\n@@\n line 1\n-line 2\n+x\n+y\n line 3')],
  },
  {
    code: 'VT_PATCH_FUZZY',
    call: patch('*** Update File: src/lib.py\n@@\n-print(a)\n+print(b)'),
    then: [
      file('read', { path: 'src/lib.py' }),
      patch('*** Update File: src/lib.py\n@@\n def top(a, b):\n-    print(b)\n+    print(a)'),
    ],
  },

  // Searches.
  {
    code: 'VT_SEARCH_PATTERN',
    call: search('grep', { pattern: '(' }),
    advice: /literal: true/,
    then: [search('grep', { pattern: '(', literal: true })],
  },
  {
    code: 'VT_SEARCH_PATTERN',
    when: 'an outline filters by it',
    call: search('outline', { match: '(' }),
    then: [search('outline', { match: 'load' })],
  },
  {
    code: 'VT_SEARCH_FRAGMENT',
    call: structural({ pattern: 'log(', lang: 'ts' }),
    then: [structural({ pattern: 'log($A)', lang: 'ts' })],
  },
  {
    code: 'VT_SEARCH_KIND',
    call: structural({ kind: 'call_expresion', lang: 'ts' }),
    advice: /debug_query: ast/,
    then: [
      structural({ pattern: 'console.log($A)', lang: 'ts', debug_query: 'ast' }),
      structural({ kind: 'call_expression', lang: 'ts' }),
    ],
  },
  {
    code: 'VT_SEARCH_LANG',
    call: structural({ pattern: 'a', lang: 'cobolt' }),
    then: [structural({ pattern: 'load($A)', lang: 'ts' })],
  },
  {
    code: 'VT_SEARCH_CONFIG_MISSING',
    call: structural({ workflow: 'scan' }),
    advice: /Create it with at least/,
    then: [
      (booted) => {
        writeFileSync(at(booted, 'sgconfig.yml'), 'ruleDirs: [rules]\n')
        mkdirSync(at(booted, 'rules'))
        writeFileSync(at(booted, 'rules/log.yml'), 'id: log\nlanguage: ts\nrule: { pattern: console.log($A) }\n')
      },
      structural({ workflow: 'scan' }),
    ],
  },
  {
    code: 'VT_SEARCH_CONFIG_INVALID',
    before: [change('sgconfig.yml', 'ruleDirs: 5\n')],
    call: structural({ workflow: 'scan' }),
    advice: /workflow: inspect/,
    then: [change('sgconfig.yml', 'ruleDirs: []\n'), structural({ workflow: 'inspect' })],
  },
  {
    code: 'VT_SEARCH_RULE',
    before: [
      (booted) => {
        writeFileSync(at(booted, 'sgconfig.yml'), 'ruleDirs: [rules]\n')
        mkdirSync(at(booted, 'rules'))
        writeFileSync(at(booted, 'rules/log.yml'), 'id: log\nlanguage: ts\nrule: { pattern: console.log($A) }\n')
      },
    ],
    call: structural({ workflow: 'scan', filter: 'lgo' }),
    then: [structural({ workflow: 'scan', filter: 'log' })],
  },
  {
    code: 'VT_SEARCH_NO_REFERENCE',
    call: ['grep_search', { mode: 'similarity', reference_file: 'README.md' }],
    then: [
      search('outline', { path: 'src/main.ts' }),
      ['grep_search', { mode: 'similarity', reference_file: 'src/main.ts' }],
    ],
  },

  // Programs.
  {
    code: 'VT_EXEC_NOT_FOUND',
    call: exec('run', { command: ['no-such-program', '&&', 'true'] }),
    advice: /sh -c/,
    then: [exec('run', { command: ['sh', '-c', 'true && true'] })],
  },
  {
    code: 'VT_EXEC_SESSION',
    call: exec('poll', { session_id: 'run-00000000' }),
    advice: /unified_exec list/,
    then: [exec('list', {})],
  },
  {
    code: 'VT_EXEC_SESSION_EXISTS',
    before: [exec('run', { command: 'cat', session_id: 'mine', background: true, tty: true })],
    call: exec('run', { command: 'true', session_id: 'mine' }),
    advice: /another session_id, or leave it out/,
    then: [
      exec('run', { command: 'true' }),
      exec('run', { command: 'true', session_id: 'other' }),
      exec('close', { session_id: 'mine' }),
    ],
  },

  {
    code: 'VT_EXEC_CLOSED',
    before: [
      exec('run', { command: 'exit 0', session_id: 'mine', background: true }),
      exec('poll', { session_id: 'mine', yield_time_ms: 30_000 }),
    ],
    call: exec('write', { session_id: 'mine', input: 'x' }),
    advice: /Inspect its output, or run the command again/,
    then: [exec('inspect', { session_id: 'mine' }), exec('run', { command: 'true' })],
  },
  {
    code: 'VT_EXEC_LIMIT',
    before: [
      async (booted) => {
        const start = (id: number) =>
          exec('run', { command: ['sleep', '600'], session_id: `s${id}`, background: true, yield_time_ms: 0 })
        await Promise.all(Array.from({ length: 32 }, (_, id) => booted.call(...start(id))))
      },
    ],
    call: exec('run', { command: 'true' }),
    advice: /unified_exec list.*unified_exec close/,
    then: [exec('list', {}), exec('close', { session_id: 's0' }), exec('run', { command: 'true' })],
  },

  // Skills and other tools.
  {
    code: 'VT_SKILL_UNKNOWN',
    call: ['load_skill', { name: 'nope' }],
    advice: /list_skills/,
    then: [['list_skills', {}]],
  },
  {
    code: 'VT_SKILL_NOT_LOADED',
    call: ['load_skill_resource', { name: 'ast-grep', resource_path: 'SKILL.md' }],
    advice: /Load it first/,
    then: [
      ['load_skill', { name: 'ast-grep' }],
      ['load_skill_resource', { name: 'ast-grep', resource_path: 'SKILL.md' }],
    ],
  },
]
