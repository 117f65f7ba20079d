import { type KeyId, matchesKey } from './text/index.js'
import type { Action, SessionOptions } from './types.js'

const defaults: Record<Action, readonly string[]> = {
  interrupt: ['ctrl+c'],
  cancel: ['escape'],
  exit: ['ctrl+d'],
  steer: ['ctrl+enter'],
  edit_queue: ['alt+up'],
  cycle_mode: ['shift+tab'],
  toggle_detail: ['ctrl+o'],
  launch_editor: ['ctrl+g'],
  history: ['ctrl+r'],
  redraw: ['ctrl+l'],
  pause: ['ctrl+z'],
  focus_overlay: ['tab'],
}

/** Creates a function that checks whether a key triggers an action; own bindings replace the defaults. */
export const createKeyMatcher = (own: SessionOptions['keyBindings']): ((data: string, action: Action) => boolean) => {
  const bindings = { ...defaults, ...own }
  return (data, action) => bindings[action].some((key) => matchesKey(data, key as KeyId))
}
