import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { problem, VtError, type Handler, type Notice } from '../../core/index.js'
import { createSlotError, createTempFolder, notice } from '../lib/base/index.js'
import { serveCalls, type SnippetOutput } from './code/bridge.js'
import { javascriptStart } from './code/javascript.js'
import { javascriptResult } from './code/javascript_result.js'
import { pythonModule, pythonStart } from './code/python.js'
import { pythonResult } from './code/python_result.js'
import { deliver, reportProgress } from './session/delivery.js'
import { getSessions } from './session/sessions.js'
import { startCommand } from './session/start.js'

interface CodeInput {
  code: string
  language: Language | keyof typeof LANGUAGE_ALIASES | 'javascript' | 'js'
  timeout_secs: number
  workdir: string
  input?: string
  max_output_tokens?: number
}

/** The files and the program that run a snippet of each language. */
const LANGUAGES = {
  python3: {
    snippet: 'snippet.py',
    files: { 'vtcode.py': pythonModule, 'vtcode_result.py': pythonResult, 'start.py': pythonStart },
    argv: ['python3', '-B', '-u', 'start.py'],
  },
  node: {
    snippet: 'snippet.mjs',
    files: { 'start.mjs': javascriptStart, 'result.mjs': javascriptResult },
    argv: [process.execPath, 'start.mjs'],
  },
}
type Language = keyof typeof LANGUAGES
const LANGUAGE_ALIASES = { python: 'python3', py: 'python3' } as const
const MAX_CODE_BYTES = 1024 * 1024

/**
 * `unified_exec/code`: runs code that may call tools. JavaScript runs in an isolate without rights; Python and Node run
 * as commands do. Returns only the output and the result.
 */
export default (async (call, context) => {
  const { input } = call
  const size = Buffer.byteLength(input.code)
  if (size > MAX_CODE_BYTES)
    throw problem('VT_INPUT_TOO_LARGE', { size: `${size} bytes long`, limit: `${MAX_CODE_BYTES} bytes` })
  if (input.language === 'javascript' || input.language === 'js') {
    const { runScript } = await import('./isolate/run_script.js')
    return runScript(call, context)
  }
  const language =
    input.language in LANGUAGES
      ? (input.language as Language)
      : LANGUAGE_ALIASES[input.language as keyof typeof LANGUAGE_ALIASES]
  const { snippet, files, argv } = LANGUAGES[language]
  const folder = createTempFolder('code')
  try {
    const all = Object.entries({ ...files, [snippet]: input.code })
    for (const [name, text] of all) await writeFile(join(folder, name), text, { mode: 0o600 })
    const settings = context.settings.exec
    const session = await startCommand(context, call, {
      command: [...argv.slice(0, -1), join(folder, argv.at(-1)!)],
      shown: `${language} ${snippet}`,
      workdir: input.workdir,
      limit: { seconds: Math.min(input.timeout_secs, settings.max_timeout_secs), since: 'start' },
      stdin: input.input === undefined ? 'empty' : { text: input.input },
      files: folder,
      channel: true,
    }).catch((error: unknown) => {
      throw error instanceof VtError && error.code === 'VT_EXEC_NOT_FOUND' ? createInterpreterError(language) : error
    })
    const output = await follow(session)
    const result = output.result && { result: output.result.value }
    const remark = output.result && `[result] ${JSON.stringify(output.result.value)}`
    return await deliver(session, {
      max_output_tokens: input.max_output_tokens ?? settings.max_output_tokens,
      more: { language, ...result, calls: output.calls },
      ...(remark !== undefined && { remark }),
      notices: createNotices(output, session.timed_out),
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }

  async function follow(session: Awaited<ReturnType<typeof startCommand>>) {
    const output = serveCalls(session.transport.channel!, context)
    const stop = reportProgress(session, context)
    try {
      await session.wait(undefined, context.signal)
      return output
    } catch (error) {
      await getSessions(context).forget(session)
      throw error
    } finally {
      stop()
    }
  }
}) satisfies Handler<CodeInput>

function createNotices({ result, unshown, state }: SnippetOutput, timed_out: boolean): Notice[] {
  const notices: Notice[] = []
  if (result && result.kinds.length > 0)
    notices.push(notice('VT_EXEC_RESULT', `result has values that JSON lacks: ${result.kinds.join(', ')}.`))
  if (unshown !== undefined) {
    const way = 'Print the parts that matter, or write them to a file.'
    notices.push(notice('VT_EXEC_RESULT', `result cannot be shown: ${unshown}. ${way}`))
  }
  if (state === 'unsettled')
    notices.push(notice('VT_EXEC_UNSETTLED', 'An `await` never ended, because nothing was left to settle its promise.'))
  if (timed_out && state !== 'unsettled') {
    const what =
      state === 'done'
        ? 'The code had ended, but a timer, a server, a thread or a program that it started had not.'
        : 'The code itself had not ended: it was in a call, a loop or an `await` that takes longer or never ends.'
    notices.push(notice('VT_EXEC_UNSETTLED', what))
  }
  return notices
}

function createInterpreterError(language: Language): VtError {
  return createSlotError('VT_EXEC_RUNTIME', `This machine has no interpreter for ${language}.`, {
    hint: 'Write the snippet in javascript instead.',
  })
}
