import type { InitializeRequest, InitializeResponse } from '@agentclientprotocol/sdk'
import { version } from '../../../core/system/index.js'

/** The stable protocol version; version 2 is a draft and is not offered. */
const PROTOCOL_VERSION = 1
export const SIGN_IN_METHOD = 'sign-in'

/** Creates the answer to `initialize`, from its params alone, so that it needs neither kernel nor SDK. */
export function createInitializeResponse({ clientCapabilities }: InitializeRequest): InitializeResponse {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: 'vtcode', title: 'vtcode', version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: false },
      sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
      auth: { logout: {} },
    },
    authMethods: [
      {
        id: SIGN_IN_METHOD,
        name: 'Sign in to the provider',
        description: 'Uses the key of your environment, or opens the sign-in page of the provider of your model.',
      },
      ...(clientCapabilities?.auth?.terminal === true
        ? [
            {
              type: 'terminal' as const,
              id: 'terminal',
              name: 'Sign in with a terminal',
              description: 'Signs in to the provider of your model, or shows which key it needs.',
              args: ['--login'],
            },
          ]
        : []),
    ],
  }
}
