import { execFileSync } from 'node:child_process'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { Asker, Question } from 'vtcode'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { asDeclared } from '../support/answers.js'

const program = new URL('../../dist/core/bin.js', import.meta.url).pathname
const database = {
  id: 'database',
  header: 'Database',
  question: 'Which one?',
  options: [
    { label: 'PostgreSQL', description: 'A server.' },
    { label: 'SQLite (Recommended)', description: 'A file.' },
  ],
}
const name = { id: 'name', header: 'Name', question: 'What is it called?' }

/** Returns the result of a call that `ask` answers. */
async function answered(
  questions: unknown,
  ask?: Asker,
  options: Parameters<typeof bootKernel>[0] & { signal?: AbortSignal } = {},
): Promise<any> {
  const { signal, ...boot } = options
  await using booted = await bootKernel(boot)
  return await asDeclared(
    'request_user_input',
    await booted.call('request_user_input', { questions }, { ...(ask && { ask }), ...(signal && { signal }) }),
  )
}

describe('request_user_input: library callback', () => {
  it('passes the questions with the recommended option first and returns the answers by id', async () => {
    let seen: readonly Question[] = []
    const result = await answered([database, name], async (questions) => {
      seen = questions
      return { database: { selected: ['PostgreSQL'] }, name: { selected: [], other: 'Ada' } }
    })
    expect(seen[0]!.options!.map(({ label }) => label)).toEqual(['SQLite (Recommended)', 'PostgreSQL'])
    expect(result.output).toEqual({
      answers: { database: { selected: ['PostgreSQL'] }, name: { selected: [], other: 'Ada' } },
    })
    expect(result.text).toBe('Database: PostgreSQL\nName: "Ada"')
  })

  it('returns a declined question as cancelled, not as a failure', async () => {
    expect(await answered([name], async () => undefined)).toMatchObject({ ok: true, output: { cancelled: true } })
  })

  it('drops answers to other questions and treats unknown options as free text', async () => {
    const result = await answered([database], async () => ({
      database: { selected: ['Oracle'] },
      admin: { selected: ['yes'] },
    }))
    expect(result.output).toEqual({ answers: { database: { selected: [], other: 'Oracle' } } })
  })

  it('reports VT_ASK_UNAVAILABLE when the callback throws', async () => {
    const result = await answered([name], () => Promise.reject(new Error('no window')))
    expect(result.error).toMatchObject({ code: 'VT_ASK_UNAVAILABLE', retryable: false })
    expect(result.error.hint).toMatch(/state the assumption/)
  })

  it('signals the callback when the caller gives up', async () => {
    const abort = new AbortController()
    let told = false
    const result = await answered(
      [name],
      (_, signal) => {
        setTimeout(() => abort.abort(), 20)
        return new Promise((_, reject) => signal.addEventListener('abort', () => reject((told = true))))
      },
      { signal: abort.signal },
    )
    expect(result.error.code).toBe('VT_CALL_ABORTED')
    expect(told).toBe(true)
  })

  it('asks one call of a session at a time', async () => {
    await using booted = await bootKernel()
    let open = 0
    let most = 0
    const ask: Asker = async () => {
      most = Math.max(most, ++open)
      await new Promise((resolve) => setTimeout(resolve, 20))
      open--
      return undefined
    }
    await Promise.all(
      Array.from({ length: 4 }, () => booted.call('request_user_input', { questions: [name] }, { ask })),
    )
    expect(most).toBe(1)
  })
})

describe('request_user_input: permission', () => {
  it.each(['plan', 'ask', 'auto'] as const)('allows questions in mode %s', async (mode) => {
    expect(await answered([name], async () => ({ name: { selected: [], other: 'x' } }), { mode })).toMatchObject({
      ok: true,
    })
  })

  it('denies a question by a rule and keeps it from the user', async () => {
    let asked = false
    const ask: Asker = async () => ((asked = true), undefined)
    expect((await answered([name], ask, { config: { policy: { deny: ['request_user_input'] } } })).error.code).toBe(
      'VT_POLICY_DENIED',
    )
    expect(asked).toBe(false)
  })

  it('refuses questions in full-auto unless they are on the allowed list', async () => {
    let asked = false
    const ask: Asker = async () => ((asked = true), undefined)
    const result = await answered([name], ask, {
      config: { automation: { full_auto: { enabled: true, allowed_tools: ['unified_search'] } } },
    })
    expect(result.error.code).toBe('VT_ASK_UNAVAILABLE')
    expect(asked).toBe(false)
  })
})

describe('request_user_input: invalid questions', () => {
  it.each([
    [
      'a long header in the second',
      [name, { ...name, id: 'b', header: 'Database choice' }],
      /questions\[1\]\.header.*15 characters.*12/,
    ],
    ['two with one id', [name, name], /questions\[1\]\.id.*questions\[0\]\.id/],
    [
      'two options of one label',
      [
        {
          ...name,
          options: [
            { label: 'a', description: '' },
            { label: 'a', description: '' },
          ],
        },
      ],
      /options\[1\]\.label/,
    ],
    ['a question of two lines', [{ ...name, question: 'a\nb' }], /questions\[0\]\.question.*one line/],
    ['one option', [{ ...name, options: [{ label: 'a', description: '' }] }], /questions\[0\]\.options.*2 to 3/],
    ['four of them', [1, 2, 3, 4].map((n) => ({ ...name, id: `q${n}` })), /4 items, 1 to 3/],
    ['an id with a capital', [{ ...name, id: 'Name' }], /questions\[0\]\.id/],
  ])('refuses %s and names the place', async (_, questions, message) => {
    const result = await answered(questions, async () => undefined)
    expect(result.error).toMatchObject({ code: 'VT_INPUT_INVALID', message: expect.stringMatching(message) })
  })
})

