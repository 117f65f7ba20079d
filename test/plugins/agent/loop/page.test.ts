import { spawn } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asShown, shownIn } from '../../../support/console.js'
import { hold } from '../../../support/inside.js'
import { call, home, startPeer, type Answer } from '../../../support/peer.js'
import { bin } from '../../../support/program.js'

const project = dirname(dirname(dirname(bin)))
const { files, steps } = shownIn(join(project, 'docs/agent-loop.md'))
const write = (path: string): Answer => ({ toolCalls: [call('unified_file', { action: 'write', path, content: 'hello' })] })
/** What the model answers in each of the programs of the page. */
const scripts: Record<string, Answer[]> = {
  'node embed.mjs': [write('a.txt'), { content: 'a.txt says hello.' }],
  'node stream.mjs': [{ content: 'It is said.' }],
  'node refused.mjs': [write('b.txt'), { content: 'Done.' }, { content: 'b.txt was not written: the mode is plan.' }],
}

describe('the page on the loop', () => {
  it.each(steps)('shows what really happens: $command', async ({ command, output }) => {
    const place = hold(await home(hold(await startPeer(scripts[command]!)), {}, { provider: { context_window: 128_000 } }))
    for (const { file, text } of files) await place.write(file, text)
    mkdirSync(join(place.root, 'node_modules'))
    symlinkSync(project, join(place.root, 'node_modules/vtcode'))
    const child = spawn('sh', ['-c', command], { cwd: place.root, env: { ...place.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }, stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => (said += String(chunk)))
    await new Promise((resolve) => child.on('close', resolve))
    expect(said.trimEnd()).toMatch(asShown(output))
  })
})
