import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

/** The file of each editor, a text that a user has in it, and a piece that the text has afterwards. */
const editors: Record<string, { file: (home: string) => string; before: string; part: RegExp }> = {
  zed: {
    file: (home) => join(home, '.config/zed/settings.json'),
    before:
      '// mine\n{\n  "theme": "One", // dark\n  "agent_servers": {\n    // kept\n    "other": { "command": "x" },\n  },\n}\n',
    part: /"vtcode": \{\s+"type": "custom",\s+"command": "[^"]+",\s+"args": \[[^\]]*"acp"\s+\]/,
  },
  jetbrains: {
    file: (home) => join(home, '.jetbrains/acp.json'),
    before: '{\n  "default_mcp_settings": {},\n  "agent_servers": { "other": { "command": "x" } }\n}\n',
    part: /"vtcode": ?\{\s*"command": ?"[^"]+",\s*"args": ?\[[^\]]*"acp"\s*\]/,
  },
  neovim: {
    file: (home) => join(home, '.config/nvim/after/plugin/vtcode.lua'),
    before: '-- mine\nlocal x = 1\n',
    part: /^-- vtcode begin\n[^]*config\.adapters\.acp\.vtcode = [^]*"acp" \} \}[^]*^-- vtcode end\n/m,
  },
  emacs: {
    file: (home) => join(home, '.emacs.d/init.el'),
    before: ";; mine\n(setq x 'y)\n\n;; end without a line break",
    part: /^;; vtcode begin\n\(with-eval-after-load 'agent-shell[^]*"acp"\)[^]*^;; vtcode end$/m,
  },
}
const setUp = (place: TempWorkspace, ...words: string[]) => vtcode(place, ['setup', '--agent', ...words])

describe('vtcode setup --agent', () => {
  it.each(Object.entries(editors))(
    'adds the agent to %s, keeps everything else, and restores the bytes',
    async (name, { file: fileOf, before, part }) => {
      await using place = await tempWorkspace()
      const file = fileOf(place.home)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, before)
      expect((await setUp(place, name)).stdout).toContain('+ ')
      expect(readFileSync(file, 'utf8')).toBe(before)
      expect((await setUp(place, name, '--yes')).stdout).toContain(`vtcode setup ${name} --agent --undo`)
      const after = readFileSync(file, 'utf8')
      expect(after).toMatch(part)
      for (const line of before.split('\n')) expect(after).toContain(line.replace(/ \}\s*$/, ''))
      expect((await setUp(place, name, '--yes')).stdout).toContain('is up to date')
      await setUp(place, name, '--undo', '--yes')
      expect(readFileSync(file, 'utf8')).toBe(before)
    },
  )

  it.each(['server first', 'agent first'])(
    'undoes the server and the agent of one file, %s, each without the other',
    async (order) => {
      await using place = await tempWorkspace()
      const { file: fileOf, before } = editors['zed']!
      const file = fileOf(place.home)
      const flags = { server: [], agent: ['--agent'] }
      const entries = { server: /"context_servers": \{\s+"vtcode"/, agent: /"vtcode": \{\s+"type": "custom"/ }
      const [first, second] = order === 'server first' ? (['server', 'agent'] as const) : (['agent', 'server'] as const)
      const change = (what: 'server' | 'agent', ...words: string[]) =>
        vtcode(place, ['setup', 'zed', ...flags[what], '--yes', ...words])
      for (const text of [before, undefined]) {
        if (text !== undefined) {
          mkdirSync(dirname(file), { recursive: true })
          writeFileSync(file, text)
        }
        await change('server')
        await change('agent')
        const both = readFileSync(file, 'utf8')
        for (const entry of Object.values(entries)) expect(both).toMatch(entry)
        await change(first, '--undo')
        const one = readFileSync(file, 'utf8')
        expect(one).not.toMatch(entries[first])
        expect(one).toMatch(entries[second])
        expect((await change(second)).stdout).toContain('is up to date')
        await change(second, '--undo')
        expect(existsSync(file) ? readFileSync(file, 'utf8') : undefined).toBe(text)
        rmSync(file, { force: true })
      }
    },
  )

  it.each(Object.keys(editors))('leaves no file of %s that it made', async (name) => {
    await using place = await tempWorkspace()
    expect((await setUp(place, name, '--yes')).code).toBe(0)
    const file = editors[name]!.file(place.home)
    expect(readFileSync(file, 'utf8')).toMatch(editors[name]!.part)
    await setUp(place, name, '--undo', '--yes')
    expect(existsSync(file)).toBe(false)
  })

  it('balances the parentheses of Lisp and the blocks of Lua', async () => {
    await using place = await tempWorkspace()
    for (const name of ['emacs', 'neovim']) await setUp(place, name, '--yes')
    const count = (text: string, form: RegExp) => [...text.matchAll(form)].length
    const lisp = readFileSync(editors['emacs']!.file(place.home), 'utf8').replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    expect(count(lisp, /\(/g)).toBe(count(lisp, /\)/g))
    const lua = readFileSync(editors['neovim']!.file(place.home), 'utf8').replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
    expect(count(lua, /\bfunction\b|\bthen\b/g)).toBe(count(lua, /^\s*end\b/gm))
  })

  it('refuses half a block, and an editor that has no agents', async () => {
    await using place = await tempWorkspace()
    const file = editors['emacs']!.file(place.home)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, ';; vtcode begin\n(old)\n')
    expect(await setUp(place, 'emacs', '--yes')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("';; vtcode end'"),
    })
    expect(await setUp(place, 'codex')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('known: zed, jetbrains, neovim, emacs'),
    })
    expect((await vtcode(place, ['setup', 'neovim'])).stderr).toContain('vtcode setup neovim --agent')
  })

  it('describes the published version for the public registry of agents', () => {
    const read = (path: string) => JSON.parse(readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8'))
    const [agent, { name, version, license, files }] = [read('docs/acp-registry/agent.json'), read('package.json')]
    expect(agent).toMatchObject({ id: name, version, license })
    expect(agent.distribution.npx).toEqual({ package: `${name}@${version}`, args: ['acp'] })
    expect(agent.id).toMatch(/^[a-z][a-z0-9-]*$/)
    expect(files).toContain('docs')
  })
})
