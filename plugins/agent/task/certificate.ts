import { isObject, type Schema } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { truncateLine } from '../../../core/text/index.js'
import { compile } from '../../../core/schema/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'
import { AgentError, type FileHash, type ProofRun, type Tracker, type VerificationResult } from '../base/index.js'
import type { ConversationState } from '../session/index.js'
import { describeEnding } from './ending.js'
import type { FinishState } from './state.js'
import { listChangedFiles } from './verification.js'

/** The proof of a session's work. Its digest shows damage, not the author. */
export interface Certificate {
  type: 'vtcode.certificate'
  version: 1
  session_id: string
  /** The time after the commands, ISO 8601. */
  created_at: string
  /** The last model in use, and the digest of the prompt that it read. */
  model: string | null
  prompt_sha256: string | null
  result: VerificationResult
  commands: ProofRun[]
  /** The files that the session changed, with their hashes at the time of the commands. */
  files: FileHash[]
  tracker: Tracker | null
  /** SHA-256, in hex, of the canonical JSON of all other members. */
  digest: string
}

/** Creates the certificate of a session as canonical JSON. Throws VT_CERTIFICATE_NONE. */
export function createCertificate(
  { verified, tracker, segment }: FinishState & ConversationState,
  session_id: string,
  created_at: string,
): string {
  if (!verified)
    throw new AgentError('VT_CERTIFICATE_NONE', `Session ${session_id} ran no command that proves its work.`)
  const { result, commands, files } = verified
  const body = {
    type: 'vtcode.certificate',
    version: 1,
    session_id,
    created_at,
    model: segment?.model ?? null,
    prompt_sha256: segment?.prompt ?? null,
    result,
    commands,
    files,
    tracker: tracker ?? null,
  } as const
  return toCanonicalJson({ ...body, digest: sha256(toCanonicalJson(body)) })
}

const text = (maxLength: number) => ({ type: 'string', maxLength })
const digest = { type: 'string', pattern: '^[0-9a-f]{64}$' }
const object = (properties: Record<string, object>): object => ({
  type: 'object',
  additionalProperties: false,
  required: Object.keys(properties),
  properties,
})
const schema = object({
  type: { const: 'vtcode.certificate' },
  version: { const: 1 },
  session_id: text(64),
  created_at: text(40),
  model: { type: ['string', 'null'], maxLength: 400 },
  prompt_sha256: { anyOf: [digest, { type: 'null' }] },
  result: { enum: ['passed', 'failed', 'not_run'] },
  commands: {
    type: 'array',
    maxItems: 1100,
    items: object({
      command: { ...text(1000), minLength: 1 },
      exit_code: { type: ['integer', 'null'] },
      timed_out: { type: 'boolean' },
      duration_ms: { type: 'integer', minimum: 0 },
      digest,
    }),
  },
  files: {
    type: 'array',
    maxItems: 1000,
    items: object({ path: text(4096), sha256: { anyOf: [digest, { type: 'null' }] } }),
  },
  tracker: { type: ['object', 'null'] },
  digest,
}) as Schema
const largestCertificate = 1024 * 1024

/** Parses a certificate of any origin. Throws VT_CERTIFICATE_INVALID, and VT_CERTIFICATE_DAMAGED for a wrong digest. */
export async function readCertificate(source: string): Promise<Certificate> {
  const wrong = (problem: string): AgentError =>
    new AgentError('VT_CERTIFICATE_INVALID', `This is no certificate: ${problem}`)
  if (source.length > largestCertificate)
    throw wrong(`it has ${source.length} characters, at most ${largestCertificate} are possible.`)
  let value: unknown
  try {
    value = JSON.parse(source)
  } catch (error) {
    throw wrong((error as Error).message)
  }
  if (!isObject(value)) throw wrong('an object is needed.')
  const issues = (await compile(schema))(value)
  if (issues.length > 0) throw wrong(issues[0]!.problem)
  const out = (value as unknown as Certificate).files.find(({ path }) =>
    /^([/\\]|[A-Za-z]:)|(^|[/\\])\.\.([/\\]|$)/.test(path),
  )
  if (out) throw wrong(`the path ${JSON.stringify(truncateLine(out.path, 200))} leads outside the workspace.`)
  const { digest: named, ...body } = value as unknown as Certificate
  if (sha256(toCanonicalJson(body)) !== named)
    throw new AgentError(
      'VT_CERTIFICATE_DAMAGED',
      `The certificate of ${body.session_id} was changed: its digest does not match.`,
    )
  return { ...body, digest: named }
}

/** Lists the differences since the certificate: files, and commands that ran again. */
export function listDifferences(
  { files, commands }: Pick<Certificate, 'files' | 'commands'>,
  now: { files: readonly FileHash[]; ran: readonly ProofRun[] },
): string[] {
  const hashes = new Map(now.files.map(({ path, sha256 }) => [path, sha256]))
  const changed = listChangedFiles(files, now.files).map(({ path, sha256 }) => {
    const isMissing = (hashes.get(path) ?? null) === null
    return `${path}: ${isMissing ? 'not there any more' : sha256 === null ? 'there again' : 'changed'}`
  })
  const again = now.ran.flatMap((one) => {
    const before = commands.find(({ command }) => command === one.command)
    if (!before || (before.exit_code === one.exit_code && before.digest === one.digest)) return []
    const output =
      before.exit_code === one.exit_code
        ? 'printed something else'
        : `${describeEnding(one)}, before it ${describeEnding(before)}`
    return [`${one.command}: ${output}`]
  })
  return [...changed, ...again]
}
