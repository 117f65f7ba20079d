import { toText } from '../../../core/text/index.js'
import type { Contribution, AdapterContext, Settings } from '../../../core/index.js'
import {
  describeSelfStart,
  findDefinition,
  openKeptServer,
  createInactiveError,
  createStartError,
  type QueriedServer,
} from '../mcp_client/definition.js'
import { Failures } from '../mcp_client/failures.js'
import { matchesGlobs } from './globs.js'
import { assignServerNames } from './wire_names.js'

/** Returns the offers of every server. Code that only queries need is loaded with the first query. */
export async function expand(
  contributions: readonly Contribution[],
  adapterContext: AdapterContext,
): Promise<Contribution[]> {
  const prefixes = assignServerNames(contributions, adapterContext)
  const asked = contributions.flatMap((contribution) => selectServer(contribution, prefixes, adapterContext))
  for (const { kept } of asked) neededServers.add(kept.file)
  // A tool with an unknown server still gets a slot: its call reports the missing server.
  const lost = contributions
    .filter((one) => isOneTool(one) && !findDefinition(one, adapterContext))
    .map((one) => ({ ...one, provider: one, slot: one.manifest.action ?? one.name, stage: 'primary' as const }))
  return asked.length === 0
    ? lost
    : [...lost, ...(await (await import('./offers.js')).createContributions(asked, adapterContext))]
}

const isOneTool = ({ manifest }: Contribution): boolean => manifest.mcp!['tool'] !== undefined

/** Returns the server of a contribution if it is queried now; reports why not otherwise. */
function selectServer(
  contribution: Contribution,
  prefixes: ReadonlyMap<Contribution, string>,
  adapterContext: AdapterContext,
): QueriedServer[] {
  const found = findDefinition(contribution, adapterContext)
  if (!found) {
    if (!isOneTool(contribution))
      adapterContext.excludeContribution(
        contribution,
        'invalid',
        createStartError(
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
      : (explainExclusion(server, limits) ?? describeSelfStart(definition, adapterContext))
  if (off !== undefined) {
    adapterContext.excludeContribution(contribution, 'inactive', createInactiveError(contribution.id, off))
    return []
  }
  const kept = openKeptServer(server, definition, contribution, adapterContext)
  const prefix = prefixes.get(contribution) ?? server
  const asked: QueriedServer = {
    server,
    prefix,
    otherPrefixes: [...prefixes.values()].filter((other) => other !== prefix),
    definition,
    contribution,
    limits,
    kept,
    failures: new Failures(kept.resolveSibling('failed')),
  }
  if (isUnneeded(asked, adapterContext)) {
    adapterContext.excludeContribution(
      contribution,
      'inactive',
      createInactiveError(
        contribution.id,
        'its tools are not needed now; a call of one of them or a list of tools loads them',
      ),
    )
    adapterContext.deferWork!(async () => void neededServers.add(kept.file), true)
    return []
  }
  if (!kept.offers && (adapterContext.inspecting || (adapterContext.deferWork && !definition.required))) {
    leaveOutUnknown(asked, adapterContext)
    return []
  }
  return [asked]
}

/** Servers that a call needed. Loading the tools of many servers takes longer than a call of our own tools. */
const neededServers = new Set<string>()

const isUnneeded = ({ definition, kept }: QueriedServer, { deferWork }: AdapterContext): boolean =>
  kept.isKnown &&
  deferWork !== undefined &&
  !definition.required &&
  definition.lazy !== false &&
  !neededServers.has(kept.file)

/** Leaves out a server with unknown tools where no caller waits; reports a failed start. */
function leaveOutUnknown(asked: QueriedServer, adapterContext: AdapterContext): void {
  const { contribution, kept, failures } = asked
  const failure = failures.last
  if (failure) {
    // An inspection reports the failure every time.
    const first = adapterContext.inspecting || !failure.reported
    if (!adapterContext.inspecting && !failure.reported) failures.remember(failure.error, true)
    return adapterContext.excludeContribution(contribution, first ? 'invalid' : 'inactive', failure.error)
  }
  adapterContext.excludeContribution(
    contribution,
    'inactive',
    createInactiveError(
      contribution.id,
      'its tools are unknown and not needed now; a call of one of them or `vtcode tools` loads them',
    ),
  )
  adapterContext.deferWork?.(async () => {
    neededServers.add(kept.file)
    const { fetchAgreedOffers } = await import('./offers.js')
    await fetchAgreedOffers(asked, adapterContext).catch((error: unknown) => failures.remember(error, false))
  })
}

function explainExclusion(server: string, { allow, deny, enforce_allow }: Settings['mcp']): string | undefined {
  if (matchesGlobs(deny, server)) return 'mcp.deny lists it'
  if (enforce_allow && !allow.some((rule) => matchesGlobs([rule.split('/')[0]!], server)))
    return 'mcp.allow does not list it'
  return undefined
}
