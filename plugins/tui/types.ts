/** Where a session is drawn: below the shell's history, or on the second screen of the terminal; `auto` is inline. */
export type SessionSurface = 'auto' | 'alternate' | 'inline'
/** What a terminal is asked to tell of keys; the Kitty protocol where it answers to that, else xterm's modifyOtherKeys. */
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
  /** What stands behind it, such as `<file>`. */
  arguments?: string
  /** What an argument may be. */
  choices?: readonly string[]
}
export type ThemeName = 'dark' | 'light' | 'none'
/** What keys do; each has its default. */
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

/** What a person sees of something that was said or done. `markdown` is drawn as such; `output` keeps its colors, every other text has none of its own. */
export interface Block {
  kind: 'markdown' | 'text' | 'output' | 'user' | 'note' | 'error' | 'diff'
  text: string
}
/** A row of a list to choose from. */
export interface OverlayChoice {
  value: string
  label: string
  description?: string
}
/** What lies over the editor until it is answered. */
export type Overlay =
  /** One of these; typing narrows the list. */
  | { kind: 'select'; id: string; title: string; choices: readonly OverlayChoice[]; selected?: string }
  /** A question with one key an answer. It takes the keys by Tab, or when nothing was typed for 300 ms, so that it never takes a letter of a message. */
  | {
      kind: 'confirm'
      id: string
      title: string
      body: readonly Block[]
      answers: readonly { key: string; value: string; label: string }[]
      /** The values whose answers are texts, which may begin with something to change. */
      texts?: readonly { value: string; label: string; initial?: string }[]
    }
  /** A text to page through. */
  | { kind: 'pager'; id: string; title: string; body: readonly Block[] }

/** What a host tells the screen. */
export type UiCommand =
  /** What is finished: it goes to the scrollback once and is never touched again. */
  | { type: 'commit'; block: Block }
  /** What grows or changes: `text` takes the place of what stood there, `append` goes behind it. `done`: it is finished, and moves up; without a text it is dropped. */
  | { type: 'live'; id: string; block?: Block; append?: string; done?: boolean }
  | { type: 'prompt'; placeholder: string }
  | { type: 'header'; lines: readonly string[] }
  /** The line at the bottom; left and right. */
  | { type: 'status'; left: string; right?: string }
  /** What is under way; `undefined` when nothing is. `detail` stands behind the time. */
  | { type: 'activity'; state?: string; detail?: string }
  | { type: 'queue'; items: readonly string[] }
  | { type: 'subagents'; lines: readonly string[] }
  /** What stands in the editor. */
  | { type: 'input'; text: string; mode?: 'replace' | 'insert' }
  | { type: 'overlay'; overlay: Overlay }
  | { type: 'close_overlay'; id: string }
  | { type: 'theme'; name: ThemeName }
  /** Where the session is drawn from now on. */
  | { type: 'surface'; surface: SessionSurface }
  /** Gives the terminal to somebody else, as it was before, until `resume`. */
  | { type: 'suspend' | 'resume' | 'redraw' | 'shutdown' }
  /** The title of the window. */
  | { type: 'title'; text: string }
  /** A person is waited for: a bell, and a notification where the terminal shows some; `away`: only where the terminal has not the focus. */
  | { type: 'notify'; text: string; away?: boolean }
  /** Puts a text on the clipboard of the person, where the terminal lets programs do that. */
  | { type: 'copy'; text: string }
  /** What the editor offers from now on. */
  | ({ type: 'offer' } & Partial<Pick<SessionOptions, 'slashCommands' | 'files' | 'history' | 'keyBindings'>>)

/** What a person does. */
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
  /** Rows that what grows may take, besides the editor. */
  inlineRows: number
  keyboard: KeyboardProtocolSettings
  fullscreen: { mouseCapture: boolean; copyOnSelect: boolean; scrollSpeed: number }
  workspaceRoot: string
  slashCommands: readonly SlashCommand[]
  appName: string
  theme: ThemeName
  keyBindings: Partial<Record<Action, readonly string[]>>
  /** What somebody without a terminal is told to do. */
  nonInteractiveHint: string
  /** What was sent before, the newest last. */
  history: readonly string[]
  /** Paths that `@` offers, for what stands behind it. */
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

/** A program that has sessions drawn for it. */
export interface HostAdapter {
  workspace(): { name: string; root: string }
  themes(): { available: readonly ThemeName[]; active: ThemeName }
  setTerminalFocused(on: boolean): void
  sessionDefaults(): Partial<SessionOptions>
  slashCommands(): readonly SlashCommand[]
  appName(): string
  nonInteractiveHint?(): string
}
/** What a host holds of a session. */
export interface UiHandle {
  send(command: UiCommand): void
  /** What stands in the editor. */
  readonly input: string
  readonly columns: number
  /** Resolves when the terminal is as it was before. */
  readonly closed: Promise<void>
}
export interface UiSession {
  handle: UiHandle
  /** What the person does, in order; ends with the session. */
  events: AsyncIterable<UiEvent>
}
