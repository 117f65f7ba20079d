import { rmSync } from 'node:fs'
import type { Io, Kernel } from '../../../core/index.js'
import { inspect } from '../../../core/manifests/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { formatDocument, toOneLine, createPaint, say } from '../../lib/terminal/index.js'
import { fetchOffer, isIndexName, findOffer, readIndexes } from './indexes.js'
import { choosePluginName } from './identity.js'
import { createInspectContext } from './install.js'
import { readProvenance, type Provenance } from './npm_registry.js'
import type { IndexedPlugin } from './indexed_plugin.js'
import { renderConsent, createInfoDocument, renderProvenance } from './show.js'
import { fetchSource, isAddress } from './source.js'
import { UserError } from './user_error.js'

/**
 * Runs `vtcode plugins search`: prints the offers of the indexes for these words. Returns 0 where one index could be
 * read.
 */
export async function searchPlugins(kernel: Kernel, words: string[], json: boolean, io: Io): Promise<number> {
  const { indexes } = kernel.settings.plugins
  if (indexes.length === 0) {
    say(
      io,
      'error',
      'No index is set. Name one under plugins.indexes in ~/.vtcode/vtcode.config.yaml: ' +
        '`plugins: { indexes: [github:owner/repository, "@scope", npm] }`.',
    )
    return 1
  }
  const { offers, problems } = await readIndexes({ kernel, io }, words)
  const found = rankOffers(offers, words)
  for (const { index, problem } of problems) say(io, 'warning', `${toOneLine(index)}: ${toOneLine(problem)}.`)
  io.stdout.write(
    json
      ? formatDocument({ plugins: found, problems })
      : found.length === 0
        ? 'No plugin was found.\n'
        : found.map((one) => renderOffer(one, io)).join(''),
  )
  return offers.length === 0 && problems.length > 0 ? 1 : 0
}

/**
 * Returns the offers that contain every word, sorted by similarity of the name. Results of npm search stay without
 * this check.
 */
function rankOffers(offers: IndexedPlugin[], words: readonly string[]): IndexedPlugin[] {
  const lowerCaseWords = words.map((word) => word.toLowerCase())
  const computeDistance = ({ name, description = '', keywords }: IndexedPlugin): number => {
    const distances = lowerCaseWords.map((word) =>
      name === word
        ? 0
        : name.includes(word)
          ? 1
          : [description, ...keywords].some((text) => text.toLowerCase().includes(word))
            ? 2
            : Infinity,
    )
    return distances.reduce((sum, distance) => sum + distance, 0)
  }
  const rows = offers
    .map((offer) => ({ offer, far: computeDistance(offer) }))
    .filter(({ offer, far }) => far < Infinity || offer.pinned?.address.startsWith(`npm:${offer.name}@`) === true)
  return rows.sort((a, b) => a.far - b.far || (a.offer.name < b.offer.name ? -1 : 1)).map(({ offer }) => offer)
}

function renderOffer(
  { name, version, description, author, index, pinned, unavailable }: IndexedPlugin,
  io: Io,
): string {
  const { bold, dim, yellow } = createPaint(io.stdout, io.env)
  const from = pinned
    ? [pinned.address, pinned.subdir, pinned.commit ?? pinned.ref, pinned.integrity]
        .filter((one) => one !== undefined)
        .join('  ')
    : undefined
  return [
    `${bold(toOneLine(name))}${version === undefined ? '' : `  ${toOneLine(version)}`}` +
      `${author === undefined ? '' : `  ${dim(`by ${toOneLine(author)}`)}`}`,
    ...(description === undefined ? [] : [`  ${toOneLine(description).slice(0, 300)}`]),
    from === undefined
      ? `  ${yellow('cannot be added')}: ${toOneLine(unavailable ?? 'it has no source')}`
      : `  ${dim(toOneLine(from))}`,
    `  ${dim(`of ${toOneLine(index)}`)}`,
    '',
  ].join('\n')
}

/**
 * Runs `vtcode plugins show` for an uninstalled plugin of an index or a source. Fetches, inspects and deletes it;
 * undefined for other names.
 */
export async function showUninstalled(
  kernel: Kernel,
  nameOrAddress: string,
  json: boolean,
  io: Io,
): Promise<number | undefined> {
  const into = createTempFolder('look')
  try {
    const offer = isIndexName(nameOrAddress) ? await findOffer(nameOrAddress, { kernel, io }) : undefined
    if (!offer && !isAddress(nameOrAddress)) return undefined
    const fetching = { kernel, io, into }
    const fetched = offer ? await fetchOffer(offer, fetching) : await fetchSource(nameOrAddress, fetching)
    const name = choosePluginName(fetched, undefined, io)
    const inspection = await inspect(fetched.root, createInspectContext({ kernel, io }), { name })
    const provenance = await readProvenance(fetched, fetching)
    const add = `vtcode plugins add ${offer ? nameOrAddress : `'${nameOrAddress}'`}`
    const facts = {
      installed: false,
      ...(offer && { offer }),
      source: fetched.source,
      ...(provenance !== undefined && { provenance }),
      add,
    }
    const document = { ...createInfoDocument(inspection, undefined, new Map()), root: undefined, ...facts }
    io.stdout.write(
      json
        ? formatDocument(document)
        : renderUninstalled(offer, fetched.source, provenance, renderConsent(inspection, io), add),
    )
    return 0
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    say(io, 'error', `${error.message}. Nothing was installed.`)
    return 1
  } finally {
    rmSync(into, { recursive: true, force: true })
  }
}

function renderUninstalled(
  offer: IndexedPlugin | undefined,
  source: object,
  provenance: Provenance | string | undefined,
  consent: string,
  add: string,
): string {
  const facts = offer
    ? [
        ...(offer.description === undefined ? [] : [`says    ${toOneLine(offer.description)}`]),
        `index   ${toOneLine(offer.index)}`,
      ]
    : []
  return [
    consent.trimEnd(),
    ...facts,
    `source  ${toOneLine(Object.values(source).join(' '))}`,
    ...renderProvenance(provenance),
    `Not installed. Install it with \`${toOneLine(add)}\`.`,
    '',
  ].join('\n')
}
