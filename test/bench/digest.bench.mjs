// What a model reads of a file before it reads the file: the outline of one of about 200 lines, over the packages of other projects.
import { copyFileSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createKernel } from 'vtcode'
import { median } from './measure.mjs'
import { inFolder, place } from './scene.mjs'

const packages = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules')

/** Programs of 190 to 210 lines that people wrote, one of each package: lines that are no wider than a screen. */
function samples() {
  const taken = new Map()
  for (const entry of readdirSync(packages, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !['.js', '.mjs', '.ts', '.tsx', '.py'].includes(extname(entry.name))) continue
    const path = join(entry.parentPath ?? entry.path, entry.name)
    const [first, second] = path.slice(packages.length + 1).split('/')
    const name = first.startsWith('@') ? `${first}/${second}` : first
    if (taken.has(name)) continue
    const lines = readFileSync(path, 'utf8').split('\n')
    if (lines.length >= 190 && lines.length <= 210 && lines.every((line) => line.length <= 160)) taken.set(name, path)
  }
  return [...taken.values()].sort()
}

export default () =>
  inFolder(async (folder) => {
    const { workspace, home } = place(folder, {})
    const files = samples().map(
      (path, at) => (copyFileSync(path, join(workspace, `f${at}${extname(path)}`)), `f${at}${extname(path)}`),
    )
    const kernel = await createKernel({ workspace, home, mode: 'auto' })
    try {
      const sizes = []
      for (const path of files)
        sizes.push(Buffer.byteLength((await kernel.call('unified_search', { action: 'outline', path })).text))
      return [
        {
          name: 'outline of a file of 200 lines',
          goal: 300,
          ratio: median(sizes),
          unit: 'bytes',
          detail: `median of ${sizes.length} files, one of each package in node_modules; the largest ${Math.max(...sizes)} bytes`,
        },
      ]
    } finally {
      await kernel.close()
    }
  })
