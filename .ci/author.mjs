// The way of an author, in an empty folder and with nothing but the program: new, validate, test, add, call, for each template of `vtcode plugins new`.
// Arguments: the program, an empty folder.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const [program, folder] = process.argv.slice(2).map((path) => resolve(path))
const home = join(folder, 'home')
const work = join(folder, 'work')
for (const path of [home, work]) mkdirSync(path, { recursive: true })
writeFileSync(join(work, 'a.txt'), 'one two\nthree\n')

function run(...args) {
  const env = { PATH: process.env.PATH, HOME: home }
  const { status, stdout, stderr } = spawnSync(program.endsWith('.js') ? process.execPath : program, program.endsWith('.js') ? [program, ...args] : args, { cwd: work, env, encoding: 'utf8' })
  return { status, stdout, stderr, said: `vtcode ${args.join(' ')}\n${stdout}${stderr}` }
}
function succeeds(...args) {
  const ran = run(...args)
  assert.equal(ran.status, 0, ran.said)
  return ran.stdout
}
const allowed = (id) => ['-c', `policy.allow=["${id}"]`, 'call', id]

/** What is called of each, and what has to come of it. */
const calls = {
  js: [['call', 'my_js', '--path', 'a.txt'], /"lines":2,"words":3/],
  ts: [['call', 'my_ts', '--path', 'a.txt'], /"lines":2,"words":3/],
  command: [[...allowed('my_command'), '--count', '1'], /VT_COMMAND_EXIT|"exit_code":0/],
  // No network: what is sent is shown by its test, and the call waits for somebody to agree.
  http: [['call', 'my_http', '--owner', 'nodejs', '--repository', 'node', '--number', '1'], /VT_POLICY_NEEDS_APPROVAL/],
  mcp: [[...allowed('my_mcp'), '--text', 'one two three'], /3 words/],
  provider: [['models', '--json'], /my-provider/],
  policy: [['--mode', 'auto', 'call', 'unified_file', 'write', '--path', 'release/a.txt', '--content', 'x'], /belongs to a release/],
  compactor: [['--mode', 'full-auto', '-c', 'automation.full_auto.enabled=true', '-c', 'automation.full_auto.allowed_tools=["exec"]', 'call', 'unified_exec', 'run', '--input', '{"command":["printf","Downloading a\\nbuilt\\n"]}'], /"text":"(?![^"]*Downloading)[^"]*built/],
  skill: [['call', 'load_skill', '--name', 'my-skill'], /in the words of a user/],
  hooks: [['--mode', 'auto', 'call', 'unified_file', 'write', '--path', 'LICENSE', '--content', 'x'], /stays as it is/],
  package: [['call', 'my_package', '--path', 'a.txt'], /"lines":2,"words":3/],
}

const failed = []
for (const [template, [call, expected]] of Object.entries(calls)) {
  const name = `my-${template}`
  try {
    succeeds('plugins', 'new', name, '--template', template)
    succeeds('plugins', 'validate', name, '--run', '--strict')
    assert.match(succeeds('plugins', 'test', name), /pass 1\n[\s\S]*fail 0\n/)
    succeeds('plugins', 'add', name, '--yes')
    const { stdout, said } = run(...call)
    assert.match(stdout, expected, said)
    succeeds('plugins', 'remove', name, '--yes')
    console.log(`holds  ${template}`)
  } catch (error) {
    failed.push(template)
    console.log(`FAILS  ${template}: ${error.message}`)
  }
}
const known = /--template <template>[\s\S]*?choices: ([^)]*)\)/.exec(succeeds('plugins', 'new', '--help'))?.[1].replace(/default: .*|"/g, '').split(/[,\s]+/).filter(Boolean)
assert.deepEqual(known?.sort(), Object.keys(calls).sort(), 'every template is tried')
process.exitCode = failed.length > 0 ? 1 : 0
