import { describe, expect, it } from 'vitest'
import { exportsOf, importsOf, parse, sources, textOf } from './sources.js'
import { parse as parseYaml } from 'yaml'
import { filesOf } from './sources.js'

// Rules of imports: rooms with one door each, lower floors only, no circle. A red line here means: be deliberate, and change the rule in the same commit.

/** Low to high: a file imports its own room and rooms to its left. */
const floors = {
  core: [
    'text',
    'shapes',
    'system',
    'documents',
    'schema',
    'files',
    'workspace',
    'trust',
    'config',
    'skills',
    'manifests',
    'registry',
    'input',
    'contract',
    'generation',
    'calls',
    'kernel',
    'cli',
  ],
  lib: [
    'base',
    'process',
    'git',
    'shell',
    'steering',
    'sandbox',
    'state',
    'rules',
    'net',
    'values',
    'globs',
    'walk',
    'search',
    'grep',
    'checkpoints',
    'files',
    'patch',
    'intents',
    'reading',
    'snapshots',
    'language_server',
    'symbols',
    'worktrees',
    'syntax',
    'patterns',
    'hooks',
    'skills',
    'schedule',
    'local_server',
    'jobs',
    'frames',
    'terminal',
    'own_files',
  ],
  // Sibling rooms share a number.
  agent: [
    ['base'],
    ['events', 'runs'],
    ['auth'],
    ['providers'],
    ['wire'],
    ['model'],
    ['session'],
    ['history'],
    ['ledger', 'instructions'],
    ['context', 'loop', 'components'],
    ['task'],
    ['finish', 'delegation', 'schedule', 'records', 'replay', 'remote'],
    ['thread_state', 'agent_options', 'services'],
    ['thread'],
    ['open'],
    ['index'],
    ['cli'],
  ],
}
const levels: Record<string, (room: string) => number> = {
  core: (room) => floors.core.indexOf(room),
  lib: (room) => floors.lib.indexOf(room),
  agent: (room) => floors.agent.findIndex((rooms) => rooms.includes(room)),
}

interface Address {
  house: 'core' | 'lib' | 'agent' | 'family'
  room: string
  isDoor: boolean
}
function addressOf(file: string): Address {
  const [first = '', second = '', third = ''] = file.replace(/\.ts$/, '').split('/')
  const isDoor = /^(?:core|plugins\/lib|plugins\/agent|plugins\/tui)\/(?:[a-z_]+\/)?index\.ts$/.test(file)
  if (first === 'core') return { house: 'core', room: second, isDoor }
  if (second === 'tui') return { house: 'family', room: third === 'text' ? 'tui_text' : 'tui', isDoor }
  return second === 'lib' || second === 'agent'
    ? { house: second, room: third, isDoor }
    : { house: 'family', room: second, isDoor: false }
}

/** Returns the reason why a file must not import another one, or nothing. */
function objection(from: string, to: string): string | undefined {
  const [a, b] = [addressOf(from), addressOf(to)]
  if (a.house === b.house && a.room === b.room) return undefined
  // `bin` loads `main`, the process, which uses `program_run`; `index` is the front door: all four are above the rooms.
  if ((from === 'core/bin.ts' && to === 'core/main.ts') || (from === 'core/main.ts' && to === 'core/program_run.ts'))
    return undefined
  if (a.house === 'core' && ['bin', 'main', 'program_run', 'index'].includes(a.room))
    return b.house === 'core' && b.isDoor ? undefined : 'past a door'
  if (a.house !== 'family') {
    if (to === 'core/index.ts') return 'the front door is for strangers, families and surfaces'
    const above =
      a.house === 'core'
        ? b.house !== 'core'
        : a.house === 'lib'
          ? b.house === 'agent' || b.house === 'family'
          : b.house === 'family'
    if (above) return 'a higher house'
    if (!b.isDoor && !['thread_state', 'agent_options', 'services', 'thread', 'open'].includes(b.room))
      return 'past a door'
    return a.house === b.house && levels[a.house]!(b.room) >= levels[a.house]!(a.room) ? 'not a lower floor' : undefined
  }
  // Only the chat uses the drawing code.
  if (b.room === 'tui' && b.isDoor && partOf(from) === 'plugins/surface/chat') return undefined
  // The screen uses the room that renders its text.
  if (a.room === 'tui' && b.room === 'tui_text' && b.isDoor) return undefined
  if (b.house === 'family') return 'another family'
  if (b.house === 'agent')
    return a.room === 'surface' && ['plugins/agent/index.ts', 'plugins/agent/cli/index.ts'].includes(to)
      ? undefined
      : 'the agent is for surfaces, by its two doors'
  return b.isDoor ? undefined : 'past a door'
}

