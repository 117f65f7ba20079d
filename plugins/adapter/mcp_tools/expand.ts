import { toText } from '../../../core/text/index.js'
import type { Contribution, AdapterContext, Settings } from '../../../core/index.js'
import { circle, definitionOf, keptServer, leftAlone, startFailure, type Asked } from '../mcp_client/definition.js'
import { Failures } from '../mcp_client/failures.js'
import { globs } from './globs.js'

/** Returns what every server offers. What only asking a server needs is loaded with the first. */
export async function expand(
  contributions: readonly Contribution[],
  adapterContext: AdapterContext,
): Promise<Contribution[]> {
  const asked = contributions.flatMap((contribution) => takenUp(contribution, adapterContext))
  for (const { kept } of asked) needed.add(kept.file)
  // A tool whose server nobody knows has its slot: a call of it says what is missing.
  const lost = contributions
    .filter((one) => isOneTool(one) && !definitionOf(one, adapterContext))
    .map((one) => ({ ...one, bringer: one, slot: one.manifest.action ?? one.name, stage: 'primary' as const }))
  return asked.length === 0
    ? lost
    : [...lost, ...(await (await import('./offers.js')).contributionsOf(asked, adapterContext))]
}

const isOneTool = ({ manifest }: Contribution): boolean => manifest.mcp!['tool'] !== undefined

/** The server of a contribution, where it is to be asked now. */
function takenUp(contribution: Contribution, adapterContext: AdapterContext): Asked[] {
  const found = definitionOf(contribution, adapterContext)
  if (!found) {
    if (!isOneTool(contribution))
      adapterContext.refuse(
        contribution,
        'invalid',
        startFailure(
          contribution.id,
          `server '${toText(contribution.manifest.mcp!['server'])}' is not configured under mcp.servers`,
        ),
      )
    return []
  }
  const { server, definition } = found
  const limits = adapterContext.settings.mcp
  const off =
    definition.enabled === false
      ? '`enabled` is false'
      : (excluded(server, limits) ?? circle(definition, adapterContext))
  if (off !== undefined) {
    adapterContext.refuse(contribution, 'inactive', leftAlone(contribution.id, off))
    return []
  }
  const kept = keptServer(server, definition, contribution, adapterContext)
  const asked: Asked = { server, definition, contribution, limits, kept, failures: new Failures(kept.beside('failed')) }
  if (isUnneeded(asked, adapterContext)) {
    adapterContext.refuse(
      contribution,
      'inactive',
      leftAlone(contribution.id, 'nobody needs its tools now; a call of one of them or a look at tools takes them up'),
    )
    adapterContext.later!(async () => void needed.add(kept.file), true)
    return []
  }
  if (!kept.offers && (adapterContext.inspecting || (adapterContext.later && !definition.required))) {
    leaveOut(asked, adapterContext)
    return []
  }
  return [asked]
}

/** Known servers that a call needed: taking up the tools of many costs more than a call of ours. */
const needed = new Set<string>()

const isUnneeded = ({ definition, kept }: Asked, { later }: AdapterContext): boolean =>
  kept.isKnown && later !== undefined && !definition.required && definition.lazy !== false && !needed.has(kept.file)

/** Leaves out a server with unknown tools where no caller waits; names one that failed to start. */
function leaveOut(asked: Asked, adapterContext: AdapterContext): void {
  const { contribution, kept, failures } = asked
  const failure = failures.last
  if (failure) {
    // Whoever looks at what is there is told each time.
    const first = adapterContext.inspecting || !failure.told
    if (!adapterContext.inspecting && !failure.told) failures.remember(failure.error, true)
    return adapterContext.refuse(contribution, first ? 'invalid' : 'inactive', failure.error)
  }
  adapterContext.refuse(
    contribution,
    'inactive',
    leftAlone(
      contribution.id,
      'its tools are not known yet, and nobody needs them now; a call of one of them or `vtcode tools` asks for them',
    ),
  )
  adapterContext.later?.(async () => {
    needed.add(kept.file)
    const { offered } = await import('./offers.js')
    await offered(asked, adapterContext).catch((error: unknown) => failures.remember(error, false))
  })
}

function excluded(server: string, { allow, deny, enforce_allow }: Settings['mcp']): string | undefined {
  if (globs(deny, server)) return 'mcp.deny names it'
  if (enforce_allow && !allow.some((rule) => globs([rule.split('/')[0]!], server))) return 'mcp.allow does not name it'
  return undefined
}
