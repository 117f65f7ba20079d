import { UiDocument, spin_ms } from './document.js'
import { EventStream } from './events.js'
import { loadHighlighter } from './highlight.js'
import { keyReader } from './keys.js'
import { AlternateScreen } from './alternate.js'
import { LiveScreen } from './live.js'
import { Overlays } from './overlays/overlays.js'
import { isKeyRelease } from './parts.js'
import { PromptEditor } from './prompt.js'
import { guardTerminal } from './signal.js'
import type { DrawnSurface } from './surface.js'
import { TtyPort, type TerminalPort } from './terminal_io.js'
import { sequences } from './terminal_modes.js'
import { themeNamed, type Theme } from './theme.js'
import type { SessionOptions, UiCommand, UiEvent, UiHandle } from './types.js'

/** Frames follow each other at this pace; a key is answered at once, for a while also beyond it. */
const frame_ms = 34
const mostAtOnce = 4
const again_ms = 2000
/** How long the cursor stays in the editor after a key, for input methods. */
const typing_ms = 10_000
/** How long after a resize the cursor stays where another one moves it least. */
const changing_ms = 2000
/** How often at most a multiplexer reports a resize to programs. */
const multiplexed_ms = 600
/** So many characters go to the clipboard: terminals take no more in one sequence. */
const mostCopied = 50_000
const [focusIn, focusOut] = ['\u001b[I', '\u001b[O']

/** One session: keys go in, frames come out. */
export class Drive implements UiHandle {
  readonly events = new EventStream<UiEvent>()
  readonly closed: Promise<void>
  private port!: TerminalPort
  private screen!: DrawnSurface
  private readonly shown = new UiDocument()
  private readonly prompt: PromptEditor
  private readonly overlays: Overlays
  private is: ReturnType<typeof keyReader>
  private theme: Theme
  private unguard: () => void
  private resolve!: () => void
  private timer: NodeJS.Timeout | undefined
  private readonly ticker: NodeJS.Timeout
  /** Frames that may come at once; one more every `frame_ms`. */
  private tokens = mostAtOnce
  private last = performance.now()
  private state: 'open' | 'lent' | 'over' = 'open'
  private hint: string | undefined
  private warned = -Infinity
  private focused = true
  /** When a key was pressed, and when the window was told to have changed. */
  private pressed = -Infinity
  private changed = -Infinity

  constructor(private readonly options: SessionOptions) {
    this.closed = new Promise((resolve) => (this.resolve = resolve))
    this.use(options.surface)
    this.theme = themeNamed(options.theme)
    this.is = keyReader(options.keyBindings)
    this.prompt = new PromptEditor(options, () => this.theme, {
      rows: () => this.port.rows,
      changed: () => this.draw(),
    })
    this.prompt.placeholder = options.placeholder
    this.prompt.onSubmit = (text) => this.submit(text)
    this.prompt.offer({ history: options.history })
    this.overlays = new Overlays({
      draw: () => this.draw(),
      isEmpty: () => this.prompt.isEmpty,
      answer: (id, answer) => this.answered(id, answer),
    })
    this.unguard = guardTerminal({ leave: (over) => this.leave(over), enter: () => this.enter(), end: () => {} })
    this.ticker = setInterval(() => this.shown.busy && this.draw(), spin_ms)
    this.open()
    this.frame()
    // Code is drawn in colors from then on.
    setTimeout(() => void loadHighlighter().then(() => this.draw()), frame_ms).unref()
  }

  get input(): string {
    return this.prompt.text
  }
  get columns(): number {
    return this.port.columns
  }

  send(command: UiCommand): void {
    if (this.state === 'over') return
    const { shown } = this
    if (command.type === 'commit') shown.commit(command.block)
    else if (command.type === 'header') shown.commit({ kind: 'note', text: command.lines.join('\n') })
    else if (command.type === 'live') shown.live(command)
    else if (command.type === 'activity') shown.act(command, Date.now())
    else if (command.type === 'status') shown.status(command)
    else if (command.type === 'queue') shown.wait(command.items)
    else if (command.type === 'subagents') shown.work(command.lines)
    else this.control(command)
    this.draw()
  }

