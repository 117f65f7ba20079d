#!/usr/bin/env bash
# @agentclientprotocol/sdk 2.4.0: a request that follows `initialize` without a wait for its answer is refused.
#
# Guess: messages of one stream are handled in their order, so that `session/new` after `initialize` finds the connection initialized.
# Seen: the agent side reads messages without waiting for the handlers of earlier ones. If the handler of `initialize` waits for anything,
#   the next request in the stream gets -32600 "ACP connection must be initialized before 'session/new'", although its turn comes later.
#   After the answer to `initialize` the same request passes.
# Consequence here: plugins/surface/acp/stdio_stream.ts holds later messages until `initialize` is answered.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @agentclientprotocol/sdk@2.4.0 zod@4.6.2 >/dev/null
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict'
import { agent, methods } from '@agentclientprotocol/sdk'

const input = new TransformStream()
const answers = []
let wake
const output = new WritableStream({ write: (message) => (answers.push(message), wake?.()) })
const answerTo = async (id) => {
  for (;;) {
    const found = answers.find((one) => one.id === id)
    if (found) return found
    await new Promise((resolve) => (wake = resolve))
  }
}
agent()
  .onRequest(methods.agent.initialize, async () => {
    await new Promise(setImmediate)
    return { protocolVersion: 1 }
  })
  .onRequest(methods.agent.session.new, () => ({ sessionId: 's' }))
  .connect({ readable: input.readable, writable: output })
const writer = input.writable.getWriter()
const send = (id, method, params) => writer.write({ jsonrpc: '2.0', id, method, params })
const session = ['session/new', { cwd: '/', mcpServers: [] }]
send(1, 'initialize', { protocolVersion: 1 })
send(2, ...session)
const early = await answerTo(2)
await answerTo(1)
send(3, ...session)
const late = await answerTo(3)
console.log(`sent at once: ${early.error?.code} ${early.error?.message}; sent later: ${JSON.stringify(late.result)}`)
assert.equal(early.error?.code, -32600)
assert.deepEqual(late.result, { sessionId: 's' })
process.exit(0)
JS
node probe.mjs
