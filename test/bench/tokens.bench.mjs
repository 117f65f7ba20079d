// The race: what a finished task costs in tokens, ours and others' agents on the same twenty tasks, against one scripted model, and our
// MCP server against others. VTCODE_RACE=vtcode,pi names who runs, VTCODE_RACE_TASKS=1,7 which tasks; VTCODE_RACE_AT is a folder in which
// the others are installed already or are kept. VTCODE_RACE_MORE={"name":…,"package":…} is one more that is installed.
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agents } from './tokens/agents.mjs'
import { racedOverMcp, servers } from './tokens/mcp.mjs'
import { startModel } from './tokens/model.mjs'
import { raced, twice } from './tokens/race.mjs'
import { measures, section } from './tokens/report.mjs'
import { install, rowsOf } from './tokens/rows.mjs'
import { tasks } from './tokens/tasks.mjs'

const wanted = process.env.VTCODE_RACE?.split(/,(?! )/)
const only = process.env.VTCODE_RACE_TASKS?.split(',')
const chosen = tasks.filter((_, i) => !only || only.includes(String(i + 1)))
const more = process.env.VTCODE_RACE_MORE
  ? [{ ...agents.find(({ name }) => name === 'pi'), ...JSON.parse(process.env.VTCODE_RACE_MORE) }]
  : []

export default async function bench() {
  const installs = process.env.VTCODE_RACE_AT ?? mkdtempSync(join(tmpdir(), 'vtcode-race-'))
  const root = join(tmpdir(), 'vtcode-race')
  const model = await startModel()
  try {
    const { encode: tokensOf } = createRequire(join(install(installs, 'gpt-tokenizer'), 'x.js'))(
      'gpt-tokenizer/encoding/o200k_base',
    )
    const how = { root, tokensOf }
    const runs = new Map()
    for (const agent of named([...agents, ...more]))
      runs.set(
        agent.name,
        await allTasks(agent, installs, (task, at) => (agent.own ? twice : raced)(model, agent, task, { ...how, at })),
      )
    const overMcp = new Map()
    for (const server of named(servers))
      overMcp.set(
        server.name,
        await allTasks(server, installs, (task, at) => racedOverMcp(server, task, { ...how, at })),
      )
    return { measures: measures(runs, overMcp), section: section(runs, overMcp) }
  } finally {
    model.close()
    rmSync(root, { recursive: true, force: true })
    if (!process.env.VTCODE_RACE_AT) rmSync(installs, { recursive: true, force: true })
  }
}

const named = (all) => all.filter(({ name }) => !wanted || wanted.includes(name))

const allTasks = (who, installs, run) => rowsOf(who, chosen, () => who.package && install(installs, who.package), run)
