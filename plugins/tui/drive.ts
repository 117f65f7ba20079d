import { type Theme, createTheme, isKeyRelease, loadHighlighter } from './text/index.js'
import { UiDocument, SPINNER_MS } from './document.js'
import { EventStream } from './events.js'
import { createKeyMatcher } from './keys.js'
import { AlternateScreen } from './alternate.js'
import { InlineScreen } from './inline.js'
import { Overlays } from './overlays/overlays.js'
import { PromptEditor } from './prompt.js'
import { guardTerminal } from './signal.js'
import type { ScreenSurface } from './surface.js'
import { TtyPort, type TerminalPort } from './terminal_io.js'
import { sequences } from './terminal_modes.js'
import type { Action, SessionOptions, UiCommand, UiEvent, UiHandle } from './types.js'

/** Interval of frames; a key gets a frame at once, within the burst limit. */
const FRAME_MS = 34
const MAX_BURST = 4
const EXIT_REPEAT_MS = 2000
/** Time that the cursor stays in the editor after a key, for input methods. */
const TYPING_MS = 10_000
/** Time after a resize that the cursor rests, where the next resize moves it least. */
const RESIZE_MS = 2000
/** Minimum interval of resize reports of a multiplexer. */
const MULTIPLEXER_RESIZE_MS = 600
/** Limit of terminals for one clipboard sequence. */
const MAX_COPIED_CHARACTERS = 50_000
const [focusIn, focusOut] = ['\u001b[I', '\u001b[O']

/** A session: reads keys and draws frames. */
export class TerminalSession implements UiHandle {
  readonly events = new EventStream<UiEvent>()
  readonly closed: Promise<void>
  private port!: TerminalPort
  private screen!: ScreenSurface
  private readonly document = new UiDocument()
  private readonly prompt: PromptEditor
  private readonly overlays: Overlays
  private matchesAction: ReturnType<typeof createKeyMatcher>
  private theme: Theme
  private unguard: () => void
  private resolve!: () => void
  private timer: NodeJS.Timeout | undefined
  private readonly ticker: NodeJS.Timeout
  /** Frames that may be drawn at once; grows by one every `FRAME_MS`. */
  private tokens = MAX_BURST
  private last = performance.now()
  private state: 'open' | 'released' | 'over' = 'open'
  private hint: string | undefined
  private lastExitHint = -Infinity
  private focused = true
  /** Times of the last key and resize. */
  private lastKey = -Infinity
  private lastResize = -Infinity

  constructor(private readonly options: SessionOptions) {
    this.closed = new Promise((resolve) => (this.resolve = resolve))
    this.openSurface(options.surface)
    this.theme = createTheme(options.theme)
    this.matchesAction = createKeyMatcher(options.keyBindings)
    this.prompt = new PromptEditor(options, () => this.theme, {
      rows: () => this.port.rows,
      changed: () => this.scheduleFrame(),
    })
    this.prompt.placeholder = options.placeholder
    this.prompt.onSubmit = (text) => this.submit(text)
    this.prompt.offer({ history: options.history })
    this.overlays = new Overlays({
      draw: () => this.scheduleFrame(),
      isEmpty: () => this.prompt.isEmpty,
      answer: (id, answer) => this.emitOverlayResult(id, answer),
    })
    this.unguard = guardTerminal({
      leave: (over) => this.releaseTerminal(over),
      enter: () => this.acquireTerminal(),
      end: () => {},
    })
    this.ticker = setInterval(() => this.document.busy && this.scheduleFrame(), SPINNER_MS)
    this.open()
    this.drawFrame()
    // Code has colors after this.
    setTimeout(() => void loadHighlighter().then(() => this.scheduleFrame()), FRAME_MS).unref()
  }

  get input(): string {
    return this.prompt.text
  }
  get columns(): number {
    return this.port.columns
  }

  send(command: UiCommand): void {
    if (this.state === 'over') return
    const { document } = this
    if (command.type === 'commit') document.commit(command.block)
    else if (command.type === 'header') document.commit({ kind: 'note', text: command.lines.join('\n') })
    else if (command.type === 'live') document.updateLive(command)
    else if (command.type === 'activity') document.setActivity(command, Date.now())
    else if (command.type === 'status') document.setStatus(command)
    else if (command.type === 'queue') document.setQueue(command.items)
    else if (command.type === 'subagents') document.setSubagents(command.lines)
    else this.runControlCommand(command)
    this.scheduleFrame()
  }

