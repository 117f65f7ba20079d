import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Boot, type Booted } from 'vtcode/test'

export const PACKAGES = join(import.meta.dirname, '../../node_modules')

/** Waits as long as a slow machine needs for the first answer of a server. */
export const PATIENT = { diagnostics: { wait_ms: 20_000 } } as const

/** Writes the built-in definition of TypeScript 7 with the program of this repository. Returns its folder. */
function defineTypeScript(): string {
  const folder = join(process.env['TMPDIR']!, `typescript-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  const builtin = readFileSync(join(PACKAGES, '../manifests/language_server/typescript_native.yaml'), 'utf8')
  const program = join(PACKAGES, 'typescript7/bin/tsc')
  const own = builtin.replace(/^  package: .*\n/m, '').replace('command: tsc', `command: ${program}`)
  writeFileSync(join(folder, 'typescript.yaml'), own)
  return folder
}

/** Opens a workspace with the server of TypeScript 7. */
export async function bootTypeScript({ files, config, ...boot }: Boot = {}): Promise<Booted> {
  const booted = await bootKernel({ config: { ...PATIENT, ...config }, manifests: [defineTypeScript()], ...boot })
  const options = { compilerOptions: { strict: true, noEmit: true, module: 'esnext', moduleResolution: 'bundler' } }
  for (const [path, text] of Object.entries({ 'tsconfig.json': JSON.stringify(options), ...files }))
    await booted.write(path, text)
  return booted
}

/** Opens a workspace with a server of the user for files ending in `.words`, which does one thing wrong. */
export async function bootWords(mode: string, { files = {}, config, ...boot }: Boot = {}): Promise<Booted> {
  const folder = join(process.env['TMPDIR']!, `words-${mode}-${process.pid}`)
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(import.meta.dirname, '../fixtures/language_server.mjs'), join(folder, 'server.mjs'))
  chmodSync(join(folder, 'server.mjs'), 0o755)
  const server = {
    command: './server.mjs',
    args: [mode],
    languages: { '.words': 'words' },
    restart_files: ['packages.lock'],
  }
  const lost = { command: 'a-program-that-is-nowhere', languages: { '.lost': 'lost' } }
  for (const [name, language_server] of Object.entries({ words: server, lost }))
    writeFileSync(
      join(folder, `${name}.yaml`),
      JSON.stringify({ name, kind: 'language_server', description: `The server ${name}.`, language_server }),
    )
  return bootKernel({ files, config: { ...PATIENT, ...config }, manifests: [folder], ...boot })
}

/** Returns the messages of the notices of an answer with this code. */
export const listNotices = (result: { notices?: { code: string; message: string }[] }, code: string): string[] =>
  (result.notices ?? []).filter((notice) => notice.code === code).map(({ message }) => message)
