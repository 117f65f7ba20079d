// A process to be hurt: driver.mjs ROOT HOME. It changes one file to have everything loaded, says `ready`, and then makes each call
// that a line of its input holds, `[tool, input]`, answering each with a line.
import { createInterface } from 'node:readline'
import { createKernel } from 'vtcode'

const [workspace, home] = process.argv.slice(2)
const kernel = await createKernel({ workspace, home, mode: 'auto', env: {} })
const warm = await kernel.call('unified_file', { action: 'edit', path: 'warm/a', old_str: 'warm', new_str: 'hot' })
const patch = '*** Begin Patch\n*** Update File: warm/a\n-hot\n+warm\n*** Update File: warm/b\n-warm\n+hot\n*** End Patch'
const patched = await kernel.call('apply_patch', { input: patch })
console.log(warm.ok && patched.ok ? 'ready' : JSON.stringify([warm, patched]))
for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await kernel.call(...JSON.parse(line))))
await kernel.close()
