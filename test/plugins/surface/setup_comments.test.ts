import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { vtcode } from '../../support/program.js'

// Settings as clients and people write them. Each is set up, set up again, taken back with the record of the change,
// and without it, as after a change by another program.
const toml = [
  'model = "o"\n',
  'model = "o"',
  '# only a comment\n',
  'model = "o" # why\n\n# about the profile\n[profiles.p]\nmodel = "x"\n',
  '[mcp_servers.other]\ncommand = "a" # keep\nargs = ["x", # one\n  "y"]\n\n# about the profile\n[profiles.p]\na = 1\n',
  '[mcp_servers.other]\ncommand = "a"\n\n# [mcp_servers.old]\n# command = "old"\n',
  'a = """\n[mcp_servers.vtcode]\n"""\n\n[t]\nb = \'\'\'\n# no comment\'\'\'\n',
  '[mcp_servers]\n\n[mcp_servers."with.dot"]\ncommand = \'c:\\\\x\'\r\n',
  '[[list]]\na = 1\n\n[[list]]\na = 2 # two\n\n\n',
  'model = "o"\r\n\r\n# about\r\n[profiles.p]\r\na = 1\r\n',
  'notify = [\n  "a", # first\n  # second\n  "b",\n]\nwhen = 2026-11-30T10:00:00Z\n',
]
const jsonc = [
  '{ "a": 1 }',
  '{\n  "a": 1\n}\n',
  '{\n  "a": 1, // about a\n  "b": 2 // about b\n}\n',
  '{\n  "a": 1, // about a\n  "b": 2, // about b\n}\n',
  '// top\n{\n  /* first */\n  "a": 1 /* one */,\n  // "old": {}\n}\n',
  '{\n  "context_servers": {\n    // the other\n    "other": { "command": "a" } // why\n    // "old": {}\n  }\n}\n',
  '{\n  "context_servers": {\n    "other": { "command": "a" }, // why\n  },\n  "b": [1, // one\n    2]\n}\n',
  '{\n\t"context_servers": {\n\t\t"other": {\n\t\t\t"command": "a"\n\t\t}\n\t}\n\t// end\n}',
  '{\r\n  "a": 1, // about a\r\n  "b": "// no comment" // about b\r\n}\r\n',
  '{ "context_servers": { "other": {} /* why */ } }\n',
  '{\n  "context_servers": {}, // none yet\n  "b": 1\n}\n',
  '{\n  "context_servers": {\n    // none yet\n  }\n}\n',
]

interface Form {
  client: string
  file: string
  env: (made: TempWorkspace) => Record<string, string>
}
const forms: Record<string, Form> = {
  TOML: { client: 'codex', file: 'config.toml', env: (made) => ({ CODEX_HOME: made.root }) },
  JSONC: { client: 'zed', file: '../home/.config/zed/settings.json', env: () => ({}) },
}
/** Lines as they were, but for a comma that separates a new entry. */
const keepsLines = (before: string, after: string): boolean => {
  const rest = after.split('\n').map((line) => line.replace(/\r$/, ''))
  const bare = (line: string): string => line.replace(/[\s,]/g, '')
  return before
    .replace(/\r/g, '')
    .split('\n')
    .every((line) => {
      const at = rest.findIndex((one) => bare(one) === bare(line))
      if (at >= 0) rest.splice(0, at + 1)
      return at >= 0
    })
}

describe.each([
  ['TOML', toml],
  ['JSONC', jsonc],
] as const)('setup: %s with comments', (name, texts) => {
  const { client, file, env } = forms[name]!
  it.each(texts.map((text) => [text]))('keeps every other byte and takes its own change back: %j', async (text) => {
    await using made = await tempWorkspace({ [file]: text })
    const run = (...words: string[]) => vtcode(made, ['setup', client, ...words, '--yes'], { env: env(made) })
    expect(await run()).toMatchObject({ code: 0, stderr: '' })
    const after = (await made.read(file))!
    expect(after).toContain('vtcode')
    if (!/^\{ |\{\}/.test(text)) expect([after, keepsLines(text, after)]).toEqual([after, true])
    expect((await run()).stdout).toContain('is up to date')
    await run('--undo')
    expect(await made.read(file)).toBe(text)
    // Without a record, only containers that the removal leaves empty go too.
    if (/"context_servers": \{(\}|\s*\/\/ none)/.test(text)) return
    await run()
    rmSync(join(made.home, '.vtcode/setup_changes.json'))
    await run('--undo')
    expect(await made.read(file)).toBe(text)
  })
})

describe('setup: an entry that is there', () => {
  it.each([
    [
      '[mcp_servers.vtcode]\ncommand = "old" # mine\nstartup_timeout_sec = 9\n\n# about the next\n[mcp_servers.next]\ncommand = "b"\n',
      /^\[mcp_servers\.vtcode\]\ncommand = "[^"]+" # mine\nstartup_timeout_sec = 9\nargs = \[[^\n]*"mcp"\]\n\n# about the next\n\[mcp_servers\.next\]\ncommand = "b"\n$/,
      '# about the next\n[mcp_servers.next]\ncommand = "b"\n',
    ],
    [
      'a = 1\n\n[mcp_servers.vtcode]\nargs = [ "old", # why\n]\n# [mcp_servers.off]\n# command = "c"\n\n[x]\n',
      /^a = 1\n\n\[mcp_servers\.vtcode\]\nargs = \[[^\n]*"mcp"\]\ncommand = "[^"]+"\n# \[mcp_servers\.off\]\n# command = "c"\n\n\[x\]\n$/,
      'a = 1\n# [mcp_servers.off]\n# command = "c"\n\n[x]\n',
    ],
    [
      '[mcp_servers.vtcode]\ncommand = "x"\n\n[mcp_servers.vtcode.env]\nA = "1"\n\n# about y\n[y]\nb = 2',
      /^\[mcp_servers\.vtcode\]\ncommand = "[^"]+"\nargs = \[[^\n]*"mcp"\]\n\n\[mcp_servers\.vtcode\.env\]\nA = "1"\n\n# about y\n\[y\]\nb = 2$/,
      '\n# about y\n[y]\nb = 2',
    ],
  ])('changes its values alone and removes only its lines: %j', async (text, changed, removed) => {
    await using made = await tempWorkspace({ 'config.toml': text })
    const run = (...words: string[]) =>
      vtcode(made, ['setup', 'codex', ...words, '--yes'], { env: { CODEX_HOME: made.root } })
    expect(await run()).toMatchObject({ code: 0, stderr: '' })
    expect(await made.read('config.toml')).toMatch(changed)
    await run('--undo')
    expect((await made.read('config.toml'))!.trimStart()).toBe(removed.trimStart())
  })
})
