// Follows an author in an empty folder, with nothing but the program: new, validate, test, add, call, for each template of `vtcode plugins new`.
// Arguments: the program, an empty folder.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const allowed = (id) => ['-c', `policy.allow=["${id}"]`, 'call', id]

/** The call of each template and what it prints. */
const calls = {
  js: [['call', 'my_js', '--path', 'a.txt'], /"lines":2,"words":3/],
  ts: [['call', 'my_ts', '--path', 'a.txt'], /"lines":2,"words":3/],
  command: [[...allowed('my_command'), '--count', '1'], /VT_COMMAND_EXIT|"exit_code":0/],
  // No network: what is sent is shown by its test, and the call waits for somebody to agree.
  http: [['call', 'my_http', '--owner', 'nodejs', '--repository', 'node', '--number', '1'], /VT_POLICY_NEEDS_APPROVAL/],
  mcp: [[...allowed('my_mcp'), '--text', 'one two three'], /3 words/],
  provider: [['models', '--json'], /my-provider/],
  policy: [
    ['--mode', 'auto', 'call', 'unified_file', 'write', '--path', 'release/a.txt', '--content', 'x'],
    /belongs to a release/,
  ],
  compactor: [
    [
      '--mode',
      'full-auto',
      '-c',
      'automation.full_auto.enabled=true',
      '-c',
      'automation.full_auto.allowed_tools=["exec"]',
      'call',
      'unified_exec',
      'run',
      '--input',
      '{"command":["printf","Downloading a\\nbuilt\\n"]}',
    ],
    /"text":"(?![^"]*Downloading)[^"]*built/,
  ],
  skill: [['call', 'load_skill', '--name', 'my-skill'], /in the words of a user/],
  hooks: [['--mode', 'auto', 'call', 'unified_file', 'write', '--path', 'LICENSE', '--content', 'x'], /stays as it is/],
  package: [['call', 'my_package', '--path', 'a.txt'], /"lines":2,"words":3/],
}

/** The templates that are followed. */
export const templates = Object.keys(calls)
/** Files of the folder of work. */
export const files = { 'a.txt': 'one two\nthree\n' }

/** Creates the plugin of a template; `run` runs the program with these words in the folder of work. Each step throws where it fails. */
export const createPlugin = (template, run) => succeed(run, 'plugins', 'new', `my-${template}`, '--template', template)

/** Runs the tests of a plugin, or of `count` plugins below a folder. */
export async function testPlugins(folder, count, run) {
  assert.match(await succeed(run, 'plugins', 'test', folder), new RegExp(`pass ${count}\\n[\\s\\S]*fail 0\\n`))
}

/** Validates the plugin of a template, adds it, calls it and removes it. */
export async function usePlugin(template, run) {
  const [call, expected] = calls[template]
  const name = `my-${template}`
  await succeed(run, 'plugins', 'validate', name, '--run', '--strict')
  await succeed(run, 'plugins', 'add', name, '--yes')
  const called = await run(call)
  assert.match(called.stdout, expected, describeRun(call, called))
  await succeed(run, 'plugins', 'remove', name, '--yes')
}

/** Returns the templates that the help of the program lists, sorted. */
export async function listTemplates(run) {
  const { stdout } = await run(['plugins', 'new', '--help'])
  return /--template <template>[\s\S]*?choices: ([^)]*)\)/
    .exec(stdout)?.[1]
    .replace(/default: .*|"/g, '')
    .split(/[,\s]+/)
    .filter(Boolean)
    .sort()
}

/** Returns what a run prints that has to succeed. */
async function succeed(run, ...args) {
  const ran = await run(args)
  assert.equal(ran.code, 0, describeRun(args, ran))
  return ran.stdout
}

const describeRun = (args, { stdout, stderr }) => `vtcode ${args.join(' ')}\n${stdout}${stderr}`

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const [program, folder] = process.argv.slice(2).map((path) => resolve(path))
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  for (const path of [home, work]) mkdirSync(path, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(work, name), text)
  const run = (args) => {
    const words = program.endsWith('.js') ? [process.execPath, program, ...args] : [program, ...args]
    const { status, stdout, stderr } = spawnSync(words[0], words.slice(1), {
      cwd: work,
      env: { PATH: process.env.PATH, HOME: home },
      encoding: 'utf8',
    })
    return { code: status, stdout, stderr }
  }
  for (const template of templates) {
    try {
      await createPlugin(template, run)
      await testPlugins(`my-${template}`, 1, run)
      await usePlugin(template, run)
      console.log(`holds  ${template}`)
    } catch (error) {
      process.exitCode = 1
      console.log(`FAILS  ${template}: ${error.message}`)
    }
  }
  assert.deepEqual(await listTemplates(run), [...templates].sort(), 'every template is tried')
}
