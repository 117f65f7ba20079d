import type { Settings } from '../../../core/index.js'
import { settingsDraft, settingsFile, writeDraft } from '../../lib/own_files/index.js'
import { oneLine, say } from '../../lib/terminal/index.js'
import { themeOfTerminal, type ThemeName } from '../../tui/index.js'
import type { Sitting } from './sitting.js'

export const themeNames = ['auto', 'dark', 'light', 'none'] as const

/** The theme that a person chose; with `auto`, and where they want no colors at all, what the terminal says. */
export const chosenTheme = (theme: Settings['ui']['theme'], env: Record<string, string | undefined>): ThemeName =>
  theme === 'auto' || env['NO_COLOR'] ? themeOfTerminal(env) : theme

/** `/theme`: counts at once, and is kept in the settings of the person. */
export async function keepTheme({ kernel, io, handle, questions }: Sitting, rest: string): Promise<void> {
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
    return say(io, 'error', `'${oneLine(wanted)}' is no theme; there are ${themeNames.join(', ')}. Say /theme light.`)
  handle.send({ type: 'theme', name: chosenTheme(theme, io.env) })
  const file = settingsFile(kernel.inspection.home)
  try {
    writeDraft(await settingsDraft(file, { 'ui.theme': theme === 'auto' ? undefined : theme }))
    await kernel.reload()
    say(io, 'info', `The theme is ${theme}; ${oneLine(file)} keeps it.`)
  } catch (error) {
    say(
      io,
      'warning',
      `The theme is ${theme} for this chat; ${oneLine(file)} is not changed: ${(error as Error).message}. To keep it, say there: ui: { theme: ${theme} }`,
    )
  }
}
