import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { holdForFile } from '../../support/held.js'
import { vtcode, type Ran } from '../../support/program.js'

interface Listening {
  port: number
  /** Connections and paths that the server got. */
  seen: string[]
}

/** Lets a server listen on this machine until the tests of the file have ended. */
async function listen(server: Server, seen: string[] = []): Promise<Listening> {
  server.on('connection', () => seen.push('connection'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  holdForFile({ [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())) })
  return { port: (server.address() as AddressInfo).port, seen }
}

let made: TempWorkspace
/** A service of this machine that nothing may reach. */
let closed: Listening
/** A server with a repository, lists and redirects, whose certificate the user trusts. */
let web: Listening
let archives: Listening

beforeAll(async () => {
  const manifest = 'name: far_hello\ndescription: Say hello.\nrun: [echo, hello]\n'
  made = holdForFile(await tempWorkspace({ 'repo/vtcode.yaml': manifest }))
  const run = (file: string, ...args: string[]) => execFileSync(file, args, { cwd: made.root, stdio: 'ignore' })
  run('git', '-C', 'repo', 'init', '-q', '-b', 'main')
  run('git', '-C', 'repo', 'add', '.')
  run('git', '-C', 'repo', '-c', 'user.name=a', '-c', 'user.email=a@example.org', 'commit', '-qm', 'one')
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  run('openssl', 'req', '-x509', ...key, ...subject, '-keyout', 'key.pem', '-out', 'cert.pem')
  writeFileSync(join(made.home, '.gitconfig'), `[http]\n  sslCAInfo = ${join(made.root, 'cert.pem')}\n`)
  mkdirSync(join(made.home, 'bin'))
  writeFileSync(join(made.home, 'bin/ssh'), '#!/bin/sh\necho "$@" >> "$HOME/ssh.log"\nexit 255\n', { mode: 0o755 })

  closed = await listen(createTcpServer((socket) => void socket.destroy()))
  const seen: string[] = []
  const tls = { key: readFileSync(join(made.root, 'key.pem')), cert: readFileSync(join(made.root, 'cert.pem')) }
  web = await listen(createTlsServer(tls, createWeb(seen)), seen)
  archives = await listen(createHttpServer(registry))
})

const createWeb =
  (seen: string[]): RequestListener =>
  (request, response) => {
    const url = new URL(request.url!, 'https://localhost')
    seen.push(url.pathname)
    const [, kind = ''] = /^\/([\w-]+)/.exec(url.pathname) ?? []
    const rest = url.pathname.slice(kind.length + 1) + url.search
    const targets: Record<string, string> = {
      moved: `https://localhost:${web.port}/repositories${rest}`,
      inside: `https://127.0.0.1:${closed.port}${rest}`,
      plain: `http://localhost:${closed.port}${rest}`,
    }
    const target = targets[kind]
    if (target !== undefined) return void response.writeHead(302, { location: target }).end()
    const cgi = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: made.root,
        GIT_HTTP_EXPORT_ALL: '1',
        PATH_INFO: url.pathname.replace('/repositories/repo.git', '/repo/.git'),
        QUERY_STRING: url.search.slice(1),
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    })
    request.pipe(cgi.stdin)
    const chunks: Buffer[] = []
    cgi.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    cgi.on('close', () => {
      const all = Buffer.concat(chunks)
      const end = all.indexOf('\r\n\r\n')
      const headers = all
        .subarray(0, end)
        .toString()
        .split('\r\n')
        .map((line) => line.split(': ') as [string, string])
      const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200'
      response.writeHead(Number.parseInt(status), Object.fromEntries(headers)).end(all.subarray(end + 4))
    })
  }

/** A registry that names the archive of each package at the private service, or of `redirected` at a redirect to it. */
const registry: RequestListener = (request, response) => {
  const name = request.url!.slice(1)
  const isRedirected = name === 'redirected'
  const tarball = isRedirected ? `https://localhost:${web.port}/inside/x.tgz` : `http://127.0.0.1:${closed.port}/x.tgz`
  response.setHeader('content-type', 'application/json').end(
    JSON.stringify({
      name,
      'dist-tags': { latest: '1.0.0' },
      versions: { '1.0.0': { name, version: '1.0.0', dist: { tarball, integrity: `sha512-${'A'.repeat(86)}==` } } },
    }),
  )
}

