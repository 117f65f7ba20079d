import { join } from 'node:path'
import { escapeUTF8 } from 'entities/escape'

/** Command that starts the service. */
export interface ServiceCommand {
  node: string
  program: string
  /** `.vtcode` folder of the user. */
  home: string
}
/** Unit file of the user's session, with commands to enable and disable it. */
export interface ServiceFile {
  file: string
  text: string
  enable: string[]
  disable: string[]
}

const MARK = 'Written by vtcode schedule install-service'
/** Checks whether this program wrote a service file. */
export const isServiceText = (text: string): boolean => text.includes(MARK)

const createServiceArgv = ({ node, program, home }: ServiceCommand): string[] => [
  node,
  program,
  '--workspace',
  join(home, 'scheduled_tasks'),
  'schedule',
  'serve',
]

/** Quotes a word of a systemd unit and escapes specifiers and variables. */
const quoteUnitWord = (word: string): string =>
  `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('%', '%%').replaceAll('$', '$$$$')}"`

export function createSystemdUnit(command: ServiceCommand, configFolder: string): ServiceFile {
  const name = 'vtcode-scheduler.service'
  const sections = {
    unit: ['Description=Schedules of vtcode'],
    service: [
      'Type=exec',
      `ExecStart=${createServiceArgv(command).map(quoteUnitWord).join(' ')}`,
      `Environment=${quoteUnitWord(`VTCODE_HOME=${command.home}`).replaceAll('$$', '$')}`,
      'Restart=on-failure',
      'NoNewPrivileges=yes',
    ],
    install: ['WantedBy=default.target'],
  }
  const parts = Object.entries(sections).map(
    ([title, lines]) => `[${title[0]!.toUpperCase()}${title.slice(1)}]\n${lines.join('\n')}\n`,
  )
  const text = `# ${MARK}.\n${parts.join('\n')}`
  return {
    file: join(configFolder, 'systemd', 'user', name),
    text,
    enable: ['systemctl --user daemon-reload', `systemctl --user enable --now ${name}`, 'loginctl enable-linger'],
    disable: [`systemctl --user disable --now ${name}`, 'systemctl --user daemon-reload'],
  }
}

export function createLaunchAgent(command: ServiceCommand, userFolder: string): ServiceFile {
  const file = join(userFolder, 'Library', 'LaunchAgents', 'dev.vtcode.scheduler.plist')
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ${MARK}. -->
<plist version="1.0">
<dict>
  <key>Label</key><string>dev.vtcode.scheduler</string>
  <key>ProgramArguments</key>
  <array>
${createServiceArgv(command)
  .map((word) => `    <string>${escapeUTF8(word)}</string>\n`)
  .join('')}  </array>
  <key>EnvironmentVariables</key>
  <dict><key>VTCODE_HOME</key><string>${escapeUTF8(command.home)}</string></dict>
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
