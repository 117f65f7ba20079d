import type { Settings } from '../../../core/index.js'
import { draftSettings, findSettingsFile, writeDraft } from '../../lib/own_files/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { detectTheme, type ThemeName } from '../../tui/index.js'
import type { ChatSession } from './chat_session.js'

export const themeNames = ['auto', 'dark', 'light', 'none'] as const

/** Returns the chosen theme; detects it for `auto` and with NO_COLOR. */
export const resolveTheme = (theme: Settings['ui']['theme'], env: Record<string, string | undefined>): ThemeName =>
  theme === 'auto' || env['NO_COLOR'] ? detectTheme(env) : theme

/** `/theme`: applies a theme and saves it in the user's settings. */
export async function changeTheme({ kernel, io, handle, questions }: ChatSession, rest: string): Promise<void> {
  const now = kernel.settings.ui.theme
  const wanted =
    rest === ''
      ? await questions.pick(
          'Which colors?',
          themeNames.map((value) => ({ value, label: value })),
          now,
        )
      : rest
  if (wanted === undefined) return
  const theme = themeNames.find((one) => one === wanted)
  if (theme === undefined)
    return say(
      io,
      'error',
      `Unknown theme '${toOneLine(wanted)}'. Choose one of ${themeNames.join(', ')}, for example /theme light.`,
    )
  handle.send({ type: 'theme', name: resolveTheme(theme, io.env) })
  const file = findSettingsFile(kernel.inspection.home)
  try {
    writeDraft(await draftSettings(file, { 'ui.theme': theme === 'auto' ? undefined : theme }))
    await kernel.reload()
    say(io, 'info', `The theme is ${theme}; saved in ${toOneLine(file)}.`)
  } catch (error) {
    say(
      io,
      'warning',
      `The theme is ${theme} for this chat only; ${toOneLine(file)} was not changed: ` +
        `${(error as Error).message}. To keep it, add there: ui: { theme: ${theme} }`,
    )
  }
}
