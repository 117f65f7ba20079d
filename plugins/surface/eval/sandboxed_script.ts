import type { Kernel } from '../../../core/index.js'
import { EvalError } from './error.js'

const MAX_SECONDS = 1800

/** The end of a script that ran in the sandbox. */
export interface TaskScriptEnd {
  exit_code: number | undefined
  output: string
  duration_ms: number
}

/**
 * Runs a command in a folder below `root`, always in the sandbox: it can write below `root` only and has no network.
 * Throws EvalError where no sandbox works.
 */
export async function runInSandbox(
  kernel: Kernel,
  slot: string,
  { command, workdir, seconds, signal }: { command: string; workdir: string; seconds: number; signal: AbortSignal },
): Promise<TaskScriptEnd> {
  const began = performance.now()
  const input = { command, workdir, timeout_secs: Math.min(MAX_SECONDS, Math.ceil(seconds)) }
  const result = await kernel.call(slot, input, {
    signal,
    sandbox: 'strict',
    surface: 'eval',
    mode: 'auto',
    approve: () => true,
  })
  const duration_ms = Math.round(performance.now() - began)
  if (result.ok) {
    const { exit_code, stdout = '', stderr = '' } = result.output as Record<string, unknown>
    return {
      exit_code: typeof exit_code === 'number' ? exit_code : undefined,
      output: result.text ?? `${String(stdout)}${String(stderr)}`,
      duration_ms,
    }
  }
  const { code, message, hint, details = {} } = result.error
  if (/^VT_(?:EXEC_SANDBOX|POLICY_)/.test(code)) throw new EvalError(`${code}: ${message}`, hint)
  const { exit_code } = details as Record<string, unknown>
  return { exit_code: typeof exit_code === 'number' ? exit_code : undefined, output: message, duration_ms }
}

/** Opens a kernel in a folder, uses it, and closes it. */
export async function withKernel<T>(kernel: Kernel, folder: string, use: (there: Kernel) => Promise<T>): Promise<T> {
  const there = await kernel.inspection.openSibling(folder, {
    mode: 'auto',
    // The folder is a copy that is removed.
    config: { checkpoints: { enabled: false } },
  })
  try {
    return await use(there)
  } finally {
    await there.close()
  }
}
