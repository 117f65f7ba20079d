// The twenty tasks of the race, as data: what lies in the folder, what is asked, the calls that the best user of each agent would make, what
// the model must have seen (`facts`) and what must be there in the end (`end`, by content).
// The end state is the folder of the beginning with `end` in it, compared by hash. Peers work by deeds that all of them have: `read`, `see` (an image), `sh`, `edit`, `write`; agents.mjs says each in their own words.

const lines = (count, of) => Array.from({ length: count }, (_, i) => of(i + 1)).join('\n') + '\n'
const files = (count, path, text) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [path(i + 1), text(i + 1)]))
const read = (path, offset, limit) => ({ read: { path, offset, limit } })
const sh = (command) => ({ sh: command })
const edit = (path, ...edits) => ({ edit: { path, edits } })
const write = (path, content) => ({ write: { path, content } })

const file = (action, input) => ({ name: 'unified_file', input: { action, ...input } })
const search = (action, input) => ({ name: 'unified_search', input: { action, ...input } })
const run = (command, more) => ({ name: 'unified_exec', input: { action: 'run', command, ...more } })
const exec = (action, input) => ({ name: 'unified_exec', input: { action, ...input } })

const total =
  "const { sum } = require('./sum')\nif (sum(2, 3) !== 5) { console.error('FAIL sum(2, 3) is ' + sum(2, 3)); process.exit(1) }\nconsole.log('1 passed')\n"
const module = (i) =>
  `// Part ${i}.\nimport { computeTotal } from './base.js'\n\nexport function part${i}(items) {\n  return computeTotal(items) + ${i}\n}\n`
const hunks = lines(300, (i) => `setting_${i} = ${i % 33 === 0 ? 'old' : 'keep'} ${i}`)
const nine = Array.from({ length: 9 }, (_, i) => (i + 1) * 33)
const five = files(
  5,
  (i) => `docs/page${i}.md`,
  (i) => `# Page ${i}\n\nThis is page ${i} of the manual.\n`,
)
const big = lines(
  60,
  (i) =>
    `/** Does step ${i}. */\nexport function step${i}(input) {\n${lines(20, (j) => `  const v${j} = input + ${i * j}`)}  return v1 + v20 // marker-${i}\n}\n`,
)
const swap = (i) => `import { send } from './send.js'\nexport const a${i} = (x, y) => send(x, y)\n`
const rename = "perl -pi -e 's/\\bcomputeTotal\\b/sumItems/g' src/*.js"
const build = `for (let i = 1; i <= 5000; i++) {\n  if (i === 2750) console.log('src/app.ts(41,7): error TS2322: Type number is not assignable to type string.')\n  else console.log('[' + i + '/5000] compiling module number ' + i + ' of the project')\n}\nprocess.exitCode = 1\n`
const server = `setTimeout(() => console.log('listening on 4711'), 150)\nsetTimeout(() => console.log('first request served'), 600)\nsetInterval(() => {}, 1000)\n`
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const chapter = (i) =>
  `Chapter ${i}\n${lines(75, (j) => `Sentence ${j} of chapter ${i} tells a little more of the same long story, word by word.`)}The word of chapter ${i} is omega-${i}.\n`