  private control(
    command: Exclude<UiCommand, { type: 'commit' | 'header' | 'live' | 'activity' | 'status' | 'queue' | 'subagents' }>,
  ): void {
    if (command.type === 'prompt') this.prompt.placeholder = command.placeholder
    else if (command.type === 'input')
      command.mode === 'insert' ? this.prompt.insert(command.text) : (this.prompt.text = command.text)
    else if (command.type === 'overlay') this.overlays.open(command.overlay)
    else if (command.type === 'close_overlay') this.overlays.close(command.id)
    else if (command.type === 'theme') this.theme = themeNamed(command.name)
    else if (command.type === 'surface') this.change(command.surface)
    else if (command.type === 'title') this.port.write(`\u001b]0;${plainTitle(command.text)}\u0007`)
    else if (command.type === 'notify') this.notify(command)
    else if (command.type === 'copy') this.copy(command.text)
    else if (command.type === 'offer') this.offer(command)
    else if (command.type === 'suspend') this.leave()
    else if (command.type === 'resume') this.enter()
    else if (command.type === 'redraw') this.screen.clear()
    else this.close()
  }

  private copy(text: string): void {
    this.port.write(`\u001b]52;c;${Buffer.from(text.slice(0, mostCopied)).toString('base64')}\u0007`)
  }

  /** Draws there, once the terminal is opened. */
  private use(surface: SessionOptions['surface']): void {
    const {
      options,
      options: { env },
    } = this
    const second = surface === 'alternate'
    const mouse = second && options.fullscreen.mouseCapture
    // These show a letter of that question.
    const asks = !second && env['TERM_PROGRAM'] !== 'Apple_Terminal' && env['TERM'] !== 'linux'
    const around = {
      enter: (second ? sequences.alternate : asks ? sequences.whichScreen : '') + (mouse ? sequences.mouse : ''),
      leave: (mouse ? sequences.leaveMouse : '') + (second ? sequences.leaveAlternate : ''),
    }
    this.port = new TtyPort(options, options.keyboard, around)
    const late_ms = /^(?:tmux|screen)/.test(env['TERM'] ?? '') ? multiplexed_ms : undefined
    this.screen = second
      ? new AlternateScreen(this.port, options.fullscreen, (text) => this.copy(text))
      : new LiveScreen(this.port, env, late_ms)
    if (second) this.shown.keep()
  }
  private change(surface: SessionOptions['surface']): void {
    const open = this.state === 'open'
    this.leave(true)
    this.use(surface)
    if (open) this.enter()
  }

  private offer(command: UiCommand & { type: 'offer' }): void {
    if (command.keyBindings) this.is = keyReader(command.keyBindings)
    this.prompt.offer(command)
  }

  private notify({ text, away = false }: UiCommand & { type: 'notify' }): void {
    if (!this.focused) this.port.write(`\u001b]9;${plainTitle(text)}\u0007\u0007`)
    else if (!away) this.port.write('\u0007')
  }

  private open(): void {
    const version = (name: string): void => (this.screen.terminalIs(name), this.draw())
    this.port.open({
      key: (data) => this.key(data),
      resize: () => this.resized(),
      version,
      onSecond: () => this.leaveStale(),
    })
  }
  /** A program that was killed has left the second screen to us, who are to draw on the first one. */
  private leaveStale(): void {
    if (!this.screen.rests) return
    this.port.write(sequences.leaveAlternate)
    this.screen.lost()
    this.draw()
  }
  private resized(): void {
    this.changed = performance.now()
    this.screen.resized()
    this.draw()
  }
  /** The terminal is as it was, and what is under way is not on it; for good, what is finished is. */
  private leave(over = false): void {
    if (this.state !== 'open') return
    this.frame()
    this.screen.clear()
    this.port.restore(over ? this.screen.rest() : [])
    this.state = 'lent'
  }
  private enter(): void {
    if (this.state !== 'lent') return
    this.state = 'open'
    this.open()
    this.frame()
  }
  private close(): void {
    this.leave(true)
    this.state = 'over'
    clearTimeout(this.timer)
    clearInterval(this.ticker)
    this.overlays.end()
    this.unguard()
    this.events.end()
    this.resolve()
  }

  private emit(event: UiEvent): void {
    this.options.onEvent(event)
    this.events.push(event)
  }

  private key(data: string): void {
    if (data === focusIn || data === focusOut) return this.focus(data === focusIn)
    if (isKeyRelease(data)) return
    this.hint = undefined
    this.pressed = performance.now()
    const { overlays, prompt, screen } = this
    const taken =
      overlays.key(data, (action) => this.is(data, action)) || screen.key(data, prompt.isEmpty) || this.command(data)
    if (!taken) prompt.key(data)
    this.draw(true)
  }

