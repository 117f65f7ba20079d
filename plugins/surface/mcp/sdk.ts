import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import type * as server from '@modelcontextprotocol/server'
import type * as stdio from '@modelcontextprotocol/server/stdio'

export type Sdk = Pick<typeof server, 'inputRequired' | 'ProtocolError' | 'Server'> & Pick<typeof stdio, 'serveStdio'>

const file = fileURLToPath(new URL('../../../vendor/mcp_sdk.cjs', import.meta.url))

/** The SDK as `.ci/bundle.mjs` bundled it. A code cache that is missing or of another V8 costs time, nothing else. */
export function loadSdk(): Sdk {
  const cachedData = cache()
  const script = new Script(readFileSync(file, 'utf8'), { filename: file, ...(cachedData && { cachedData }) })
  const sdk = {}
  script.runInThisContext()(sdk, createRequire(import.meta.url))
  return sdk as Sdk
}

function cache(): Buffer | undefined {
  try {
    return readFileSync(file.replace(/cjs$/, 'cache'))
  } catch {
    return undefined
  }
}
