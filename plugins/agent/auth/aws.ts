import { homedir } from 'node:os'
import { join } from 'node:path'
import { keepSecret } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { printed } from '../../lib/process/index.js'
import { AgentError, messageOf, type AgentProviders } from '../base/index.js'
import type { Auth, Credential } from './types.js'

/** Whose requests are signed, and for which part of AWS. */
export interface Signing {
  provider: string
  auth: Auth
  providers: Pick<AgentProviders, 'clock' | 'env'>
  workspace: string
}
interface Keys {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  /** Milliseconds since the epoch, for keys that others lent. */
  until?: number
}

// Lent keys that end within this time are as good as gone; those without an end are asked for as often.
const margin_ms = 300_000
const mostBytes = 1024 * 1024

/**
 * Signs each request with the keys of AWS (Signature Version 4), which stay here. aws4fetch signs: it needs nothing else, and it is
 * what the AI SDK's package for Bedrock signs with; the SDK of AWS would bring a hundred packages to read two files.
 */
export function createAwsCredential(signing: Signing): Credential {
  const { auth, providers } = signing
  let lent: Promise<Keys> | undefined
  const keysNow = async (): Promise<Keys> => {
    const own = ownKeys(signing)
    if (own) return own
    const kept = await lent?.catch(() => undefined)
    if (kept && kept.until! - margin_ms > providers.clock.now()) return kept
    return (lent = lentKeys(signing))
  }
  return {
    async read() {
      const { until: _, ...keys } = await keysNow()
      keepSecret(keys.secretAccessKey, 'AWS_SECRET_ACCESS_KEY')
      if (keys.sessionToken !== undefined) keepSecret(keys.sessionToken, 'AWS_SESSION_TOKEN')
      const { AwsV4Signer } = await import('aws4fetch')
      return {
        sign: async ({ url, body, ...request }) => {
          const datetime = new Date(providers.clock.now()).toISOString().replace(/[-:]|\.\d+/g, '')
          const signer = new AwsV4Signer({
            ...request,
            ...keys,
            url: url.href,
            body: body ?? null,
            datetime,
            region: auth.region!,
            service: auth.service ?? 'bedrock',
          })
          return (await signer.sign()).headers
        },
      }
    },
    refresh() {
      const renewable = lent !== undefined
      lent = undefined
      return renewable
    },
  }
}

/** The user's own keys: those of the environment unless a profile is set, then those of the profile's files. */
function ownKeys({ auth, providers: { env } }: Signing): Keys | undefined {
  if (auth.profile === undefined) {
    const found = asKeys(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN'])
    if (found) return found
  }
  const name = profileOf(auth, env)
  const [credentials, config] = filesOf(env)
  const values = { ...section(config, name === 'default' ? name : `profile ${name}`), ...section(credentials, name) }
  // Keys beside a role are what the role is asked for with.
  return values['role_arn']
    ? undefined
    : asKeys(values['aws_access_key_id'], values['aws_secret_access_key'], values['aws_session_token'])
}

const asKeys = (id: string | undefined, secret: string | undefined, token: string | undefined): Keys | undefined =>
  id && secret ? { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) } : undefined

const profileOf = ({ profile }: Auth, env: AgentProviders['env']): string =>
  profile ?? (env['AWS_PROFILE'] || 'default')

function filesOf(env: AgentProviders['env']): [credentials: string, config: string] {
  const folder = join(env['HOME'] || homedir(), '.aws')
  return [
    env['AWS_SHARED_CREDENTIALS_FILE'] || join(folder, 'credentials'),
    env['AWS_CONFIG_FILE'] || join(folder, 'config'),
  ]
}

/** One section of a file of AWS; a file that is not there says nothing. */
function section(file: string, wanted: string): Record<string, string> {
  const values: Record<string, string> = {}
  let name = ''
  for (const line of textOf(file).split(/\r?\n/)) {
    const head = /^\s*\[\s*(?:(profile)\s+)?(['"]?)(.+?)\2\s*\]/.exec(line)
    if (head) name = `${head[1] ? 'profile ' : ''}${head[3]}`
    const entry = name === wanted && /^([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line)
    if (entry) values[entry[1]!.toLowerCase()] = entry[2]!
  }
  return values
}

function textOf(file: string): string {
  try {
    return readBytes(file, { limit: mostBytes }).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new AgentError('VT_LLM_AUTH', `The keys of AWS cannot be read: ${messageOf(error)}`)
  }
}

/** Keys for a profile that has none of its own, from single sign-on, a role, a program or the machine: AWS's own program knows every way. */
async function lentKeys({ provider, auth, providers: { env, clock }, workspace }: Signing): Promise<Keys> {
  const profile = profileOf(auth, env)
  const declared = Object.entries(env).filter(
    (entry): entry is [string, string] => /^(AWS_\w+|HOME)$/.test(entry[0]) && entry[1] !== undefined,
  )
  const args = [
    'configure',
    'export-credentials',
    '--format',
    'process',
    ...(profile === 'default' ? [] : ['--profile', profile]),
  ]
  const refused = (why: string) =>
    new AgentError(
      'VT_LLM_AUTH',
      `The provider '${provider}' needs keys of AWS: the profile '${profile}' holds none (${filesOf(env).join(', ')}), and the program aws, which knows other ways, ${why}.`,
      {
        hint: `Try \`aws configure export-credentials --profile ${profile}\` (AWS CLI 2), write aws_access_key_id and aws_secret_access_key into that profile, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.`,
      },
    )
  const output = await printed({
    program: 'aws',
    args,
    cwd: homedir(),
    env: Object.fromEntries(declared),
    path: env['PATH'],
    workspace,
    seconds: 30,
  }).catch((error: unknown) => Promise.reject(refused(messageOf(error))))
  const keys = parsed(output)
  if (!keys) throw refused('printed no keys')
  const until = Date.parse(keys.expiration ?? '')
  return { ...keys.own, until: Number.isNaN(until) ? clock.now() + 2 * margin_ms : until }
}

function parsed(output: string): { own: Keys; expiration?: string } | undefined {
  try {
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = JSON.parse(output) as Record<
      string,
      string | undefined
    >
    const own = asKeys(AccessKeyId, SecretAccessKey, SessionToken)
    return own && { own, ...(Expiration !== undefined && { expiration: Expiration }) }
  } catch {
    return undefined
  }
}
