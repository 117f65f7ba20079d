import { VtError, type Manifest } from '../../../core/index.js'

/** How a command tool runs beside its argv. */
export interface CommandSettings {
  stdin?: { name: string; json: boolean }
  cwd: 'workspace' | 'plugin' | 'data' | { input: string }
  allow_dash: string[]
  timeout_secs: number
  parse: 'text' | 'json' | 'jsonl' | 'lines'
  select?: string
  exit: { ok: number[]; empty: number[]; map: Record<string, { code: string; message: string; retryable?: boolean }> }
  max_output_bytes: number
}

/** The fields of a manifest with their defaults; their form is the manifest schema's business. */
export function commandSettings(manifest: Manifest): CommandSettings {
  const { stdin, exit, select } = manifest as {
    stdin?: string | { json: string }
    exit?: Partial<CommandSettings['exit']>
    select?: string
  }
  return {
    cwd: (manifest.cwd as CommandSettings['cwd'] | undefined) ?? 'workspace',
    allow_dash: (manifest.allow_dash as string[] | undefined) ?? [],
    timeout_secs: manifest.timeout_secs ?? 60,
    parse: (manifest.parse as CommandSettings['parse'] | undefined) ?? 'text',
    exit: { ok: [0], empty: [], map: {}, ...exit },
    max_output_bytes: (manifest.max_output_bytes as number | undefined) ?? 1024 * 1024,
    ...(stdin !== undefined && {
      stdin: typeof stdin === 'string' ? { name: referenced(stdin), json: false } : { name: stdin.json, json: true },
    }),
    ...(select !== undefined && { select }),
  }
}

function referenced(stdin: string): string {
  const [, name] = /^\{(\w[\w-]*)\}$/.exec(stdin) ?? []
  if (name) return name
  const message = `stdin ${JSON.stringify(stdin)} is not a single reference such as "{text}".`
  throw new VtError({
    code: 'VT_MANIFEST_INVALID',
    message,
    hint: 'Write "{name}" or { json: name }.',
    retryable: false,
  })
}
