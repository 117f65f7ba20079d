// The page of a session with 10,000 calls, exports of a log of 100 MB, and the inspector.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, closeSync, mkdirSync, openSync, readFileSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'
import { median } from './measure.mjs'
import { inFolder } from './scene.mjs'

const bin = fileURLToPath(new URL('../../dist/core/bin.cjs', import.meta.url))
const support = new URL('../support/peak.mjs', import.meta.url).href
const usage = { input_tokens: 2000, cached_input_tokens: 400, cache_creation_tokens: 0, output_tokens: 50 }

export default () =>
  inFolder(async (folder) => {
    const workspace = join(folder, 'ws')
    const env = { PATH: process.env.PATH, HOME: folder, VTCODE_HOME: join(folder, '.vtcode') }
    const place = { workspace, env }
    mkdirSync(join(workspace, '.vtcode/sessions'), { recursive: true })
    logOf(workspace, 'ses_calls', { turns: 20, steps: 50, calls: 10, output: 200 })
    logOf(workspace, 'ses_large', { turns: 100, steps: 10, calls: 10, output: 10_000 })
    const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })
    try {
      return [
        ...(await pageFigures(place, browser)),
        ...(await exportFigures(place)),
        ...(await inspectorFigures(place, browser)),
      ]
    } finally {
      await browser.close()
    }
  })

/** A log of a session as the program writes it. */
function logOf(workspace, session, { turns, steps, calls, output }) {
  const folder = join(workspace, '.vtcode/sessions', session)
  mkdirSync(folder, { recursive: true })
  const file = openSync(join(folder, 'events.jsonl'), 'w')
  let [seq, clock, item] = [0, Date.parse('2026-01-01T00:00:00Z'), 0]
  const put = (type, body, ms = 5) => {
    clock += ms
    writeSync(
      file,
      `${JSON.stringify({ schema_version: '1.0.0', event: { type, ...body, seq: ++seq, ts: new Date(clock).toISOString(), thread_id: 'th_b', turn_id: 'tn' } })}\n`,
    )
  }
  put('thread.started', { session_id: session, model: 'peer/m', mode: 'auto', cwd: workspace, version: '0.1.0' })
  for (let turn = 1; turn <= turns; turn++) {
    put('turn.started', { turn_number: turn })
    put('item.completed', {
      item: { id: `it_${++item}`, type: 'user_message', text: `part ${turn}`, origin: 'prompt' },
    })
    for (let step = 0; step < steps; step++) {
      for (let call = 0; call < calls; call++) {
        const call_id = `c${++item}`
        const whole = {
          id: `it_${++item}`,
          type: 'tool_invocation',
          tool_name: 'unified_exec',
          arguments: { action: 'run', command: `echo ${turn}-${step}-${call}` },
          call_id,
          tool_call_id: call_id,
          effects: ['exec'],
        }
        const text = `line of ${turn} ${step} ${call} ${'x'.repeat(60)}\n`.repeat(Math.ceil(output / 80))
        put('item.started', { item: { ...whole, status: 'in_progress' } })
        put(
          'item.completed',
          {
            item: {
              id: `it_${++item}`,
              type: 'tool_output',
              call_id,
              output: text,
              status: 'completed',
              is_error: false,
              duration_ms: 20,
              bytes: text.length,
            },
          },
          20,
        )
        put('item.completed', { item: { ...whole, status: 'completed', outcome: 'success' } })
      }
      put('step.completed', {
        step: (turn - 1) * steps + step + 1,
        model: 'peer/m',
        finish_reason: 'tool-calls',
        usage,
        cost_usd: 0.001,
        ttft_ms: 20,
        duration_ms: 80,
        attempts: 1,
        item_ids: [],
      })
    }
    put('turn.completed', { usage, cost_usd: 0.05, limits: { tool_loops: 1, tool_calls: 1, wall_ms: 1 } })
  }
  put('thread.completed', {
    session_id: session,
    subtype: 'success',
    outcome_code: 'success',
    usage,
    total_cost_usd: 1,
    num_turns: turns,
    num_steps: turns * steps,
    verified: null,
  })
  closeSync(file)
}

