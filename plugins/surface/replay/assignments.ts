import { InvalidArgumentError } from 'commander'
import type { Config } from '../../../core/index.js'

/** Adds `name=value` to the changes of a fork. Throws InvalidArgumentError. */
export function addAssignment(text: string, all = new Map<string, string>()): Map<string, string> {
  const [, name, value] = /^([\w.-]+)=([^]+)$/.exec(text) ?? []
  if (name === undefined || value === undefined)
    throw new InvalidArgumentError('use model=<id>, prompt=<text> or <setting>=<value>.')
  if (/(?:^|\.)(?:__proto__|constructor|prototype)(?:\.|$)/.test(name))
    throw new InvalidArgumentError(`'${name}' is no setting.`)
  return new Map([...all, [name, value]])
}

/** Converts the changes of settings to a configuration; a value is JSON, else text. */
export function toConfig(changes: ReadonlyMap<string, string>): Config {
  const config: Record<string, unknown> = {}
  for (const [path, text] of changes) {
    if (path === 'model' || path === 'prompt') continue
    const keys = path.split('.')
    let place = config
    for (const key of keys.slice(0, -1)) place = (place[key] ??= {}) as Record<string, unknown>
    place[keys.at(-1)!] = parseValue(text)
  }
  return config as Config
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