export const tasks = [
  {
    id: 'fix one line and test',
    files: { 'sum.js': 'exports.sum = (a, b) => a - b\n', 'test.js': total },
    question: 'sum.js is wrong; fix it and run node test.js.',
    peer: [[read('sum.js')], [edit('sum.js', ['a - b', 'a + b'])], [sh('node test.js')]],
    ours: [
      [file('read', { path: 'sum.js' })],
      [file('edit', { path: 'sum.js', old_str: 'a - b', new_str: 'a + b' })],
      [run('node test.js')],
    ],
    facts: ['=> a - b', '1 passed'],
    end: { 'sum.js': 'exports.sum = (a, b) => a + b\n' },
  },
  {
    id: 'rename across 12 files',
    files: {
      ...files(12, (i) => `src/part${i}.js`, module),
      'src/base.js': 'export function computeTotal(items) {\n  return items.length\n}\n',
    },
    question: 'Rename computeTotal to sumItems everywhere.',
    peer: [
      [sh('grep -rn computeTotal src')],
      [sh(rename)],
      [sh('grep -rlw sumItems src | wc -l; grep -rn computeTotal src')],
    ],
    ours: [
      [search('grep', { pattern: 'computeTotal' })],
      [run(rename)],
      [run('grep -rlw sumItems src | wc -l; grep -rn computeTotal src')],
    ],
    facts: ['return computeTotal(items) + 12', '13'],
    end: {
      ...files(
        12,
        (i) => `src/part${i}.js`,
        (i) => module(i).replaceAll('computeTotal', 'sumItems'),
      ),
      'src/base.js': 'export function sumItems(items) {\n  return items.length\n}\n',
    },
  },
  {
    id: 'find a function and its callers',
    files: {
      ...files(
        20,
        (i) => `lib/m${i}.js`,
        (i) => `export const m${i} = ${i}\n${i % 5 === 0 ? `export const used${i} = parseConfig('m${i}')\n` : ''}`,
      ),
      'lib/config.js': 'export function parseConfig(text) {\n  return JSON.parse(text)\n}\n',
    },
    question: 'Where is parseConfig defined, and who calls it?',
    peer: [[sh('grep -rn parseConfig .')]],
    ours: [[search('grep', { pattern: 'parseConfig' })]],
    facts: ['function parseConfig(text)', "parseConfig('m20')"],
  },
  {
    id: 'survey a directory',
    files: files(
      60,
      (i) => `app/area${i % 6}/feature${i}.ts`,
      (i) => `export const f${i} = ${i}\n`,
    ),
    question: 'What is in this project?',
    peer: [[sh('find . -type f -not -path "./.git/*" | sort')]],
    overMcp: { 'server-filesystem': [[{ tree: '.' }]] },
    ours: [[search('list', { mode: 'tree' })]],
    facts: ['feature59.ts', 'area3'],
  },
  {
    id: 'read line 1,400 of 2,000',
    files: { 'data.txt': lines(2000, (i) => `record ${i}: value ${i * 7}`) },
    question: 'What is in line 1400 of data.txt?',
    peer: [[read('data.txt', 1400, 1)]],
    ours: [[file('read', { path: 'data.txt', offset_lines: 1400, page_size_lines: 1 })]],
    facts: ['record 1400: value 9800'],
  },
  {
    id: 'a 5 MB log with one error',
    files: {
      'app.log': lines(70_000, (i) =>
        i === 43_210
          ? '2026-01-01 ERROR disk quota of tenant 17 exceeded'
          : `2026-01-01 INFO request ${i} was served in ${i % 90} milliseconds by worker ${i % 8}`,
      ),
    },
    question: 'What went wrong according to app.log?',
    peer: [[sh('grep -n ERROR app.log')]],
    ours: [[search('grep', { pattern: 'ERROR', path: 'app.log' })]],
    facts: ['disk quota of tenant 17'],
  },
  {
    id: 'noisy failing build',
    files: { 'build.js': build },
    question: 'Run node build.js and say why it fails.',
    peer: [
      [sh('node build.js')],
      (seen) => (seen.includes('TS2322') ? [] : [sh('node build.js 2>&1 | grep -n error')]),
    ],
    ours: [
      [run('node build.js')],
      (seen) => (seen.includes('TS2322') ? [] : [run('node build.js 2>&1 | grep -n error')]),
    ],
    facts: ['src/app.ts(41,7): error TS2322'],
  },
  {
    id: "follow a server's output",
    files: { 'server.js': server },
    question: 'Start node server.js, wait for its first request, stop it.',
    peer: [
      [sh('node server.js > out.log 2>&1 & echo $! > pid; sleep 2; cat out.log')],
      [sh('xargs kill < pid; rm pid out.log; echo stopped')],
    ],
    ours: [[run('node server.js', { yield_time_ms: 2000, session_id: 'srv' })], [exec('close', { session_id: 'srv' })]],
    facts: ['listening on 4711', 'first request served'],
  },
  {
    id: 'CRLF and BOM file',
    files: { 'win.ini': '\uFEFF[main]\r\nname=old\r\nport=80\r\n' },
    question: 'Set name to new in win.ini.',
    peer: [[read('win.ini')], [edit('win.ini', ['name=old', 'name=new'])]],
    ours: [
      [file('read', { path: 'win.ini' })],
      [file('edit', { path: 'win.ini', old_str: 'name=old', new_str: 'name=new' })],
    ],
    facts: ['name=old', 'port=80'],
    end: { 'win.ini': '\uFEFF[main]\r\nname=new\r\nport=80\r\n' },
  },
  {
    id: 'patch of nine hunks',
    files: { 'settings.txt': hunks },
    question: 'Set each setting that says old to new.',
    peer: [
      [sh('grep -n old settings.txt')],
      [edit('settings.txt', ...nine.map((n) => [`setting_${n} = old`, `setting_${n} = new`]))],
    ],
    overMcp: {
      'server-filesystem': [
        [read('settings.txt')],
        [edit('settings.txt', ...nine.map((n) => [`setting_${n} = old`, `setting_${n} = new`]))],
      ],
    },
    ours: [
      [search('grep', { pattern: 'old', path: 'settings.txt' })],
      [
        file('edit', {
          path: 'settings.txt',
          edits: nine.map((n) => ({ old_str: `setting_${n} = old`, new_str: `setting_${n} = new` })),
        }),
      ],
    ],
    facts: ['setting_297 = old 297'],
    end: { 'settings.txt': hunks.replaceAll('old', 'new') },
  },
  {
    id: 'create five files',
    files: { 'README.md': 'Manual.\n' },
    question: 'Create the five pages of the manual.',
    peer: [Object.entries(five).map(([path, content]) => write(path, content))],
    ours: [Object.entries(five).map(([path, content]) => file('write', { path, content }))],
    facts: [],
    end: five,
  },
  {
    id: 'move and delete',
    files: { 'old.js': 'exports.a = 1\n', 'dead.js': 'exports.b = 2\n' },
    question: 'Move old.js to lib/new.js and delete dead.js.',
    peer: [[sh('mkdir -p lib && mv old.js lib/new.js && rm dead.js')]],
    ours: [[file('move', { path: 'old.js', destination: 'lib/new.js' }), file('delete', { path: 'dead.js' })]],
    facts: [],
    end: { 'lib/new.js': 'exports.a = 1\n', 'old.js': undefined, 'dead.js': undefined },
  },
  {
    id: 'wrong path, typo, stale file: recover',
    files: { 'src/config.js': 'export const retries = 3\nexport const timeout = 1000\n' },
    question: 'Set retries to 5 in the configuration.',
    peer: [
      [read('src/confg.js')],
      [sh('ls src')],
      [read('src/config.js')],
      [edit('src/config.js', ['retries  = 3', 'retries = 5'])],
      [sh('echo "export const more = 1" >> src/config.js')],
      [edit('src/config.js', ['retries = 3', 'retries = 5'])],
    ],
    ours: [
      [file('read', { path: 'src/confg.js' })],
      (seen) =>
        seen.includes('config.js') ? [file('read', { path: 'src/config.js' })] : [search('list', { path: 'src' })],
      [file('edit', { path: 'src/config.js', old_str: 'retries  = 3', new_str: 'retries = 5' })],
      [run('echo "export const more = 1" >> src/config.js')],
      [file('edit', { path: 'src/config.js', old_str: 'retries = 3', new_str: 'retries = 5' })],
      (seen) =>
        seen.includes('VT_FILE_STALE')
          ? [
              file('read', { path: 'src/config.js' }),
              file('edit', { path: 'src/config.js', old_str: 'retries = 3', new_str: 'retries = 5' }),
            ]
          : [],
    ],
    facts: ['export const timeout = 1000'],
    end: { 'src/config.js': 'export const retries = 5\nexport const timeout = 1000\nexport const more = 1\n' },
  },
  {
    id: 'denied command: go on',
    files: { 'notes.md': 'status: open\n' },
    question: 'Push the branch if that is possible, and set the status to done.',
    peer: [[sh('git push origin main')], [edit('notes.md', ['status: open', 'status: done'])]],
    ours: [
      [run('git push origin main')],
      [file('edit', { path: 'notes.md', old_str: 'status: open', new_str: 'status: done' })],
    ],
    facts: [],
    end: { 'notes.md': 'status: done\n' },
  },
  {
    id: 'structural rewrite',
    files: files(6, (i) => `src/s${i}.js`, swap),
    question: 'Swap the two arguments of every call of send.',
    peer: [
      [sh('grep -rn "send(" src')],
      [sh("perl -pi -e 's/send\\((\\w+), (\\w+)\\)/send($2, $1)/' src/*.js && grep -rn 'send(' src")],
    ],
    ours: [
      [search('structural', { pattern: 'send($A, $B)', lang: 'js' })],
      [run("perl -pi -e 's/send\\((\\w+), (\\w+)\\)/send($2, $1)/' src/*.js && grep -rn 'send(' src")],
    ],
    facts: ['send(y, x)'],
    end: files(
      6,
      (i) => `src/s${i}.js`,
      (i) => swap(i).replace('send(x, y)', 'send(y, x)'),
    ),
  },
  {
    id: 'outline, then one symbol',
    files: { 'big.js': big },
    question: 'What does step42 return?',
    peer: [[sh('grep -n "^export" big.js')], [read('big.js', 41 * 25 + 1, 25)]],
    overMcp: { 'server-filesystem': [[read('big.js')]] },
    ours: [
      [search('outline', { path: 'big.js' })],
      [file('read', { path: 'big.js', offset_lines: 41 * 25 + 1, page_size_lines: 25 })],
    ],
    facts: ['step42', 'marker-42'],
  },
  {
    id: 'an image',
    files: { 'dot.png': Buffer.from(png, 'base64') },
    question: 'Which colour has dot.png?',
    peer: [[{ see: 'dot.png' }]],
    ours: [[file('read', { path: 'dot.png' })]],
    facts: [],
    picture: png.slice(0, 40),
  },
  {
    id: '40 searches that find nothing',
    files: files(
      30,
      (i) => `src/a${i}.js`,
      (i) => `export const a${i} = ${i}\n`,
    ),
    question: 'Is one of these forty names used anywhere?',
    peer: Array.from({ length: 40 }, (_, i) => [sh(`grep -rn missing_name_${i} src`)]),
    ours: Array.from({ length: 40 }, (_, i) => [search('grep', { pattern: `missing_name_${i}` })]),
    facts: [],
  },
  {
    id: '30 steps with a compaction',
    files: files(30, (i) => `book/chapter${i}.txt`, chapter),
    window: 50_000,
    question: 'Read the book, a chapter at a time; what is the word of each?',
    peer: Array.from({ length: 30 }, (_, i) => [read(`book/chapter${i + 1}.txt`)]),
    ours: Array.from({ length: 30 }, (_, i) => [file('read', { path: `book/chapter${i + 1}.txt` })]),
    facts: ['omega-1.', 'omega-15.', 'omega-30.'],
    compacted: true,
  },
  {
    id: 'resume and finish',
    files: { 'a.txt': 'alpha\n', 'b.txt': 'beta\n' },
    question: 'Read a.txt.',
    peer: [[read('a.txt')]],
    ours: [[file('read', { path: 'a.txt' })]],
    then: {
      question: 'Now put what b.txt says behind it.',
      peer: [[read('b.txt')], [edit('a.txt', ['alpha', 'alpha beta'])]],
      ours: [
        [file('read', { path: 'b.txt' })],
        [file('edit', { path: 'a.txt', old_str: 'alpha', new_str: 'alpha beta' })],
      ],
    },
    facts: ['alpha', 'beta'],
    end: { 'a.txt': 'alpha beta\n' },
  },
]
