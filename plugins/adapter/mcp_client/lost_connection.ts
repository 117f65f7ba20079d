import { VtError } from '../../../core/index.js'

/**
 * Returns whether a server refuses a request because it does not know the session any more; the client then begins a
 * new one (MCP 2025-06-18, Streamable HTTP, session management).
 */
export const isLostSession = (error: unknown): boolean =>
  (error as Error).name === 'SdkHttpError' && (error as { status?: unknown }).status === 404

/** Creates the error of a call whose connection ended; `fault` is the reason for which we closed it. */
export const createDisconnectError = (id: string, fault: string | undefined): VtError =>
  new VtError({
    code: 'VT_MCP_DISCONNECTED',
    message:
      fault === undefined
        ? `The MCP server ${id} ended the connection in the middle of the call.`
        : `The connection to the MCP server ${id} was closed in the middle of the call: ${fault}.`,
    hint: 'The next call starts it again. Check what this call did before you repeat it.',
    retryable: true,
  })
