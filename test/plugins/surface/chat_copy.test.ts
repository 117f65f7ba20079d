import { describe, expect, it } from 'vitest'
import { chat } from '../../support/chat.js'
import { faultsOf } from '../../support/screen.js'

const ready = /^peer\/m · ask/m
const COMMAND =
  'docker run --rm -it --name app -v /srv/data:/data -e MODE=production -p 8080:8080 registry.example.org/team/app:1.2.3'
/** Removes the styles of a terminal. */
// eslint-disable-next-line no-control-regex
const toPlain = (text: string): string => text.replace(/\u001b\[[\d;]*m/g, '')

describe('a line of code that is wider than the terminal', () => {
  const answers: [title: string, text: string, latency: number][] = [
    ['in a block of its own', `Run:\n\n\`\`\`bash\n${COMMAND}\n\`\`\`\n\nThat is all.`, 1],
    ['in a block that arrives slowly', `Run:\n\n\`\`\`bash\n${COMMAND}\n\`\`\`\n\nThat is all.`, 20],
    ['in a list', `1. Run:\n\n   \`\`\`\n   ${COMMAND}\n   \`\`\`\n\nThat is all.`, 1],
    [
      'among many lines',
      `\`\`\`bash\n${'echo a\n'.repeat(30)}${COMMAND}\n${'echo b\n'.repeat(30)}\`\`\`\n\nThat is all.`,
      1,
    ],
  ]
  it.each(answers)('stays one line for a copy: %s', async (_, content, latency) => {
    const { type, until, end, raw } = await chat([{ content, how: { latency, chunkSize: 40 } }])
    await until(ready)
    type('how?\r')
    await until('That is all.')
    type('\u0004')
    expect(await end()).toBe(0)
    // The last time that the command is written, nothing breaks it: the terminal folds the row.
    expect(toPlain(raw())).toContain(COMMAND)
    expect(faultsOf(raw())).toEqual([])
  })

  it('keeps a text that holds the marks of the renderer', async () => {
    const content = `\ue0000\ue001 and\n\n\`\`\`\n${COMMAND}\n\`\`\`\n\nThat is all.`
    const { type, until, end, text } = await chat([{ content }])
    await until(ready)
    type('how?\r')
    await until('That is all.')
    type('\u0004')
    expect(await end()).toBe(0)
    expect(text()).toContain('docker run --rm')
  })
})