  private runControlCommand(
    command: Exclude<UiCommand, { type: 'commit' | 'header' | 'live' | 'activity' | 'status' | 'queue' | 'subagents' }>,
  ): void {
    if (command.type === 'prompt') this.prompt.placeholder = command.placeholder
    else if (command.type === 'input')
      command.mode === 'insert' ? this.prompt.insert(command.text) : (this.prompt.text = command.text)
    else if (command.type === 'overlay') this.overlays.open(command.overlay)
    else if (command.type === 'close_overlay') this.overlays.close(command.id)
    else if (command.type === 'theme') this.theme = createTheme(command.name)
    else if (command.type === 'surface') this.switchSurface(command.surface)
    else if (command.type === 'title') this.port.write(`\u001b]0;${toPlainTitle(command.text)}\u0007`)
    else if (command.type === 'notify') this.notify(command)
    else if (command.type === 'copy') this.copy(command.text)
    else if (command.type === 'offer') this.offer(command)
    else if (command.type === 'suspend') this.releaseTerminal()
    else if (command.type === 'resume') this.acquireTerminal()
    else if (command.type === 'redraw') this.screen.clear()
    else this.close()
  }

  private copy(text: string): void {
    this.port.write(`\u001b]52;c;${Buffer.from(text.slice(0, MAX_COPIED_CHARACTERS)).toString('base64')}\u0007`)
  }

  /** Creates port and screen of a surface; `open` starts them. */
  private openSurface(surface: SessionOptions['surface']): void {
    const {
      options,
      options: { env },
    } = this
    const second = surface === 'alternate'
    const mouse = second && options.fullscreen.mouseCapture
    // Apple Terminal and the Linux console print a letter of the query.
    const asks = !second && env['TERM_PROGRAM'] !== 'Apple_Terminal' && env['TERM'] !== 'linux'
    const around = {
      enter: (second ? sequences.alternate : asks ? sequences.whichScreen : '') + (mouse ? sequences.mouse : ''),
      leave: (mouse ? sequences.leaveMouse : '') + (second ? sequences.leaveAlternate : ''),
    }
    this.port = new TtyPort(options, options.keyboard, around)
    const late_ms = /^(?:tmux|screen)/.test(env['TERM'] ?? '') ? MULTIPLEXER_RESIZE_MS : undefined
    this.screen = second
      ? new AlternateScreen(this.port, options.fullscreen, (text) => this.copy(text))
      : new InlineScreen(this.port, env, late_ms)
    if (second) this.document.keepFinished()
  }
  private switchSurface(surface: SessionOptions['surface']): void {
    const open = this.state === 'open'
    this.releaseTerminal(true)
    this.openSurface(surface)
    if (open) this.acquireTerminal()
  }

  private offer(command: UiCommand & { type: 'offer' }): void {
    if (command.keyBindings) this.matchesAction = createKeyMatcher(command.keyBindings)
    this.prompt.offer(command)
  }

  private notify({ text, away = false }: UiCommand & { type: 'notify' }): void {
    if (!this.focused) this.port.write(`\u001b]9;${toPlainTitle(text)}\u0007\u0007`)
    else if (!away) this.port.write('\u0007')
  }

  private open(): void {
    const version = (name: string): void => (this.screen.setTerminalVersion(name), this.scheduleFrame())
    this.port.open({
      key: (data) => this.handleKey(data),
      resize: () => this.handleResize(),
      version,
      onSecond: () => this.leaveStaleScreen(),
    })
  }
  /** Leaves the second screen that a killed program left open. */
  private leaveStaleScreen(): void {
    if (!this.screen.restsCursor) return
    this.port.write(sequences.leaveAlternate)
    this.screen.forgetDrawn()
    this.scheduleFrame()
  }
  private handleResize(): void {
    this.lastResize = performance.now()
    this.screen.handleResize()
    this.scheduleFrame()
  }
  /** Restores the terminal and removes the live part. `over`: for good, with finished rows. */
  private releaseTerminal(over = false): void {
    if (this.state !== 'open') return
    this.drawFrame()
    this.screen.clear()
    this.port.restore(over ? this.screen.remainingRows() : [])
    this.state = 'released'
  }
  private acquireTerminal(): void {
    if (this.state !== 'released') return
    this.state = 'open'
    this.open()
    this.drawFrame()
  }
  private close(): void {
    this.releaseTerminal(true)
    this.state = 'over'
    clearTimeout(this.timer)
    clearInterval(this.ticker)
    this.overlays.closeAll()
    this.unguard()
    this.events.end()
    this.resolve()
  }

  private emit(event: UiEvent): void {
    this.options.onEvent(event)
    this.events.push(event)
  }

  private handleKey(data: string): void {
    if (data === focusIn || data === focusOut) return this.handleFocus(data === focusIn)
    if (isKeyRelease(data)) return
    this.hint = undefined
    this.lastKey = performance.now()
    const { overlays, prompt, screen } = this
    const is = (action: Action): boolean => this.matchesAction(data, action)
    const text = overlays.handleKey(data, is)
    if (text) for (const key of text) prompt.handleKey(key)
    else if (!screen.handleKey(data, prompt.isEmpty) && !this.runKeyAction(data, is)) prompt.handleKey(data)
    this.scheduleFrame(true)
  }

