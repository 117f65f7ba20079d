import { homedir } from 'node:os'
import { join } from 'node:path'
import { registerSecret } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { captureOutput } from '../../lib/process/index.js'
import { AgentError, toErrorMessage, type AgentProviders } from '../base/index.js'
import type { Auth, Credential } from './types.js'

/** The provider whose requests are signed, and the service of AWS. */
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
  /** Milliseconds since the epoch, for temporary keys. */
  until?: number
}

// Temporary keys that end within this time count as expired; keys without an end are renewed after it.
const margin_ms = 300_000
const mostBytes = 1024 * 1024

/**
 * Creates a credential that signs each request with AWS keys (Signature Version 4); the keys stay in this process.
 * aws4fetch has no dependencies and signs for the AI SDK's Bedrock package too; the SDK of AWS would load a hundred
 * packages.
 */
export function createAwsCredential(signing: Signing): Credential {
  const { auth, providers } = signing
  let exported: Promise<Keys> | undefined
  const getKeys = async (): Promise<Keys> => {
    const own = findOwnKeys(signing)
    if (own) return own
    const kept = await exported?.catch(() => undefined)
    if (kept && kept.until! - margin_ms > providers.clock.now()) return kept
    return (exported = exportKeys(signing))
  }
  return {
    async read() {
      const { until: _, ...keys } = await getKeys()
      registerSecret(keys.secretAccessKey, 'AWS_SECRET_ACCESS_KEY')
      if (keys.sessionToken !== undefined) registerSecret(keys.sessionToken, 'AWS_SESSION_TOKEN')
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
      const renewable = exported !== undefined
      exported = undefined
      return renewable
    },
  }
}

/** Returns the user's own keys: those of the environment unless a profile is set, then those of the profile's files. */
function findOwnKeys({ auth, providers: { env } }: Signing): Keys | undefined {
  if (auth.profile === undefined) {
    const found = toKeys(env['AWS_ACCESS_KEY_ID'], env['AWS_SECRET_ACCESS_KEY'], env['AWS_SESSION_TOKEN'])
    if (found) return found
  }
  const name = getProfileName(auth, env)
  const [credentials, config] = listKeyFiles(env)
  const values = {
    ...readSection(config, name === 'default' ? name : `profile ${name}`),
    ...readSection(credentials, name),
  }
  // A profile with a role uses its keys only to request the role.
  return values['role_arn']
    ? undefined
    : toKeys(values['aws_access_key_id'], values['aws_secret_access_key'], values['aws_session_token'])
}

const toKeys = (id: string | undefined, secret: string | undefined, token: string | undefined): Keys | undefined =>
  id && secret ? { accessKeyId: id, secretAccessKey: secret, ...(token && { sessionToken: token }) } : undefined

const getProfileName = ({ profile }: Auth, env: AgentProviders['env']): string =>
  profile ?? (env['AWS_PROFILE'] || 'default')

function listKeyFiles(env: AgentProviders['env']): [credentials: string, config: string] {
  const folder = join(env['HOME'] || homedir(), '.aws')
  return [
    env['AWS_SHARED_CREDENTIALS_FILE'] || join(folder, 'credentials'),
    env['AWS_CONFIG_FILE'] || join(folder, 'config'),
  ]
}

/** Reads one section of a configuration file of AWS; a missing file is empty. */
function readSection(file: string, section: string): Record<string, string> {
  const values: Record<string, string> = {}
  let name = ''
  for (const line of readKeyFile(file).split(/\r?\n/)) {
    const head = /^\s*\[\s*(?:(profile)\s+)?(['"]?)(.+?)\2\s*\]/.exec(line)
    if (head) name = `${head[1] ? 'profile ' : ''}${head[3]}`
    const entry = name === section && /^([a-z_]+)\s*=\s*(.*?)\s*$/i.exec(line)
    if (entry) values[entry[1]!.toLowerCase()] = entry[2]!
  }
  return values
}

function readKeyFile(file: string): string {
  try {
    return readBytes(file, { limit: mostBytes }).toString('utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw new AgentError('VT_LLM_AUTH', `The keys of AWS cannot be read: ${toErrorMessage(error)}`)
  }
}

/**
 * Exports temporary keys for a profile without own keys (single sign-on, a role, a program, the machine) with the AWS
 * CLI.
 */
async function exportKeys({ provider, auth, providers: { env, clock }, workspace }: Signing): Promise<Keys> {
  const profile = getProfileName(auth, env)
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
  const createKeyError = (why: string) =>
    new AgentError(
      'VT_LLM_AUTH',
      `The provider '${provider}' needs AWS keys: the profile '${profile}' has none ` +
        `(${listKeyFiles(env).join(', ')}), and the program aws ${why}.`,
      {
        hint:
          `Try \`aws configure export-credentials --profile ${profile}\` (AWS CLI 2), write ` +
          'aws_access_key_id and aws_secret_access_key into that profile, or set AWS_ACCESS_KEY_ID and ' +
          'AWS_SECRET_ACCESS_KEY.',
      },
    )
  const output = await captureOutput({
    program: 'aws',
    args,
    cwd: homedir(),
    env: Object.fromEntries(declared),
    path: env['PATH'],
    workspace,
    seconds: 30,
  }).catch((error: unknown) => Promise.reject(createKeyError(toErrorMessage(error))))
  const keys = parseKeys(output)
  if (!keys) throw createKeyError('printed no keys')
  const until = Date.parse(keys.expiration ?? '')
  return { ...keys.own, until: Number.isNaN(until) ? clock.now() + 2 * margin_ms : until }
}

function parseKeys(output: string): { own: Keys; expiration?: string } | undefined {
  try {
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = JSON.parse(output) as Record<
      string,
      string | undefined
    >
    const own = toKeys(AccessKeyId, SecretAccessKey, SessionToken)
    return own && { own, ...(Expiration !== undefined && { expiration: Expiration }) }
  } catch {
    return undefined
  }
}