/** A run of the program to its end: how long it took, and the most memory that it had. */
async function ran({ workspace, env }, args) {
  const told = `import { peakBytes } from '${support}'; import { writeSync } from 'node:fs'; process.on('exit', () => writeSync(2, 'peak ' + peakBytes() + '\\n'))`
  const from = performance.now()
  const child = spawn(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(told)}`, bin, ...args],
    { cwd: workspace, env, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let err = ''
  child.stderr.on('data', (chunk) => (err += chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(err)
  return { ms: performance.now() - from, peak: Number(/peak (\d+)/.exec(err)[1]) / 1e6 }
}

async function pageFigures(place, browser) {
  const times = []
  for (let round = 0; round < 3; round++)
    times.push((await ran(place, ['trace', 'ses_calls', '--out', 'page.html'])).ms)
  const file = join(place.workspace, 'page.html')
  const [paints, keys, filters] = [[], [], []]
  for (let round = 0; round < 5; round++) {
    const page = await (await browser.newContext()).newPage()
    await page.goto(pathToFileURL(file).href)
    paints.push(
      await page.evaluate(
        `new Promise((resolve) => { const look = () => { const paint = performance.getEntriesByName('first-contentful-paint')[0]; paint ? resolve(paint.startTime) : setTimeout(look, 10) }; look() })`,
      ),
    )
    // From the key, or the last letter, to the end of the frame that shows what came of it.
    const frame = 'await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))'
    keys.push(
      await page.evaluate(
        `(async () => { const all = []; for (const key of 'jjjkjjjejc') { const from = performance.now(); document.dispatchEvent(new KeyboardEvent('keydown', { key })); ${frame}; all.push(performance.now() - from) } return all })()`,
      ),
    )
    filters.push(
      ...(await page.evaluate(
        `(async () => { const all = [], find = document.getElementById('find'); for (const word of ['echo 7-3-', 'unified_e', 'nowhere-x']) { for (let end = 1; end <= 9; end++) { find.value = word.slice(0, end); if (end === 9) all.push(performance.now()); find.dispatchEvent(new Event('input')) } ${frame}; all.push(performance.now() - all.pop()) } return all })()`,
      )),
    )
    await page.context().close()
  }
  const bytes = statSync(file).size
  const each = keys[0].map((_, key) => median(keys.map((round) => round[key])))
  return [
    {
      name: 'page of 10,000 calls, made',
      goal: 3000,
      ratio: median(times),
      unit: 'ms',
      detail: `median of 3 starts of the program; the log has ${(statSync(join(place.workspace, '.vtcode/sessions/ses_calls/events.jsonl')).size / 1e6).toFixed(1)} MB`,
    },
    { name: 'page of 10,000 calls, size', goal: 10, ratio: bytes / 1024 ** 2, unit: 'MiB' },
    {
      name: 'page of 10,000 calls, first paint',
      goal: 1000,
      ratio: median(paints),
      unit: 'ms',
      detail: 'Chromium of Debian without a window, median of 5',
    },
    {
      name: 'page of 10,000 calls, a key',
      goal: 50,
      ratio: Math.max(...each),
      unit: 'ms',
      detail: `the slowest of ten, each the median of ${keys.length} pages, to the end of its frame; median ${median(each).toFixed(1)} ms, the latest of all ${Math.max(...keys.flat()).toFixed(0)} ms`,
    },
    {
      name: 'page of 10,000 calls, a filter',
      goal: 200,
      ratio: Math.max(...filters),
      unit: 'ms',
      detail: `the slowest of ${filters.length}, nine letters at once, from the last one; median ${median(filters).toFixed(1)} ms`,
    },
  ]
}

async function exportFigures(place) {
  const log = statSync(join(place.workspace, '.vtcode/sessions/ses_large/events.jsonl')).size / 1e6
  const rows = []
  for (const format of ['atif', 'open-responses', 'otel']) {
    const { ms, peak } = await ran(place, ['export', format, 'ses_large', '--out', `large.${format}`])
    rows.push({
      name: `export ${format} of a log of 100 MB, memory`,
      goal: 150,
      ratio: peak,
      unit: 'MB',
      detail: `the most that the whole process had; the log has ${log.toFixed(0)} MB, ${(ms / 1000).toFixed(1)} s`,
    })
  }
  return rows
}

async function inspectorFigures({ workspace, env }, browser) {
  for (let session = 0; session < 50; session++)
    logOf(workspace, `ses_old${session}`, { turns: 1, steps: 1, calls: 2, output: 100 })
  const child = spawn(process.execPath, [bin, 'inspect'], { cwd: workspace, env, stdio: ['ignore', 'pipe', 'ignore'] })
  try {
    const [first] = await once(child.stdout, 'data')
    const page = await (await browser.newContext()).newPage()
    await page.goto(String(first).trim())
    await page.locator('#rows li').first().waitFor()
    await page.waitForTimeout(2000)
    const ticks = () => {
      const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return 10 * (Number(fields[11]) + Number(fields[12]))
    }
    const [from, before] = [performance.now(), ticks()]
    await page.waitForTimeout(10_000)
    const idle = (100 * (ticks() - before)) / (performance.now() - from)
    const log = join(workspace, '.vtcode/sessions/ses_old7/events.jsonl')
    const times = []
    for (let event = 0; event < 30; event++) {
      const item = { id: `n${event}`, type: 'agent_message', text: `said ${event}.`, status: 'completed' }
      const line = `${JSON.stringify({ schema_version: '1.0.0', event: { type: 'item.completed', item, seq: 1000 + event, ts: new Date().toISOString(), thread_id: 'th_b' } })}\n`
      const seen = page.locator('#rows li', { hasText: `said ${event}.` }).waitFor()
      const at = performance.now()
      appendFileSync(log, line)
      await seen
      times.push(performance.now() - at)
      await page.waitForTimeout(37 * (event % 5))
    }
    times.sort((a, b) => a - b)
    return [
      {
        name: 'inspector: an event on screen after its line',
        goal: 500,
        ratio: times[Math.floor(times.length * 0.95)],
        unit: 'ms',
        detail: `p95 of ${times.length}; median ${median(times).toFixed(0)} ms, the latest ${times.at(-1).toFixed(0)} ms`,
      },
      {
        name: 'inspector: a core while a page listens and nothing happens',
        goal: 2,
        ratio: idle,
        unit: '%',
        detail: 'processor time of 10 s, 52 sessions followed',
      },
    ]
  } finally {
    child.kill('SIGKILL')
  }
}
