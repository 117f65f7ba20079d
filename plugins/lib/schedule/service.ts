import { join } from 'node:path'

/** How the service is started. */
export interface ServiceCommand {
  node: string
  program: string
  /** The user's `.vtcode` folder. */
  home: string
}
/** The file of a service for the user's own session, and what a person runs to switch it on and off. */
export interface ServiceFile {
  file: string
  text: string
  enable: string[]
  disable: string[]
}

const mark = 'Written by vtcode schedule install-service'
/** Whether a file is one of ours. */
export const isServiceText = (text: string): boolean => text.includes(mark)

const wordsOf = ({ node, program, home }: ServiceCommand): string[] => [
  node,
  program,
  '--workspace',
  join(home, 'scheduled_tasks'),
  'schedule',
  'serve',
]

/** A word of a unit of systemd: quoted, and without specifiers and variables. */
const unitWord = (word: string): string =>
  `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

export function systemdUnit(command: ServiceCommand, configFolder: string): ServiceFile {
  const name = 'vtcode-scheduler.service'
  const sections = {
    unit: ['Description=Schedules of vtcode'],
    service: [
      'Type=exec',
      `ExecStart=${wordsOf(command).map(unitWord).join(' ')}`,
      `Environment=${unitWord(`VTCODE_HOME=${command.home}`).replaceAll('$$', '$')}`,
      'Restart=on-failure',
      'NoNewPrivileges=yes',
    ],
    install: ['WantedBy=default.target'],
  }
  const parts = Object.entries(sections).map(
    ([title, lines]) => `[${title[0]!.toUpperCase()}${title.slice(1)}]\n${lines.join('\n')}\n`,
  )
  const text = `# ${mark}.\n${parts.join('\n')}`
  return {
    file: join(configFolder, 'systemd', 'user', name),
    text,
    enable: ['systemctl --user daemon-reload', `systemctl --user enable --now ${name}`, 'loginctl enable-linger'],
    disable: [`systemctl --user disable --now ${name}`, 'systemctl --user daemon-reload'],
  }
}

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

export function launchAgent(command: ServiceCommand, userFolder: string): ServiceFile {
  const file = join(userFolder, 'Library', 'LaunchAgents', 'dev.vtcode.scheduler.plist')
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${mark}. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>dev.vtcode.scheduler</string>
  <key>ProgramArguments</key>
  <array>
${wordsOf(command)
  .map((word) => `    <string>${xml(word)}</string>\n`)
  .join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict><key>VTCODE_HOME</key><string>${xml(command.home)}</string></dict>
  <key>RunAtLoad</key><true/>
  <key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
</dict>
</plist>
`
  const quoted = `'${file.replaceAll("'", "'\\''")}'`
  return {
    file,
    text,
    enable: [`launchctl bootstrap gui/$(id -u) ${quoted}`],
    disable: [`launchctl bootout gui/$(id -u) ${quoted}`],
  }
}
