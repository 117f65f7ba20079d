#!/usr/bin/env bash
# @copilotkit/aimock 1.43.0 on Node 20 and 22: each mock server that was stopped makes every later promise of the process slower.
#
# Guess: after stop() a server costs nothing; a test file may start one for each of its tests.
# Seen: each server has an AsyncLocalStorage of its own, which its first request enables and which stop() leaves enabled. Before Node 24 every
#   enabled storage is carried to each new promise of the process. After 40 servers that answered one request each, 200,000 awaits of
#   nothing took 5.5 s instead of 17 ms (Node 20.20.2, two cores). Disabling the 40 storages by hand ends it.
# Consequence here: test/support/mock.ts disables the storage of a server when it stops it; the tests of test/plugins/surface/finish.test.ts took 15 % less time.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @copilotkit/aimock@1.43.0 >/dev/null
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict'
import { LLMock } from '@copilotkit/aimock'

const timeAwaits = async () => {
  const begin = performance.now()
  for (let round = 0; round < 200_000; round++) await undefined
  return performance.now() - begin
}
await timeAwaits()
const before = await timeAwaits()
for (let server = 0; server < 40; server++) {
  const mock = new LLMock({ port: 0 })
  await mock.start()
  mock.on({ predicate: () => true }, { content: 'hello' })
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
  await (await fetch(`${mock.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text()
  await mock.stop()
}
const after = await timeAwaits()
console.log(`Node ${process.version}: 200,000 awaits took ${before.toFixed(0)} ms before and ${after.toFixed(0)} ms after 40 servers`)
const isCarried = Number(process.versions.node.split('.')[0]) < 24
assert.equal(after > 20 * before, isCarried)
JS
node probe.mjs
