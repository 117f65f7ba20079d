import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { visibleLine } from '../../../core/text/index.js'
import type { RepositoryFacts } from './repository.js'

/** Renders a draft of AGENTS.md from the files of a repository, for a person to correct. */
export function renderAgentsFile(workspace: string, { commands, folders }: RepositoryFacts): string {
  const name = visibleLine(basename(workspace)).replaceAll('`', "'")
  const lines = commands.map(({ what, command }) => `- ${what}: \`${command}\``)
  const layout = folders.map(
    ({ name: folder, holds }) => `- \`${folder}/\`${holds.length > 0 ? `: ${holds.join(', ')}` : ''}`,
  )
  return [
    `# ${name}`,
    '',
    'For agents that work on this repository. Drafted by `vtcode init` from the names of its files: ' +
      'correct it, and add what a newcomer has to know.',
    ...(lines.length > 0 ? ['', '## Commands', '', ...lines] : []),
    ...(layout.length > 0 ? ['', '## Layout', '', ...layout] : []),
    '',
  ].join('\n')
}

/** Renders a settings file that sets nothing and says where the keys are described. */
export function renderProjectSettings(workspace: string, { commands }: RepositoryFacts): string {
  const own = 'node_modules/vtcode/dist/manifests/schema/config.1.json'
  const tests = commands.filter(({ what }) => what === 'Test').map(({ command }) => JSON.stringify(command))
  return [
    '# Settings of this repository for vtcode; `vtcode config schema config` prints every key, ' +
      '`vtcode config show --origins` the values in use.',
    `$schema: ${existsSync(join(workspace, own)) ? `./${own}` : 'urn:vtcode:schema:config:1'}`,
    'version: 1',
    ...(tests.length > 0
      ? [
          '# Commands that must pass before a task succeeds:',
          `# agent: { harness: { verification: { commands: [${tests.join(', ')}] } } }`,
        ]
      : []),
    '',
  ].join('\n')
}
