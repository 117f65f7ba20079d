#!/usr/bin/env bash
# oauth4webapi 3.8.8: a lifetime may be text, a poll interval may not.
#
# Guess: a number that a server sends as text is refused everywhere, or read everywhere. Servers do send text: the device answer of
#   Azure AD v1 has "interval": "5" and "expires_in": "900", its token answer has "expires_in": "3599".
# Seen: `expires_in` as text is read as a number in a token answer and in a device answer. `interval` as text is refused with
#   OAUTH_INVALID_RESPONSE, '"interval" property must be a number', so that no device sign-in begins. null in place of an absent
#   member is refused too ("refresh_token", "expires_in"), and so is a scope that is a list.
# Consequence here: plugins/agent/auth changes such members before the library reads the answer.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts oauth4webapi@3.8.8 >/dev/null
cat >probe.mjs <<'JS'
import assert from 'node:assert/strict'
import * as oauth from 'oauth4webapi'

const server = { issuer: 'https://a.example' }
const client = { client_id: 'c' }
const answer = (body) => new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
const device = (more) =>
  oauth.processDeviceAuthorizationResponse(server, client, answer({ device_code: 'd', user_code: 'u', verification_uri: 'https://a.example/v', expires_in: 900, ...more }))
const token = (more) => oauth.processRefreshTokenResponse(server, client, answer({ access_token: 'a', token_type: 'bearer', ...more }))

assert.equal((await token({ expires_in: '3599' })).expires_in, 3599)
assert.equal((await device({ expires_in: '900' })).expires_in, 900)
assert.equal((await device({ interval: 5 })).interval, 5)
await assert.rejects(device({ interval: '5' }), { code: 'OAUTH_INVALID_RESPONSE', message: /"interval" property must be a number/ })
for (const more of [{ refresh_token: null }, { expires_in: null }, { scope: ['read'] }]) await assert.rejects(token(more), { code: 'OAUTH_INVALID_RESPONSE' })
console.log('expires_in as text is read, interval as text is refused')
JS
node probe.mjs
