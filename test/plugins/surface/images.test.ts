import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { jpeg, png } from '../../support/images.js'
import { hold } from '../../support/inside.js'
import { home, startPeer, vtcode, type Home } from '../../support/peer.js'
import { bin, surroundings } from '../../support/program.js'

const eras = [
  ['2025-11-25', {}],
  ['2026-07-28', { versionNegotiation: { mode: { pin: '2026-07-28' } } }],
] as [string, ConstructorParameters<typeof Client>[1]][]

describe.each(eras)('vtcode mcp in revision %s', (_, options) => {
  it('answers an image as a block of its own, with a line of text before it', async () => {
    await using made = await tempWorkspace({})
    const shot = png(5, 4)
    writeFileSync(join(made.root, 'shot.png'), shot)
    const client = new Client({ name: 'test', version: '1' }, options)
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp'],
        cwd: made.root,
        env: surroundings(made),
        stderr: 'ignore',
      }),
    )
    try {
      const { content } = await client.callTool({
        name: 'unified_file',
        arguments: { action: 'read', path: 'shot.png' },
      })
      expect(content).toEqual([
        { type: 'text', text: `[image/png, 5 × 4 points, ${shot.length} bytes]` },
        { type: 'image', mimeType: 'image/png', data: shot.toString('base64') },
      ])
    } finally {
      await client.close()
    }
  })
})

const sees = { provider: { models: { m: { supports_vision: true } } } }
async function place(answers: number): Promise<{ peer: Awaited<ReturnType<typeof startPeer>>; at: Home }> {
  const peer = hold(await startPeer(Array.from({ length: answers }, () => ({ content: 'a cat' }))))
  const at = hold(await home(peer, {}, sees))
  writeFileSync(join(at.root, 'a.png'), png(5))
  writeFileSync(join(at.root, 'b,c.jpg'), jpeg(6, 7))
  return { peer, at }
}
const sent = (body: unknown, bytes: Buffer): boolean => JSON.stringify(body).includes(bytes.toString('base64'))

describe('--image', () => {
  it('attaches images to a task, several or repeated, from any folder, with stdin as the task or added to it', async () => {
    const { peer, at } = await place(5)
    symlinkSync(join(at.root, 'a.png'), join(at.home, 'link.png'))
    expect(
      await vtcode(at, ['exec', '--image', `a.png,${join(at.home, 'link.png')}`, '--image', 'b,c.jpg', 'what is it']),
    ).toMatchObject({ code: 0, out: 'a cat\n' })
    expect(sent(peer.bodies[0], png(5)) && sent(peer.bodies[0], jpeg(6, 7))).toBe(true)
    expect(await vtcode(at, ['exec', '--image', 'a.png'], { input: 'said on stdin' })).toMatchObject({ code: 0 })
    expect(JSON.stringify(peer.bodies[1])).toContain('said on stdin')
    expect(sent(peer.bodies[1], png(5))).toBe(true)
    expect(await vtcode(at, ['ask', '--image', 'a.png', 'what is it'])).toMatchObject({ code: 0, out: 'a cat\n' })
    expect(sent(peer.bodies[2], png(5))).toBe(true)
    expect(
      await vtcode(at, ['chat', '--image', 'a.png'], { input: 'what is it\n/image b,c.jpg\nand this\n' }),
    ).toMatchObject({ code: 0 })
    expect(sent(peer.bodies[3], png(5)) && !sent(peer.bodies[3], jpeg(6, 7)) && sent(peer.bodies[4], jpeg(6, 7))).toBe(
      true,
    )
  })

  it('names a file that is no image, with the reason, before it asks a model', async () => {
    const { peer, at } = await place(1)
    mkdirSync(join(at.root, 'folder.png'))
    execFileSync('mkfifo', [join(at.root, 'pipe.png')])
    writeFileSync(join(at.root, 'big.png'), png(5))
    truncateSync(join(at.root, 'big.png'), 100 * 1024 * 1024)
    writeFileSync(join(at.root, 'text.png'), 'text\n')
    writeFileSync(join(at.root, 'bomb.png'), png(1, 1, 0, { width: 50_000, height: 50_000 }))
    const bad = {
      'none.png': 'file not found',
      'folder.png': 'it is no regular file',
      'pipe.png': 'it is no regular file',
      '/dev/zero': 'it is no regular file',
      'big.png': 'it has 104857600 bytes',
      'text.png': 'its first bytes',
      'bomb.png': '50000 × 50000',
      'a.png,': 'the name of a file is empty',
    }
    for (const [file, why] of Object.entries(bad)) {
      const ran = await vtcode(at, ['exec', '--image', file, 'what is it'])
      expect(ran, file).toMatchObject({ code: 2, out: '' })
      expect(ran.err, file).toContain('--image ')
      expect(ran.err, file).toContain(why)
    }
    expect((await vtcode(at, ['ask', '--image', 'none.png', 'what'])).err).toContain('--image none.png: file not found')
    expect(peer.asked).toEqual([])
  })
})