  private focus(focused: boolean): void {
    this.focused = focused
    this.options.onFocus(focused)
    this.emit({ type: 'focus', focused })
  }

  /** A key that is no text. Returns whether it was one. */
  private command(data: string): boolean {
    const { prompt, shown } = this
    const is = (action: Parameters<typeof this.is>[1]): boolean => this.is(data, action)
    const simple = (['cycle_mode', 'toggle_detail', 'history'] as const).find(is)
    if (is('interrupt')) this.interrupt()
    else if (is('cancel') && !prompt.completing) shown.busy && this.emit({ type: 'cancel' })
    else if (is('exit') && prompt.isEmpty) this.emit({ type: 'exit' })
    else if (is('steer') && shown.busy && !prompt.isEmpty) this.steer()
    else if (this.editsQueue(data)) this.emit({ type: 'edit_queue' })
    else if (simple) this.emit({ type: simple })
    else if (is('launch_editor')) this.emit({ type: 'launch_editor', text: prompt.text })
    else if (is('redraw')) this.screen.clear()
    // All of a job stop together, as by Ctrl-Z.
    else if (is('pause')) process.kill(0, 'SIGTSTP')
    else return false
    return true
  }

  private editsQueue(data: string): boolean {
    if (this.is(data, 'edit_queue')) return true
    return this.prompt.isEmpty && this.shown.queued > 0 && /^\u001b(?:\[|O)A$/.test(data)
  }

  /** Ctrl-C: empties the editor; on an empty one it ends what is under way, and where nothing is, twice ends the session. */
  private interrupt(): void {
    const { prompt } = this
    if (!prompt.isEmpty) {
      prompt.remember(prompt.text)
      prompt.text = ''
    } else if (this.shown.busy) this.emit({ type: 'interrupt' })
    else if (performance.now() - this.warned < again_ms) this.emit({ type: 'exit' })
    else {
      this.warned = performance.now()
      this.hint = 'Ctrl-C once more ends the chat.'
    }
  }

  private submit(text: string): void {
    if (text.trim() === '') return
    this.prompt.remember(text)
    this.emit({ type: this.shown.busy ? 'queue_submit' : 'submit', text })
  }
  private steer(): void {
    const { text } = this.prompt
    this.prompt.remember(text)
    this.prompt.text = ''
    this.emit({ type: 'steer', text })
  }
  private answered(id: string, answer: { value: string | undefined; text?: string }): void {
    this.emit({ type: 'overlay_result', id, ...answer })
  }

  /** A frame soon; for a key at once. */
  private draw(key = false): void {
    if (this.state !== 'open') return
    const now = performance.now()
    this.tokens = Math.min(mostAtOnce, this.tokens + (now - this.last) / frame_ms)
    this.last = now
    // What streams leaves room for keys.
    if (key && this.tokens >= 1) return this.frame()
    this.timer ??= setTimeout(() => this.frame(), key ? frame_ms / 2 : frame_ms)
  }

  private frame(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    if (this.state !== 'open') return
    this.tokens = Math.max(0, this.tokens - 1)
    if (this.screen.stale) {
      this.shown.again()
      this.screen.renew()
    }
    const { theme, shown, screen } = this
    // No row is as wide as the terminal, which would fold it by the next letter.
    const columns = Math.max(1, this.port.columns - 1)
    const overlay = this.overlays.rows(columns, screen.room - 2, theme)
    const now = performance.now()
    const resting =
      screen.rests &&
      shown.moving &&
      (this.prompt.isEmpty || now - this.pressed > typing_ms || now - this.changed < changing_ms)
    const prompt = this.prompt.rows(columns, resting)
    const fixed = [
      ...shown.activityRows(columns, theme, Date.now()),
      ...(overlay?.rows ?? []),
      ...(overlay?.alone ? [] : prompt.rows),
    ]
    const finished = shown.takeFinished(columns, theme)
    const growing = shown.growingRows(columns, Math.min(this.options.inlineRows, screen.room - fixed.length - 2), theme)
    const live = [...growing, '', ...fixed, shown.statusRow(columns, theme, this.hint)]
    const above = live.length - 1
    const typed = resting ? undefined : { ...prompt.cursor, row: above - prompt.rows.length + prompt.cursor.row }
    const cursor = overlay?.alone
      ? overlay.cursor && { ...overlay.cursor, row: above - overlay.rows.length + overlay.cursor.row }
      : typed
    screen.frame(finished, live, cursor)
  }
}

const plainTitle = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ').slice(0, 200)