/** The action modules, and the module of each: a manifest names them. */
const actions = new Set(
  filesOf('manifests', '.yaml').flatMap((file) => {
    const manifest = parseYaml(textOf(file)) as { kind?: string; action?: string; module?: string }
    return (manifest.kind ?? 'action') === 'action' && manifest.module
      ? [file.replace(/^manifests\//, 'plugins/').replace(/\.yaml$/, '.ts')]
      : []
  }),
)
/** `plugins/surface/mcp.ts` and everything in `plugins/surface/mcp/` are one. */
const partOf = (file: string): string => file.replace(/\.ts$/, '').split('/').slice(0, 3).join('/')

describe('imports of rooms', () => {
  const ours = sources.flatMap((file) =>
    importsOf(file)
      .filter(({ name }) => sources.includes(name))
      .map(({ name }) => [file, name] as const),
  )

  it('leads every import through a door to a lower floor', () => {
    expect(
      ours.flatMap(([from, to]) => {
        const why = objection(from, to)
        return why === undefined ? [] : [`${from} → ${to}: ${why}`]
      }),
    ).toEqual([])
  })
  it('refuses an import from one surface or action to another', () => {
    const alone = (file: string): boolean => file.startsWith('plugins/surface/') || actions.has(file)
    const sisters = ours.filter(([from, to]) => alone(from) && alone(to) && partOf(from) !== partOf(to))
    expect(sisters.map(([from, to]) => `${from} → ${to}`)).toEqual([])
  })
  it('lets actions import core only through its public entry point', () => {
    const past = ours.filter(([from, to]) => actions.has(from) && to.startsWith('core/') && to !== 'core/index.ts')
    expect(past.map(([from, to]) => `${from} → ${to}`)).toEqual([])
  })
  it('refuses circular imports, types included', () => {
    const graph = new Map(sources.map((file) => [file, ours.flatMap(([from, to]) => (from === file ? [to] : []))]))
    expect(circles(graph)).toEqual([])
  })
  it('keeps each library in one room', () => {
    const homes: Record<string, RegExp> = {
      'node:child_process': /^core\/system\/process\.ts$/,
      tapable: /^core\/calls\/pipelines\.ts$/,
      cosmiconfig: /^core\/documents\//,
      ajv: /^core\/schema\//,
      'ajv-formats': /^core\/schema\//,
      'gray-matter': /^core\/skills\//,
      execa: /^plugins\/lib\/process\//,
      '@ai-sdk/provider': /^plugins\/agent\/(?:model|providers)\//,
      oauth4webapi: /^plugins\/agent\/auth\//,
      '@modelcontextprotocol/client': /^plugins\/(?:adapter\/mcp_(?:client|tools|transport)|surface\/mcp)\//,
      '@modelcontextprotocol/server': /^plugins\/surface\/mcp\//,
      'node-pty': /^plugins\/unified_exec\/session\//,
      '@xterm/headless': /^plugins\/unified_exec\/session\//,
      '@earendil-works/pi-tui': /^plugins\/tui\/text\/parts\.ts$/,
      croner: /^plugins\/lib\/schedule\//,
      'highlight.js': /^plugins\/tui\/text\/languages\.ts$/,
      bullmq: /^plugins\/job_engine\/bullmq/,
      ioredis: /^plugins\/job_engine\/bullmq/,
    }
    const strays = sources.flatMap((file) =>
      importsOf(file).flatMap(({ name, type }) =>
        homes[name] && !type && !homes[name].test(file) ? [`${file} → ${name}`] : [],
      ),
    )
    expect(strays).toEqual([])
  })
  it('locates files of the program only in core/system/program_files.ts, because the build joins modules', () => {
    const places = /(?:new URL|dirname|fileURLToPath)\([^\n]*import\.meta/
    expect(sources.filter((file) => places.test(textOf(file)))).toEqual(['core/system/program_files.ts'])
  })
})

describe('folders', () => {
  it("makes nested folders only with makeFolder, because Node's `recursive` never ends below /proc", () => {
    expect(sources.filter((file) => /mkdir(?:Sync)?\([^\n{]*\{[^}]*\brecursive\b/.test(textOf(file)))).toEqual([])
  })
})

describe('foreign text', () => {
  it('converts foreign values only with toText, because `String` throws at `{"toString": 1}`', () => {
    const readers =
      /^(?:core\/(?:input|registry|manifests)|plugins\/(?:adapter|agent\/(?:auth|model|providers)|lib\/(?:hooks|rules|shell|values)|surface\/(?:mcp|plugins)))\//
    expect(
      sources.filter((file) => readers.test(file) && /(?<![\w.])String\(|\.map\(String\)/.test(textOf(file))),
    ).toEqual([])
  })
})

describe('rooms', () => {
  const tests = filesOf('test', '.test.ts')
  const rooms = [
    ...new Set(sources.filter((file) => addressOf(file).isDoor).map((file) => file.replace(/\/?index\.ts$/, ''))),
  ].filter((room) => !['core', 'plugins/agent'].includes(room))
  const testsOf = (room: string): string[] => tests.filter((file) => file.startsWith(`test/${room}/`))

  it('requires a folder of tests for each room', () => {
    expect(rooms.filter((room) => testsOf(room).length === 0)).toEqual([])
  })
  it('tests each room at its door, without a kernel or a process', () => {
    // Third parties reach these rooms through a kernel, and so do the tests.
    const KERNEL_ROOMS = ['core/contract', 'core/generation', 'core/calls', 'core/kernel']
    const atDoor = (room: string): boolean =>
      KERNEL_ROOMS.includes(room) ||
      testsOf(room).some((file) => importsOf(file).some(({ name }) => name === `build/${room}/index.ts`))
    expect(rooms.filter((room) => !atDoor(room))).toEqual([])
  })
})

/** Rooms over their limit, in kB. */
const largeRooms: Record<string, number> = {
  'plugins/surface/chat': 104,
  'plugins/surface/mcp': 88,
  'plugins/surface/plugins': 148,
  'plugins/tui': 88,
  'plugins/unified_search/structural': 96,
}
/** Files over their limit, in kB. */
const largeFiles: Record<string, number> = {
  'core/calls/call.ts': 15.3,
  'core/generation/generation.ts': 16.6,
  'core/kernel/kernel_state.ts': 12.2,
  'core/manifests/discover.ts': 16,
  'core/manifests/locations.ts': 14.6,
  'core/registry/bind.ts': 16.9,
  'core/registry/registry.ts': 13.9,
  'core/shapes/errors.ts': 16.7,
  'core/skills/parse.ts': 13,
  'core/trust/lockfile.ts': 12.4,
  'plugins/adapter/isolated/plugin_process.ts': 13.9,
  'plugins/adapter/mcp_client/server.ts': 14,
  'plugins/agent/instructions/instructions.ts': 16.4,
  'plugins/agent/delegation/delegation.ts': 15.4,
  'plugins/agent/finish/finish.ts': 13.4,
  'plugins/agent/finish/planned_task.ts': 13.6,
  'plugins/agent/loop/turn.ts': 13.9,
  'plugins/agent/providers/provider.ts': 16.6,
  'plugins/agent/runs/run_reducer.ts': 13.5,
  'plugins/agent/thread.ts': 16.1,
  'plugins/surface/plugins/install.ts': 19,
  'plugins/tui/drive.ts': 13.8,
}

describe('sizes', () => {
  const kilobyte = 1024
  const sizeOf = (file: string): number => Buffer.byteLength(textOf(file))
  const isGenerated = (file: string): boolean => textOf(file).startsWith('// Generated from ')
  /** Lists sizes over their limit: an entry may shrink and go, no entry may grow or be added. */
  const isOver = (sizes: Iterable<readonly [string, number]>, limit: number, allowed: Record<string, number>) =>
    [...sizes]
      .filter(([name, size]) => size > (allowed[name] ?? limit) * kilobyte)
      .map(([name, size]) => `${name} has ${(size / kilobyte).toFixed(1)} kB`)
  const isStale = (sizes: ReadonlyMap<string, number>, limit: number, allowed: Record<string, number>) =>
    Object.keys(allowed).filter((name) => (sizes.get(name) ?? 0) <= limit * kilobyte)

  it('limits rooms to 80 kB, except for listed ones', () => {
    const rooms = new Map<string, number>()
    for (const file of sources)
      if (!isGenerated(file)) rooms.set(roomOf(file), (rooms.get(roomOf(file)) ?? 0) + sizeOf(file))
    expect(isOver(rooms, 80, largeRooms)).toEqual([])
    expect(isStale(rooms, 80, largeRooms)).toEqual([])
  })
  it('limits files to 12 kB, except for listed ones', () => {
    const files = new Map(sources.filter((file) => !isGenerated(file)).map((file) => [file, sizeOf(file)]))
    expect(isOver(files, 12, largeFiles)).toEqual([])
    expect(isStale(files, 12, largeFiles)).toEqual([])
  })
})

describe('exported names', () => {
  /** Names that hosts expect of a module: the input of an action, completion of an argument, Node's module hooks. */
  const shared = new Set(['Input', 'complete', 'load', 'resolve'])

  it('gives each exported name one meaning', () => {
    const places = new Map<string, string[]>()
    for (const file of sources)
      if (!addressOf(file).isDoor)
        for (const name of new Set(exportsOf(file))) places.set(name, [...(places.get(name) ?? []), file])
    expect([...places].filter(([name, files]) => files.length > 1 && !shared.has(name))).toEqual([])
  })
  it('exports by name in every door, never with a star', () => {
    const doors = sources.filter((file) => addressOf(file).isDoor && file !== 'plugins/agent/index.ts')
    expect(
      doors.filter((file) =>
        parse(file).statements.some((statement) => !/^export (type )?\{/.test(statement.getText())),
      ),
    ).toEqual([])
  })
})

describe('JSON that a verb prints', () => {
  it('prints JSON of a verb only with formatDocument, so that it cannot move a cursor', () => {
    const faces = sources.filter(
      (file) => /^plugins\/(?:surface|agent\/cli)\//.test(file) && !/\/(?:mcp|inspect)\//.test(file),
    )
    const raw = faces.flatMap((file) =>
      textOf(file)
        .split('\n')
        .filter((line) => /stdout/.test(line) && /`\$\{JSON\.stringify\((?!readContract)/.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    )
    expect(raw).toEqual([])
  })
})

function roomOf(file: string): string {
  const parts = file.split('/')
  if (parts[0] === 'core') return parts.length > 2 ? `core/${parts[1]}` : 'core'
  if (parts[1] === 'tui') return parts[2] === 'text' ? 'plugins/tui/text' : 'plugins/tui'
  if (parts[1] === 'lib' || parts[1] === 'agent') return parts.slice(0, parts.length > 3 ? 3 : 2).join('/')
  return partOf(file)
}

/** The circles of a graph, each as the files in it. */
function circles(graph: Map<string, readonly string[]>): string[][] {
  const number = new Map<string, number>()
  const lowest = new Map<string, number>()
  const stack: string[] = []
  const found: string[][] = []
  const visit = (file: string): void => {
    number.set(file, number.size)
    lowest.set(file, number.get(file)!)
    stack.push(file)
    for (const next of graph.get(file)!) {
      if (!number.has(next)) visit(next)
      if (stack.includes(next)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(next)!))
    }
    if (lowest.get(file) !== number.get(file)) return
    const circle = stack.splice(stack.indexOf(file))
    if (circle.length > 1) found.push(circle.sort())
  }
  for (const file of graph.keys()) if (!number.has(file)) visit(file)
  return found
}
