// A process with a kernel of its own. It makes each call that its parent sends, and answers with the result.
import { createKernel } from 'vtcode'

const [workspace, home] = process.argv.slice(2)
const kernel = await createKernel({ workspace, home, env: { HOME: home }, mode: 'auto' })
process.on('message', async ({ input, session, surface }) =>
  process.send(await kernel.call('unified_file', input, { session, surface })),
)
process.on('disconnect', () => void kernel.close())
process.send('ready')
