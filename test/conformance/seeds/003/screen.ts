import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import {
  spawnSession,
  spawnSessionWithHost,
  type HostAdapter,
  type KeyboardProtocolSettings,
  type SessionOptions,
  type SessionSurface,
  type UiCommand,
  type UiEvent,
  type UiSession,
} from 'vtcode/tui'
import { hold } from '../../../support/inside.js'
import { memoryTerminal } from '../../../support/memory_terminal.js'
import { home, startPeer, vtcode } from '../../../support/peer.js'
import type { Row } from '../../../support/seed.js'

// Of the screen, as a program of others has it.
const root = fileURLToPath(new URL('../../../..', import.meta.url))
const keyboard: KeyboardProtocolSettings = {
  enabled: true,
  mode: 'default',
  disambiguateEscapeCodes: true,
  reportEventTypes: false,
  reportAlternateKeys: false,
  reportAllKeys: false,
}

function session(options: Partial<SessionOptions> = {}) {
  const at = memoryTerminal()
  const { handle, events }: UiSession = spawnSession({ stdin: at.stdin, output: at.output, env: {}, ...options })
  return { ...at, handle, events, end: async () => (handle.send({ type: 'shutdown' }), await handle.closed) }
}
/** The files that a door of the program loads, without what is asked for later. */
function loaded(file: string, all = new Set<string>()): Set<string> {
  if (all.has(file)) return all
  all.add(file)
  for (const [, next] of readFileSync(file, 'utf8').matchAll(/^(?:const \w+ = )?require\("(\.[^"]+)"\)/gm))
    loaded(join(dirname(file), next!), all)
  return all
}
async function chat(input: string) {
  const skill = '---\nname: demo\ndescription: Use for demos.\n---\nStep one of the demo.\n'
  const peer = hold(await startPeer([{ content: 'done' }]))
  const at = hold(await home(peer, { '.agents/skills/demo/SKILL.md': skill }))
  return { peer, ...(await vtcode(at, ['chat'], { input })) }
}

export const rows: Row[] = [
  [
    '19',
    'slash commands',
    async () => {
      const { peer, err } = await chat('/mode\n/mode plan\n/help\n/nonsense\n')
      expect(err).toMatch(/^ask\n[^]*^plan\n[^]*\/compact[^]*\/goal[^]*Unknown command \/nonsense/m)
      expect(peer.bodies).toEqual([])
    },
  ],
  [
    '19',
    'slash commands from skills',
    async () => {
      const { peer, err } = await chat('/demo\n')
      expect(err).not.toContain('Unknown')
      expect(JSON.stringify(peer.bodies[0].messages)).toContain('Step one of the demo.')
    },
  ],
  [
    '57',
    'terminal UI with its own boundary',
    () => {
      const names = [...loaded(join(root, 'dist/plugins/tui/index.cjs'))].map((file) =>
        relative(join(root, 'dist'), file),
      )
      expect(names).toContain('core/_text.cjs')
      expect(names.filter((name) => /agent|core\/index|session|surface/.test(name))).toEqual([])
    },
  ],
  [
    '58',
    'public TUI API package',
    async () => {
      const { handle, events, type, until, end } = session({ placeholder: 'Say something' })
      await until('Say something')
      type('hello\r')
      const first = await events[Symbol.asyncIterator]().next()
      expect(first.value).toEqual({ type: 'submit', text: 'hello' })
      handle.send({ type: 'commit', block: { kind: 'markdown', text: 'You **said** it.' } })
      await until('You said it.')
      await end()
    },
  ],
  [
    '59',
    'runtime type surface ui::tui',
    async () => {
      const said: UiEvent[] = []
      const { handle, type, until, end } = session({ onEvent: (event) => void said.push(event) })
      const commands: UiCommand[] = [
        { type: 'header', lines: ['a header'] },
        { type: 'status', left: 'a status' },
        { type: 'activity', state: 'Busy' },
        { type: 'queue', items: ['waits'] },
        { type: 'subagents', lines: ['a child'] },
        { type: 'input', text: 'draft' },
      ]
      for (const command of commands) handle.send(command)
      await until(/^a header\n[^]*a child[^]*Busy[^]*1\. waits[^]*> draft\na status$/)
      type('\u001b[Z')
      await expect.poll(() => said).toEqual([{ type: 'cycle_mode' }])
      await end()
    },
  ],
  [
    '61',
    'SessionOptions, SessionSurface, KeyboardProtocolSettings',
    async () => {
      const surfaces: SessionSurface[] = ['auto', 'inline', 'alternate']
      for (const surface of surfaces) {
        const { frames, end } = session({ surface, keyboard: { ...keyboard, enabled: false } })
        await end()
        expect([frames.join('').includes('\u001b[?1049h'), frames.join('').includes('\u001b[?u')], surface).toEqual([
          surface === 'alternate',
          false,
        ])
      }
      for (const [mode, flags] of [
        ['default', 1],
        ['minimal', 1],
        ['full', 15],
      ] as const) {
        const { frames, type, end } = session({ keyboard: { ...keyboard, mode } })
        type('\u001b[?0u')
        await expect.poll(() => frames.join('')).toContain(`\u001b[>${flags}u`)
        await end()
        expect(frames.join('')).toContain('\u001b[<u')
      }
    },
  ],
  [
    '63',
    'HostAdapter',
    async () => {
      const at = memoryTerminal()
      const focus: boolean[] = []
      const host: HostAdapter = {
        workspace: () => ({ name: 'w', root: '/w' }),
        themes: () => ({ available: ['dark', 'none'], active: 'none' }),
        setTerminalFocused: (on) => void focus.push(on),
        sessionDefaults: () => ({ stdin: at.stdin, output: at.output, env: {}, placeholder: 'of the host' }),
        slashCommands: () => [{ name: 'deploy', description: 'Of the host' }],
        appName: () => 'host',
      }
      const { handle } = spawnSessionWithHost(host)
      await at.until('of the host')
      at.type('\u001b[O')
      at.type('\u001b[I')
      await expect.poll(() => focus).toEqual([false, true])
      at.type('/de')
      await at.until('/deploy')
      // A theme without colors.
      // eslint-disable-next-line no-control-regex
      expect(at.frames.join('')).not.toMatch(/\u001b\[3\dm/)
      handle.send({ type: 'shutdown' })
      await handle.closed
    },
  ],
  [
    '65',
    'TUI source tree',
    () => {
      expect(readdirSync(join(root, 'plugins/tui')).filter((name) => name.endsWith('.ts')).length).toBeGreaterThan(15)
      const strange = readdirSync(join(root, 'plugins/tui'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .flatMap((name) =>
          [
            ...readFileSync(join(root, 'plugins/tui', name), 'utf8').matchAll(
              /from '([^']*(?:agent|kernel|surface\/)[^']*)'/g,
            ),
          ].map(([, found]) => found),
        )
      expect(strange).toEqual([])
    },
  ],
  [
    '70',
    'runner modules drive/events/signal/surface/terminal_io/terminal_modes',
    () => {
      expect(readdirSync(join(root, 'plugins/tui'))).toEqual(
        expect.arrayContaining([
          'drive.ts',
          'events.ts',
          'signal.ts',
          'surface.ts',
          'terminal_io.ts',
          'terminal_modes.ts',
        ]),
      )
    },
  ],
  [
    '75',
    'inline vs alternate screen',
    async () => {
      for (const surface of ['inline', 'alternate'] as const) {
        const { handle, screen, until, text, drawn, end } = session({ surface })
        handle.send({ type: 'commit', block: { kind: 'text', text: 'It was said.' } })
        await until('It was said.')
        expect(screen.buffer.active.type).toBe(surface === 'inline' ? 'normal' : 'alternate')
        await end()
        await drawn()
        expect([screen.buffer.active.type, text()]).toEqual(['normal', 'It was said.'])
      }
    },
  ],
  [
    '102',
    'debounce for searches',
    async () => {
      const asked: string[] = []
      const { type, until, end } = session({ files: async (query) => (asked.push(query), [`src/${query}.ts`]) })
      for (const letter of '@longish') type(letter)
      await until('src/longish.ts')
      await sleep(60)
      expect([asked.at(-1), asked.length < 'longish'.length]).toEqual(['longish', true])
      await end()
    },
  ],
]