  private handleFocus(focused: boolean): void {
    this.focused = focused
    this.options.onFocus(focused)
    this.emit({ type: 'focus', focused })
  }

  /** Runs the action of a key. Returns whether the key has one. */
  private runKeyAction(data: string, is: (action: Action) => boolean): boolean {
    const { prompt, document } = this
    const simple = (['cycle_mode', 'toggle_detail', 'history'] as const).find(is)
    if (is('interrupt')) this.interrupt()
    else if (is('cancel') && !prompt.completing) document.busy && this.emit({ type: 'cancel' })
    else if (is('exit') && prompt.isEmpty) this.emit({ type: 'exit' })
    else if (is('steer') && document.busy && !prompt.isEmpty) this.steer()
    else if (this.isEditQueueKey(data)) this.emit({ type: 'edit_queue' })
    else if (simple) this.emit({ type: simple })
    else if (is('launch_editor')) this.emit({ type: 'launch_editor', text: prompt.text })
    else if (is('redraw')) this.screen.clear()
    // Stop the whole job, like Ctrl-Z in a shell.
    else if (is('pause')) process.kill(0, 'SIGTSTP')
    else return false
    return true
  }

  private isEditQueueKey(data: string): boolean {
    if (this.matchesAction(data, 'edit_queue')) return true
    return this.prompt.isEmpty && this.document.queued > 0 && /^\u001b(?:\[|O)A$/.test(data)
  }

  /**
   * Handles Ctrl-C: empties the editor; with an empty editor interrupts the task; without a task, twice ends the
   * session.
   */
  private interrupt(): void {
    const { prompt } = this
    if (!prompt.isEmpty) {
      prompt.addHistory(prompt.text)
      prompt.text = ''
    } else if (this.document.busy) this.emit({ type: 'interrupt' })
    else if (performance.now() - this.lastExitHint < EXIT_REPEAT_MS) this.emit({ type: 'exit' })
    else {
      this.lastExitHint = performance.now()
      this.hint = 'Press Ctrl-C again to end the chat.'
    }
  }

  private submit(text: string): void {
    if (text.trim() === '') return
    this.prompt.addHistory(text)
    this.emit({ type: this.document.busy ? 'queue_submit' : 'submit', text })
  }
  private steer(): void {
    const { text } = this.prompt
    this.prompt.addHistory(text)
    this.prompt.text = ''
    this.emit({ type: 'steer', text })
  }
  private emitOverlayResult(id: string, answer: { value: string | undefined; text?: string }): void {
    this.emit({ type: 'overlay_result', id, ...answer })
  }

  /** Schedules a frame; a key gets one at once. */
  private scheduleFrame(key = false): void {
    if (this.state !== 'open') return
    const now = performance.now()
    this.tokens = Math.min(MAX_BURST, this.tokens + (now - this.last) / FRAME_MS)
    this.last = now
    // Streaming leaves burst frames for keys.
    if (key && this.tokens >= 1) return this.drawFrame()
    this.timer ??= setTimeout(() => this.drawFrame(), key ? FRAME_MS / 2 : FRAME_MS)
  }

  private drawFrame(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.state !== 'open') return
    this.tokens = Math.max(0, this.tokens - 1)
    if (this.screen.stale) {
      this.document.replayFinished()
      this.screen.reset()
    }
    const { theme, document, screen } = this
    // Keep one column free: a full row would wrap at the next letter.
    const columns = Math.max(1, this.port.columns - 1)
    const overlay = this.overlays.render(columns, screen.room - 2, theme)
    const now = performance.now()
    const resting =
      screen.restsCursor &&
      document.moving &&
      (this.prompt.isEmpty || now - this.lastKey > TYPING_MS || now - this.lastResize < RESIZE_MS)
    const prompt = this.prompt.render(columns, resting && !overlay)
    const fixed = [
      ...document.renderActivity(columns, theme, Date.now()),
      ...(overlay?.rows ?? []),
      ...(overlay ? overlay.below(prompt.rows) : prompt.rows),
    ]
    const finished = document.takeFinished(columns, theme)
    const growing = document.renderGrowing(
      columns,
      Math.min(this.options.inlineRows, screen.room - fixed.length - 2),
      theme,
    )
    const live = [...growing, '', ...fixed, document.renderStatus(columns, theme, this.hint)]
    const above = live.length - 1
    const typed = resting ? undefined : { ...prompt.cursor, row: above - prompt.rows.length + prompt.cursor.row }
    const cursor = overlay
      ? overlay.cursor && { ...overlay.cursor, row: above - overlay.rows.length + overlay.cursor.row }
      : typed
    screen.drawFrame(finished, live, cursor)
  }
}

const toPlainTitle = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').slice(0, 200)
