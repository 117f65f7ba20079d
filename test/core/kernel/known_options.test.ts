import { expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { createAgent } from 'vtcode/agent'
import { tempWorkspace } from 'vtcode/test'

it('refuses unknown options of createKernel and createAgent, and names the nearest one', async () => {
  await expect(createKernel({ workspce: '.' } as never)).rejects.toThrow(
    "createKernel has no option 'workspce' (did you mean workspace?)",
  )
  await using place = await tempWorkspace()
  const kernel = await createKernel({ workspace: place.root, home: place.home, surface: undefined as never })
  await expect(createAgent(kernel, { modle: 'a/b' } as never)).rejects.toThrow(
    "createAgent has no option 'modle' (did you mean model?)",
  )
  await kernel.close()
})
