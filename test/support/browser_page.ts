import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium, type Browser, type Page } from 'playwright-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Chromium of the system, without a window. */
export const startBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] })

/** Serious faults that axe-core finds on a page; with `colors` only those of its colors, which are all that a color scheme changes. */
export async function seriousFaults(page: Page, { colors = false } = {}): Promise<string[]> {
  // The page lets no other script run; the rules are evaluated outside of it.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe)
  const rules = colors ? 'runOnly: ["color-contrast", "link-in-text-block"], ' : ''
  const found = (await page.evaluate(`axe.run(document, { ${rules}resultTypes: ["violations"] })`)) as {
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }
  return found.violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes[0]!.html.slice(0, 200)}`)
}
