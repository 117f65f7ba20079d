import type * as acp from '@agentclientprotocol/sdk'
import { load, programFile } from '../../../core/system/index.js'

export type AcpSdk = Pick<typeof acp, 'agent' | 'methods' | 'RequestError'>

/** Returns the part of the SDK that `scripts/bundle.mjs` made. */
export const loadAcpSdk = (): AcpSdk => load(programFile('vendor/acp.cjs')) as AcpSdk
