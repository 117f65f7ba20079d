import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'

interface Check {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}
const ajv = new Ajv2020({ strict: false, allErrors: false })
const read = (path: string) => JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'))
const isTrajectory: Check = ajv.compile(read('../../manifests/schema/atif.1.json'))
const responses: Check = ajv.compile(read('../fixtures/open_responses.json'))

/** A trajectory holds to the schema and to the rules that no schema says. */
export function checkAtif(document: any): void {
  assert.ok(isTrajectory(document), ajv.errorsText(isTrajectory.errors))
  const embedded = new Set((document.subagent_trajectories ?? []).map((one: any) => one.trajectory_id))
  let last = ''
  document.steps.forEach((step: any, index: number) => {
    assert.equal(step.step_id, index + 1)
    assert.ok(step.timestamp >= last, `step ${step.step_id} is older than the one before`)
    last = step.timestamp
    const calls = new Set((step.tool_calls ?? []).map((call: any) => call.tool_call_id))
    for (const { source_call_id, subagent_trajectory_ref } of step.observation?.results ?? []) {
      if (source_call_id !== undefined)
        assert.ok(calls.has(source_call_id), `${source_call_id} is no call of step ${step.step_id}`)
      for (const { trajectory_id, trajectory_path } of subagent_trajectory_ref ?? [])
        assert.ok(trajectory_path !== undefined || embedded.has(trajectory_id), `${trajectory_id} is nowhere`)
    }
  })
  const sum = (of: (metrics: any) => number) =>
    document.steps.reduce((total: number, { metrics }: any) => total + (metrics === undefined ? 0 : of(metrics)), 0)
  const { total_prompt_tokens, total_completion_tokens, total_cost_usd, total_steps } = document.final_metrics
  assert.deepEqual(
    [total_prompt_tokens, total_completion_tokens, total_steps],
    [sum((one) => one.prompt_tokens), sum((one) => one.completion_tokens), document.steps.length],
  )
  if (total_cost_usd !== undefined) assert.ok(Math.abs(total_cost_usd - sum((one) => one.cost_usd)) <= 1e-9)
  for (const child of document.subagent_trajectories ?? []) checkAtif(child)
}

/** A stream of Open Responses: each event by its schema, numbers without a gap in each response, each response with one end; returns those ends. */
export function checkResponses(text: string): any[] {
  const events = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
  const ends: any[] = []
  let next = 0
  let open: string | undefined
  for (const event of events) {
    assert.ok(responses(event), `${JSON.stringify(event).slice(0, 200)}: ${ajv.errorsText(responses.errors)}`)
    if (event.type === 'response.created') {
      assert.equal(open, undefined, 'a response begins when the one before has ended')
      open = event.response.id
      next = 0
    }
    assert.equal(event.sequence_number, next++, event.type)
    if (/^response\.(completed|failed|incomplete)$/.test(event.type)) {
      assert.equal(event.response.id, open)
      assert.equal(event.response.previous_response_id, ends.at(-1)?.id ?? null)
      ends.push(event.response)
      open = undefined
    }
  }
  return ends
}
