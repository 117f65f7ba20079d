// The rows of one that takes part, whatever becomes of it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A row for each task. Who cannot be installed, or asks the model nothing, has the reason in its rows, and the others go on. */
export async function rowsOf(who, tasks, installed, run, say = (line) => process.stderr.write(line)) {
  let broken
  let at
  try {
    at = installed()
  } catch (error) {
    broken = `it cannot be installed: ${lastLine(`${error.stderr ?? ''}`) || error.message}`
  }
  const rows = []
  for (const task of tasks) {
    const found = broken ? { reason: broken } : await run(task, at).catch((error) => ({ reason: error.message }))
    if (found.requests === 0) broken = found.reason = `it asked the model nothing: ${lastLine(found.said)}`
    say(
      `${who.name}: ${task.id}: ${found.reason ?? `${found.requests} requests, ${found.bytes} bytes, ${found.finished ? 'finished' : `lost: ${missing(found)} ${found.said.slice(-300)}`}${found.again === false ? ', NOT THE SAME TWICE' : ''}`}\n`,
    )
    rows.push({ task, run: found })
  }
  return rows
}

const missing = ({ lost, wrong, unfinished }) => [...lost, ...wrong, ...(unfinished ? ['steps left'] : [])].join(', ')
const lastLine = (text) =>
  text
    .trim()
    .split('\n')
    .filter((line) => !/complete log|^npm error$/.test(line))
    .at(-1)
    ?.slice(0, 200) ?? ''

/** The folder with a package, installed where it is not there; the one of a week ago where the newest is not wholly published. */
export function install(folder, name) {
  const at = join(folder, name.replace(/[@/]/g, '_'))
  if (existsSync(join(at, 'node_modules', name))) return at
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{"private":true}')
  const npm = (...more) =>
    execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...more, name], {
      cwd: at,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  try {
    npm()
  } catch (error) {
    if (!`${error.stderr}`.includes('ETARGET')) throw error
    npm('--before', new Date(Date.now() - 7 * 86_400_000).toISOString().slice(0, 10))
  }
  return at
}
