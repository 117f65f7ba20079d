// What dist/vendor holds besides licences: libraries that are asked for by `require`, or that load files of their own.
import { cpSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { rolldown } from 'rolldown'
import { keepLicence } from './licences.mjs'

const require = createRequire(import.meta.url)
export const vendor = 'dist/vendor'

/** Files below `vendor` by the name that sources use. The `imports` of package.json have the same entries. */
const files = { yaml: 'yaml.cjs', 'smol-toml': 'smol-toml.cjs', unbash: 'unbash.cjs', jiti: 'jiti/lib/jiti.mjs' }
const placeOf = (name) => `#vendor/${name}`

/** Makes the files. One of each serves `require`, which some callers need because they cannot wait, and `import`. */
export async function makeVendored() {
  for (const name of ['yaml', 'smol-toml', 'unbash']) {
    const bundle = await rolldown({ input: name, platform: 'node' })
    // Node reads from such a line, which never runs, what a file can be asked for by `import`.
    const footer = `0 && (module.exports = { ${Object.keys(require(name))
      .filter((key) => key !== 'default')
      .join(', ')} })`
    await bundle.write({
      file: join(vendor, files[name]),
      format: 'cjs',
      exports: 'named',
      footer,
      comments: { annotation: false, jsdoc: false },
      minify: { compress: false, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
    })
    keepLicence(`node_modules/${name}`)
  }
  // Published in one piece already; the compiler in it is a file apart that jiti loads by itself when something has to be compiled.
  for (const file of ['lib/jiti.mjs', 'dist/jiti.cjs', 'dist/babel.cjs']) {
    mkdirSync(join(vendor, 'jiti', dirname(file)), { recursive: true })
    cpSync(join('node_modules/jiti', file), join(vendor, 'jiti', file))
  }
  keepLicence('node_modules/jiti')
}

/** Leads the names in our modules to these files. */
export const vendored = {
  name: 'vendored',
  resolveId: (id) => (Object.hasOwn(files, id) ? { id: placeOf(id), external: true } : undefined),
  // The bundler does not follow what is required later.
  transform: (code, id) =>
    id.includes('/node_modules/')
      ? undefined
      : code.replace(/(?<=\brequireLibrary)\('([^']+)'\)/g, (call, name) =>
          Object.hasOwn(files, name) ? `('${placeOf(name)}')` : call,
        ),
}

/** The folder of the package that a module is of, and its name as part of a file's name; neither where it is ours. */
export const folderOf = (id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0]
export const packageOf = (id) =>
  folderOf(id)
    ?.replace(/^.*node_modules\/@?/, '')
    .replace('/', '_')
