// What the race comes to: the figures, and a table of every run.
const sum = (all) => all.reduce((a, b) => a + b, 0)
const own = 'vtcode'
const isPeer = (name) => !name.startsWith(own)

/** Ours against the cheapest that finishes, on the tasks that a peer finishes. */
export function measures(runs, overMcp) {
  const ours = runs.get(own) ?? []
  const { ratio, count } = against(ours, runs)
  const pi = runs.get('pi') ?? []
  const dearer = ours.filter(({ run }, i) => pi[i]?.run.finished && run.tokens > pi[i].run.tokens)
  const everyOwn = [...runs, ...overMcp]
    .filter(([name]) => !isPeer(name))
    .flatMap(([name, rows]) => rows.map(({ task, run }) => ({ name, task, run })))
  const failed = everyOwn.filter(({ run }) => !run.finished && !run.reason?.includes('of the client'))
  const again = everyOwn.filter(({ run }) => run.again === false)
  const list = (rows) =>
    rows.map(({ name, task, run }) => `${name}: ${task.id}${run.finished ? '' : ` (${missing(run)})`}`).join('; ')
  const mcp = against(overMcp.get('vtcode mcp') ?? [], overMcp)
  return [
    {
      name: 'tokens of all tasks, against the cheapest peer that finishes each',
      goal: 0.8,
      ratio: ratio('tokens'),
      detail: `${count} tasks; by bytes ${ratio('bytes').toFixed(2)}`,
    },
    {
      name: 'the same, a repeated prefix at a tenth',
      goal: 0.7,
      ratio: ratio('prefixed_tokens'),
      detail: `by bytes ${ratio('prefixed_bytes').toFixed(2)}`,
    },
    {
      name: 'tasks on which pi is cheaper',
      goal: 0,
      ratio: dearer.length,
      detail: dearer.map(({ task }) => task.id).join('; '),
    },
    {
      name: 'tasks that ours does not finish, on four wires and over MCP',
      goal: 0,
      ratio: failed.length,
      detail: list(failed),
    },
    {
      name: 'tasks whose requests differ in a second run, on four wires',
      goal: 0,
      ratio: again.length,
      detail: list(again),
    },
    {
      name: 'first request of exec',
      goal: 1800,
      ratio: ours[0]?.run.firstTokens ?? NaN,
      unit: 'tokens',
      detail: `${ours[0]?.run.first} bytes, in a folder of two files`,
    },
    {
      name: 'over MCP, tokens against the cheapest server that finishes each',
      goal: 1,
      ratio: mcp.ratio('tokens'),
      detail: `${mcp.count} tasks; a repeated prefix at a tenth ${mcp.ratio('prefixed_tokens').toFixed(2)}`,
    },
  ]
}

function against(ours, runs) {
  const peers = [...runs].filter(([name]) => isPeer(name))
  const raced = ours.flatMap(({ run }, i) => {
    const finished = peers.map(([, rows]) => rows[i]?.run).filter((one) => one?.finished)
    return finished.length > 0 && !run.reason
      ? [{ run, best: (key) => Math.min(...finished.map((one) => one[key])) }]
      : []
  })
  return {
    count: raced.length,
    ratio: (key) => sum(raced.map(({ run }) => run[key])) / sum(raced.map(({ best }) => best(key))),
  }
}

const missing = ({ reason, lost, wrong, unfinished }) =>
  reason ?? [...lost, ...wrong, ...(unfinished ? ['steps left'] : [])].join(', ')

export function section(runs, overMcp) {
  return [
    'Every agent runs each task for real, against a model that plays a script in the words of that agent. Bytes and o200k tokens are those of all its requests. With *prefix at a tenth*, the common beginning of a request and the one before counts a tenth. A task is reached if the folder has the wanted hash, every fact was in an answer of a tool, and no step was left.',
    totals([...runs, ...overMcp]),
    '### Agents',
    table(runs),
    '### Servers over MCP\n\nThe figures are those of the requests of a client that sends only the list and the answers to a model.',
    table(overMcp),
  ].join('\n\n')
}

const round = (n) => Math.round(n)
const columns = 'requests | bytes | o200k | prefix at a tenth: bytes | o200k | bytes of results'
const cells = (run) =>
  [run.requests, run.bytes, run.tokens, round(run.prefixed_bytes), round(run.prefixed_tokens), run.results].join(' | ')

/** The sums over what each finished. */
function totals(runs) {
  const rows = runs.map(([name, all]) => {
    const done = all.map(({ run }) => run).filter(({ finished }) => finished)
    const total = Object.fromEntries(
      ['requests', 'bytes', 'tokens', 'prefixed_bytes', 'prefixed_tokens', 'results'].map((key) => [
        key,
        sum(done.map((run) => run[key])),
      ]),
    )
    return `| ${name} | ${done.length} of ${all.length} | ${cells(total)} |`
  })
  return [`| all that is reached | tasks | ${columns} |`, '|---|---|---|---|---|---|---|---|', ...rows].join('\n')
}

function table(runs) {
  const line = (name, { task, run }) =>
    run.reason
      ? `| ${name} | ${task.id} | – | – | – | – | – | – | not run: ${oneLine(run.reason)} |`
      : `| ${name} | ${task.id} | ${cells(run)} | ${run.finished ? 'reached, all facts seen' : `lost: ${oneLine(missing(run))}`} |`
  return [
    `| who | task | ${columns} | end |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...[...runs].flatMap(([name, all]) => all.map((row) => line(name, row))),
  ].join('\n')
}

const oneLine = (text) => text.replace(/\s+/g, ' ').replaceAll('|', '\\|')