/** A client of the MCP server on a fresh workspace; its user answers elicitations by `answer`, or cannot be asked. */
async function ofClient(questions: unknown, answer?: (params: any) => unknown): Promise<any> {
  await using workspace = await tempWorkspace()
  const client = new Client({ name: 'test', version: '1' }, answer ? { capabilities: { elicitation: {} } } : {})
  if (answer) client.setRequestHandler('elicitation/create', (request) => answer(request.params) as never)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, '--workspace', workspace.root, '--home', workspace.home, 'mcp'],
      env: { PATH: process.env.PATH!, HOME: workspace.home },
    }),
  )
  try {
    return await client.callTool({
      name: 'request_user_input',
      arguments: { questions },
      _meta: { 'dev.vtcode/structured': true },
    })
  } finally {
    await client.close()
  }
}

describe('request_user_input: MCP client', () => {
  it('shows an MCP client one form with a field for each question and room for other words', async () => {
    let form: any
    const result = await ofClient([database, name], (params) => {
      form = params
      return { action: 'accept', content: { database: 'SQLite (Recommended)', name: 'Ada' } }
    })
    expect(form.requestedSchema.properties).toMatchObject({
      database: { type: 'string', enum: ['SQLite (Recommended)', 'PostgreSQL'] },
      database_OTHER: { type: 'string' },
      name: { type: 'string' },
    })
    expect(form.message).toContain('SQLite (Recommended): A file.')
    expect(result.structuredContent).toEqual({
      answers: { database: { selected: ['SQLite (Recommended)'] }, name: { selected: [], other: 'Ada' } },
    })
  })

  it('returns the free text of a user of an MCP client', async () => {
    const result = await ofClient([database], () => ({ action: 'accept', content: { database_OTHER: 'DuckDB' } }))
    expect(result.structuredContent).toEqual({ answers: { database: { selected: [], other: 'DuckDB' } } })
  })

  it.each(['decline', 'cancel'])('cancels the question when an MCP client answers %s', async (action) => {
    expect((await ofClient([name], () => ({ action }))).structuredContent).toEqual({ cancelled: true })
  })

  it('refuses the question and advises the model to decide when an MCP client cannot ask', async () => {
    const result = await ofClient([name])
    expect(result).toMatchObject({ isError: true, structuredContent: { error: { code: 'VT_ASK_UNAVAILABLE' } } })
  })
})

/** Runs `vtcode call` in a pseudo-terminal and types each of `steps` when the screen shows its text. */
async function atTerminal(
  questions: unknown,
  steps: [seen: string, keys: string][],
): Promise<{ code: number; screen: string; result: any }> {
  await using workspace = await tempWorkspace()
  const script = new URL('../fixtures/answer.py', import.meta.url).pathname
  const words = [
    program,
    '--workspace',
    workspace.root,
    '--home',
    workspace.home,
    'call',
    'request_user_input',
    '--input',
    JSON.stringify({ questions }),
  ]
  const env = { PATH: process.env.PATH, HOME: workspace.home, TERM: 'xterm' }
  const said = JSON.parse(
    execFileSync('python3', [script, JSON.stringify(steps), process.execPath, ...words], { encoding: 'utf8', env }),
  )
  return { ...said, result: JSON.parse(said.stdout) }
}

describe('request_user_input: terminal', () => {
  const down = '\u001b[B'

  it('selects options with the arrow keys and takes typed text', async () => {
    const { code, screen, result } = await atTerminal(
      [database, name],
      [
        ['Something else', `${down}${down}\r`],
        ['Your own words', 'Ada\r'],
      ],
    )
    expect(result.output).toEqual({
      answers: { database: { selected: ['PostgreSQL'] }, name: { selected: [], other: 'Ada' } },
    })
    expect(code).toBe(0)
    expect(screen).toContain('A file.')
  })

  it('takes an answer in free text at the terminal', async () => {
    const { result } = await atTerminal(
      [database],
      [
        ['Something else', '\r'],
        ['Your own words', 'DuckDB\r'],
      ],
    )
    expect(result.output).toEqual({ answers: { database: { selected: [], other: 'DuckDB' } } })
  })

  it('cancels the question on Ctrl-C', async () => {
    const { result } = await atTerminal([database, name], [['Something else', '\u0003']])
    expect(result.output).toEqual({ cancelled: true })
  })

  it('escapes the escape sequences of a model in a question', async () => {
    const { screen } = await atTerminal(
      [{ ...name, question: 'Sure?\u001b]0;owned\u0007' }],
      [['Your own words', 'y\r']],
    )
    expect(screen).not.toContain('\u001b]0;owned')
  })

  it('refuses the question without waiting where there is no terminal', async () => {
    await using workspace = await tempWorkspace()
    const words = [
      program,
      '--workspace',
      workspace.root,
      '--home',
      workspace.home,
      'call',
      'request_user_input',
      '--input',
      JSON.stringify({ questions: [name] }),
    ]
    try {
      execFileSync(process.execPath, words, { encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] })
      expect.unreachable()
    } catch (error) {
      expect(JSON.parse((error as { stdout: string }).stdout).error.code).toBe('VT_ASK_UNAVAILABLE')
    }
  })
})
