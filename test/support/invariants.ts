import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'

interface Check {
  (value: unknown): boolean
  errors?: ErrorObject[] | null
}

const ajv = new Ajv2020({ strict: false })
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(new URL(`../../manifests/schema/${name}.1.json`, import.meta.url), 'utf8'))
/** A check whose schema is compiled at its first use: that takes half a second, and most files use one of them. */
const checkOf = (read: () => object): Check => {
  let compiled: Check | undefined
  const check: Check = (value) => {
    compiled ??= ajv.compile(read()) as Check
    const isRight = compiled(value)
    check.errors = compiled.errors ?? null
    return isRight
  }
  return check
}
const isMemory = checkOf(() => schemaOf('session_memory_envelope'))
/** The check of readers, which ignore unknown fields. */
export const isEvent = checkOf(() => schemaOf('thread_event'))
/** The check of writers, which may write only specified fields. */
export const isOurEvent = checkOf(() => strict(schemaOf('thread_event')))

function strict({ $id: _, ...schema }: any): object {
  const { item } = schema.$defs
  return {
    ...schema,
    unevaluatedProperties: false,
    $defs: { ...schema.$defs, item: { ...item, unevaluatedProperties: false } },
  }
}

/** Checks that the memory of a session has the published shape. */
export function checkMemory(text: string): any {
  const memory = JSON.parse(text)
  assert.ok(isMemory(memory), ajv.errorsText(isMemory.errors))
  return memory
}

/** Checks every log of events: numbering, pairs, order and sums. */
export function checkLog(events: any[]): void {
  events.forEach((event, index) => assert.equal(event.seq, index + 1, `seq of event ${index + 1}`))
  const open = new Map<string, any>()
  let running = false
  let turn: string | undefined
  let steps = zero()
  let turns = zero()
  let outputs = new Set<string>()
  for (const event of events) {
    assert.ok(isOurEvent(event), `${JSON.stringify(event).slice(0, 300)}: ${ajv.errorsText(isOurEvent.errors)}`)
    switch (event.type) {
      case 'thread.started':
        assert.ok(!running, 'a run begins when the one before has ended')
        running = true
        turns = zero()
        break
      case 'thread.completed':
        assert.ok(running && turn === undefined && open.size === 0, 'a run ends when everything in it has')
        assert.deepEqual(count(event.usage), count(turns), 'the turns make the thread')
        running = false
        break
      case 'turn.started':
        assert.ok(running && turn === undefined, 'turns follow each other')
        turn = event.turn_id
        steps = zero()
        break
      case 'turn.completed':
      case 'turn.failed':
        assert.equal(event.turn_id, turn)
        if (event.usage) assert.deepEqual(count(event.usage), count(steps), 'the steps make the turn')
        turns = sum(turns, event.usage ?? zero())
        turn = undefined
        break
      case 'item.started':
        assert.ok(!open.has(event.item.id), `${event.item.id} starts once`)
        open.set(event.item.id, event.item)
        break
      case 'item.completed':
        assert.ok(open.delete(event.item.id), `${event.item.id} was started`)
        if (event.item.type === 'tool_output') outputs.add(event.item.call_id)
        if (event.item.type === 'tool_invocation' && event.item.status !== 'cancelled')
          assert.ok(outputs.has(event.item.call_id), 'the output comes before the end of the call')
        break
      case 'step.completed':
        for (const id of event.item_ids) assert.ok(!open.has(id), `${id} of the step has ended`)
        steps = sum(steps, event.usage)
    }
  }
  assert.ok(!running, 'the last run has ended')
}

/** Every call is answered exactly once, in the next message. */
export function checkMessages(messages: any[]): void {
  const asked: string[] = []
  const answered: string[] = []
  for (const { role, content, tool_calls, tool_call_id } of messages) {
    if (role === 'assistant') {
      assert.deepEqual(answered, asked, 'calls are answered before the model goes on')
      asked.push(...(tool_calls ?? []).map((call: any) => call.id))
    }
    if (role === 'tool') answered.push(tool_call_id)
    void content
  }
  assert.deepEqual(answered, asked)
  assert.equal(new Set(asked).size, asked.length, 'no id names two calls')
}

const zero = () => ({ input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cache_creation_tokens: 0 })
const count = ({ input_tokens, output_tokens, cached_input_tokens, cache_creation_tokens }: any) => ({
  input_tokens,
  output_tokens,
  cached_input_tokens,
  cache_creation_tokens,
})
const sum = (a: any, b: any) => ({
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
  cached_input_tokens: a.cached_input_tokens + b.cached_input_tokens,
  cache_creation_tokens: a.cache_creation_tokens + b.cache_creation_tokens,
})
