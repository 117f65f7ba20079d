import { readdirSync, readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { spawnSession, spawnSessionWithHost, type SessionOptions, type SlashCommand, type UiSession } from 'vtcode/tui'
import { hold } from '../../../support/inside.js'
import { home, startPeer } from '../../../support/peer.js'
import { drawn } from '../../../support/screen.js'
import type { Row } from '../../../support/seed.js'

// Of the screen, and of the package that draws it.
const root = fileURLToPath(new URL('../../../..', import.meta.url))
const parts = readdirSync(`${root}/plugins/tui`)
const own = { KeyboardProtocol: { enabled: true, mode: 'full', disambiguateEscapeCodes: true, reportEventTypes: false, reportAlternateKeys: true, reportAllKeys: false } } as const

/** What a session draws on a terminal in memory, and what it is typed. */
async function seen(start: (io: Partial<SessionOptions>) => UiSession, type = ''): Promise<string> {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, isRaw: false, setRawMode: (on: boolean) => (stdin.isRaw = on) })
  let raw = ''
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 20 })
  output.on('data', (chunk: Buffer) => (raw += String(chunk)))
  const { handle } = start({ stdin, output, env: {}, theme: 'none' })
  handle.send({ type: 'commit', block: { kind: 'text', text: 'from another program' } })
  stdin.write(type)
  await expect.poll(() => raw.includes('from another program') && (type === '' || raw.includes('Greets')), { timeout: 10_000 }).toBe(true)
  handle.send({ type: 'shutdown' })
  await handle.closed
  return raw
}
const greet: SlashCommand = { name: 'greet', description: 'Greets' }

/** A person types into the chat of the program. */
async function typed(text: string, wanted: string | RegExp): Promise<string[]> {
  const skill = '---\nname: greet\ndescription: Greets somebody.\n---\nGreet $ARGUMENTS.\n'
  const peer = hold(await startPeer([{ content: 'greeted' }]))
  const place = hold(await home(peer, { '.agents/skills/greet/SKILL.md': skill }))
  const at = await drawn(place, ['chat'], { columns: 110 })
  await at.until(/^peer\/m · \w+/m)
  at.type(text)
  await at.until(wanted)
  at.type('\u0003')
  at.type('\u0004')
  await at.end()
  return peer.bodies.map(({ messages }) => JSON.stringify(messages.at(-1).content))
}

export const rows: Row[] = [
  ['19', 'slash commands', async () => expect(await typed('/status\r', /branch +none/)).toEqual([])],
  ['19', 'slash commands from skills', async () => expect(await typed('/greet Ada\r', 'greeted')).toEqual([expect.stringContaining('Greet Ada.')])],
  ['57', 'terminal UI with its own boundary', () => {
    const sources = parts.filter((name) => name.endsWith('.ts')).map((name) => readFileSync(`${root}/plugins/tui/${name}`, 'utf8'))
    const imported = sources.flatMap((source) => [...source.matchAll(/from '(\.[^']+)'/g)].map(([, from]) => from!))
    expect(imported.filter((from) => !/^\.\/|^\.\.\/lib\/|^\.\.\/\.\.\/core\//.test(from))).toEqual([])
  }],
  ['58', 'public TUI API package', async () => expect(await seen(spawnSession)).toContain('from another program')],
  ['59', 'runtime type surface ui::tui', () => {
    const { exports } = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
    const types = readFileSync(`${root}/${exports['./tui'].types}`, 'utf8')
    for (const name of ['SessionOptions', 'SessionSurface', 'KeyboardProtocolSettings', 'HostAdapter', 'UiSession', 'UiCommand', 'UiEvent']) expect(types).toContain(name)
  }],
  ['61', 'SessionOptions, SessionSurface, KeyboardProtocolSettings', async () => {
    const asked = await seen((io) => spawnSession({ ...io, surface: 'inline', keyboard: own.KeyboardProtocol }))
    const quiet = await seen((io) => spawnSession({ ...io, surface: 'inline', keyboard: { ...own.KeyboardProtocol, enabled: false } }))
    expect([asked.includes('\u001b[?u'), quiet.includes('\u001b[?u')]).toEqual([true, false])
  }],
  ['63', 'HostAdapter', async () => {
    const host = (io: Partial<SessionOptions>) => spawnSessionWithHost({
      workspace: () => ({ name: 'theirs', root }), themes: () => ({ available: ['none'], active: 'none' }), setTerminalFocused: () => {}, sessionDefaults: () => io, slashCommands: () => [greet], appName: () => 'theirs',
    })
    expect(await seen(host, '/')).toContain('/greet')
  }],
  ['65', 'TUI source tree', () => expect(parts).toEqual(expect.arrayContaining(['index.ts', 'session.ts', 'types.ts', 'prompt.ts', 'markdown.ts', 'overlays', 'theme.ts']))],
  ['70', 'runner modules drive/events/signal/surface/terminal_io/terminal_modes', () => expect(parts).toEqual(expect.arrayContaining(['drive.ts', 'events.ts', 'signal.ts', 'surface.ts', 'terminal_io.ts', 'terminal_modes.ts']))],
]