/** Runs `vtcode plugins …` of a user whose settings are these, with a file as index. */
function plugins(words: string[], settings: object, entries?: object): Promise<Ran> {
  const list = join(made.root, 'plugins.json')
  writeFileSync(list, JSON.stringify({ plugins: entries ?? {} }))
  mkdirSync(join(made.home, '.vtcode'), { recursive: true })
  const config = { ...(entries && { plugins: { indexes: [list] } }), ...settings }
  writeFileSync(join(made.home, '.vtcode/vtcode.config.json'), JSON.stringify(config))
  writeFileSync(
    join(made.home, '.npmrc'),
    `registry=http://127.0.0.1:${archives.port}/\nupdate-notifier=false\nfetch-retries=0\n` +
      `cafile=${join(made.root, 'cert.pem')}\n`,
  )
  // Only a process of its own reads certificates from a file.
  const env = { PATH: `${join(made.home, 'bin')}:${process.env['PATH']}`, NODE_EXTRA_CA_CERTS: `${made.root}/cert.pem` }
  return vtcode(made, ['plugins', ...words], { process: settings !== nothing, env })
}

const nothing = {}
const localhost = { web: { private_hosts: ['localhost'] } }

describe('plugin sources', () => {
  it.each([
    ['a repository on this machine', () => `https://127.0.0.1:${closed.port}/x.git`, /127\.0\.0\.1 is refused/],
    ['a repository at a name of this machine', () => `https://localhost:${closed.port}/x.git`, /localhost is refused/],
    ['ssh as a URL', () => 'ssh://localhost/x.git', /starts ssh: check the address/],
    ['ssh of git', () => 'git+ssh://localhost/x.git', /starts ssh: check the address/],
    ['ssh as user@host', () => 'git@localhost:x.git', /starts ssh: check the address/],
    ['an npm package with its archive on this machine', () => 'npm:acme', /names an archive at 'http:\/\/127/],
    [
      'an archive on this machine',
      () => ({ source: 'url', url: `https://127.0.0.1:${closed.port}/x.tgz`, sha256: 'a'.repeat(64) }),
      /127\.0\.0\.1 is refused/,
    ],
  ])('reaches nothing of this machine and starts no ssh for an entry of an index: %s', async (_, source, why) => {
    const shown = await plugins(['show', 'acme'], nothing, { acme: { source: source() } })
    expect([shown.code, shown.stderr]).toEqual([1, expect.stringMatching(why)])
    expect([closed.seen, existsSync(join(made.home, 'ssh.log'))]).toEqual([[], false])
  })

  it('checks an address that a person typed by the same rules', async () => {
    const ran = await plugins(['add', `https://127.0.0.1:${closed.port}/x.git`, '--yes'], nothing)
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/127\.0\.0\.1 is refused/)])
    expect(closed.seen).toEqual([])
  })

  it('follows a redirect of a repository to a permitted address and fetches the repository there', async () => {
    const ran = await plugins(['add', `https://localhost:${web.port}/moved/repo.git`, '--yes'], localhost)
    expect([ran.code, ran.stdout], ran.stderr).toEqual([0, 'Installed repo.\n'])
    expect(web.seen).toContain('/repositories/repo.git/git-upload-pack')
  })

  it.each([
    ['a repository', 'inside', 'repo.git', /127\.0\.0\.1 is refused/],
    ['a repository, to http', 'plain', 'repo.git', /redirects from https to http:\/\/localhost/],
    ['an archive', 'inside', 'x.tgz', /127\.0\.0\.1 is refused/],
    ['an archive, to http', 'plain', 'x.tgz', /redirects from https to http:\/\/localhost/],
  ])('refuses a redirect to an address that is not permitted: %s', async (_, kind, file, why) => {
    const hash = file.endsWith('.tgz') ? ['--sha256', 'a'.repeat(64)] : []
    const ran = await plugins(['add', `https://localhost:${web.port}/${kind}/${file}`, ...hash, '--yes'], localhost)
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(why)])
    expect(closed.seen).toEqual([])
  })

  it('refuses a redirect of the archive of an npm package', async () => {
    const ran = await plugins(['add', 'npm:redirected', '--yes'], localhost)
    expect([ran.code, ran.stderr]).toEqual([1, expect.stringMatching(/127\.0\.0\.1 is refused/)])
    expect(closed.seen).toEqual([])
  })

  it.each([
    ['to this machine', 'inside', /127\.0\.0\.1 is refused/],
    ['to http', 'plain', /redirects from https to http:\/\/localhost/],
  ])('refuses a redirect of an index %s', async (_, kind, why) => {
    const indexes = [`https://localhost:${web.port}/${kind}/index.json`]
    const ran = await plugins(['search', '--json'], { ...localhost, plugins: { indexes } })
    expect(JSON.parse(ran.stdout)).toMatchObject({ plugins: [], problems: [{ problem: expect.stringMatching(why) }] })
    expect(closed.seen).toEqual([])
  })
})
