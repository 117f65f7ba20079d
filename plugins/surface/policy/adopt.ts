import { problem, type Io, type Kernel } from '../../../core/index.js'
import { openAllowList } from '../../lib/own_files/index.js'
import { confirm, isInteractive, toOneLine, say, CallUsageError } from '../../lib/terminal/index.js'

/** Copies allow rules of the workspace, which are ignored there, into the user's file for this workspace. */
export async function adopt(kernel: Kernel, named: string[], io: Io): Promise<number> {
  // A program that vtcode started cannot consent for the user.
  if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
  const offered = listIgnoredRules(kernel)
  const unknownRule = named.find((rule) => !offered.has(rule))
  if (unknownRule !== undefined)
    throw new CallUsageError(
      `No allow rule '${toOneLine(unknownRule)}' in the workspace; known: ` +
        `${[...offered.keys()].map(toOneLine).join(', ') || '(nothing)'}.`,
    )
  const { rules: before, write } = openAllowList(kernel.inspection.home, kernel.workspace)
  const open = [...offered].filter(([rule]) => !before.includes(rule))
  if (open.length === 0) io.stdout.write('The workspace has no rule to adopt.\n')
  const taken: string[] = []
  for (const [rule, place] of open) {
    if (named.length > 0) named.includes(rule) && taken.push(rule)
    else {
      io.stderr.write(`${toOneLine(rule)}  (${toOneLine(place)})\n`)
      if (isInteractive(io) && (await confirm(io, 'Allow this here from now on?'))) taken.push(rule)
    }
  }
  if (taken.length > 0) {
    write([...before, ...taken])
    io.stdout.write(taken.map((rule) => `Allowed here: ${toOneLine(rule)}\n`).join(''))
  } else if (open.length > 0 && !isInteractive(io))
    say(io, 'error', 'There is no terminal to ask at; name the rules: vtcode policy adopt <rule>…')
  return open.length === 0 || taken.length > 0 ? 0 : 1
}

/** Lists the ignored allow rules of the workspace, each with its file. */
function listIgnoredRules(kernel: Kernel): Map<string, string> {
  const ignored = kernel.inspection
    .origins()
    .filter(({ path }) => path === 'policy.allow')
    .flatMap(({ overridden }) =>
      overridden.filter(({ layer, reason }) => layer === 'workspace' && reason !== undefined),
    )
  const rules = ignored.flatMap(({ file, line, value }) =>
    [value].flat().flatMap((entry): [string, string][] => {
      const rule = typeof entry === 'string' ? entry : (entry as { rule?: unknown }).rule
      return typeof rule === 'string' ? [[rule, line === undefined ? file : `${file}:${line}`]] : []
    }),
  )
  return new Map(rules)
}
