#!/usr/bin/env bash
# @probelabs/probe 0.6.0-rc325, its acp-tester: it tests a protocol of its own, not the Agent Client Protocol.
#
# Guess: an agent that follows protocol version 1, such as one made with the SDK of the protocol, passes this tester.
# Seen: the tester sends `protocolVersion` as the text '1', which the schema of the protocol refuses (a number), so that the first of its
#   tests fails with "Invalid params" and the others do not run. Its other calls are `newSession` without a folder and `loadSession`, and
#   its checks want `serverInfo` and `capabilities`, none of which the protocol has (`session/new`, `agentInfo`, `agentCapabilities`).
# Consequence here: the profile acp-core-v1 and acpx judge `vtcode acp` (test/plugins/surface/acp_profile.test.ts), this tester does not.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @agentclientprotocol/sdk@2.4.0 zod@4.6.2 >/dev/null
# The tester needs none of the dependencies of its package.
npm pack --silent @probelabs/probe@0.6.0-rc325 >/dev/null
tar xf probelabs-probe-*.tgz package/src/agent/acp/test-utils/acp-tester.js package/package.json
cat >agent.mjs <<'JS'
import { Readable, Writable } from 'node:stream'
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk'
agent()
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentInfo: { name: 'a', version: '1' } }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: 's' }))
  .onRequest(methods.agent.session.prompt, () => ({ stopReason: 'end_turn' }))
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)))
JS
set +e
# The tester starts its work only under the path that Node gives to the module.
tester="$(pwd -P)/package/src/agent/acp/test-utils/acp-tester.js"
node "$tester" --agent-command "node agent.mjs" --timeout 20 >seen.txt 2>&1
code=$?
set -e
cat seen.txt
[ "$code" != 0 ]
grep -q 'Protocol Initialize .*Invalid params' seen.txt
grep -q 'Total: 1' seen.txt
