import { VtError, type Manifest } from '../../../core/index.js'

/** The settings of a command tool. */
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

/** Returns the fields of a manifest with their defaults; the manifest schema has checked their form. */
export function parseCommandSettings(manifest: Manifest): CommandSettings {
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
      stdin:
        typeof stdin === 'string'
          ? { name: parseStdinReference(stdin), json: false }
          : { name: stdin.json, json: true },
    }),
    ...(select !== undefined && { select }),
  }
}

function parseStdinReference(stdin: string): string {
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
