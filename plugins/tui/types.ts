import type { Block, ThemeName } from './text/index.js'
/** Place of a session: below the shell's history, or the second screen of the terminal; `auto` is inline. */
export type SessionSurface = 'auto' | 'alternate' | 'inline'
/** Key reports that a terminal is asked for: the Kitty protocol, else xterm's modifyOtherKeys. */
export interface KeyboardProtocolSettings {
  enabled: boolean
  mode: 'default' | 'full' | 'minimal' | 'custom'
  disambiguateEscapeCodes: boolean
  reportEventTypes: boolean
  reportAlternateKeys: boolean
  reportAllKeys: boolean
}
/** A command of the menu that `/` opens. */
export interface SlashCommand {
  name: string
  description: string
  /** Form of its arguments, such as `<file>`. */
  arguments?: string
  /** Possible values of the argument. */
  choices?: readonly string[]
}
/** Actions of keys; each has a default key. */
export type Action =
  | 'interrupt'
  | 'cancel'
  | 'exit'
  | 'steer'
  | 'edit_queue'
  | 'cycle_mode'
  | 'toggle_detail'
  | 'launch_editor'
  | 'history'
  | 'redraw'
  | 'pause'
  | 'focus_overlay'

/** A row of a list to choose from. */
export interface OverlayChoice {
  value: string
  label: string
  description?: string
}
/** A view above the editor until it is answered. */
export type Overlay =
  /** A list to choose from; typing filters it. */
  | { kind: 'select'; id: string; title: string; choices: readonly OverlayChoice[]; selected?: string }
  /**
   * A question. It receives all keys: arrows or Tab select, Enter answers. Text goes to the editor and never answers. A
   * `key` answers without Enter if the editor is empty and no other key is pressed shortly before or after it; answers
   * that last should have none.
   */
  | {
      kind: 'confirm'
      id: string
      title: string
      body: readonly Block[]
      answers: readonly { key?: string; value: string; label: string; description?: string }[]
      /** Values whose answers are texts, with an initial text to edit. */
      texts?: readonly { value: string; label: string; initial?: string }[]
    }
  /** A text to page through. */
  | { kind: 'pager'; id: string; title: string; body: readonly Block[] }

/** Commands of a host for the screen. */
export type UiCommand =
  /** A finished block: written once to the scrollback and never changed. */
  | { type: 'commit'; block: Block }
  /**
   * A growing block: `block` replaces it, `append` extends it. `done` moves it to the finished blocks; drops an empty
   * one.
   */
  | { type: 'live'; id: string; block?: Block; append?: string; done?: boolean }
  | { type: 'prompt'; placeholder: string }
  | { type: 'header'; lines: readonly string[] }
  /** The bottom line. */
  | { type: 'status'; left: string; right?: string }
  /** Current activity; no `state`: none. `detail` follows the time. */
  | { type: 'activity'; state?: string; detail?: string }
  | { type: 'queue'; items: readonly string[] }
  | { type: 'subagents'; lines: readonly string[] }
  /** Text for the editor. */
  | { type: 'input'; text: string; mode?: 'replace' | 'insert' }
  | { type: 'overlay'; overlay: Overlay }
  | { type: 'close_overlay'; id: string }
  | { type: 'theme'; name: ThemeName }
  /** Switches the surface. */
  | { type: 'surface'; surface: SessionSurface }
  /** `suspend` restores the terminal for another program until `resume`. */
  | { type: 'suspend' | 'resume' | 'redraw' | 'shutdown' }
  /** Title of the window. */
  | { type: 'title'; text: string }
  /** Bell, and a notification if the terminal shows them; `away`: only without the focus. */
  | { type: 'notify'; text: string; away?: boolean }
  /** Copies a text to the clipboard, if the terminal permits it. */
  | { type: 'copy'; text: string }
  /** Replaces completion, history and key bindings of the editor. */
  | ({ type: 'offer' } & Partial<Pick<SessionOptions, 'slashCommands' | 'files' | 'history' | 'keyBindings'>>)

/** Actions of the person. */
export type UiEvent =
  | { type: 'submit' | 'queue_submit' | 'steer'; text: string }
  | { type: 'overlay_result'; id: string; value: string | undefined; text?: string }
  | { type: 'open_file' | 'open_url'; target: string }
  | { type: 'launch_editor'; text: string }
  | { type: 'focus'; focused: boolean }
  | {
      type:
        | 'cancel'
        | 'interrupt'
        | 'exit'
        | 'edit_queue'
        | 'cycle_mode'
        | 'history'
        | 'toggle_detail'
        | 'pause'
        | 'resume'
    }

export interface SessionOptions {
  placeholder: string
  surface: SessionSurface
  /** Maximum rows of growing blocks. */
  inlineRows: number
  keyboard: KeyboardProtocolSettings
  fullscreen: { mouseCapture: boolean; copyOnSelect: boolean; scrollSpeed: number }
  workspaceRoot: string
  slashCommands: readonly SlashCommand[]
  appName: string
  theme: ThemeName
  keyBindings: Partial<Record<Action, readonly string[]>>
  /** Advice in the error without a terminal. */
  nonInteractiveHint: string
  /** Earlier messages, the newest last. */
  history: readonly string[]
  /** Returns the paths that `@` offers for a query. */
  files: (query: string) => Promise<readonly string[]>
  onEvent: (event: UiEvent) => void
  onFocus: (focused: boolean) => void
  /** Default: those of the process. */
  stdin: NodeJS.ReadableStream & { isTTY?: boolean; setRawMode?: (on: boolean) => unknown; isRaw?: boolean }
  output: NodeJS.WritableStream & {
    isTTY?: boolean
    columns?: number
    rows?: number
    fd?: number
    getWindowSize?: () => [number, number]
  }
  env: Record<string, string | undefined>
}

/** A host program of sessions. */
export interface HostAdapter {
  workspace(): { name: string; root: string }
  themes(): { available: readonly ThemeName[]; active: ThemeName }
  setTerminalFocused(on: boolean): void
  sessionDefaults(): Partial<SessionOptions>
  slashCommands(): readonly SlashCommand[]
  appName(): string
  nonInteractiveHint?(): string
}
/** Handle of a session for its host. */
export interface UiHandle {
  send(command: UiCommand): void
  /** Text in the editor. */
  readonly input: string
  readonly columns: number
  /** Resolves when the terminal is restored. */
  readonly closed: Promise<void>
}
export interface UiSession {
  handle: UiHandle
  /** Actions of the person, in order; ends with the session. */
  events: AsyncIterable<UiEvent>
}
